/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "gemmcl-memory.h"

G_BEGIN_DECLS

/**
 * GstGemmclPool:
 *
 * Buffers of one #GstGemmclAllocator memory each. For caps of raw video they are as large as the
 * library's layout of such pictures makes them, or larger if the configuration says so, and have a
 * GstVideoMeta of it, asked for or not; the configuration is refused for formats that the library
 * does not know. For all other caps the configuration says the size.
 *
 * A buffer that comes back is given out again at once. Commands that still use it are waited for by
 * the next one that writes it; of those that are done, nothing is left.
 */
#define GST_TYPE_GEMMCL_POOL (gst_gemmcl_pool_get_type ())
G_DECLARE_FINAL_TYPE (GstGemmclPool, gst_gemmcl_pool, GST, GEMMCL_POOL, GstBufferPool)

/**
 * gst_gemmcl_pool_new:
 * @allocator: where memory comes from, whatever the configuration says; referenced
 *
 * Returns: (transfer full): a pool to be configured.
 */
GstBufferPool *gst_gemmcl_pool_new (GstGemmclAllocator *allocator);

G_END_DECLS
