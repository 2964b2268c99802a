/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "gemmcl-error.h"

/**
 * gemmcl_fail: sets @error as g_set_error() does, to a message that is valid UTF-8 whatever user's
 * words it quotes.
 *
 * Returns: %FALSE, for who returns that itself.
 */
gboolean gemmcl_fail (GError **error, GemmclError code, const gchar *format, ...)
    G_GNUC_PRINTF (3, 4);
