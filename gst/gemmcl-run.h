/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "gstgemmcl.h"

/* From buffers to the plan and back. */

G_BEGIN_DECLS

/** gst_gemmcl_run_install: Gives @klass its functions that make and fill output buffers. */
void gst_gemmcl_run_install (GstBaseTransformClass *klass);

/**
 * gst_gemmcl_run:
 * @n: buffers, 1 to the batch size; of audio all of the same size
 * @inputs: (array length=n): what the sink pad got
 * @outputs: (array length=n): what prepare_output_buffer made of them
 *
 * Multiplies. Posts an error when that fails.
 *
 * Returns: GST_FLOW_OK or GST_FLOW_ERROR.
 */
GstFlowReturn gst_gemmcl_run (GstGemmcl *self, guint n, GstBuffer **inputs, GstBuffer **outputs);

/** gst_gemmcl_forget_output: The next run finds zeros as the previous output. */
void gst_gemmcl_forget_output (GstGemmcl *self);

G_END_DECLS
