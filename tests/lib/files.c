/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include <glib/gstdio.h>

#include "files.h"

void
files_init (Files *files)
{
  g_autoptr (GError) error = NULL;

  files->dir = g_dir_make_tmp ("gemmcl-test-XXXXXX", &error);
  g_assert_no_error (error);
}

void
files_clear (Files *files)
{
  if (files->dir != NULL)
    files_remove_all (files->dir);
  g_clear_pointer (&files->dir, g_free);
}

void
files_enter_cache (const Files *files)
{
  const gchar *cache = g_getenv ("XDG_CACHE_HOME");
  g_autofree gchar *pocl = cache ? g_build_filename (cache, "pocl", NULL)
                                 : g_build_filename (g_get_home_dir (), ".cache", "pocl", NULL);

  g_setenv ("POCL_CACHE_DIR", pocl, FALSE);
  g_setenv ("XDG_CACHE_HOME", files->dir, TRUE);
  /* GLib looks once in a process. */
  g_assert_cmpstr (g_get_user_cache_dir (), ==, files->dir);
}

gchar *
files_path (const Files *files, const gchar *name)
{
  return g_build_filename (files->dir, name, NULL);
}

gchar *
files_write (const Files *files, const gchar *name, gconstpointer data, gsize n)
{
  g_autoptr (GError) error = NULL;
  gchar *path = files_path (files, name);

  g_unlink (path);
  g_file_set_contents_full (path, data, n, G_FILE_SET_CONTENTS_NONE, 0600, &error);
  g_assert_no_error (error);
  return path;
}

void
files_remove_all (const gchar *path)
{
  const gboolean is_link = g_file_test (path, G_FILE_TEST_IS_SYMLINK);
  g_autoptr (GDir) dir = is_link ? NULL : g_dir_open (path, 0, NULL);
  const gchar *name;

  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL) {
    g_autofree gchar *child = g_build_filename (path, name, NULL);

    files_remove_all (child);
  }
  g_remove (path);
}

GString *
files_npy (guint version, const gchar *header, gconstpointer data, gsize n)
{
  GString *file = g_string_new_len ("\x93NUMPY", 6);
  gsize prefix = version == 1 ? 10 : 12;
  gsize padded = (prefix + strlen (header) + 1 + 63) / 64 * 64 - prefix;

  g_string_append_c (file, (gchar)version);
  g_string_append_c (file, 0);
  for (gsize i = 8; i < prefix; i++)
    g_string_append_c (file, (gchar)(padded >> (8 * (i - 8)) & 0xff));
  g_string_append (file, header);
  while (file->len < prefix + padded - 1)
    g_string_append_c (file, ' ');
  g_string_append_c (file, '\n');
  g_string_append_len (file, data, n);
  return file;
}

GString *
files_safetensors (const gchar *json, gconstpointer data, gsize n)
{
  guint64 length = strlen (json);
  GString *file = g_string_new_len ((const gchar *)&length, sizeof length);

  g_string_append (file, json);
  g_string_append_len (file, data, n);
  return file;
}
