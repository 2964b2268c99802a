/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gst/gst.h>

/** GstGemmclPool: Allocates buffers of one memory each. If caps have OpenCL memory, or the
 * configuration has GST_BUFFER_POOL_OPTION_VIDEO_META, frames have the library's layout and a
 * GstVideoMeta; formats that the library does not support are refused. Other frames have
 * GStreamer's default layout. Buffers have the size of the configuration, or that of a frame if it
 * is larger.
 *
 * A buffer that returns to the pool is reused at once. Memories that were added to it are removed.
 * A command that writes its OpenCL memory waits for the commands that still use the memory; events
 * of completed commands are released. */
#define GST_TYPE_GEMMCL_POOL (gst_gemmcl_pool_get_type ())
G_DECLARE_FINAL_TYPE (GstGemmclPool, gst_gemmcl_pool, GST, GEMMCL_POOL, GstBufferPool)

/** gst_gemmcl_pool_new: @allocator: (nullable): used instead of the allocator of the configuration.
 * System memory is allocated in whole pages. Returns: (transfer full): a pool that is not
 * configured yet. */
GstBufferPool *gst_gemmcl_pool_new (GstAllocator *allocator);

/** gst_gemmcl_pool_new_configured: @allocator: (nullable): as for gst_gemmcl_pool_new().
 * @video_meta: adds GST_BUFFER_POOL_OPTION_VIDEO_META. Returns: (transfer full) (nullable): a pool
 * that is configured for at least @min buffers of @caps; %NULL if it refuses @caps. */
GstBufferPool *gst_gemmcl_pool_new_configured (GstAllocator *allocator, GstCaps *caps, guint size,
                                               guint min, gboolean video_meta);

/** gst_gemmcl_pool_ask_for_pages: Makes @params align memory to pages and pad it to whole pages.
 * @size: the bytes of the memory; 0: unknown, without padding. Devices that share the memory of the
 * host use such memory without a copy. */
void gst_gemmcl_pool_ask_for_pages (GstAllocationParams *params, gsize size);
