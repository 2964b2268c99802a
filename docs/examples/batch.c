/* gemmcl: one layer of a network on a batch of inputs, in int8 with GELU, checked. An argument
 * names the kernel; without it int8 is used only where it is faster than f32.
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include <gemmcl.h>

enum { BATCH = 8, M = 16, N = 32, K = 64 };

/* Numbers from -1 to 1, the same in each run. */
static void
fill (float *numbers, gsize n)
{
  for (gsize i = 0; i < n; i++)
    numbers[i] = (float)(i * 37 % 201) / 100 - 1;
}

int
main (int argc, char **argv)
{
  static float a[BATCH][M][K], b[K][N], bias[N], d[BATCH][M][N];
  GemmclGemm gemm = GEMMCL_GEMM_INIT;
  g_autoptr (GemmclContext) context = NULL;
  g_autoptr (GemmclMatrix) weight = NULL, addend = NULL;
  g_autoptr (GemmclPlan) plan = NULL;
  g_autoptr (GError) error = NULL;
  GemmclPlanInfo info;
  gdouble off, bound;
  gboolean right;

  fill (&a[0][0][0], BATCH * M * K);
  fill (&b[0][0], K * N);
  fill (bias, N);
  gemm.m = M, gemm.n = N, gemm.k = K;
  gemm.batch = BATCH;
  gemm.a_stride = M * K; /* with 0 all problems would share one A, as they share B */
  gemm.precision = GEMMCL_PRECISION_I8;
  gemm.bias = TRUE;
  gemm.activation = GEMMCL_ACTIVATION_GELU;
  /* The plan quantizes the weight now, and A in each run. */
  if (!(context = gemmcl_context_new (NULL, &error)) ||
      !(weight = gemmcl_matrix_new (GEMMCL_TYPE_F32, K, N, b, &error)) ||
      !(addend = gemmcl_matrix_new (GEMMCL_TYPE_F32, 1, N, bias, &error)) ||
      !(plan = gemmcl_plan_new (context, &gemm, argc > 1 ? argv[1] : NULL, &error)) ||
      !gemmcl_plan_set (plan, GEMMCL_PLAN_B, weight, &error) ||
      !gemmcl_plan_set (plan, GEMMCL_PLAN_BIAS, addend, &error) ||
      !gemmcl_plan_run_host (plan, 1, 0, a, d, NULL, &error)) {
    g_printerr ("%s\n", error->message);
    return 1;
  }
  right = gemmcl_gemm_verify (&gemm, a, &b[0][0], NULL, bias, &d[0][0][0], &off, &bound);
  gemmcl_plan_get_info (plan, &info);
  g_print ("%d x %d x %d results of %s: %s\n", BATCH, M, N,
           gemmcl_precision_get_name (info.precision), right ? "within the error bound" : "wrong");
  return right ? 0 : 1;
}
