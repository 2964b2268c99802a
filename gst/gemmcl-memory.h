/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gemmcl.h>

#include "gemmcl-inflight.h"
#include "gstgemmclmemory.h"

/* The GstMemory over a cl_mem that gstgemmclmemory.h speaks of. */

/**
 * GstGemmclHostSide:
 * @GST_GEMMCL_HOST_SIDE_MAPPED: what OpenCL maps: on devices that share the host's memory nothing
 *   is copied
 * @GST_GEMMCL_HOST_SIDE_STAGED: pinned memory, made by the first map and kept; copies on demand,
 *   each way only when the other side has changed
 *
 * What the host sees of memory that it maps.
 */
typedef enum {
  GST_GEMMCL_HOST_SIDE_MAPPED,
  GST_GEMMCL_HOST_SIDE_STAGED,
} GstGemmclHostSide;

/**
 * GstGemmclAllocator:
 *
 * Makes such memory. gst_allocator_alloc() does, too, with these limits: memory is not zeroed,
 * whatever the flags of the parameters say, and an alignment above 128 bytes is refused. %NULL
 * where the device has not enough memory; the log says why.
 *
 * Memory keeps the allocator, and that the #GemmclContext: they outlive whoever asked for them.
 */
#define GST_TYPE_GEMMCL_ALLOCATOR (gst_gemmcl_allocator_get_type ())
G_DECLARE_FINAL_TYPE (GstGemmclAllocator, gst_gemmcl_allocator, GST, GEMMCL_ALLOCATOR, GstAllocator)

/**
 * gst_gemmcl_allocator_new:
 * @context: whose device's memory it is; referenced
 *
 * Returns: (transfer full): an allocator of memory that is mapped or staged as suits the device;
 *   %NULL with #GEMMCL_ERROR_OPENCL.
 */
GstAllocator *gst_gemmcl_allocator_new (GemmclContext *context, GError **error);

/** gst_gemmcl_allocator_new_with_side: The same with @side chosen. */
GstAllocator *gst_gemmcl_allocator_new_with_side (GemmclContext *context, GstGemmclHostSide side,
                                                  GError **error);

/**
 * gst_gemmcl_allocator_get_traffic:
 * @up, @down: (out): bytes that went to and came from the device since @self was made, because the
 *   host mapped memory. Any thread.
 */
void gst_gemmcl_allocator_get_traffic (GstGemmclAllocator *self, guint64 *up, guint64 *down);

/** gst_is_gemmcl_memory: Returns: whether a #GstGemmclAllocator made @memory. */
gboolean gst_is_gemmcl_memory (GstMemory *memory);

/**
 * gst_gemmcl_memory_fetch:
 * @memory: of a #GstGemmclAllocator, with the event of the command that writes it
 *
 * Enqueues the copy to the host behind that command, so that a map of the host finds it made or
 * under way. Where memory is mapped, not staged, there is nothing to copy.
 */
void gst_gemmcl_memory_fetch (GstMemory *memory);

/**
 * gst_gemmcl_memory_set_run:
 * @inflight: the in-flight run that writes @memory
 * @run: its number
 *
 * Makes the next map of the host, which waits for the run anyhow, release what the run holds.
 */
void gst_gemmcl_memory_set_run (GstMemory *memory, GstGemmclInflight *inflight, guint64 run);

/**
 * gst_gemmcl_memory_recycle:
 * @memory: one that nobody else has
 *
 * What is in it does not matter any more: it is not copied to the other side by the next map.
 * Commands that still use it are still waited for, by the next one that writes.
 */
void gst_gemmcl_memory_recycle (GstMemory *memory);
