/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuzz.h"

#include <glib/gstdio.h>

#include "gemmcl-error.h"
#include "tool.h"

static void
ignore (G_GNUC_UNUSED const gchar *text)
{
}

/* -o FOLDER, once */
static void
prepare (gchar *folder)
{
  g_autoptr (GOptionContext) context = g_option_context_new (NULL);
  gchar *options[] = {"", "-o", folder, NULL}, **line = options;
  gint n = 3;

  g_option_context_add_main_entries (context, tool_import.groups[0].entries, NULL);
  g_assert_true (g_option_context_parse (context, &n, &line, NULL));
  g_set_printerr_handler (ignore);
}

/* gemmcl import: an ONNX model as a whole line and its weights, or a reason and nothing else. */
void
fuzz_import (const guint8 *data, gsize size)
{
  g_autofree gchar *path = g_strdup (fuzz_write_file ("a.onnx", data, size));
  g_autofree gchar *weights = g_strdup (fuzz_write_file ("a.safetensors", "", 0));
  g_autofree gchar *folder = g_path_get_dirname (path);
  g_autofree gchar *printed = NULL;
  g_autoptr (GError) error = NULL;
  FILE *const out = stdout;
  static gboolean is_prepared;
  gsize length;
  gboolean ok;

  g_unlink (weights);
  if (!is_prepared)
    prepare (folder);
  is_prepared = TRUE;
  stdout = open_memstream (&printed, &length);
  ok = tool_import.run ((gchar *[]){path, NULL}, &error);
  fclose (stdout);
  stdout = out;
  g_assert_true (g_str_has_prefix (printed, "gst-launch-1.0 ") == ok);
  g_assert_true (ok || (length == 0 && !g_file_test (weights, G_FILE_TEST_EXISTS)));
  if (error != NULL && error->domain == TOOL_ERROR)
    error->domain = GEMMCL_ERROR;
  fuzz_check_error (!ok, error);
}
