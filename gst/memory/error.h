/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gemmcl.h>
#include <gst/gst.h>

/* Makes and posts errors of the plugin, and declares its log category. OpenCL memory has its own
 * category, in allocator.h. Any thread. */

GST_DEBUG_CATEGORY_EXTERN (gst_gemmcl_debug);

/** gst_gemmcl_fail: Sets @error as g_set_error() does, in the domain #GEMMCL_ERROR. The message is
 * made printable; text from users, files and other elements is quoted by gemmcl_quote(). Returns:
 * %FALSE, for the caller to return. */
gboolean gst_gemmcl_fail (GError **error, GemmclError code, const gchar *format, ...)
    G_GNUC_PRINTF (3, 4);

/** gst_gemmcl_quote_caps: Returns: (transfer full): @caps as a part of a message: at most the first
 * 400 bytes and the number of bytes that are left out. */
gchar *gst_gemmcl_quote_caps (const GstCaps *caps);

/** gst_gemmcl_post: Logs @error and posts it as a message of @type from @element, a GstElement. The
 * message has the domain and code of GStreamer that correspond to those of @error. @consequence:
 * (nullable): the effect, a sentence before the text of @error. No lock may be held. */
void gst_gemmcl_post (gpointer element, GstMessageType type, const gchar *consequence,
                      const GError *error);
