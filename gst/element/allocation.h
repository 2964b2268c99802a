/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gst/base/gstbasetransform.h>

#include "element/run.h"

/* Allocation on both pads, and the outputs of runs: their memory and their metadata. For the
 * streaming thread or a caller with the stream lock of the sink pad. */

void gst_gemmcl_allocation_install (GstBaseTransformClass *klass);

/** gst_gemmcl_output_prepare: Makes the output of @input, one of @run, with its metadata, in memory
 * of the run's device. Returns: GST_FLOW_ERROR with @error. */
GstFlowReturn gst_gemmcl_output_prepare (GstGemmcl *self, const GstGemmclRun *run,
                                         GstGemmclInput *input, GError **error);

/** gst_gemmcl_output_get_size: Returns: the bytes of D with @m rows, at most M of @problem, without
 * gaps, or of row outputs in its place, and of its header. The library has checked that they fit a
 * gsize. */
gsize gst_gemmcl_output_get_size (const GstGemmclStream *stream, const GstGemmclProblem *problem,
                                  gsize m);

/** gst_gemmcl_output_get_rows: Returns: (transfer full): the memory of the row outputs of @output,
 * one of @run, which has some. */
GstMemory *gst_gemmcl_output_get_rows (const GstGemmclRun *run, GstBuffer *output);
