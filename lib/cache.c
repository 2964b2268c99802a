/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cache.h"

#include <glib/gstdio.h>
#include <string.h>

#define MAGIC       "GEMMCL 1"
#define HEX_LENGTH  64 /* of a SHA-256 */
#define HEAD_LENGTH (strlen (MAGIC) + 2 * HEX_LENGTH)
#define SUFFIX      ".bin"
#define MAX_ENTRIES 1024

static gchar *
cache_dir (void)
{
  return g_build_filename (g_get_user_cache_dir (), "gemmcl", NULL);
}

static gchar *
cache_path (const gchar *key)
{
  g_autofree gchar *dir = cache_dir ();
  g_autofree gchar *name = g_strconcat (key, SUFFIX, NULL);
  return g_build_filename (dir, name, NULL);
}

static gchar *
make_head (const gchar *key, gconstpointer data, gsize size)
{
  g_autofree gchar *sum = g_compute_checksum_for_data (G_CHECKSUM_SHA256, data, size);
  return g_strconcat (MAGIC, key, sum, NULL);
}

GBytes *
gemmcl_cache_load (const gchar *key)
{
  g_autofree gchar *path = cache_path (key);
  g_autofree gchar *content = NULL;
  g_autofree gchar *head = NULL;
  gsize length;

  if (!g_file_test (path, G_FILE_TEST_IS_REGULAR) ||
      !g_file_get_contents (path, &content, &length, NULL) || length <= HEAD_LENGTH)
    return NULL;
  head = make_head (key, content + HEAD_LENGTH, length - HEAD_LENGTH);
  if (memcmp (head, content, HEAD_LENGTH) != 0)
    return NULL;
  return g_bytes_new (content + HEAD_LENGTH, length - HEAD_LENGTH);
}

typedef struct {
  gchar *path;
  gint64 modified;
} Entry;

static void
entry_clear (gpointer data)
{
  g_free (((Entry *)data)->path);
}

static gint
compare_modified (gconstpointer a, gconstpointer b)
{
  const gint64 x = ((const Entry *)a)->modified, y = ((const Entry *)b)->modified;
  return x < y ? -1 : x > y;
}

/* Every size of picture makes a program of its own: without a limit a cache grows for ever. */
static void
forget_oldest (const gchar *dir_path)
{
  g_autoptr (GDir) dir = g_dir_open (dir_path, 0, NULL);
  g_autoptr (GArray) entries = g_array_new (FALSE, FALSE, sizeof (Entry));
  const gchar *name;

  g_array_set_clear_func (entries, entry_clear);
  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL) {
    Entry entry = {g_build_filename (dir_path, name, NULL), 0};
    GStatBuf status;

    if (g_str_has_suffix (name, SUFFIX) && g_stat (entry.path, &status) == 0) {
      entry.modified = status.st_mtime;
      g_array_append_val (entries, entry);
    } else {
      g_free (entry.path);
    }
  }
  if (entries->len <= MAX_ENTRIES)
    return;
  g_array_sort (entries, compare_modified);
  for (guint i = 0; i < entries->len - MAX_ENTRIES / 2; i++)
    (void)g_unlink (g_array_index (entries, Entry, i).path);
}

void
gemmcl_cache_store (const gchar *key, gconstpointer data, gsize size)
{
  g_autofree gchar *dir = cache_dir ();
  g_autofree gchar *path = cache_path (key);
  g_autofree gchar *head = make_head (key, data, size);
  g_autofree gchar *content = g_try_malloc (HEAD_LENGTH + size);

  if (content == NULL || g_mkdir_with_parents (dir, 0700) != 0)
    return;
  memcpy (content, head, HEAD_LENGTH);
  memcpy (content + HEAD_LENGTH, data, size);
  (void)g_file_set_contents_full (path, content, HEAD_LENGTH + size, G_FILE_SET_CONTENTS_CONSISTENT,
                                  0600, NULL);
  forget_oldest (dir);
}
