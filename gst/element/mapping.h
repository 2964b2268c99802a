/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "memory/inflight.h"
#include "element/gstgemmcl.h"

#include <gemmcl-opencl.h>

/* The place of A and of D in buffers, for each kind of memory. */

/** gst_gemmcl_prepare_input: Gives the element an OpenCL context that can read @buffer, where that
 * is a VA surface of another display; then a new plan is due. Before the output is allocated. */
gboolean gst_gemmcl_prepare_input (GstGemmcl *self, GstBuffer *buffer, GError **error);

/**
 * gst_gemmcl_open_input:
 * @buffer: of the sink pad; with @mapping to be kept until the run is done
 * @data: (out): the place of A: where caps promise surfaces or dma-bufs, in these; in OpenCL memory
 *   of the element's context, laid out as the library can read it; else on the host
 * @run: told how memory is acquired from its owner and released
 * @name: (out): where it was found: "system", "OpenCL", "VA" or "DMABuf"
 */
gboolean gst_gemmcl_open_input (GstGemmcl *self, GstBuffer *buffer, GstGemmclMapping *mapping,
                                GemmclData *data, GemmclRun *run, const gchar **name,
                                GError **error);

/**
 * gst_gemmcl_map_output:
 * @access: GST_MAP_WRITE, for which @buffer must be writable, or GST_MAP_READ
 *
 * The same for D in @buffer, an output.
 */
gboolean gst_gemmcl_map_output (GstGemmcl *self, GstGemmclMapping *mapping, GstBuffer *buffer,
                                GstMapFlags access, GemmclData *data, GError **error);

/** gst_gemmcl_map_rows: The same for the row outputs, in the last memory of @buffer. */
gboolean gst_gemmcl_map_rows (GstGemmcl *self, GstGemmclMapping *mapping, GstBuffer *buffer,
                              GemmclData *data, GError **error);

/**
 * gst_gemmcl_find_planes:
 * @buffer: of one memory with @size bytes
 * @data: (inout): its offsets are where the memory begins, and become where the planes do
 *
 * Returns: whether the planes of a frame are within the memory, by the buffer's GstVideoMeta or
 * else by @info, in a way that OpenCL can copy.
 */
gboolean gst_gemmcl_find_planes (const GemmclImage *image, const GstVideoInfo *info,
                                 GstBuffer *buffer, gsize size, GemmclData *data);

/** gst_gemmcl_get_samples: Where in a buffer of audio the samples are, and how many. */
gboolean gst_gemmcl_get_samples (const GstAudioInfo *info, GstBuffer *buffer, gsize *offset,
                                 gsize *samples, GError **error);

/** gst_gemmcl_get_tensor_memory: Returns: (transfer full): one tensor of several, or the whole
 * buffer when there is one. */
GstMemory *gst_gemmcl_get_tensor_memory (const GstGemmclTensors *tensors, guint index,
                                         GstBuffer *buffer, GError **error);

/** gst_gemmcl_get_output_index: Returns: which memory of an output holds D. */
guint gst_gemmcl_get_output_index (GstGemmcl *self);

/** gst_gemmcl_is_empty: Returns: whether @buffer has no data in it and is still to pass: a gap, or
 * audio of no samples. */
gboolean gst_gemmcl_is_empty (GstGemmcl *self, GstBuffer *buffer);
