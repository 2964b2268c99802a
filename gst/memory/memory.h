/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gemmcl.h>

#include "memory/sides.h"

/* Implements the GstMemory of gstgemmclmemory.h: a cl_mem with its events. */

/**
 * GstGemmclAllocator:
 *
 * Allocates such memory, by gst_allocator_alloc(). The memory is not zeroed, even if the parameters
 * ask for it. An alignment above 128 bytes is refused. The result is %NULL if the device does not
 * have enough memory; the log has the reason.
 *
 * Memory references the allocator, which references the #GemmclContext.
 */
#define GST_TYPE_GEMMCL_ALLOCATOR (gst_gemmcl_allocator_get_type ())
G_DECLARE_FINAL_TYPE (GstGemmclAllocator, gst_gemmcl_allocator, GST, GEMMCL_ALLOCATOR, GstAllocator)

/** gst_gemmcl_allocator_new: Returns: (transfer full): an allocator of memory in @context, mapped
 * if the device shares the memory of the host, otherwise staged; %NULL with #GEMMCL_ERROR_OPENCL.
 */
GstAllocator *gst_gemmcl_allocator_new (GemmclContext *context, GError **error);

/** gst_gemmcl_allocator_new_with_side: Like gst_gemmcl_allocator_new(), with @side. */
GstAllocator *gst_gemmcl_allocator_new_with_side (GemmclContext *context, GstGemmclHostSide side,
                                                  GError **error);

/** gst_is_gemmcl_memory: Returns: %TRUE if a #GstGemmclAllocator made @memory. */
gboolean gst_is_gemmcl_memory (GstMemory *memory);

/** gst_gemmcl_memory_get_sides: @memory: from a #GstGemmclAllocator. Returns: (transfer none): its
 * sides; a part of a memory has those of its whole. */
GstGemmclSides *gst_gemmcl_memory_get_sides (GstMemory *memory);
