/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gst/video/video.h>

#include "memory/sharing.h"

/* OpenCL objects of memory of other drivers, for va.c, and frames in linear dma-bufs, imported as
 * OpenCL buffers by cl_khr_external_memory. */

/** gst_gemmcl_get_platform: Returns: the platform of the device. */
cl_platform_id gst_gemmcl_get_platform (GemmclContext *context);

/** gst_gemmcl_get_root: Returns: (transfer none): @memory, or the memory of which it is a part. */
GstMemory *gst_gemmcl_get_root (GstMemory *memory);

/** GstGemmclImporter: Makes the OpenCL objects of @memory, whose content has @id. @objects:
 * (inout): all %NULL before; they stay %NULL if @memory has to be read in another way. */
typedef gboolean (*GstGemmclImporter) (GstGemmclSharing *sharing, GstMemory *memory, guintptr id,
                                       cl_mem objects[GEMMCL_MAX_PLANES], GError **error);

/** gst_gemmcl_import: Imports @memory. @id: its content, such as a surface. @objects: (out)
 * (transfer none): the objects of @make, which live as long as @memory has that content. @make is
 * called once for each element, context and content, and not for each buffer: pools reuse memory.
 * Returns: %FALSE if @make fails. For the streaming thread. */
gboolean gst_gemmcl_import (GstGemmclSharing *sharing, GstMemory *memory, guintptr id,
                            GstGemmclImporter make, cl_mem objects[GEMMCL_MAX_PLANES],
                            GError **error);

/** gst_gemmcl_dmabuf_can_import: Returns: %TRUE if the device reads dma-bufs. Any thread. */
gboolean gst_gemmcl_dmabuf_can_import (GemmclContext *context);

/** gst_gemmcl_dmabuf_is_shared: Returns: %TRUE if a memory of @buffer was made by
 * gst_memory_share() from a media driver's dma-buf, whose map crashes GStreamer 1.22. */
gboolean gst_gemmcl_dmabuf_is_shared (GstBuffer *buffer);

/** gst_gemmcl_dmabuf_open: Does what gst_gemmcl_va_open() does, for a frame in a dma-buf. @frame,
 * @info: the frame, by caps. Returns: %TRUE if @buffer is a single dma-buf, in one or several
 * memories, that the device can import and that holds the frame. Otherwise the log has the reason,
 * and the caller maps @buffer on the host, which fails with an error if the frame does not fit. */
gboolean gst_gemmcl_dmabuf_open (GstGemmclSharing *self, const GemmclFrame *frame,
                                 const GstVideoInfo *info, GstBuffer *buffer, GemmclData *data,
                                 GemmclRun *run);
