/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "memory/memory.h"

/**
 * GstGemmclPool:
 *
 * Buffers of one memory each. Pictures in OpenCL memory, or where the configuration has
 * GST_BUFFER_POOL_OPTION_VIDEO_META, are as large as the library's layout of them makes them, or
 * larger if the configuration says so, and have a GstVideoMeta of it; the configuration is refused
 * for formats that the library does not know. Other pictures lie as GStreamer has them by default.
 * For all other caps the configuration says the size.
 *
 * A buffer that comes back is given out again at once, without memories that were put beside its
 * own. Commands that still use OpenCL memory are waited for by the next one that writes it; of
 * those that are done, nothing is left.
 */
#define GST_TYPE_GEMMCL_POOL (gst_gemmcl_pool_get_type ())
G_DECLARE_FINAL_TYPE (GstGemmclPool, gst_gemmcl_pool, GST, GEMMCL_POOL, GstBufferPool)

/**
 * gst_gemmcl_pool_new:
 * @allocator: (nullable): where memory comes from, whatever the configuration says; referenced. If
 *   %NULL the configuration's, and if that is the system's, pages
 *
 * Returns: (transfer full): a pool to be configured.
 */
GstBufferPool *gst_gemmcl_pool_new (GstAllocator *allocator);

/** gst_gemmcl_pool_new_configured: Returns: (transfer full): the same, configured for at least @min
 * buffers with @caps, with the option of a video meta if @video_meta; %NULL if it does not take
 * @caps. */
GstBufferPool *gst_gemmcl_pool_new_configured (GstAllocator *allocator, GstCaps *caps, guint size,
                                               guint min, gboolean video_meta);

/**
 * gst_gemmcl_pool_ask_for_pages:
 * @params: what is wanted already
 * @size: of the memory; 0 if that is not known
 *
 * Makes @params ask for memory that starts where a page does and, if its size is known, shares its
 * last page with nothing else: what OpenCL uses in place on devices that share the host's memory.
 */
void gst_gemmcl_pool_ask_for_pages (GstAllocationParams *params, gsize size);
