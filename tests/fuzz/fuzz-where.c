/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuzz-matrix.h"

#define BYTES 24

/* gemmcl_matrix_load(): what users type after the name of a file, which is there as .raw, .npy and
 * .safetensors; as a path and as a URI. */
int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  static const gchar *const schemes[] = {"", "file://"};
  static const guint8 bytes[BYTES] = {0};
  g_autofree gchar *text = FUZZ_TEXT (data, size);

  fuzz_write ("a.raw", bytes, sizeof bytes);
  for (guint i = 0; i < G_N_ELEMENTS (schemes); i++) {
    g_autofree gchar *where = g_strconcat (schemes[i], fuzz_dir (), "/a.", text, NULL);
    g_autoptr (GError) error = NULL;
    g_autoptr (GemmclMatrix) matrix = gemmcl_matrix_load (where, &error);

    fuzz_use_matrix (matrix, error, BYTES);
  }
  return 0;
}
