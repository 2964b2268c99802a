/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Kernels for CPUs with tiles that work-groups share, and with a copy of A. One kernel for each
 * precision and for vectors of 8 floats; D has several panels and chunks of rows.
 */
#include "problem.h"

static const struct {
  const gchar *name;
  GemmclPrecision precision;
  gsize tile_n;
} kernels[] = {
    {"vector_6x16_1x1", GEMMCL_PRECISION_F32, 16},
    {"vector_12x32_1x1", GEMMCL_PRECISION_F32, 32},
    {"vector_bf16_4x64_1x1", GEMMCL_PRECISION_BF16, 64},
    {"vector_i8_12x32_1x1", GEMMCL_PRECISION_I8, 32},
};

static void
solve (const GemmclGemm *gemm, const gchar *kernel, guint32 seed)
{
  g_autoptr (GError) error = NULL;
  g_auto (Problem) problem = {0};

  problem_init (&problem, gemm, seed);
  g_assert_true (problem_run_device (&problem, test_get_context (), kernel, &error));
  g_assert_no_error (error);
  if (problem_check (&problem, kernel))
    problem_verify (&problem, kernel);
}

/* M is that of one chunk, of groups that end within one, of several chunks in a group, and less
 * than a tile; K is 0 by alpha, and too large for a copy. */
static void
test_shared (gconstpointer data)
{
  static const gsize sizes[][2] = {{293, 60}, {700, 3}, {150, 0}, {5, 6500}};
  const guint index = GPOINTER_TO_UINT (data);

  for (guint i = 0; i < 2 * G_N_ELEMENTS (sizes); i++) {
    GemmclGemm gemm = GEMMCL_GEMM_INIT;

    gemm.precision = kernels[index].precision;
    gemm.m = sizes[i / 2][0];
    gemm.n = 4 * kernels[index].tile_n + 3;
    gemm.k = MAX (sizes[i / 2][1], 1);
    gemm.alpha = sizes[i / 2][1] > 0;
    /* An A in f16 is copied. */
    gemm.a_type = i % 2 ? GEMMCL_TYPE_F32 : GEMMCL_TYPE_F16;
    gemm.lda = gemm.k + 5;
    gemm.a_offset = 2;
    gemm.bias = TRUE;
    solve (&gemm, kernels[index].name, i);
  }
}

/* Rows of A a multiple of 4096 bytes apart, which kernels with vectors of up to 8 floats copy. */
static void
test_far_rows (void)
{
  GemmclGemm gemm = GEMMCL_GEMM_INIT;

  gemm.m = 167;
  gemm.n = 261;
  gemm.k = 37;
  gemm.lda = 1024;
  gemm.batch = 2;
  gemm.a_stride = gemm.m * gemm.lda + 1;
  gemm.a_scale = 0.5;
  gemm.a_shift = 0.25;
  solve (&gemm, kernels[0].name, 1);
}

int
main (int argc, char **argv)
{
  test_init_device (&argc, &argv);
  for (guint i = 0; i < G_N_ELEMENTS (kernels); i++) {
    g_autofree gchar *path = g_strdup_printf ("/shared/%s", kernels[i].name);
    g_test_add_data_func (path, GUINT_TO_POINTER (i), test_shared);
  }
  g_test_add_func ("/shared/far-rows", test_far_rows);
  return g_test_run ();
}
