/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gemmcl.h>

#include "memory/inflight.h"

/* OpenCL memory, the GstMemory of gstgemmclmemory.h: a cl_mem with its events (memory.c, sides.c).
 * Pools of such memory (pool.c). */

/** GstGemmclAllocator: Allocates OpenCL memory, which is not zeroed. The memory references the
 * allocator, and the allocator the #GemmclContext. gst_allocator_alloc() returns %NULL, and logs
 * the reason, for an alignment above 128 bytes, and if the device does not have enough memory. */
#define GST_TYPE_GEMMCL_ALLOCATOR (gst_gemmcl_allocator_get_type ())
G_DECLARE_FINAL_TYPE (GstGemmclAllocator, gst_gemmcl_allocator, GST, GEMMCL_ALLOCATOR, GstAllocator)

/** gst_gemmcl_allocator_new: Returns: (transfer full): an allocator of memory in @context; %NULL
 * with #GEMMCL_ERROR_OPENCL. */
GstAllocator *gst_gemmcl_allocator_new (GemmclContext *context, GError **error);

/** gst_gemmcl_allocator_leave_queue: Replaces the queue @failed, in which a command failed, if it
 * is one of @allocator; some drivers fail all later commands of such a queue. %NULL: all queues.
 * Commands that are in flight end in the old queue. Any thread. */
void gst_gemmcl_allocator_leave_queue (GstAllocator *allocator, cl_command_queue failed);

/** gst_is_gemmcl_memory: Returns: %TRUE if a #GstGemmclAllocator made @memory. */
gboolean gst_is_gemmcl_memory (GstMemory *memory);

/* The following functions are for memory of a #GstGemmclAllocator. Any thread. */

/** gst_gemmcl_memory_get_kernel_queue: Returns: (nullable): a queue without profiling, for kernels
 * that need not be timed; %NULL if timing costs nothing. */
cl_command_queue gst_gemmcl_memory_get_kernel_queue (GstMemory *memory);

/** gst_gemmcl_memory_fill: Enqueues a write of @pattern to the start of @memory. @size: the bytes
 * of @pattern, a power of 2 up to 128. Returns: %FALSE if that fails; the log has the reason. */
gboolean gst_gemmcl_memory_fill (GstMemory *memory, gconstpointer pattern, gsize size);

/** gst_gemmcl_memory_set_run: Makes the next map of the host release the inputs that @inflight, the
 * run that writes @memory, holds. With @fetches, enqueues the copy to the host after the run, if a
 * copy is needed, so that the map waits less. */
void gst_gemmcl_memory_set_run (GstMemory *memory, GstGemmclInflight *inflight, gboolean fetches);

/** gst_gemmcl_memory_recycle: Drops the content of @memory, so that the next map copies nothing.
 * The next write waits for the commands that still use @memory. No other thread may use @memory. */
void gst_gemmcl_memory_recycle (GstMemory *memory);

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
