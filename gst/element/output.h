/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "element/gstgemmcl.h"

/* Output buffers (output.c). The caller of each function is the streaming thread, or holds the
 * stream lock of the sink pad. */

/** gst_gemmcl_prepare_output: Makes the output of @input, with its metadata, in memory of the
 * current device. Returns: GST_FLOW_ERROR with @error. */
GstFlowReturn gst_gemmcl_prepare_output (GstGemmcl *self, GstGemmclInput *input, GError **error);

/** gst_gemmcl_get_m: Returns: M, the rows of A and D, of each buffer of the run that is being
 * prepared. */
gsize gst_gemmcl_get_m (GstGemmcl *self);

/** gst_gemmcl_get_header_size: Returns: the bytes of the header before D, and before the row
 * outputs, in their memories; 0 if the output has no headers. */
gsize gst_gemmcl_get_header_size (GstGemmcl *self);

/** gst_gemmcl_get_output_size: Returns: the bytes of D with @m rows, without gaps, and of its
 * header; 0 if they do not fit a gsize. */
gsize gst_gemmcl_get_output_size (GstGemmcl *self, gsize m);

/* The qdata key of the memory of row outputs, which an output keeps when it returns to its pool. */
#define GST_GEMMCL_ROWS "gst-gemmcl-rows"

/** gst_gemmcl_get_rows_memory: Returns: (transfer full): the row outputs of @output, whose run must
 * have row outputs. */
static inline GstMemory *
gst_gemmcl_get_rows_memory (GstBuffer *output)
{
  return gst_memory_ref (gst_mini_object_get_qdata (GST_MINI_OBJECT (output),
                                                    g_quark_from_static_string (GST_GEMMCL_ROWS)));
}

/** gst_gemmcl_is_empty: Returns: %TRUE if @buffer passes without a run: a gap without data, or
 * audio without samples. */
gboolean gst_gemmcl_is_empty (GstGemmcl *self, GstBuffer *buffer);
