/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <fcntl.h>
#include <gio/gio.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/file.h>

#include "cache-dir.h"
#include "fd.h"
#include "matrix-private.h"
#include "tuning-shipped.h"
#include "tuning.h"

#define VERSION     1
#define MAX_SIZE    (4 << 20) /* of a file that is read at all */
#define MAX_ENTRIES 4096      /* the oldest go */
#define NAME        "tuning.json"
#define SHIPPED     "/gemmcl/tuning-shipped.json"

gchar *
gemmcl_tuning_get_path (void)
{
  return gemmcl_cache_dir_get_path (NAME);
}

/* (transfer full): the list in such a file; empty when there is none. @version is what it says. */
static json_t *
get_entries (GBytes *text, json_int_t *version)
{
  gsize length = 0;
  const gchar *data = text ? g_bytes_get_data (text, &length) : NULL;
  g_autoptr (json_t) root =
      length > 0 ? json_loadb (data, length, JSON_REJECT_DUPLICATES, NULL) : NULL;
  json_t *entries = NULL;

  *version = VERSION;
  if (json_unpack (root, "{s:I, s:o}", "version", version, "entries", &entries) != 0 ||
      *version != VERSION || !json_is_array (entries))
    return json_array ();
  return json_incref (entries);
}

json_t *
gemmcl_tuning_file_load (void)
{
  g_autoptr (GBytes) bytes = gemmcl_cache_dir_read (NAME, MAX_SIZE, NULL);
  json_int_t version;

  return get_entries (bytes, &version);
}

static gpointer
load_shipped (G_GNUC_UNUSED gpointer data)
{
  /* By name, or a static library would be linked without it. */
  g_autoptr (GBytes) bytes = g_resource_lookup_data (gemmcl_shipped_get_resource (), SHIPPED,
                                                     G_RESOURCE_LOOKUP_FLAGS_NONE, NULL);
  json_int_t version;

  return get_entries (bytes, &version);
}

const json_t *
gemmcl_tuning_file_get_shipped (void)
{
  static GOnce once = G_ONCE_INIT;

  return g_once (&once, load_shipped, NULL);
}

/* A descriptor that holds the lock until it is closed; -1 with an error. */
static GemmclFd
lock (GError **error)
{
  g_autofree gchar *path = gemmcl_cache_dir_get_path ("tuning.lock");
  g_autoptr (GError) why = NULL;
  g_auto (GemmclFd) fd = -1;
  gint status;

  if (!gemmcl_cache_dir_prepare (&why)) {
    gemmcl_fail_file (error, GEMMCL_ERROR_IO, path, "It cannot be locked: %s", why->message);
    return -1;
  }
  fd = g_open (path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
  do
    status = fd >= 0 ? flock (fd, LOCK_EX) : -1;
  while (status != 0 && errno == EINTR);
  if (status == 0)
    return g_steal_fd (&fd);
  gemmcl_fail_file (error, GEMMCL_ERROR_IO, path, "It cannot be locked: %s.", g_strerror (errno));
  return -1;
}

static gboolean
save (json_t *entries, GError **error)
{
  g_autoptr (json_t) root = json_pack ("{s:i, s:O}", "version", VERSION, "entries", entries);
  g_autofree gchar *path = gemmcl_tuning_get_path ();
  g_autoptr (GError) why = NULL;
  gchar *text = json_dumps (root, JSON_INDENT (1));
  const gboolean saved = text != NULL && gemmcl_cache_dir_write (NAME, text, strlen (text), &why);

  free (text);
  if (!saved)
    gemmcl_fail_file (error, GEMMCL_ERROR_IO, path, "It cannot be written: %s.",
                      why ? why->message : "there is no memory");
  return saved;
}

/* Measurements are not overwritten only because the file is not trusted. */
static json_t *
load_to_change (GError **error)
{
  g_autofree gchar *path = gemmcl_tuning_get_path ();
  g_autoptr (GError) why = NULL;
  g_autoptr (GBytes) bytes = gemmcl_cache_dir_read (NAME, MAX_SIZE, &why);
  g_autoptr (json_t) entries = NULL;
  json_int_t version;

  if (why != NULL && !g_error_matches (why, G_FILE_ERROR, G_FILE_ERROR_NOENT)) {
    gemmcl_fail_file (error, GEMMCL_ERROR_IO, path, "It is not used: %s Move it away to tune.",
                      why->message);
    return NULL;
  }
  entries = get_entries (bytes, &version);
  if (version <= VERSION)
    return g_steal_pointer (&entries);
  gemmcl_fail_file (error, GEMMCL_ERROR_IO, path,
                    "It is of version %" JSON_INTEGER_FORMAT
                    ", from a newer gemmcl; expected %d. Move it away to tune with this one.",
                    version, VERSION);
  return NULL;
}

gboolean
gemmcl_tuning_file_change (GemmclTuningChange change, gpointer data, GError **error)
{
  g_auto (GemmclFd) locked = lock (error);
  g_autoptr (json_t) entries = locked >= 0 ? load_to_change (error) : NULL;

  if (entries == NULL)
    return FALSE;
  change (entries, data);
  while (json_array_size (entries) > MAX_ENTRIES)
    json_array_remove (entries, 0);
  return save (entries, error);
}
