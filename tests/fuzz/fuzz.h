/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

/* Fuzz targets: each runs one reader on arbitrary input. It asserts that the reader reports an
 * error or returns a documented result; sanitizers find other errors. With libFuzzer (the meson
 * option fuzz) inputs are generated; otherwise fuzz.c uses the files of tests/fuzz/corpus. */
typedef void FuzzTarget (const guint8 *data, gsize size);
FuzzTarget fuzz_cache, fuzz_flexible, fuzz_import, fuzz_kernel, fuzz_labels, fuzz_literal, fuzz_npy,
    fuzz_onnx, fuzz_safetensors, fuzz_tensors, fuzz_tuning, fuzz_where;

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

/** fuzz_check_error: Asserts that a failure has an error of the library with a message: a printable
 * line of at most 1 KiB, whatever the input is. */
void fuzz_check_error (gboolean failed, GError *error);

/** fuzz_write_file: Writes a file into the user's cache directory, which no other process uses, and
 * does not wait for the disk, as g_file_set_contents() might. Returns: the path, valid until the
 * next call. */
const gchar *fuzz_write_file (const gchar *name, gconstpointer data, gsize size);

/** FUZZ_TEXT: the input as a string, cut at its first NUL. */
#define FUZZ_TEXT(data, size) g_strndup ((const gchar *)(data), size)
