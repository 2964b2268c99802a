/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gemmcl.h>

/**
 * gst_gemmcl_fail: Sets @error as g_set_error() does.
 *
 * Returns: %FALSE, for who returns that itself.
 */
gboolean gst_gemmcl_fail (GError **error, GemmclError code, const gchar *format, ...)
    G_GNUC_PRINTF (3, 4);
