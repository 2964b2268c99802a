/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gst/gst.h>

/* Names of the columns of D. */

/** gst_gemmcl_labels_load: @text: a path, a file: URI, or a list such as ["cat","dog"] or
 * [cat,dog]. A file of at most 64 MiB has a label in each line, in UTF-8. Blanks around a label,
 * carriage returns and a byte order mark are no part of it. Returns: (transfer full) (element-type
 * utf8): at least one label; g_ptr_array_ref() may be called by any thread. %NULL with an error of
 * #GEMMCL_ERROR for a text or file of another form. */
GPtrArray *gst_gemmcl_labels_load (const gchar *text, GError **error);
