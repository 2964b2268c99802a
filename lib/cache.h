/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

/**
 * The disk's cache, in the directory of cache-dir.h: a file for each key, named after it, whose
 * head says what it is:
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
