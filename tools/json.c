/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tool.h"

/* Enough for what a clock or a float can tell, without the tails of binary fractions. */
#define DIGITS 9

json_t *
tool_json_string (const gchar *text)
{
  g_autofree gchar *valid = text != NULL ? g_utf8_make_valid (text, -1) : NULL;

  return valid != NULL ? json_string (valid) : json_null ();
}

const gchar *
tool_json_get_string (const json_t *object, const gchar *key)
{
  return json_string_value (json_object_get (object, key));
}

json_t *
tool_json_number (gdouble number)
{
  return isfinite (number) ? json_real (number) : json_null ();
}

gboolean
tool_json_write (const json_t *json, const gchar *path, GError **error)
{
  g_autofree gchar *text = NULL;
  char *dump = json_dumps (json, JSON_INDENT (2) | JSON_REAL_PRECISION (DIGITS));

  if (dump == NULL) {
    g_set_error_literal (error, TOOL_ERROR, TOOL_ERROR_FAILED,
                         "There is not enough memory to write JSON.");
    return FALSE;
  }
  text = g_strconcat (dump, "\n", NULL);
  free (dump);
  /* What the standard output does not take, main() finds. */
  if (g_strcmp0 (path, "-") == 0)
    return fputs (text, stdout), TRUE;
  return g_file_set_contents (path, text, -1, error);
}
