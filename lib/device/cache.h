/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

/**
 * The library's directory in the user's cache, $XDG_CACHE_HOME/gemmcl. Its files are executed, so
 * the directory and each file in it are trusted only if they are themselves (no symbolic link), if
 * they belong to the effective user, and if neither group nor others may write to them. Errors are
 * those of #G_FILE_ERROR.
 */

/** Returns: (transfer full): the path of the file @name; %NULL: of the directory. */
gchar *gemmcl_cache_dir_get_path (const gchar *name);

/** Makes the directory, with mode 0700, unless it is there and trusted. */
gboolean gemmcl_cache_dir_prepare (GError **error);

/** Returns: (transfer full): the content of a file of at most @max_size bytes; %NULL with
 * %G_FILE_ERROR_NOENT if there is none, or with another error, which a debug line states too. */
GBytes *gemmcl_cache_dir_read (const gchar *name, gsize max_size, GError **error);

/** Replaces the content of a file as a whole, with mode 0600. */
gboolean gemmcl_cache_dir_write (const gchar *name, gconstpointer data, gsize size, GError **error);

/**
 * The cache of compiled programs: a file for each key, named after it:
 *
 *     magic "GEMMCL 1" | key, 64 hex digits | SHA-256 of the data, 64 hex digits | data
 *
 * Processes may share it. What is damaged, foreign, larger than 64 MiB, not trusted, or cannot be
 * read or written is as if it were not there.
 */

/** Returns: (transfer full) (nullable): what was stored under @key. */
GBytes *gemmcl_cache_load (const gchar *key);

/** Stores @data under @key, a hexadecimal SHA-256, and drops the oldest of too many entries. */
void gemmcl_cache_store (const gchar *key, gconstpointer data, gsize size);
