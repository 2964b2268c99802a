/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gemmcl-opencl.h>
#include <gst/gst.h>

/** GstGemmclAllocator: Allocates OpenCL memory, which is not zeroed. The memory references the
 * allocator, and the allocator the #GemmclContext. gst_allocator_alloc() returns %NULL, and logs
 * the reason, for an alignment above 128 bytes, and if the device does not have enough memory. */
#define GST_TYPE_GEMMCL_ALLOCATOR (gst_gemmcl_allocator_get_type ())
G_DECLARE_FINAL_TYPE (GstGemmclAllocator, gst_gemmcl_allocator, GST, GEMMCL_ALLOCATOR, GstAllocator)

GST_DEBUG_CATEGORY_EXTERN (gst_gemmcl_memory_debug);

/* Fields are constant after gst_gemmcl_allocator_new(), except for the queues: another one replaces
 * each in which a command failed. Read them atomically. */
struct _GstGemmclAllocator {
  GstAllocator parent;

  GemmclContext *context;
  gboolean is_staged;     /* the device has memory of its own; otherwise the host maps @buffer */
  cl_command_queue queue; /* for copies and maps; out of order if the device supports it */
  cl_command_queue maps;  /* for maps instead of @queue, or NULL: the library's inline queue */
  /* Only if is_staged. @fetches: for copies to the host after each run, in the order of the runs.
   * @kernels: for kernels, without profiling, which costs 10 us a kernel with NVIDIA's driver. */
  cl_command_queue fetches, kernels;
  GMutex lock;           /* guards replacements, and the next field */
  GPtrArray *old_queues; /* replaced ones, which other threads may still use; owned */
};

/** gst_gemmcl_allocator_new: Returns: (transfer full): an allocator of memory in @context; %NULL
 * with #GEMMCL_ERROR_OPENCL. */
GstAllocator *gst_gemmcl_allocator_new (GemmclContext *context, GError **error);

/** gst_is_gemmcl_memory: Returns: %TRUE if a #GstGemmclAllocator made @memory. */
gboolean gst_is_gemmcl_memory (GstMemory *memory);

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
