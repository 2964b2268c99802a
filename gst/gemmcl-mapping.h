/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "gstgemmcl.h"

/* Where in buffers the library finds A and puts D. */

G_BEGIN_DECLS

/** GstGemmclMapping: A buffer as the library sees it. All zero: nothing is mapped. */
struct _GstGemmclMapping {
  GstVideoFrame frame;
  gboolean is_frame;
  GstMemory *memory; /* owned; what map is of, where that is not a frame */
  GstMapInfo map;
};

void gst_gemmcl_mapping_clear (GstGemmclMapping *self);

/**
 * gst_gemmcl_map_input:
 * @buffer: what the sink pad got; to be kept until @mapping is cleared
 * @host: (out): where A is
 */
gboolean gst_gemmcl_map_input (GstGemmcl *self, GstGemmclMapping *mapping, GstBuffer *buffer,
                               GemmclHostData *host, GError **error);

/** gst_gemmcl_map_output: The same for D in @buffer, which must be writable. */
gboolean gst_gemmcl_map_output (GstGemmcl *self, GstGemmclMapping *mapping, GstBuffer *buffer,
                                GemmclHostData *host, GError **error);

/** gst_gemmcl_map_rows: The same for the row outputs, in the last memory of @buffer. */
gboolean gst_gemmcl_map_rows (GstGemmclMapping *mapping, GstBuffer *buffer, gfloat **rows,
                              GError **error);

/** gst_gemmcl_get_samples: Where in a buffer of audio the samples are, and how many. */
gboolean gst_gemmcl_get_samples (const GstAudioInfo *info, GstBuffer *buffer, gsize *offset,
                                 gsize *samples, GError **error);

/**
 * gst_gemmcl_get_tensor_memory:
 *
 * Returns: (transfer full): one tensor of several, or the whole buffer when there is one.
 */
GstMemory *gst_gemmcl_get_tensor_memory (const GstGemmclTensors *tensors, guint index,
                                         GstBuffer *buffer, GError **error);

/** gst_gemmcl_get_output_index: Returns: which memory of an output holds D. */
guint gst_gemmcl_get_output_index (GstGemmcl *self);

/**
 * gst_gemmcl_is_empty:
 *
 * Returns: whether @buffer has no data in it and is still to pass: a gap, or audio of no samples.
 */
gboolean gst_gemmcl_is_empty (GstGemmcl *self, GstBuffer *buffer);

G_END_DECLS
