/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "element/gstgemmcl.h"

#include <gemmcl-opencl.h>

/* Pictures in dma-bufs, linear ones, as buffers of the device, by cl_khr_external_memory. */

/** gst_gemmcl_dmabuf_can_import: Returns: whether the device sees dma-bufs without a copy. */
gboolean gst_gemmcl_dmabuf_can_import (GemmclContext *context);

/** gst_gemmcl_dmabuf_is_torn: Returns: whether @buffer has a part of a media driver's dma-buf,
 * which nobody can read: it is no surface, may be tiled, and GStreamer crashes when it is mapped.
 */
gboolean gst_gemmcl_dmabuf_is_torn (GstBuffer *buffer);

/**
 * gst_gemmcl_dmabuf_open:
 * @buffer: of any memory; to be kept until the run is finished
 * @data: (out): where its planes are
 * @run: told how they are acquired and released
 *
 * Waits until whoever writes to the dma-buf has done so.
 *
 * Returns: %FALSE if it is not one dma-buf, in one memory or several, that the device can import
 * and that holds the picture: it is then to be mapped on the host, which says what is wrong. The
 * log says why.
 */
gboolean gst_gemmcl_dmabuf_open (GstGemmcl *self, GstBuffer *buffer, GemmclData *data,
                                 GemmclRun *run);
