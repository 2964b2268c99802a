/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* K cut into parts: what follows the sum happens once, to the sum of all; what cannot be cut. */

#include <math.h>
#include <string.h>

#include "../kernels/problem.h"

/* A kernel that packs B, one that does not, one of halves, and a CPU's. */
static const gchar *const kernels[] = {"tiled_4x4_8x8/3", "slm_4x4_16x16/2",
                                       "buffer_read_f16_4x1_1x16/6", "vector_8x8_1x1/2"};

static GemmclGemm
make_gemm (guint i)
{
  GemmclGemm gemm = GEMMCL_GEMM_INIT;

  gemm.m = 5;
  gemm.n = 37;
  gemm.k = 96;
  gemm.layout = i & 1 ? GEMMCL_LAYOUT_COLUMN_MAJOR : GEMMCL_LAYOUT_ROW_MAJOR;
  gemm.trans_a = i & 1 ? FALSE : !!(i & 2);
  gemm.trans_b = !!(i & 2);
  gemm.addend = i % 4;
  gemm.bias = TRUE;
  gemm.alpha = 0.5;
  gemm.beta = -2;
  gemm.ldd = gemm.ldc = i & 2 ? 40 : 0;
  gemm.precision = GEMMCL_PRECISION_F16;
  return gemm;
}

/* The test's reference rounds B as kernels of f16 do; those of f32 get the problem so. */
static void
check (const gchar *kernel, GemmclGemm gemm, guint seed)
{
  g_auto (Problem) problem = {0};
  g_autoptr (GError) error = NULL;

  if (strstr (kernel, "f16") == NULL)
    gemm.precision = GEMMCL_PRECISION_F32;
  problem_init (&problem, &gemm, seed);
  g_assert_true (problem_run_device (&problem, test_get_context (), kernel, &error));
  g_assert_no_error (error);
  problem_check (&problem, kernel);
}

static void
test_layouts (void)
{
  for (guint i = 0; i < 4 * G_N_ELEMENTS (kernels); i++)
    check (kernels[i / 4], make_gemm (i % 4), i);
}

static void
test_epilogue (void)
{
  for (guint i = 0; i < 4; i++) {
    GemmclGemm gemm = make_gemm (GEMMCL_ADDEND_MATRIX);

    gemm.activation = i == 0 ? GEMMCL_ACTIVATION_SOFTMAX : GEMMCL_ACTIVATION_RELU;
    gemm.d_type = i == 1 ? GEMMCL_TYPE_I8 : GEMMCL_TYPE_F32;
    gemm.alpha = i == 1 ? 20 : 1;
    if (i == 2)
      gemm.alpha = 0;
    if (i == 3)
      gemm.a_type = GEMMCL_TYPE_U8, gemm.a_scale = 1 / 255.0, gemm.a_shift = -0.5;
    check (kernels[i], gemm, i);
  }
}

/* With f16 a part of A may be too narrow for 2D block reads, though A is not. */
static void
test_narrow (void)
{
  static const gchar *const splits[] = {"xmx_f16_8x1_1x16/6", "xmx_f16_8x1_1x16/3"};

  for (guint i = 0; i < G_N_ELEMENTS (splits); i++) {
    GemmclGemm gemm = make_gemm (0);

    gemm.a_type = GEMMCL_TYPE_F16;
    check (splits[i], gemm, i);
  }
}

/* The plan's own B, packed in parts; and fewer rows than the plan has. */
static void
test_plan (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (kernels); i++) {
    GemmclGemm gemm = make_gemm (GEMMCL_ADDEND_ROW);
    g_auto (Problem) problem = {0};
    g_autoptr (GError) error = NULL;

    if (strstr (kernels[i], "f16") == NULL)
      gemm.precision = GEMMCL_PRECISION_F32;
    problem_init (&problem, &gemm, i);
    g_assert_true (problem_run_plan (&problem, test_get_context (), kernels[i], &error));
    g_assert_no_error (error);
    problem_check (&problem, kernels[i]);
  }
}

static void
test_name (void)
{
  GemmclGemm gemm = make_gemm (0);
  g_autoptr (GemmclPlan) plan = NULL;
  g_autoptr (GError) error = NULL;

  plan = gemmcl_plan_new (test_get_context (), &gemm, "gemm_naive/6", &error);
  g_assert_no_error (error);
  g_assert_cmpstr (gemmcl_plan_get_kernel (plan), ==, "gemm_naive/6");
  g_clear_object (&plan);
  plan = gemmcl_plan_new (test_get_context (), &gemm, "gemm_naive/1", &error);
  g_assert_no_error (error);
  g_assert_cmpstr (gemmcl_plan_get_kernel (plan), ==, "gemm_naive");
}

static void
test_refused (void)
{
  static const struct {
    const gchar *kernel, *words;
    gsize batch;
  } cases[] = {
      {"gemm_naive/5", "multiple of 80, which 96 is not", 1},
      {"gemm_naive/4", "multiple of 64, which 96 is not", 1},
      {"gemm_naive/0", "number from 1 to", 1},
      {"gemm_naive/x", "number from 1 to", 1},
      {"gemm_naive/", "number from 1 to", 1},
      {"gemm_naive/65", "number from 1 to", 1},
      {"gemm_naiv/2", "There is no kernel \"gemm_naiv\"", 1},
      {"gemm_naive/2", "without batches", 2},
      {"block_read_4x1_1x8/2", "that read buffers", 1},
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    GemmclGemm gemm = make_gemm (0);
    g_autoptr (GError) error = NULL;

    gemm.batch = cases[i].batch;
    g_assert_null (gemmcl_plan_new (test_get_context (), &gemm, cases[i].kernel, &error));
    g_assert_error (error, GEMMCL_ERROR, GEMMCL_ERROR_KERNEL);
    if (strstr (error->message, cases[i].words) == NULL) {
      g_test_message ("%s: \"%s\"", cases[i].kernel, error->message);
      g_test_fail ();
    }
  }
}

int
main (int argc, char **argv)
{
  test_init_device (&argc, &argv);
  g_test_add_func ("/split/layouts", test_layouts);
  g_test_add_func ("/split/epilogue", test_epilogue);
  g_test_add_func ("/split/narrow", test_narrow);
  g_test_add_func ("/split/plan", test_plan);
  g_test_add_func ("/split/name", test_name);
  g_test_add_func ("/split/refused", test_refused);
  return g_test_run ();
}
