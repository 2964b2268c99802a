/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gemmcl-opencl.h>
#include <gst/gst.h>

/** gst_gemmcl_get_root: Returns: (transfer none): the whole memory of which @memory is a part, or
 * @memory. */
GstMemory *gst_gemmcl_get_root (GstMemory *memory);

/**
 * GstGemmclImports:
 *
 * A cache of the OpenCL objects for foreign memory, such as the planes of a surface. Objects are
 * made once for each memory, since pools use memory again. They are released with the memory, whose
 * address, surface number or file descriptor may then be reused. For one thread; any thread may
 * free the memory.
 */
typedef struct _GstGemmclImports GstGemmclImports;

/** gst_gemmcl_imports_new: @most: the largest number of memories whose objects are kept. */
GstGemmclImports *gst_gemmcl_imports_new (guint most);

/** gst_gemmcl_imports_free: @self: (nullable). */
void gst_gemmcl_imports_free (GstGemmclImports *self);

/**
 * gst_gemmcl_imports_find:
 * @id: identifies the content of @memory, such as its surface; with another @id objects are invalid
 * @objects: (out) (transfer none): they live until @most other memories were added, or all are
 *   dropped
 *
 * Returns: %TRUE if the cache has objects for @memory
 */
gboolean gst_gemmcl_imports_find (GstGemmclImports *self, GstMemory *memory, guintptr id,
                                  cl_mem objects[GEMMCL_MAX_PLANES]);

/** gst_gemmcl_imports_add: @objects: (transfer full): each nullable; all %NULL: @memory cannot be
 * imported. */
void gst_gemmcl_imports_add (GstGemmclImports *self, GstMemory *memory, guintptr id,
                             const cl_mem objects[GEMMCL_MAX_PLANES]);

/** gst_gemmcl_imports_drop: Releases all objects; enqueued commands keep theirs. @self: (nullable).
 */
void gst_gemmcl_imports_drop (GstGemmclImports *self);
