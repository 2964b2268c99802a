/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "element/gstgemmcl.h"

#include <gemmcl-opencl.h>

/* VA surfaces on the sink pad, by cl_intel_va_api_media_sharing. Where the plugin was built without
 * libgstva, nothing can be shared, and the functions say so. */

/** GST_GEMMCL_VA_N_PROPERTIES: a VADisplay, that its users synchronise, and the 0 at the end. */
#define GST_GEMMCL_VA_N_PROPERTIES 5

/** gst_gemmcl_va_take_display: Remembers the display in @shared, a context of any type or %NULL.
 * Any thread. */
void gst_gemmcl_va_take_display (GstGemmcl *self, GstContext *shared);

/** gst_gemmcl_va_ask_for_display: Asks elements, bins and the application for a display, unless one
 * is known or @device cannot share anyhow. Any thread, no lock held. */
void gst_gemmcl_va_ask_for_display (GstGemmcl *self, const GemmclDeviceInfo *device);

/**
 * gst_gemmcl_va_get_properties:
 * @properties: (out): what an OpenCL context on @context's device has to be made with
 *
 * Returns: whether the element knows a display that the device shares; else there are none.
 */
gboolean
gst_gemmcl_va_get_properties (GstGemmcl *self, GemmclContext *context,
                              cl_context_properties properties[GST_GEMMCL_VA_N_PROPERTIES]);

/** gst_gemmcl_va_fits: Returns: whether @context was made with the display that the element knows;
 * also if it knows none that the device shares, or @context is the application's. */
gboolean gst_gemmcl_va_fits (GstGemmcl *self, GemmclContext *context);

/** gst_gemmcl_va_bind: Makes @context keep the display with which it was made. */
void gst_gemmcl_va_bind (GstGemmcl *self, GemmclContext *context);

/** gst_gemmcl_va_check: Returns: whether @context can share surfaces, as far as is known before
 * there is one; else %FALSE with #GEMMCL_ERROR_NO_DEVICE, which says why. */
gboolean gst_gemmcl_va_check (GstGemmcl *self, GemmclContext *context, GError **error);

/** gst_gemmcl_va_has_surface: Returns: whether @buffer, in whatever memory, is a whole surface. */
gboolean gst_gemmcl_va_has_surface (GstBuffer *buffer);

/** gst_gemmcl_va_expect_surface: The same; else an error, for caps that allow nothing else. */
gboolean gst_gemmcl_va_expect_surface (GstGemmcl *self, GstBuffer *buffer, GError **error);

/** gst_gemmcl_va_needs_context: Makes the display of @buffer's surface the one that the element
 * knows. Returns: whether the element then needs another context, and can have it. */
gboolean gst_gemmcl_va_needs_context (GstGemmcl *self, GstBuffer *buffer);

/**
 * gst_gemmcl_va_open:
 * @buffer: with a surface of the context's display; to be kept until the run is finished
 * @data: (out): its planes
 * @run: told how they are acquired and released
 *
 * Waits until the surface is rendered.
 */
gboolean gst_gemmcl_va_open (GstGemmcl *self, GstBuffer *buffer, GemmclData *data, GemmclRun *run,
                             GError **error);
