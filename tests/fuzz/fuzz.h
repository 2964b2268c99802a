/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

/*
 * A fuzz target: one reader, fed with anything. It asserts that the reader reports an error or
 * returns what its documentation says; sanitizers see the rest. With libFuzzer, the meson option
 * fuzz, inputs are made up; otherwise replay.c feeds the files of tests/fuzz/corpus.
 */
int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

/** fuzz_dir: Returns: (transfer none): a directory of this process, which its end removes. It is
 * XDG_CACHE_HOME, too. */
const gchar *fuzz_dir (void);

/** fuzz_write: Writes @data to the file @name in fuzz_dir (). Returns: (transfer none): its path,
 * until the same file is written again. */
const gchar *fuzz_write (const gchar *name, gconstpointer data, gsize size);

/** fuzz_write_cache: The same in the user's cache directory of gemmcl, which is in fuzz_dir (). */
void fuzz_write_cache (const gchar *name, gconstpointer data, gsize size);

/** fuzz_check_error: Asserts that a failure has an error of the library's, with a message. */
void fuzz_check_error (gboolean failed, GError *error);

/** FUZZ_TEXT: the input as a string, cut at its first NUL. */
#define FUZZ_TEXT(data, size) g_strndup ((const gchar *)(data), size)
