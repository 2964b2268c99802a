/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "element/gstgemmcl.h"

/* Output buffers (output.c). The caller of each function is the streaming thread, or holds the
 * stream lock of the sink pad. */

/** gst_gemmcl_prepare_output: Makes the output of @input, with its metadata, in memory of the
 * current device. Returns: GST_FLOW_ERROR with @error. */
GstFlowReturn gst_gemmcl_prepare_output (GstGemmcl *self, GstGemmclInput *input, GError **error);

/** gst_gemmcl_get_m: Returns: the rows of A and D in each buffer of the run that is being prepared.
 */
gsize gst_gemmcl_get_m (GstGemmcl *self);

/** gst_gemmcl_get_header_size: Returns: the bytes before D and before the row outputs in their
 * memories: those of a header, or 0. */
gsize gst_gemmcl_get_header_size (GstGemmcl *self);

/** gst_gemmcl_get_output_size: Returns: the bytes of D for @m rows, without gaps and with its
 * header; 0 if they do not fit a gsize. */
gsize gst_gemmcl_get_output_size (GstGemmcl *self, gsize m);

/* The qdata key of the memory of row outputs, which an output keeps when it returns to its pool. */
#define GST_GEMMCL_ROWS "gst-gemmcl-rows"

/** gst_gemmcl_get_rows_memory: Returns: (transfer full): the row outputs of @output, of a run that
 * has them. */
static inline GstMemory *
gst_gemmcl_get_rows_memory (GstBuffer *output)
{
  return gst_memory_ref (gst_mini_object_get_qdata (GST_MINI_OBJECT (output),
                                                    g_quark_from_static_string (GST_GEMMCL_ROWS)));
}

/** gst_gemmcl_is_empty: Returns: %TRUE if @buffer passes without a run: a gap without data, or
 * audio without samples. */
gboolean gst_gemmcl_is_empty (GstGemmcl *self, GstBuffer *buffer);
