/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gemmcl-opencl.h>
#include <gst/gst.h>

/** gst_gemmcl_get_root: Returns: (transfer none): the whole of what @memory may be a part of. */
GstMemory *gst_gemmcl_get_root (GstMemory *memory);

/**
 * GstGemmclImports:
 *
 * The OpenCL objects through which a device sees memory of others, such as planes of a surface:
 * made once for each memory, which a pool uses again and again, and gone when the memory is, since
 * an address, a surface's number or a file descriptor may soon be another's. One thread uses it,
 * but memory may be freed by any.
 */
typedef struct _GstGemmclImports GstGemmclImports;

/** gst_gemmcl_imports_new: @most: memories whose objects are kept at once. */
GstGemmclImports *gst_gemmcl_imports_new (guint most);

/** gst_gemmcl_imports_free: Also of %NULL. */
void gst_gemmcl_imports_free (GstGemmclImports *self);

/**
 * gst_gemmcl_imports_find:
 * @id: what @memory is of, a number by which it can be told from others
 * @objects: (out) (transfer none): live until @most other memories were added, or all are dropped
 *
 * Returns: whether there are objects for it.
 */
gboolean gst_gemmcl_imports_find (GstGemmclImports *self, GstMemory *memory, guintptr id,
                                  cl_mem objects[GEMMCL_MAX_PLANES]);

/** gst_gemmcl_imports_add: @objects: (transfer full): some may be %NULL; all are if @memory cannot
 * be imported, which is remembered in the same way. */
void gst_gemmcl_imports_add (GstGemmclImports *self, GstMemory *memory, guintptr id,
                             const cl_mem objects[GEMMCL_MAX_PLANES]);

/** gst_gemmcl_imports_drop: Releases all objects; what is enqueued keeps them. Also of %NULL. */
void gst_gemmcl_imports_drop (GstGemmclImports *self);
