/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuzz-matrix.h"

/* gemmcl_matrix_load_npy(): a NumPy file. */
int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  const gchar *path = fuzz_write ("a.npy", data, size);

  for (guint v2_is_bf16 = 0; v2_is_bf16 < 2; v2_is_bf16++) {
    g_autoptr (GError) error = NULL;
    g_autoptr (GemmclMatrix) matrix = gemmcl_matrix_load_npy (path, v2_is_bf16, &error);

    fuzz_use_matrix (matrix, error, size);
  }
  return 0;
}
