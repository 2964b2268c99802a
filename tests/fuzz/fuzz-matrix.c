/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuzz-matrix.h"

void
fuzz_use_matrix (GemmclMatrix *matrix, GError *error, gsize size)
{
  fuzz_check_error (matrix == NULL, error);
  if (matrix == NULL)
    return;
  g_assert_cmpuint (gemmcl_matrix_get_rows (matrix) * gemmcl_matrix_get_cols (matrix) *
                        gemmcl_type_get_size (gemmcl_matrix_get_element_type (matrix)),
                    <=, size);
  for (guint transpose = 0; transpose < 2; transpose++) {
    g_autoptr (GError) why = NULL;
    g_autoptr (GemmclMatrix) floats = gemmcl_matrix_to_f32 (matrix, transpose, &why);
    g_autoptr (GemmclMatrix) bytes = NULL;

    fuzz_check_error (floats == NULL, why);
    if (floats == NULL)
      continue;
    bytes = gemmcl_matrix_quantize (floats, transpose, NULL, NULL);
    if (bytes != NULL)
      g_assert_cmpuint (gemmcl_matrix_get_rows (bytes), ==, gemmcl_matrix_get_rows (floats));
  }
}
