/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gemmcl.h>

#include "memory/inflight.h"
#include "memory/gstgemmclmemory.h"

/* The GstMemory over a cl_mem that gstgemmclmemory.h speaks of. */

/** GstGemmclHostSide: What the host sees of memory that it maps. */
typedef enum {
  /* Mapped by OpenCL: devices that share the host's memory copy nothing. */
  GST_GEMMCL_HOST_SIDE_MAPPED,
  /* Pinned memory, made by the first map and kept; copied, either way, when the other has changed.
   */
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

/** gst_gemmcl_allocator_new: Returns: (transfer full): an allocator of memory of @context's device,
 * mapped or staged as suits that; %NULL with #GEMMCL_ERROR_OPENCL. */
GstAllocator *gst_gemmcl_allocator_new (GemmclContext *context, GError **error);

/** gst_gemmcl_allocator_new_with_side: The same with @side chosen. */
GstAllocator *gst_gemmcl_allocator_new_with_side (GemmclContext *context, GstGemmclHostSide side,
                                                  GError **error);

/** gst_is_gemmcl_memory: Returns: whether a #GstGemmclAllocator made @memory. */
gboolean gst_is_gemmcl_memory (GstMemory *memory);

/** gst_gemmcl_memory_fetch: Enqueues the copy to the host behind the command that writes @memory,
 * so that a map of the host finds it made or under way. Nothing where memory is mapped. */
void gst_gemmcl_memory_fetch (GstMemory *memory);

/** gst_gemmcl_memory_set_run: Makes the next map of the host, which waits for run number @run of
 * @inflight anyhow, release what that holds. */
void gst_gemmcl_memory_set_run (GstMemory *memory, GstGemmclInflight *inflight, guint64 run);

/** gst_gemmcl_memory_recycle: What is in @memory, which nobody else has, does not matter any more:
 * the next map does not copy it. The next command that writes waits for those that still use it. */
void gst_gemmcl_memory_recycle (GstMemory *memory);
