/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "memory/fail.h"

gboolean
gst_gemmcl_fail (GError **error, GemmclError code, const gchar *format, ...)
{
  va_list arguments;

  va_start (arguments, format);
  g_propagate_error (error, g_error_new_valist (GEMMCL_ERROR, code, format, arguments));
  va_end (arguments);
  return FALSE;
}
