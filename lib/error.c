/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "error-private.h"

G_DEFINE_QUARK (gemmcl - error - quark, gemmcl_error)

gboolean
gemmcl_fail (GError **error, GemmclError code, const gchar *format, ...)
{
  va_list args;

  va_start (args, format);
  g_propagate_error (error, g_error_new_valist (GEMMCL_ERROR, code, format, args));
  va_end (args);
  return FALSE;
}
