/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The user's cache directory, and the cache of compiled programs. Any thread.
 */
#pragma once

#include <glib.h>

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
