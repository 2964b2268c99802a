/* gemmcl: a layer of 3 inputs and 2 outputs on two rows of data: D = max (A B + bias, 0).
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include <gemmcl.h>

static gboolean
multiply (GError **error)
{
  float a[2][3] = {{1, 2, 3}, {4, 5, 6}}, d[2][2];
  GemmclGemm gemm = GEMMCL_GEMM_INIT;
  GemmclData in = {.host = {a}}, out = {.host = {d}};
  GemmclRun run = GEMMCL_RUN_INIT;
  g_autoptr (GemmclContext) context = gemmcl_context_new (NULL, error);
  g_autoptr (GemmclMatrix) weight = gemmcl_matrix_load ("[[1,0],[0,1],[1,-1]]", error);
  g_autoptr (GemmclMatrix) bias = gemmcl_matrix_load ("[0.5,0]", error);
  g_autoptr (GemmclPlan) plan = NULL;

  gemm.m = 2, gemm.n = 2, gemm.k = 3;
  gemm.bias = TRUE;
  gemm.activation = GEMMCL_ACTIVATION_RELU;
  run.a = &in, run.d = &out;
  if (context && weight && bias)
    plan = gemmcl_plan_new (context, &gemm, NULL, error);
  if (!plan || !gemmcl_plan_set (plan, GEMMCL_PLAN_B, weight, error) ||
      !gemmcl_plan_set (plan, GEMMCL_PLAN_BIAS, bias, error))
    return FALSE;
  for (int i = 0; i < 2; i++, a[0][0] += 10) {
    if (!gemmcl_plan_run (plan, &run, error))
      return FALSE;
    g_print ("%g %g\n%g %g\n", d[0][0], d[0][1], d[1][0], d[1][1]);
  }
  return TRUE;
}

int
main (void)
{
  g_autoptr (GError) error = NULL;

  if (!multiply (&error))
    g_printerr ("%s\n", error->message);
  return error ? 1 : 0;
}
