/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Errors, files and the user's cache directory. Needs GLib alone. Any thread.
 */
#pragma once

#include <glib-object.h>

#include "gemmcl-error.h"

/** Defines the boxed type of @Struct, whose copies are shallow, and name_new(), which returns
 * @init. */
#define GEMMCL_DEFINE_PLAIN_STRUCT(Struct, name, init)                                             \
  static gpointer name##_copy (gpointer self)                                                      \
  {                                                                                                \
    return g_memdup2 (self, sizeof (Struct));                                                      \
  }                                                                                                \
  G_DEFINE_BOXED_TYPE (Struct, name, name##_copy, g_free)                                          \
                                                                                                   \
  Struct *name##_new (void)                                                                        \
  {                                                                                                \
    Struct self = init;                                                                            \
    return name##_copy (&self);                                                                    \
  }

/* base.c */

/** Sets @error like g_set_error(), with the message made printable. Text from users and files is
 * quoted by gemmcl_quote(). Returns: %FALSE, for callers to return. */
gboolean gemmcl_fail (GError **error, GemmclError code, const gchar *format, ...)
    G_GNUC_PRINTF (3, 4);

/** Like gemmcl_fail(), with the name of the file @path, quoted, before the message. */
gboolean gemmcl_fail_file (GError **error, GemmclError code, const gchar *path, const gchar *format,
                           ...) G_GNUC_PRINTF (4, 5);

/** gemmcl_fail() and gemmcl_fail_file() for functions that return a pointer. Returns: %NULL. */
#define FAIL_NULL(...)      (gemmcl_fail (__VA_ARGS__), NULL)
#define FAIL_FILE_NULL(...) (gemmcl_fail_file (__VA_ARGS__), NULL)

/** A file descriptor, or -1. g_auto (GemmclFd) closes it; g_steal_fd() keeps it open. */
typedef gint GemmclFd;

void gemmcl_fd_close (GemmclFd *fd);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (GemmclFd, gemmcl_fd_close)

/** An open file. Start from {.fd = -1}. Data read from it is a copy, which later changes of the
 * file do not affect. */
typedef struct {
  const gchar *path; /* for messages; the caller's */
  GemmclFd fd;
  gsize size; /* in bytes, when the file was opened */
} GemmclFile;

void gemmcl_file_close (GemmclFile *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (GemmclFile, gemmcl_file_close)

/** Opens a regular file; a pipe is refused without waiting for a writer. %FALSE with
 * #GEMMCL_ERROR_IO, or #GEMMCL_ERROR_FORMAT for an empty file. */
gboolean gemmcl_file_open (GemmclFile *self, const gchar *path, GError **error);

/** (transfer full): a copy of @n bytes within the file, aligned for any type, or %NULL with
 * #GEMMCL_ERROR_IO or #GEMMCL_ERROR_TOO_LARGE. */
gpointer gemmcl_file_read (const GemmclFile *self, gsize offset, gsize n, GError **error);

/** Replaces the file by the concatenation of @parts (each nullable), atomically. @mode: the file's
 * permissions before the umask. %FALSE with #GEMMCL_ERROR_IO. */
gboolean gemmcl_file_save (const gchar *path, gint mode, GBytes *const *parts, gsize n,
                           GError **error);

/* cache.c */

/* The library's directory in the user's cache, $XDG_CACHE_HOME/gemmcl, or ~/.cache/gemmcl if that
 * variable is not an absolute path. Its files contain code that is executed, so the directory and
 * each file are trusted only if they are not symbolic links, belong to the effective user, and are
 * not writable by group or others. Errors name the path. */

/** (transfer full): the path of the file @name, or of the directory if @name is %NULL. */
gchar *gemmcl_cache_dir_get_path (const gchar *name);

/** Creates the directory with mode 0700 if it is missing. %FALSE if it is not trusted. */
gboolean gemmcl_cache_dir_prepare (GError **error);

/** (transfer full): the content of a file of at most @max_size bytes; %NULL without an error if
 * there is no such file or it is empty, or with an error, which is also logged at level DEBUG. */
GBytes *gemmcl_cache_dir_read (const gchar *name, gsize max_size, GError **error);

/** Replaces a file by @head and @data, atomically, with mode 0600. */
gboolean gemmcl_cache_dir_write (const gchar *name, const gchar *head, gconstpointer data,
                                 gsize size, GError **error);

/**
 * The cache of compiled programs, with a file for each key, named after it:
 *
 *     magic "GEMMCL 1" | key, 64 hex digits | SHA-256 of the data, 64 hex digits | data
 *
 * Processes may share it. A file that is damaged, has another key, is larger than 64 MiB, not
 * trusted or unreadable counts as missing.
 */

/** (transfer full) (nullable): the data stored under @key. */
GBytes *gemmcl_cache_load (const gchar *key);

/** Stores @data under @key, a hexadecimal SHA-256. If there are more than 1024 entries, the oldest
 * are deleted until half as many are left. */
void gemmcl_cache_store (const gchar *key, gconstpointer data, gsize size);
