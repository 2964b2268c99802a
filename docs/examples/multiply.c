/* gemmcl: a layer of 3 inputs and 2 outputs on two rows of data: D = max (A B + bias, 0).
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include <gemmcl.h>

int
main (void)
{
  float a[2][3] = {{1, 2, 3}, {4, 5, 6}}, d[2][2];
  GemmclGemm gemm = GEMMCL_GEMM_INIT;
  g_autoptr (GemmclContext) context = NULL;
  g_autoptr (GemmclMatrix) weight = NULL, bias = NULL;
  g_autoptr (GemmclPlan) plan = NULL;
  g_autoptr (GError) error = NULL;
  gboolean ok;

  gemm.m = 2, gemm.n = 2, gemm.k = 3;
  gemm.bias = TRUE;
  gemm.activation = GEMMCL_ACTIVATION_RELU;
  ok = (context = gemmcl_context_new (NULL, &error)) &&
       (weight = gemmcl_matrix_load ("[[1,0],[0,1],[1,-1]]", &error)) &&
       (bias = gemmcl_matrix_load ("[0.5,0]", &error)) &&
       (plan = gemmcl_plan_new (context, &gemm, NULL, &error)) &&
       gemmcl_plan_set (plan, GEMMCL_PLAN_B, weight, &error) &&
       gemmcl_plan_set (plan, GEMMCL_PLAN_BIAS, bias, &error);
  for (int i = 0; ok && i < 2; i++, a[0][0] += 10) {
    ok = gemmcl_plan_run_host (plan, 1, 0, a, d, NULL, &error);
    if (ok)
      g_print ("%g %g\n%g %g\n", d[0][0], d[0][1], d[1][0], d[1][1]);
  }
  if (!ok)
    g_printerr ("%s\n", error->message);
  return ok ? 0 : 1;
}
