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
