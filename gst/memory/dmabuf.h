/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gst/video/video.h>

#include "memory/device.h"

/* Frames in linear dma-bufs, as buffers of the device, by cl_khr_external_memory. */

/** gst_gemmcl_dmabuf_can_import: Returns: whether the device reads dma-bufs without a copy. */
gboolean gst_gemmcl_dmabuf_can_import (GemmclContext *context);

/** gst_gemmcl_dmabuf_is_shared: Returns: TRUE if a memory of @buffer was made by gst_memory_share()
 * of a media driver's dma-buf. GStreamer 1.22 crashes when such a memory is mapped. */
gboolean gst_gemmcl_dmabuf_is_shared (GstBuffer *buffer);

/**
 * gst_gemmcl_dmabuf_open:
 * @image, @info: the frame that caps promise
 * @buffer: of any memory; to be kept until the run is done
 * @data: (out): the planes
 * @run: gets the functions that acquire and release them
 *
 * Waits until the dma-buf is written. For the streaming thread.
 *
 * Returns: %FALSE unless @buffer is one dma-buf, in one or several memories, that the device can
 *   import and that holds the frame; the log says why. It can then be mapped on the host, whose
 *   error says what is wrong with it.
 */
gboolean gst_gemmcl_dmabuf_open (GstGemmclDevice *self, const GemmclImage *image,
                                 const GstVideoInfo *info, GstBuffer *buffer, GemmclData *data,
                                 GemmclRun *run);
