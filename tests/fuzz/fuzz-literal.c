/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuzz.h"

#include "gemmcl-matrix.h"

/* gemmcl_matrix_parse(): a literal such as [[1, 2], [3, 4]]. */
int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  g_autofree gchar *text = FUZZ_TEXT (data, size);
  g_autoptr (GError) error = NULL;
  g_autoptr (GemmclMatrix) matrix = gemmcl_matrix_parse (text, &error);

  fuzz_check_error (matrix == NULL, error);
  if (matrix != NULL)
    g_assert_cmpuint (gemmcl_matrix_get_rows (matrix) * gemmcl_matrix_get_cols (matrix), <=, size);
  return 0;
}
