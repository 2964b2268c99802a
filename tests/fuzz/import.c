/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuzz.h"

#include <glib/gstdio.h>

#include "gemmcl-error.h"
#include "tool.h"

/* The standard output of gemmcl import. */
static GString *printed;

static void
print (const gchar *text)
{
  g_string_append (printed, text);
}

static void
ignore (G_GNUC_UNUSED const gchar *text)
{
}

/* -o FOLDER, once, and what is printed */
static void
prepare (gchar *folder)
{
  g_autoptr (GOptionContext) context = g_option_context_new (NULL);
  gchar *options[] = {"", "-o", folder, NULL}, **line = options;
  gint n = 3;

  g_option_context_add_main_entries (context, tool_import.groups[0].entries, NULL);
  g_assert_true (g_option_context_parse (context, &n, &line, NULL));
  g_set_print_handler (print);
  g_set_printerr_handler (ignore);
  printed = g_string_new (NULL);
}

/* gemmcl import: an ONNX model as a whole line and its weights, or a reason and nothing else. */
void
fuzz_import (const guint8 *data, gsize size)
{
  g_autofree gchar *path = g_strdup (fuzz_write_file ("a.onnx", data, size));
  g_autofree gchar *weights = g_strdup (fuzz_write_file ("a.safetensors", "", 0));
  g_autofree gchar *folder = g_path_get_dirname (path);
  g_autoptr (GError) error = NULL;
  gboolean ok;

  g_unlink (weights);
  if (printed == NULL)
    prepare (folder);
  g_string_truncate (printed, 0);
  ok = tool_import.run ((gchar *[]){path, NULL}, &error);
  g_assert_true (g_str_has_prefix (printed->str, "gst-launch-1.0 ") == ok);
  g_assert_true (ok || (printed->len == 0 && !g_file_test (weights, G_FILE_TEST_EXISTS)));
  if (error != NULL && error->domain == TOOL_ERROR)
    error->domain = GEMMCL_ERROR;
  fuzz_check_error (!ok, error);
}
