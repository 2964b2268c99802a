/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gst/video/video.h>

#include "memory/device.h"

/* Imports frames in linear dma-bufs as OpenCL buffers, by cl_khr_external_memory. */

/** gst_gemmcl_dmabuf_can_import: Returns: %TRUE if the device reads dma-bufs without a copy. */
gboolean gst_gemmcl_dmabuf_can_import (GemmclContext *context);

/** gst_gemmcl_dmabuf_is_shared: Returns: TRUE if a memory of @buffer was made by gst_memory_share()
 * of a media driver's dma-buf. GStreamer 1.22 crashes when such a memory is mapped. */
gboolean gst_gemmcl_dmabuf_is_shared (GstBuffer *buffer);

/**
 * gst_gemmcl_dmabuf_open:
 * @image, @info: the frame of the caps
 * @buffer: of any memory; keep it until the run is done
 * @data: (out): the planes
 * @run: its functions for acquiring and releasing the planes are set
 *
 * Imports the dma-buf and waits until it is written. For the streaming thread.
 *
 * Returns: %FALSE unless @buffer is one dma-buf, in one or several memories, that the device can
 *   import and that holds the frame; the log has the reason. The caller then maps @buffer on the
 *   host, which fails with an error if the frame does not fit
 */
gboolean gst_gemmcl_dmabuf_open (GstGemmclDevice *self, const GemmclImage *image,
                                 const GstVideoInfo *info, GstBuffer *buffer, GemmclData *data,
                                 GemmclRun *run);
