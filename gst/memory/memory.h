/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gemmcl.h>

#include "memory/inflight.h"

/* Implements the GstMemory of gstgemmclmemory.h, a cl_mem with its events (memory.c, sides.c), and
 * pools of it (pool.c). */

/** GstGemmclAllocator: Allocates such memory, which is never zeroed; it references the allocator,
 * which references the #GemmclContext. gst_allocator_alloc() returns %NULL, and the log has the
 * reason, for an alignment above 128 bytes, and if the device does not have enough memory. */
#define GST_TYPE_GEMMCL_ALLOCATOR (gst_gemmcl_allocator_get_type ())
G_DECLARE_FINAL_TYPE (GstGemmclAllocator, gst_gemmcl_allocator, GST, GEMMCL_ALLOCATOR, GstAllocator)

/** gst_gemmcl_allocator_new: Returns: (transfer full): an allocator of memory in @context; %NULL
 * with #GEMMCL_ERROR_OPENCL. */
GstAllocator *gst_gemmcl_allocator_new (GemmclContext *context, GError **error);

/** gst_is_gemmcl_memory: Returns: %TRUE if a #GstGemmclAllocator made @memory. */
gboolean gst_is_gemmcl_memory (GstMemory *memory);

/* The following functions are for memory of a #GstGemmclAllocator. Any thread. */

/** gst_gemmcl_memory_get_kernel_queue: Returns: (nullable): the queue for kernels that need not be
 * timed; %NULL if timing costs nothing. */
cl_command_queue gst_gemmcl_memory_get_kernel_queue (GstMemory *memory);

/** gst_gemmcl_memory_fill: Enqueues a write of @pattern to the start of the memory. @size: a power
 * of 2, at most 128 bytes. */
gboolean gst_gemmcl_memory_fill (GstMemory *memory, gconstpointer pattern, gsize size);

/** gst_gemmcl_memory_set_run: Makes the next map of the host release the inputs that @inflight
 * holds for the last write. With @fetches the copy to the host, if there is one, is
 * enqueued after that, so that the map waits less. */
void gst_gemmcl_memory_set_run (GstMemory *memory, GstGemmclInflight *inflight, gboolean fetches);

/** gst_gemmcl_memory_recycle: Drops the content, so that the next map copies nothing. The next
 * write waits for the commands that still use the memory. For the only owner of the memory. */
void gst_gemmcl_memory_recycle (GstMemory *memory);

/** GstGemmclPool: Allocates buffers of one memory each. If caps have OpenCL memory, or the
 * configuration has GST_BUFFER_POOL_OPTION_VIDEO_META, frames have the library's layout and a
 * GstVideoMeta; formats that the library does not support are refused. Other frames have
 * GStreamer's default layout. Buffers have the size of the configuration, or that of a frame if it
 * is larger.
 *
 * A buffer that returns is reused at once, without memories that were added to its own. A command
 * that writes OpenCL memory waits for the commands that still use it; events of completed commands
 * are released.
 */
#define GST_TYPE_GEMMCL_POOL (gst_gemmcl_pool_get_type ())
G_DECLARE_FINAL_TYPE (GstGemmclPool, gst_gemmcl_pool, GST, GEMMCL_POOL, GstBufferPool)

/** gst_gemmcl_pool_new: @allocator: (nullable): used instead of the configuration's; referenced.
 * System memory is allocated in whole pages. Returns: (transfer full): a pool that is not
 * configured yet. */
GstBufferPool *gst_gemmcl_pool_new (GstAllocator *allocator);

/** gst_gemmcl_pool_new_configured: Returns: (transfer full) (nullable): a pool configured for at
 * least @min buffers of @caps, with the option of a video meta if @video_meta; %NULL if it refuses
 * @caps. */
GstBufferPool *gst_gemmcl_pool_new_configured (GstAllocator *allocator, GstCaps *caps, guint size,
                                               guint min, gboolean video_meta);

/** gst_gemmcl_pool_ask_for_pages: Aligns memory to pages and, if its @size is not 0, unknown, pads
 * it to whole pages. Devices that share the memory of the host use such memory without a copy. */
void gst_gemmcl_pool_ask_for_pages (GstAllocationParams *params, gsize size);
