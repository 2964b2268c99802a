/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "error-private.h"

G_DEFINE_QUARK (gemmcl - error - quark, gemmcl_error)

gboolean
gemmcl_fail (GError **error, GemmclError code, const gchar *format, ...)
{
  g_autofree gchar *message = NULL;
  g_autofree gchar *text = NULL;
  va_list args;

  va_start (args, format);
  message = g_strdup_vprintf (format, args);
  va_end (args);
  text = g_utf8_make_valid (message, -1);
  g_set_error_literal (error, GEMMCL_ERROR, code, text);
  return FALSE;
}
