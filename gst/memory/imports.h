/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "memory/sharing.h"

/* OpenCL objects of memory of other drivers, for dmabuf.c and va.c. */

/** gst_gemmcl_get_platform: Returns: the platform of the device. */
cl_platform_id gst_gemmcl_get_platform (GemmclContext *context);

/** gst_gemmcl_get_root: Returns: (transfer none): the memory of which @memory is a part; @memory if
 * it is not a part. */
GstMemory *gst_gemmcl_get_root (GstMemory *memory);

/** GstGemmclImporter: Makes the OpenCL objects of @memory, whose content has @id. @objects:
 * (inout): all %NULL before; they stay %NULL if the device refuses @memory and it can be read in
 * another way. */
typedef gboolean (*GstGemmclImporter) (GstGemmclSharing *sharing, GstMemory *memory, guintptr id,
                                       cl_mem objects[GEMMCL_MAX_PLANES], GError **error);

/** gst_gemmcl_import: Imports @memory. @id: its content, such as a surface. @objects: (out)
 * (transfer none): the objects of @make, which live as long as @memory has that content. @make is
 * called once for each element, context and content, and not for each buffer: pools reuse memory.
 * Returns: %FALSE if @make fails. For the streaming thread. */
gboolean gst_gemmcl_import (GstGemmclSharing *sharing, GstMemory *memory, guintptr id,
                            GstGemmclImporter make, cl_mem objects[GEMMCL_MAX_PLANES],
                            GError **error);
