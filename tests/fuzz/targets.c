/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuzz.h"

#include <string.h>

#include "device/base.h"
#include "device/cache.h"
#include "gemmcl-kernels.h"
#include "gemmcl-matrix.h"
#include "kernels/tuning.h"

#define BYTES 24 /* size of the file in fuzz_where() */
#define KEY   "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* Reads all elements of a matrix and drops it; or checks the reader's error. @size: the largest
 * size of the elements in bytes that the input can have */
static void
use_matrix (GemmclMatrix *taken, GError *error, gsize size)
{
  g_autoptr (GemmclMatrix) matrix = taken;

  fuzz_check_error (matrix == NULL, error);
  if (matrix == NULL)
    return;
  g_assert_cmpuint (matrix->rows * matrix->cols * gemmcl_type_get_size (matrix->type), <=, size);
  for (guint transpose = 0; transpose < 2; transpose++) {
    g_autoptr (GError) why = NULL;
    g_autoptr (GemmclMatrix) floats = gemmcl_matrix_to_f32 (matrix, transpose, &why);
    g_autoptr (GemmclMatrix) bytes = NULL;

    fuzz_check_error (floats == NULL, why);
    if (floats == NULL)
      continue;
    bytes = gemmcl_matrix_quantize (floats, transpose, NULL, NULL);
    if (bytes != NULL)
      g_assert_cmpuint (bytes->rows, ==, floats->rows);
  }
}

/* Loads @before, @path and @after as a user names them: gemmcl_matrix_load(). */
static void
load (const gchar *before, const gchar *path, const gchar *after, gsize size)
{
  g_autofree gchar *where = g_strconcat (before, path, after, NULL);
  g_autoptr (GError) error = NULL;
  GemmclMatrix *matrix = gemmcl_matrix_load (where, &error);

  use_matrix (matrix, error, size);
}

/* A literal such as [[1, 2], [3, 4]]. A comma is at least a byte, a float has four. */
void
fuzz_literal (const guint8 *data, gsize size)
{
  g_autofree gchar *text = FUZZ_TEXT (data, size);

  if (*text == '[')
    load ("", text, "", 4 * size);
}

/* A NumPy file. */
void
fuzz_npy (const guint8 *data, gsize size)
{
  const gchar *path = fuzz_write_file ("a.npy", data, size);

  load ("", path, "", size);
  load ("", path, "#bf16", size);
}

/* A safetensors file with the tensors w and v; w.scale and w.zero_point belong to w. */
void
fuzz_safetensors (const guint8 *data, gsize size)
{
  const gchar *path = fuzz_write_file ("a.safetensors", data, size);

  load ("", path, "#w", size);
  load ("", path, "#v", size);
}

/* An ONNX model with the tensors w and v. A typed field has one to 8 bytes for each element. */
void
fuzz_onnx (const guint8 *data, gsize size)
{
  const gchar *path = fuzz_write_file ("a.onnx", data, size);

  load ("", path, "#w", 8 * size);
  load ("", path, "#v", 8 * size);
}

/* The text after "a." in the path and in the URI of a file. The file a.raw exists. */
void
fuzz_where (const guint8 *data, gsize size)
{
  static const guint8 bytes[BYTES] = {0};
  g_autofree gchar *text = FUZZ_TEXT (data, size);
  g_autofree gchar *path = g_strdup (fuzz_write_file ("a.raw", bytes, sizeof bytes));

  path[strlen (path) - strlen ("raw")] = '\0';
  load ("", path, text, BYTES);
  load ("file://", path, text, BYTES);
}

/* gemmcl_cache_load(): an entry of the program cache, unchanged and with a valid head. */
void
fuzz_cache (const guint8 *data, gsize size)
{
  g_autofree gchar *sum = g_compute_checksum_for_data (G_CHECKSUM_SHA256, data, size);
  g_autoptr (GByteArray) whole = g_byte_array_new ();
  g_autoptr (GBytes) damaged = NULL, found = NULL;

  fuzz_write_file ("" KEY ".bin", data, size);
  damaged = gemmcl_cache_load (KEY);
  if (damaged != NULL)
    g_assert_cmpuint (g_bytes_get_size (damaged), <, size);
  g_byte_array_append (whole, (const guint8 *)"GEMMCL 1" KEY, strlen ("GEMMCL 1" KEY));
  g_byte_array_append (whole, (const guint8 *)sum, strlen (sum));
  g_byte_array_append (whole, data, size);
  fuzz_write_file ("" KEY ".bin", whole->data, whole->len);
  found = gemmcl_cache_load (KEY);
  g_assert_true ((found != NULL) == (size > 0));
  if (found != NULL)
    g_assert_true (memcmp (g_bytes_get_data (found, NULL), data, size) == 0);
}

/* gemmcl_kernel_fits(): a kernel's name, with or without a split of K. */
void
fuzz_kernel (const guint8 *data, gsize size)
{
  g_autofree gchar *name = FUZZ_TEXT (data, size);
  g_autoptr (GError) error = NULL;
  const gboolean exists = gemmcl_kernel_fits (NULL, name, NULL, &error);

  fuzz_check_error (!exists, error);
}

/* gemmcl_tuning_find(): the user's tuning.json, for a problem on a device. */
void
fuzz_tuning (const guint8 *data, gsize size)
{
  static const GemmclDeviceInfo device = {.platform = (gchar *)"Imagined",
                                          .name = (gchar *)"GPU",
                                          .version = (gchar *)"OpenCL 3.0 imagined",
                                          .driver = (gchar *)"1",
                                          .extensions = (gchar *)"",
                                          .type = GEMMCL_DEVICE_TYPE_GPU,
                                          .compute_units = 8,
                                          .float_width = 1,
                                          .max_work_group = 1024,
                                          .max_work_item_sizes = {1024, 1024, 1024},
                                          .local_bytes = 65536};
  GemmclGemm gemm = GEMMCL_GEMM_INIT;
  GemmclTuned found;

  gemm.m = gemm.n = gemm.k = 64;
  fuzz_write_file ("tuning.json", data, size);
  if (gemmcl_tuning_find (&device, &gemm, &found)) {
    g_assert_nonnull (found.choice.kernel);
    g_assert_true (gemmcl_choice_check (&found.choice, &device, &gemm, NULL));
    g_assert_true (found.public.gflops > 0);
  }
}
