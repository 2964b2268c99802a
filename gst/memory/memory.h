/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gemmcl.h>

#include "memory/sides.h"

/* The GstMemory of gstgemmclmemory.h: a cl_mem with its events. */

/**
 * GstGemmclAllocator:
 *
 * Allocates such memory, by gst_allocator_alloc(). The memory is not zeroed, whatever the flags of
 * the parameters say, and an alignment above 128 bytes is refused. The result is %NULL if the
 * device does not have enough memory; the log says why.
 *
 * Memory references the allocator, which references the #GemmclContext.
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

/** gst_gemmcl_memory_get_sides: Returns: (transfer none): the sides of @memory, of a
 * #GstGemmclAllocator; a part of a memory has those of its whole. */
GstGemmclSides *gst_gemmcl_memory_get_sides (GstMemory *memory);
