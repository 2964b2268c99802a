/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "memory/memory.h"

/**
 * GstGemmclPool:
 *
 * Buffers of one memory each. The memory of a frame has the layout and the size of the library, or
 * the size of the configuration if that is larger, and a GstVideoMeta, if it is OpenCL memory or
 * the configuration has GST_BUFFER_POOL_OPTION_VIDEO_META; formats that the library does not know
 * are refused then. Other frames have the default layout of GStreamer, and buffers of other caps
 * the size of the configuration.
 *
 * A buffer that returns is used again at once, without memories that were added to its own. A
 * command that writes OpenCL memory waits for the commands that still use it; the events of
 * completed ones are released.
 */
#define GST_TYPE_GEMMCL_POOL (gst_gemmcl_pool_get_type ())
G_DECLARE_FINAL_TYPE (GstGemmclPool, gst_gemmcl_pool, GST, GEMMCL_POOL, GstBufferPool)

/**
 * gst_gemmcl_pool_new:
 * @allocator: (nullable): the allocator to use instead of the configuration's; referenced. If both
 *   are of system memory, the pool asks for pages
 *
 * Returns: (transfer full): a pool to be configured.
 */
GstBufferPool *gst_gemmcl_pool_new (GstAllocator *allocator);

/** gst_gemmcl_pool_new_configured: Returns: (transfer full) (nullable): a pool configured for at
 * least @min buffers of @caps, with the option of a video meta if @video_meta; %NULL if it refuses
 * @caps. */
GstBufferPool *gst_gemmcl_pool_new_configured (GstAllocator *allocator, GstCaps *caps, guint size,
                                               guint min, gboolean video_meta);

/**
 * gst_gemmcl_pool_ask_for_pages:
 * @params: (inout)
 * @size: bytes of the memory; 0 if unknown
 *
 * Aligns the memory to pages and, if its size is known, pads it to whole pages: devices that share
 * the memory of the host use such memory in place.
 */
void gst_gemmcl_pool_ask_for_pages (GstAllocationParams *params, gsize size);
