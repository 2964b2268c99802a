/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

/**
 * The library's directory in the user's cache, $XDG_CACHE_HOME/gemmcl. Its files are executed, so
 * the directory and each file in it are trusted only if they are themselves (no symbolic link), if
 * they belong to the effective user, and if neither group nor others may write to them.
 */

/** gemmcl_cache_dir_get_path: Returns: (transfer full): of the file @name; %NULL: the directory's.
 */
gchar *gemmcl_cache_dir_get_path (const gchar *name);

/**
 * gemmcl_cache_dir_prepare: makes the directory, with mode 0700, if it is not there.
 *
 * Returns: whether it is there and trusted; else %FALSE with a #G_FILE_ERROR.
 */
gboolean gemmcl_cache_dir_prepare (GError **error);

/**
 * gemmcl_cache_dir_read:
 * @name: of a file
 * @max_size: in bytes; nothing is read of a larger file
 *
 * Returns: (transfer full): the file's content; %NULL with a #G_FILE_ERROR, %G_FILE_ERROR_NOENT if
 *   there is no such file. For any other reason a debug line says that the file is ignored.
 */
GBytes *gemmcl_cache_dir_read (const gchar *name, gsize max_size, GError **error);

/**
 * gemmcl_cache_dir_write: makes @data the content of the file @name, as a whole and with mode 0600.
 *
 * Returns: %FALSE with a #G_FILE_ERROR.
 */
gboolean gemmcl_cache_dir_write (const gchar *name, gconstpointer data, gsize size, GError **error);

/**
 * The cache of compiled programs: a file for each key, named after it, whose head says what it is:
 *
 *     magic "GEMMCL 1" | key, 64 hex digits | SHA-256 of the data, 64 hex digits | data
 *
 * Files appear whole, by renaming, so that processes may share the cache. What is damaged, foreign,
 * larger than 64 MiB, not trusted, or cannot be read or written is as if it were not there.
 */

/** gemmcl_cache_load: Returns: (transfer full) (nullable): what was stored under @key. */
GBytes *gemmcl_cache_load (const gchar *key);

/**
 * gemmcl_cache_store: remembers @data under @key (a hexadecimal SHA-256), and forgets the oldest
 * entries when there are too many.
 */
void gemmcl_cache_store (const gchar *key, gconstpointer data, gsize size);
