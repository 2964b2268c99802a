/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gemmcl.h>
#include <gst/gst.h>

/* Errors of the plugin, and its log category. OpenCL memory has its own category, in sides.h. Any
 * thread. */

GST_DEBUG_CATEGORY_EXTERN (gst_gemmcl_debug);

/** gst_gemmcl_fail: Sets @error as g_set_error() does, in the domain #GEMMCL_ERROR. Returns:
 * %FALSE, for the caller to return. */
gboolean gst_gemmcl_fail (GError **error, GemmclError code, const gchar *format, ...)
    G_GNUC_PRINTF (3, 4);

/** gst_gemmcl_post: Logs @error and posts it on the bus, in a message of @type, from @element, a
 * GstElement, with GStreamer's domain and code for those of @error. @consequence: (nullable): a
 * sentence about its effect, put before its text. No lock may be held. */
void gst_gemmcl_post (gpointer element, GstMessageType type, const gchar *consequence,
                      const GError *error);
