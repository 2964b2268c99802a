/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gemmcl-opencl.h>

#include "gemmcl-mapping.h"
#include "gstgemmclmemory.h"

/* OpenCL memory on the element's pads: where it comes from, and what of it the library can use. */

G_BEGIN_DECLS

/**
 * gst_gemmcl_device_decide:
 * @query: an allocation query that downstream has answered, or not
 * @caps: what goes out, in OpenCL memory
 *
 * Makes output buffers come from an allocator on the element's device, and a pool of that where
 * buffers have a size. What downstream proposes may be on another device.
 *
 * Returns: %FALSE when there is no allocator; an error is then posted.
 */
gboolean gst_gemmcl_device_decide (GstGemmcl *self, GstQuery *query, GstCaps *caps);

/**
 * gst_gemmcl_device_propose:
 * @caps: what comes in, in OpenCL memory
 * @min: buffers that the element holds
 *
 * Offers upstream the same.
 */
void gst_gemmcl_device_propose (GstGemmcl *self, GstQuery *query, GstCaps *caps, guint min);

/**
 * gst_gemmcl_device_propose_pool:
 * @caps: what comes in, in OpenCL memory or in the system's
 * @size: bytes of each buffer
 *
 * Offers upstream a pool of buffers in OpenCL memory, and nothing where there is none to be had.
 */
void gst_gemmcl_device_propose_pool (GstGemmcl *self, GstQuery *query, GstCaps *caps, guint size,
                                     guint min);

/**
 * gst_gemmcl_device_open_input:
 * @data: (out): where A is
 *
 * Maps @buffer's memory for the device.
 *
 * Returns: %FALSE if that is not OpenCL memory of the element's context, or its layout is none that
 *   the library knows: gst_gemmcl_map_input() is then right, or says what is wrong.
 */
gboolean gst_gemmcl_device_open_input (GstGemmcl *self, GstGemmclMapping *mapping,
                                       GstBuffer *buffer, GemmclDeviceData *data);

/** gst_gemmcl_device_open_output: The same for D in @buffer, which must be writable. */
gboolean gst_gemmcl_device_open_output (GstGemmcl *self, GstGemmclMapping *mapping,
                                        GstBuffer *buffer, GemmclDeviceData *data);

/** gst_gemmcl_device_open_previous: The same for @buffer, an output, that is to be read again. */
gboolean gst_gemmcl_device_open_previous (GstGemmcl *self, GstGemmclMapping *mapping,
                                          GstBuffer *buffer, GemmclDeviceData *data);

/**
 * gst_gemmcl_device_find_planes:
 * @buffer: of one memory with @size bytes
 * @data: (inout): its offsets are where the memory begins, and become where the planes do
 *
 * Returns: whether the planes of a picture are within the memory, by the buffer's GstVideoMeta or
 *   else by @info, in a way that OpenCL can copy.
 */
gboolean gst_gemmcl_device_find_planes (const GemmclImage *image, const GstVideoInfo *info,
                                        GstBuffer *buffer, gsize size, GemmclDeviceData *data);

/**
 * gst_gemmcl_device_take_memory:
 * @memory: (transfer full): what passes through, of any memory
 *
 * Returns: (transfer full): @memory if it is OpenCL memory, otherwise a copy of it that is; %NULL
 *   if there is no room for that, or @memory cannot be read.
 */
GstMemory *gst_gemmcl_device_take_memory (GstGemmcl *self, GstMemory *memory);

G_END_DECLS
