/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "memory/error.h"
#include "memory/sharing.h"

/* VA surfaces on the sink pad, read by cl_intel_va_api_media_sharing. A plugin built without
 * libgstva reads no surfaces, and its errors say so. Any thread may call the functions, unless they
 * say otherwise. */

#if GEMMCL_HAVE_VA

/** gst_gemmcl_va_take_display: Stores the display in @shared, (nullable), if it has one. */
void gst_gemmcl_va_take_display (GstGemmclSharing *self, GstContext *shared);

/** gst_gemmcl_va_ask_for_display: Asks elements, bins and the application for a display, unless one
 * is known or @device cannot share surfaces. No lock may be held. */
void gst_gemmcl_va_ask_for_display (GstGemmclSharing *self, const GemmclDeviceInfo *device);

/** gst_gemmcl_va_add_display: @context: (transfer full) (nullable): of @query. Returns: (transfer
 * full) (nullable): a context of @query with the display, if a display is known, the device shares
 * it, and the context can be made; otherwise @context. */
GemmclContext *gst_gemmcl_va_add_display (GstGemmclSharing *self, const GemmclDeviceQuery *query,
                                          GemmclContext *context);

/** gst_gemmcl_va_fits: Returns: %TRUE if @context may stay: because it was made with the display,
 * because no display is known that the device shares, or because the application made it. */
gboolean gst_gemmcl_va_fits (GstGemmclSharing *self, GemmclContext *context);

/** gst_gemmcl_va_bind: Makes @context keep a reference to the display with which it was made. */
void gst_gemmcl_va_bind (GstGemmclSharing *self, GemmclContext *context);

/** gst_gemmcl_va_check: Returns: %FALSE with #GEMMCL_ERROR_NO_DEVICE if @context cannot share
 * surfaces, as far as that is known before the first surface. The message has the reason. */
gboolean gst_gemmcl_va_check (GstGemmclSharing *self, GemmclContext *context, GError **error);

/** gst_gemmcl_va_has_surface: Returns: %TRUE if @buffer, of any memory, is a whole surface. */
gboolean gst_gemmcl_va_has_surface (GstBuffer *buffer);

/** gst_gemmcl_va_is_shared: For the streaming thread: if the context can read the surface. */
gboolean gst_gemmcl_va_is_shared (GstGemmclSharing *self, GstBuffer *buffer);

/** gst_gemmcl_va_needs_context: Stores the display of the surface in @buffer. Returns: %TRUE if the
 * surface needs another context, and the device shares the display. Only the first surface of a new
 * display has that result. For the streaming thread. */
gboolean gst_gemmcl_va_needs_context (GstGemmclSharing *self, GstBuffer *buffer);

/** gst_gemmcl_va_open: Imports the surface in @buffer and waits until it is rendered. The caller
 * keeps @buffer until the run is done. @data: (out): the planes. @run: gets the functions that
 * acquire and release the planes. For the streaming thread. */
gboolean gst_gemmcl_va_open (GstGemmclSharing *self, GstBuffer *buffer, GemmclData *data,
                             GemmclRun *run, GError **error);

#else
  #define gst_gemmcl_va_take_display(self, shared)           ((void)(self), (void)(shared))
  #define gst_gemmcl_va_ask_for_display(self, device)        ((void)(self), (void)(device))
  #define gst_gemmcl_va_add_display(self, query, context)    (context)
  #define gst_gemmcl_va_fits(self, context)                  TRUE
  #define gst_gemmcl_va_bind(self, context)                  ((void)(self))
  #define gst_gemmcl_va_has_surface(buffer)                  ((void)(buffer), FALSE)
  #define gst_gemmcl_va_is_shared(self, buffer)              ((void)(self), FALSE)
  #define gst_gemmcl_va_needs_context(self, buffer)          ((void)(buffer), FALSE)
  #define gst_gemmcl_va_open(self, buffer, data, run, error) ((void)(data), (void)(run), FALSE)
  #define gst_gemmcl_va_check(self, context, error)                                                \
    gst_gemmcl_fail (error, GEMMCL_ERROR_NO_DEVICE,                                                \
                     "The plugin was built without VA (libgstva): build it with -Dva=enabled, or " \
                     "let upstream send video/x-raw, which is copied.")
#endif
