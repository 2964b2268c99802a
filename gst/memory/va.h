/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "memory/imports.h"

/* VA surfaces on the sink pad, by cl_intel_va_api_media_sharing. In a plugin that was built without
 * libgstva nothing can be shared, and the errors say so. */

/** GST_GEMMCL_VA_N_PROPERTIES: a VADisplay, user synchronisation, and the 0 at the end. */
#define GST_GEMMCL_VA_N_PROPERTIES 5

/**
 * GstGemmclVa:
 *
 * The VADisplay that an element was given. Any thread may call the functions, unless they say
 * otherwise; nothing is called or waited for with @lock held.
 */
typedef struct {
  GstElement *element; /* whose display it is, not referenced: it asks and logs */

  GMutex lock;
  GstObject *display; /* (nullable): a GstVaDisplay */
  gboolean failed;    /* no OpenCL context could be made with display */
} GstGemmclVa;

void gst_gemmcl_va_init (GstGemmclVa *self, GstElement *element);
void gst_gemmcl_va_clear (GstGemmclVa *self);

/** gst_gemmcl_va_close: Forgets the display. */
void gst_gemmcl_va_close (GstGemmclVa *self);

/** gst_gemmcl_va_take_display: Remembers the display in @shared, (nullable), if it has one. */
void gst_gemmcl_va_take_display (GstGemmclVa *self, GstContext *shared);

/** gst_gemmcl_va_ask_for_display: Asks elements, bins and the application for a display, unless one
 * is known or @device cannot share surfaces. No lock held. */
void gst_gemmcl_va_ask_for_display (GstGemmclVa *self, const GemmclDeviceInfo *device);

/**
 * gst_gemmcl_va_get_properties:
 * @properties: (out): with which to make an OpenCL context on the device of @context
 *
 * Returns: whether a display is known that the device shares; @properties is set only then.
 */
gboolean
gst_gemmcl_va_get_properties (GstGemmclVa *self, GemmclContext *context,
                              cl_context_properties properties[GST_GEMMCL_VA_N_PROPERTIES]);

/** gst_gemmcl_va_set_failed: No context could be made with these properties: there are none from
 * now on, until another display is known. */
void gst_gemmcl_va_set_failed (GstGemmclVa *self);

/** gst_gemmcl_va_fits: Returns: whether @context may stay: it was made with the display, no display
 * is known that the device shares, or the application made it. */
gboolean gst_gemmcl_va_fits (GstGemmclVa *self, GemmclContext *context);

/** gst_gemmcl_va_bind: Makes @context keep the display with which it was made. */
void gst_gemmcl_va_bind (GstGemmclVa *self, GemmclContext *context);

/** gst_gemmcl_va_check: Returns: whether @context can share surfaces, as far as that is known
 * before there is one; else %FALSE with #GEMMCL_ERROR_NO_DEVICE, whose message says why. */
gboolean gst_gemmcl_va_check (GstGemmclVa *self, GemmclContext *context, GError **error);

/** gst_gemmcl_va_has_surface: Returns: whether @buffer, of any memory, is a whole surface. */
gboolean gst_gemmcl_va_has_surface (GstBuffer *buffer);

/** gst_gemmcl_va_needs_context: Remembers the display of the surface in @buffer. Returns: whether
 * another context than @context is needed for it, and can be made. */
gboolean gst_gemmcl_va_needs_context (GstGemmclVa *self, GemmclContext *context, GstBuffer *buffer);

/**
 * gst_gemmcl_va_open:
 * @context: of the display of the surface
 * @buffer: with a surface; to be kept until the run is done
 * @data: (out): the planes
 * @run: gets the functions that acquire and release them
 *
 * Waits until the surface is rendered. For the streaming thread.
 */
gboolean gst_gemmcl_va_open (GstGemmclVa *self, GemmclContext *context, GstGemmclImports *imports,
                             GstBuffer *buffer, GemmclData *data, GemmclRun *run, GError **error);
