/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Messages may quote a user's words, whatever their encoding: they are made valid UTF-8.
 */
#pragma once

#include "gemmcl-error.h"

/** Sets @error as g_set_error() does. Returns: %FALSE, for callers to return. */
gboolean gemmcl_fail (GError **error, GemmclError code, const gchar *format, ...)
    G_GNUC_PRINTF (3, 4);

/** Does the same, with the name of the file before the message. */
gboolean gemmcl_fail_file (GError **error, GemmclError code, const gchar *path, const gchar *format,
                           ...) G_GNUC_PRINTF (4, 5);
