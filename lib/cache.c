/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cache.h"

#include <glib/gstdio.h>
#include <string.h>

#include "cache-dir.h"

#define MAGIC       "GEMMCL 1"
#define HEX_LENGTH  64 /* of a SHA-256 */
#define HEAD_LENGTH (strlen (MAGIC) + 2 * HEX_LENGTH)
#define SUFFIX      ".bin"
#define MAX_ENTRIES 1024
#define MAX_SIZE    (64 << 20) /* of the data; programs have up to a few MiB */

static gchar *
make_head (const gchar *key, gconstpointer data, gsize size)
{
  g_autofree gchar *sum = g_compute_checksum_for_data (G_CHECKSUM_SHA256, data, size);
  return g_strconcat (MAGIC, key, sum, NULL);
}

GBytes *
gemmcl_cache_load (const gchar *key)
{
  g_autofree gchar *name = g_strconcat (key, SUFFIX, NULL);
  g_autoptr (GBytes) content = gemmcl_cache_dir_read (name, HEAD_LENGTH + MAX_SIZE, NULL);
  const gsize length = content ? g_bytes_get_size (content) : 0;
  g_autofree gchar *head = NULL;
  const gchar *data;

  if (length <= HEAD_LENGTH)
    return NULL;
  data = g_bytes_get_data (content, NULL);
  head = make_head (key, data + HEAD_LENGTH, length - HEAD_LENGTH);
  if (memcmp (head, data, HEAD_LENGTH) != 0)
    return NULL;
  return g_bytes_new_from_bytes (content, HEAD_LENGTH, length - HEAD_LENGTH);
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
forget_oldest (void)
{
  g_autofree gchar *dir_path = gemmcl_cache_dir_get_path (NULL);
  g_autoptr (GDir) dir = g_dir_open (dir_path, 0, NULL);
  g_autoptr (GArray) entries = g_array_new (FALSE, FALSE, sizeof (Entry));
  const gchar *name;

  g_array_set_clear_func (entries, entry_clear);
  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL) {
    Entry entry = {g_build_filename (dir_path, name, NULL), 0};
    GStatBuf status;

    if (g_str_has_suffix (name, SUFFIX) && g_lstat (entry.path, &status) == 0) {
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
  g_autofree gchar *name = g_strconcat (key, SUFFIX, NULL);
  g_autofree gchar *head = NULL, *content = NULL;
  g_autoptr (GError) why = NULL;

  if (size > MAX_SIZE || (content = g_try_malloc (HEAD_LENGTH + size)) == NULL)
    return;
  head = make_head (key, data, size);
  memcpy (content, head, HEAD_LENGTH);
  memcpy (content + HEAD_LENGTH, data, size);
  if (gemmcl_cache_dir_write (name, content, HEAD_LENGTH + size, &why))
    forget_oldest ();
  else
    g_debug ("Not stored in the cache: %s", why->message);
}
