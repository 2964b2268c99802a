/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gst/video/video.h>

#include "memory/sharing.h"

/* Frames in linear dma-bufs, imported as OpenCL buffers by cl_khr_external_memory. */

/** gst_gemmcl_dmabuf_find_functions: Sets acquire and release for the context of @self. The caller
 * holds the lock. */
void gst_gemmcl_dmabuf_find_functions (GstGemmclSharing *self);

/** gst_gemmcl_dmabuf_can_import: Returns: %TRUE if the device reads dma-bufs without a copy. */
gboolean gst_gemmcl_dmabuf_can_import (GstGemmclSharing *self);

/** gst_gemmcl_dmabuf_is_shared: Returns: %TRUE if a memory of @buffer was made by
 * gst_memory_share() from a media driver's dma-buf. GStreamer 1.22 crashes when such a memory is
 * mapped. */
gboolean gst_gemmcl_dmabuf_is_shared (GstBuffer *buffer);

/** gst_gemmcl_dmabuf_open: Does what gst_gemmcl_va_open() does, for a frame in a dma-buf. @frame,
 * @info: the frame, by caps. Returns: %TRUE if @buffer is a single dma-buf, in one or several
 * memories, that the device can import and that holds the frame. Otherwise the log has the reason,
 * and the caller maps @buffer on the host, which fails with an error if the frame does not fit. */
gboolean gst_gemmcl_dmabuf_open (GstGemmclSharing *self, const GemmclFrame *frame,
                                 const GstVideoInfo *info, GstBuffer *buffer, GemmclData *data,
                                 GemmclRun *run);
