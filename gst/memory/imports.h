/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gemmcl-opencl.h>
#include <gst/gst.h>

/** gst_gemmcl_get_root: Returns: (transfer none): the memory that @memory is a part of, or itself.
 */
GstMemory *gst_gemmcl_get_root (GstMemory *memory);

/**
 * GstGemmclImports:
 *
 * A cache of the OpenCL objects by which a device uses memory of others, such as the planes of a
 * surface. They are made once for each memory, which a pool uses again and again. They are released
 * with the memory, since its address, surface number or file descriptor may then be another's. For
 * one thread; any thread may free the memory.
 */
typedef struct _GstGemmclImports GstGemmclImports;

/** gst_gemmcl_imports_new: @most: the number of memories whose objects are kept. */
GstGemmclImports *gst_gemmcl_imports_new (guint most);

/** gst_gemmcl_imports_free: @self: (nullable). */
void gst_gemmcl_imports_free (GstGemmclImports *self);

/**
 * gst_gemmcl_imports_find:
 * @id: a number that changes when @memory is used for something else
 * @objects: (out) (transfer none): live until @most other memories were added, or all are dropped
 *
 * Returns: whether there are objects for it.
 */
gboolean gst_gemmcl_imports_find (GstGemmclImports *self, GstMemory *memory, guintptr id,
                                  cl_mem objects[GEMMCL_MAX_PLANES]);

/** gst_gemmcl_imports_add: @objects: (transfer full): nullable each; all %NULL remember that
 * @memory cannot be imported. */
void gst_gemmcl_imports_add (GstGemmclImports *self, GstMemory *memory, guintptr id,
                             const cl_mem objects[GEMMCL_MAX_PLANES]);

/** gst_gemmcl_imports_drop: Releases all objects; enqueued commands keep theirs. @self: (nullable).
 */
void gst_gemmcl_imports_drop (GstGemmclImports *self);
