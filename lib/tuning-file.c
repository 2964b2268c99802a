/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <fcntl.h>
#include <gio/gio.h>
#include <glib/gstdio.h>
#include <sys/file.h>
#include <unistd.h>

#include "matrix-private.h"
#include "tuning-shipped.h"
#include "tuning.h"

#define VERSION     1
#define MAX_SIZE    (4 << 20) /* of a file that is read at all */
#define MAX_ENTRIES 4096      /* the oldest go */
#define SHIPPED     "/gemmcl/tuning-shipped.json"

static gchar *
get_dir (void)
{
  return g_build_filename (g_get_user_cache_dir (), "gemmcl", NULL);
}

gchar *
gemmcl_tuning_get_path (void)
{
  return g_build_filename (g_get_user_cache_dir (), "gemmcl", "tuning.json", NULL);
}

/* (transfer full): the list in such a file; empty when there is none. @version is what it says. */
static json_t *
get_entries (const gchar *text, gsize length, json_int_t *version)
{
  g_autoptr (json_t) root = json_loadb (text, length, JSON_REJECT_DUPLICATES, NULL);
  json_t *entries = NULL;

  *version = VERSION;
  if (json_unpack (root, "{s:I, s:o}", "version", version, "entries", &entries) != 0 ||
      *version != VERSION || !json_is_array (entries))
    return json_array ();
  return json_incref (entries);
}

static json_t *
load (const gchar *path, json_int_t *version)
{
  g_autofree gchar *text = NULL;
  gsize length = 0;
  GStatBuf status;

  *version = VERSION;
  if (g_stat (path, &status) != 0 || !S_ISREG (status.st_mode) || status.st_size > MAX_SIZE ||
      !g_file_get_contents (path, &text, &length, NULL))
    return json_array ();
  return get_entries (text, length, version);
}

json_t *
gemmcl_tuning_file_load (void)
{
  g_autofree gchar *path = gemmcl_tuning_get_path ();
  json_int_t version;

  return load (path, &version);
}

static gpointer
load_shipped (G_GNUC_UNUSED gpointer data)
{
  /* By name, or a static library would be linked without it. */
  g_autoptr (GBytes) bytes = g_resource_lookup_data (gemmcl_shipped_get_resource (), SHIPPED,
                                                     G_RESOURCE_LOOKUP_FLAGS_NONE, NULL);
  json_int_t version;

  return bytes ? get_entries (g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes), &version)
               : json_array ();
}

const json_t *
gemmcl_tuning_file_get_shipped (void)
{
  static GOnce once = G_ONCE_INIT;

  return g_once (&once, load_shipped, NULL);
}

/* A descriptor that holds the lock until it is closed; -1 with an error. */
static gint
lock (GError **error)
{
  g_autofree gchar *dir = get_dir ();
  g_autofree gchar *path = g_build_filename (dir, "tuning.lock", NULL);
  gint lock = -1;

  if (g_mkdir_with_parents (dir, 0700) == 0)
    lock = g_open (path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  while (lock >= 0 && flock (lock, LOCK_EX) != 0)
    if (errno != EINTR) {
      const gint why = errno;

      close (lock);
      lock = -1;
      errno = why;
    }
  if (lock < 0)
    gemmcl_set_file_error (error, GEMMCL_ERROR_IO, path, "It cannot be locked: %s.",
                           g_strerror (errno));
  return lock;
}

static gboolean
save (const gchar *path, json_t *entries, GError **error)
{
  g_autoptr (json_t) root = json_pack ("{s:i, s:O}", "version", VERSION, "entries", entries);
  g_autoptr (GError) why = NULL;
  gchar *text = json_dumps (root, JSON_INDENT (1));
  const gboolean saved =
      text != NULL &&
      g_file_set_contents_full (path, text, -1, G_FILE_SET_CONTENTS_CONSISTENT, 0600, &why);

  free (text);
  if (!saved)
    gemmcl_set_file_error (error, GEMMCL_ERROR_IO, path, "It cannot be written: %s.",
                           why ? why->message : "there is no memory");
  return saved;
}

gboolean
gemmcl_tuning_file_change (GemmclTuningChange change, gpointer data, GError **error)
{
  g_autofree gchar *path = gemmcl_tuning_get_path ();
  g_autoptr (json_t) entries = NULL;
  const gint locked = lock (error);
  json_int_t version;
  gboolean saved = FALSE;

  if (locked < 0)
    return FALSE;
  entries = load (path, &version);
  if (version > VERSION) {
    gemmcl_set_file_error (error, GEMMCL_ERROR_IO, path,
                           "It is of version %" JSON_INTEGER_FORMAT
                           ", from a newer gemmcl; expected %d. Move it away to tune with this "
                           "one.",
                           version, VERSION);
  } else {
    change (entries, data);
    while (json_array_size (entries) > MAX_ENTRIES)
      json_array_remove (entries, 0);
    saved = save (path, entries, error);
  }
  close (locked);
  return saved;
}
