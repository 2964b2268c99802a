/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Errors, files and the user's cache directory: needs GLib alone. Any thread.
 */
#pragma once

#include "gemmcl-error.h"

/* error.c. Messages may quote a user's words in any encoding: they are made valid UTF-8. */

/** Sets @error as g_set_error() does. Returns: %FALSE, for callers to return. */
gboolean gemmcl_fail (GError **error, GemmclError code, const gchar *format, ...)
    G_GNUC_PRINTF (3, 4);

/** Does the same, with the name of the file before the message. */
gboolean gemmcl_fail_file (GError **error, GemmclError code, const gchar *path, const gchar *format,
                           ...) G_GNUC_PRINTF (4, 5);

/* file.c */

/** A file's descriptor, or -1. g_auto (GemmclFd) closes it, g_steal_fd() keeps it. */
typedef gint GemmclFd;

void gemmcl_fd_close (GemmclFd *fd);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (GemmclFd, gemmcl_fd_close)

/** Reads @n bytes at @offset. Returns: %FALSE with the reason in errno; ENODATA: the file ends
 * before. */
gboolean gemmcl_fd_read (gint fd, gpointer data, gsize n, goffset offset);

/** An open file. Data read from it is a copy, which later changes of the file do not affect. */
typedef struct {
  const gchar *path; /* as it was opened, for messages; the caller's */
  GemmclFd fd;
  gsize size; /* in bytes when the file was opened, more than 0 */
} GemmclFile;

#define GEMMCL_FILE_INIT                                                                           \
  {                                                                                                \
    .fd = -1                                                                                       \
  }

void gemmcl_file_close (GemmclFile *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (GemmclFile, gemmcl_file_close)

/** Opens a regular file; a pipe is refused at once. #GEMMCL_ERROR_IO; #GEMMCL_ERROR_FORMAT for an
 * empty file. */
gboolean gemmcl_file_open (GemmclFile *self, const gchar *path, GError **error);

/** Returns: (transfer full): a copy of @n bytes within the file, aligned for any type, or %NULL
 * with #GEMMCL_ERROR_IO or #GEMMCL_ERROR_TOO_LARGE. */
gpointer gemmcl_file_read (const GemmclFile *self, gsize offset, gsize n, GError **error);

/** Replaces the file by @parts (each nullable), all or nothing. #GEMMCL_ERROR_IO. */
gboolean gemmcl_file_save (const gchar *path, GBytes *const *parts, gsize n, GError **error);

/* cache.c */

/**
 * The library's directory in the user's cache, $XDG_CACHE_HOME/gemmcl. Its files are executed, so
 * the directory and each file in it are trusted only if they are no symbolic links, belong to the
 * effective user, and are not writable by group or others. Errors are those of #G_FILE_ERROR.
 */

/** Returns: (transfer full): the path of the file @name; %NULL: of the directory. */
gchar *gemmcl_cache_dir_get_path (const gchar *name);

/** Makes the directory, with mode 0700, unless it exists and is trusted. */
gboolean gemmcl_cache_dir_prepare (GError **error);

/** Returns: (transfer full): the content of a file of at most @max_size bytes; %NULL with
 * %G_FILE_ERROR_NOENT if there is none, or with another error, which is also logged at level
 * DEBUG. */
GBytes *gemmcl_cache_dir_read (const gchar *name, gsize max_size, GError **error);

/** Replaces the content of a file as a whole, with mode 0600. */
gboolean gemmcl_cache_dir_write (const gchar *name, gconstpointer data, gsize size, GError **error);

/**
 * The cache of compiled programs: one file per key, named after it:
 *
 *     magic "GEMMCL 1" | key, 64 hex digits | SHA-256 of the data, 64 hex digits | data
 *
 * Processes may share it. A file that is damaged, foreign, larger than 64 MiB, not trusted or not
 * readable counts as missing.
 */

/** Returns: (transfer full) (nullable): the data stored under @key. */
GBytes *gemmcl_cache_load (const gchar *key);

/** Stores @data under @key, a hexadecimal SHA-256. Beyond 1024 entries the oldest are deleted. */
void gemmcl_cache_store (const gchar *key, gconstpointer data, gsize size);
