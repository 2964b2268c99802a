/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "device/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "device/base.h"

#define MAGIC       "GEMMCL 1"
#define HEX_LENGTH  64 /* of a SHA-256 */
#define HEAD_LENGTH (strlen (MAGIC) + 2 * HEX_LENGTH)
#define SUFFIX      ".bin"
#define MAX_ENTRIES 1024
#define MAX_SIZE    (64 << 20) /* of the data; a program has up to a few MiB */

#define WRITABLE_BY_OTHERS (S_IWGRP | S_IWOTH)

/* O_NONBLOCK: opening a named pipe would wait for a writer. */
#define OPEN_FLAGS (O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)

gchar *
gemmcl_cache_dir_get_path (const gchar *name)
{
  const gchar *cache = g_get_user_cache_dir ();

  /* The XDG base directory specification ignores a relative XDG_CACHE_HOME, but GLib uses it. */
  if (g_path_is_absolute (cache))
    return g_build_filename (cache, "gemmcl", name, NULL);
  return g_build_filename (g_get_home_dir (), ".cache", "gemmcl", name, NULL);
}

/* TRUE if @fd is a file or directory, as @type says, that only the effective user can change. */
static gboolean
check_trusted (gint fd, const gchar *path, mode_t type, gsize *size, GError **error)
{
  struct stat status;

  if (fstat (fd, &status) != 0)
    return gemmcl_fail_file (error, GEMMCL_ERROR_IO, path, "Cannot examine it: %s.",
                             g_strerror (errno));
  if ((status.st_mode & S_IFMT) != type || status.st_uid != geteuid () ||
      status.st_mode & WRITABLE_BY_OTHERS)
    return gemmcl_fail_file (error, GEMMCL_ERROR_IO, path,
                             "Expected a %s of user %u with a mode of at most 0755, found one of "
                             "user %u with the mode %07o.",
                             type == S_IFDIR ? "directory" : "regular file", (guint)geteuid (),
                             (guint)status.st_uid, (guint)status.st_mode);
  *size = status.st_size;
  return TRUE;
}

/* Opens the file @name in @directory; if @name is NULL, the directory itself.
 * @may_lack: a missing file or directory is no error
 * Returns: a descriptor if the file or directory is trusted, otherwise -1. */
static gint
open_trusted (gint directory, const gchar *name, gboolean may_lack, gsize *size, GError **error)
{
  g_autofree gchar *path = gemmcl_cache_dir_get_path (name);
  g_auto (GemmclFd) fd = openat (directory, name != NULL ? name : path, OPEN_FLAGS);
  const mode_t type = name != NULL ? S_IFREG : S_IFDIR;

  if (fd >= 0)
    return check_trusted (fd, path, type, size, error) ? g_steal_fd (&fd) : -1;
  if (!may_lack || errno != ENOENT)
    gemmcl_fail_file (error, GEMMCL_ERROR_IO, path, "Cannot open it: %s.",
                      errno == ELOOP ? "it is a symbolic link" : g_strerror (errno));
  return -1;
}

gboolean
gemmcl_cache_dir_prepare (GError **error)
{
  g_autofree gchar *path = gemmcl_cache_dir_get_path (NULL);
  g_auto (GemmclFd) fd = -1;
  gsize size;

  if (g_mkdir_with_parents (path, 0700) != 0)
    return gemmcl_fail_file (error, GEMMCL_ERROR_IO, path, "Cannot create the directory: %s.",
                             g_strerror (errno));
  fd = open_trusted (AT_FDCWD, NULL, FALSE, &size, error);
  return fd >= 0;
}

GBytes *
gemmcl_cache_dir_read (const gchar *name, gsize max_size, GError **error)
{
  g_autofree gchar *path = gemmcl_cache_dir_get_path (name);
  g_auto (GemmclFile) file = {.path = path, .fd = -1};
  g_auto (GemmclFd) directory = -1;
  GError *why = NULL;
  gpointer data = NULL;

  directory = open_trusted (AT_FDCWD, NULL, TRUE, &file.size, &why);
  if (directory >= 0)
    file.fd = open_trusted (directory, name, TRUE, &file.size, &why);
  if (file.fd >= 0 && file.size > max_size)
    gemmcl_fail_file (&why, GEMMCL_ERROR_IO, path, "It has %zu bytes; expected at most %zu.",
                      file.size, max_size);
  else if (file.fd >= 0)
    data = gemmcl_file_read (&file, 0, file.size, &why);
  if (why != NULL) {
    g_debug ("Ignored in the cache: %s", why->message);
    g_propagate_error (error, why);
  }
  return data != NULL ? g_bytes_new_take (data, file.size) : NULL;
}

gboolean
gemmcl_cache_dir_write (const gchar *name, const gchar *head, gconstpointer data, gsize size,
                        GError **error)
{
  g_autofree gchar *path = gemmcl_cache_dir_get_path (name);
  g_autoptr (GBytes) first = g_bytes_new_static (head, strlen (head));
  g_autoptr (GBytes) second = g_bytes_new_static (data, size);
  GBytes *const parts[] = {first, second};

  return gemmcl_cache_dir_prepare (error) &&
         gemmcl_file_save (path, 0600, parts, G_N_ELEMENTS (parts), error);
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

static gint64
get_modified (const gchar *path)
{
  GStatBuf status;

  return g_lstat (path, &status) == 0 ? status.st_mtime : 0;
}

static gint
compare_modified (gconstpointer a, gconstpointer b)
{
  const gint64 x = get_modified (*(gchar *const *)a), y = get_modified (*(gchar *const *)b);
  return x < y ? -1 : x > y;
}

/* Each frame size has a program of its own, so the cache needs a limit. */
static void
forget_oldest (void)
{
  g_autofree gchar *dir_path = gemmcl_cache_dir_get_path (NULL);
  g_autoptr (GDir) dir = g_dir_open (dir_path, 0, NULL);
  g_autoptr (GPtrArray) paths = g_ptr_array_new_with_free_func (g_free);
  const gchar *name;

  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    if (g_str_has_suffix (name, SUFFIX))
      g_ptr_array_add (paths, g_build_filename (dir_path, name, NULL));
  if (paths->len <= MAX_ENTRIES)
    return;
  g_ptr_array_sort (paths, compare_modified);
  for (guint i = 0; i < paths->len - MAX_ENTRIES / 2; i++)
    (void)g_unlink (paths->pdata[i]);
}

void
gemmcl_cache_store (const gchar *key, gconstpointer data, gsize size)
{
  g_autofree gchar *name = g_strconcat (key, SUFFIX, NULL);
  g_autofree gchar *head = NULL;
  g_autoptr (GError) why = NULL;

  if (size > MAX_SIZE)
    return;
  head = make_head (key, data, size);
  if (gemmcl_cache_dir_write (name, head, data, size, &why))
    forget_oldest ();
  else
    g_debug ("Not stored in the cache: %s", why->message);
}
