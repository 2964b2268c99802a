/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuzz.h"

#include "gemmcl-error.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <stdlib.h>
#include <unistd.h>

static gchar *dir, *cache;
static GHashTable *paths; /* by name */

static void
remove_dir (void)
{
  GHashTableIter iter;
  gpointer path;

  g_hash_table_iter_init (&iter, paths);
  while (g_hash_table_iter_next (&iter, NULL, &path))
    g_unlink (path);
  g_hash_table_unref (paths);
  g_rmdir (cache);
  g_rmdir (dir);
  g_free (cache);
  g_free (dir);
}

const gchar *
fuzz_dir (void)
{
  if (dir == NULL) {
    dir = g_dir_make_tmp ("gemmcl-fuzz-XXXXXX", NULL);
    g_assert_nonnull (dir);
    cache = g_build_filename (dir, "gemmcl", NULL);
    g_assert_cmpint (g_mkdir (cache, 0700), ==, 0);
    g_setenv ("XDG_CACHE_HOME", dir, TRUE);
    paths = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
    atexit (remove_dir);
  }
  return dir;
}

/* Not by g_file_set_contents(), which may wait for the disk. */
const gchar *
fuzz_write (const gchar *name, gconstpointer data, gsize size)
{
  gchar *path = g_build_filename (fuzz_dir (), name, NULL);
  const gint fd = g_open (path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

  g_assert_cmpint (fd, >=, 0);
  g_assert_cmpint (write (fd, data, size), ==, size);
  g_assert_cmpint (close (fd), ==, 0);
  g_hash_table_insert (paths, g_strdup (name), path);
  return path;
}

void
fuzz_write_cache (const gchar *name, gconstpointer data, gsize size)
{
  g_autofree gchar *full = g_build_filename ("gemmcl", name, NULL);

  fuzz_write (full, data, size);
}

void
fuzz_check_error (gboolean failed, GError *error)
{
  g_assert_true (failed == (error != NULL));
  if (error == NULL)
    return;
  g_assert_true (error->domain == GEMMCL_ERROR);
  g_assert_true (error->message[0] != '\0' && g_utf8_validate (error->message, -1, NULL));
}
