/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuzz-matrix.h"

/* gemmcl_matrix_load_safetensors(): a safetensors file, of which the tensors w and v are looked up;
 * w.scale and w.zero_point go with w. */
int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  static const gchar *const names[] = {"w", "v"};
  const gchar *path = fuzz_write ("a.safetensors", data, size);

  for (guint i = 0; i < G_N_ELEMENTS (names); i++) {
    g_autoptr (GError) error = NULL;
    g_autoptr (GemmclMatrix) matrix = gemmcl_matrix_load_safetensors (path, names[i], &error);

    fuzz_use_matrix (matrix, error, size);
  }
  return 0;
}
