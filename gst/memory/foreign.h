/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gst/video/video.h>

#include "memory/device.h"
#include "memory/error.h"

/* Reads memory of other drivers in place: VA surfaces and linear dma-bufs. */

/** gst_gemmcl_get_platform: Returns: the platform of the device. */
cl_platform_id gst_gemmcl_get_platform (GemmclContext *context);

/** gst_gemmcl_get_root: Returns: (transfer none): the whole memory of which @memory is a part, or
 * @memory. */
GstMemory *gst_gemmcl_get_root (GstMemory *memory);

/** GstGemmclImporter: Makes the OpenCL objects of @memory, which are %NULL before; they stay so if
 * the device refuses it and there is another way to read it. */
typedef gboolean (*GstGemmclImporter) (GstGemmclDevice *device, GstMemory *memory, guintptr id,
                                       cl_mem objects[GEMMCL_MAX_PLANES], GError **error);

/** gst_gemmcl_import: Imports @memory with its content @id, such as a surface. @objects: (out)
 * (transfer none): those of @make, which is called once for each element, context and content,
 * since pools use memory again. They live as long as @memory has that content. Returns: %FALSE if
 * @make fails. For the streaming thread. */
gboolean gst_gemmcl_import (GstGemmclDevice *device, GstMemory *memory, guintptr id,
                            GstGemmclImporter make, cl_mem objects[GEMMCL_MAX_PLANES],
                            GError **error);

/* VA surfaces on the sink pad, by cl_intel_va_api_media_sharing. A plugin that was built without
 * libgstva shares no surfaces, and its errors say so. Any thread may call the functions, unless
 * they say otherwise. */

#ifdef GEMMCL_HAVE_VA

/** gst_gemmcl_va_take_display: Stores the display of @shared, (nullable), if it has one. */
void gst_gemmcl_va_take_display (GstGemmclDevice *self, GstContext *shared);

/** gst_gemmcl_va_ask_for_display: Asks elements, bins and the application for a display, unless one
 * is known or @device cannot share surfaces. No lock may be held. */
void gst_gemmcl_va_ask_for_display (GstGemmclDevice *self, const GemmclDeviceInfo *device);

/** gst_gemmcl_va_add_display: @context: (transfer full) (nullable). Returns: (transfer full)
 * (nullable): a context of @query with the display, if one is known that the device shares and the
 * context can be made; otherwise @context. */
GemmclContext *gst_gemmcl_va_add_display (GstGemmclDevice *self, const GemmclDeviceQuery *query,
                                          GemmclContext *context);

/** gst_gemmcl_va_fits: Returns: %TRUE if @context may stay: it was made with the display, no
 * display is known that the device shares, or the application made it. */
gboolean gst_gemmcl_va_fits (GstGemmclDevice *self, GemmclContext *context);

/** gst_gemmcl_va_bind: Makes @context keep a reference to the display with which it was made. */
void gst_gemmcl_va_bind (GstGemmclDevice *self, GemmclContext *context);

/** gst_gemmcl_va_check: Returns: %FALSE with #GEMMCL_ERROR_NO_DEVICE if @context cannot share
 * surfaces, as far as that is known before the first one. The message has the reason. */
gboolean gst_gemmcl_va_check (GstGemmclDevice *self, GemmclContext *context, GError **error);

/** gst_gemmcl_va_has_surface: Returns: %TRUE if @buffer, of any memory, is a whole surface. */
gboolean gst_gemmcl_va_has_surface (GstBuffer *buffer);

/** gst_gemmcl_va_is_shared: Returns: %TRUE if the context can read the surface in @buffer. For the
 * streaming thread. */
gboolean gst_gemmcl_va_is_shared (GstGemmclDevice *self, GstBuffer *buffer);

/** gst_gemmcl_va_needs_context: Stores the display of the surface in @buffer. Returns: %TRUE, once
 * for a display, if the surface needs another context, and that can be made. For the streaming
 * thread. */
gboolean gst_gemmcl_va_needs_context (GstGemmclDevice *self, GstBuffer *buffer);

/** gst_gemmcl_va_open: Imports the surface in @buffer, which is kept until the run is done, and
 * waits until it is rendered. @data: (out): the planes. @run: gets the functions that acquire and
 * release them. For the streaming thread. */
gboolean gst_gemmcl_va_open (GstGemmclDevice *self, GstBuffer *buffer, GemmclData *data,
                             GemmclRun *run, GError **error);

#else
  #define gst_gemmcl_va_take_display(self, shared)           ((void)(self), (void)(shared))
  #define gst_gemmcl_va_ask_for_display(self, device)        ((void)(self), (void)(device))
  #define gst_gemmcl_va_add_display(self, query, context)    (context)
  #define gst_gemmcl_va_fits(self, context)                  TRUE
  #define gst_gemmcl_va_bind(self, context)                  ((void)(self))
  #define gst_gemmcl_va_has_surface(buffer)                  ((void)(buffer), FALSE)
  #define gst_gemmcl_va_is_shared(self, buffer)              FALSE
  #define gst_gemmcl_va_needs_context(self, buffer)          ((void)(buffer), FALSE)
  #define gst_gemmcl_va_open(self, buffer, data, run, error) ((void)(data), (void)(run), FALSE)
  #define gst_gemmcl_va_check(self, context, error)                                                \
    gst_gemmcl_fail (error, GEMMCL_ERROR_NO_DEVICE,                                                \
                     "The plugin was built without VA (libgstva): build it with -Dva=enabled, or " \
                     "let upstream give video/x-raw, which is copied.")
#endif

/* Frames in linear dma-bufs, imported as OpenCL buffers by cl_khr_external_memory. */

/** gst_gemmcl_dmabuf_find_functions: @acquire, @release: (out) (nullable): the functions of
 * #GemmclRun for dma-bufs; %NULL if the device of @context cannot import them. */
void gst_gemmcl_dmabuf_find_functions (GemmclContext *context, GCallback *acquire,
                                       GCallback *release);

/** gst_gemmcl_dmabuf_can_import: Returns: %TRUE if the device reads dma-bufs without a copy. */
gboolean gst_gemmcl_dmabuf_can_import (GstGemmclDevice *self);

/** gst_gemmcl_dmabuf_is_shared: Returns: TRUE if a memory of @buffer was made by gst_memory_share()
 * of a media driver's dma-buf. GStreamer 1.22 crashes when such a memory is mapped. */
gboolean gst_gemmcl_dmabuf_is_shared (GstBuffer *buffer);

/** gst_gemmcl_dmabuf_open: The same for a frame, by caps @image and @info, in a dma-buf. Returns:
 * %FALSE unless @buffer is one dma-buf, in one or several memories, that the device can import and
 * that holds the frame; the log has the reason. The caller then maps @buffer on the host, which
 * fails with an error if the frame does not fit. */
gboolean gst_gemmcl_dmabuf_open (GstGemmclDevice *self, const GemmclImage *image,
                                 const GstVideoInfo *info, GstBuffer *buffer, GemmclData *data,
                                 GemmclRun *run);
