/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "memory/imports.h"

/* Reads VA surfaces on the sink pad, by cl_intel_va_api_media_sharing. A plugin that was built
 * without libgstva shares no surfaces, and its errors say so. */

/** GST_GEMMCL_VA_N_PROPERTIES: a VADisplay, user synchronisation, and the 0 at the end. */
#define GST_GEMMCL_VA_N_PROPERTIES 5

/**
 * GstGemmclVa:
 *
 * The VADisplay of an element. Any thread may call the functions, unless they say otherwise. While
 * @lock is held, no other element is called and nothing is waited for.
 */
typedef struct {
  GstElement *element; /* the owner, for queries and logs; not referenced */

  GMutex lock;
  GstObject *display; /* (nullable): a GstVaDisplay */
  gboolean failed;    /* no OpenCL context could be made with display */
} GstGemmclVa;

void gst_gemmcl_va_init (GstGemmclVa *self, GstElement *element);
void gst_gemmcl_va_clear (GstGemmclVa *self);

/** gst_gemmcl_va_close: Forgets the display. */
void gst_gemmcl_va_close (GstGemmclVa *self);

/** gst_gemmcl_va_take_display: Stores the display of @shared, (nullable), if it has one. */
void gst_gemmcl_va_take_display (GstGemmclVa *self, GstContext *shared);

/** gst_gemmcl_va_ask_for_display: Asks elements, bins and the application for a display, unless one
 * is known or @device cannot share surfaces. No lock may be held. */
void gst_gemmcl_va_ask_for_display (GstGemmclVa *self, const GemmclDeviceInfo *device);

/**
 * gst_gemmcl_va_get_properties:
 * @properties: (out): the properties for a context on the device of @context with the display
 *
 * Returns: %TRUE if a display is known that the device shares; @properties is set only then
 */
gboolean
gst_gemmcl_va_get_properties (GstGemmclVa *self, GemmclContext *context,
                              cl_context_properties properties[GST_GEMMCL_VA_N_PROPERTIES]);

/** gst_gemmcl_va_set_failed: Call it if no context could be made with these properties.
 * gst_gemmcl_va_get_properties() then fails until another display is known. */
void gst_gemmcl_va_set_failed (GstGemmclVa *self);

/** gst_gemmcl_va_fits: Returns: %TRUE if @context may stay: it was made with the display, no
 * display is known that the device shares, or the application made it. */
gboolean gst_gemmcl_va_fits (GstGemmclVa *self, GemmclContext *context);

/** gst_gemmcl_va_bind: Makes @context keep a reference to the display with which it was made. */
void gst_gemmcl_va_bind (GstGemmclVa *self, GemmclContext *context);

/** gst_gemmcl_va_check: Returns: %FALSE with #GEMMCL_ERROR_NO_DEVICE if @context cannot share
 * surfaces, as far as that is known before the first one. The message has the reason. */
gboolean gst_gemmcl_va_check (GstGemmclVa *self, GemmclContext *context, GError **error);

/** gst_gemmcl_va_has_surface: Returns: %TRUE if @buffer, of any memory, is a whole surface. */
gboolean gst_gemmcl_va_has_surface (GstBuffer *buffer);

/** gst_gemmcl_va_needs_context: Stores the display of the surface in @buffer. Returns: %TRUE if the
 * surface needs another context than @context, and that can be made. */
gboolean gst_gemmcl_va_needs_context (GstGemmclVa *self, GemmclContext *context, GstBuffer *buffer);

/**
 * gst_gemmcl_va_open:
 * @context: made with the display of the surface
 * @buffer: with a surface; keep it until the run is done
 * @data: (out): the planes
 * @run: its functions for acquiring and releasing the planes are set
 *
 * Imports the surface and waits until it is rendered. For the streaming thread.
 */
gboolean gst_gemmcl_va_open (GstGemmclVa *self, GemmclContext *context, GstGemmclImports *imports,
                             GstBuffer *buffer, GemmclData *data, GemmclRun *run, GError **error);
