/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Rows of A and of D divided by their L2 norms, held against the reference of problem.c. */
#include <math.h>
#include <string.h>

#include "../kernels/elements.h"
#include "../kernels/problem.h"

#define BOTH (GEMMCL_NORMALIZE_A | GEMMCL_NORMALIZE_D)

typedef gboolean (*Run) (Problem *, GemmclContext *, const gchar *, GError **);

static void
solve (Problem *self, const gchar *kernel, Run run)
{
  g_autoptr (GError) error = NULL;

  run (self, test_get_context (), kernel, &error);
  g_assert_no_error (error);
  if (!problem_check (self, kernel ? kernel : "rules"))
    return;
  if (self->gemm.d_type == GEMMCL_TYPE_F32)
    problem_verify (self, kernel ? kernel : "rules");
  if (run == problem_run_device && self->rows != NULL)
    problem_check_rows (self, "row outputs");
}

static void
solve_gemm (const GemmclGemm *gemm, const gchar *kernel, Run run)
{
  g_auto (Problem) self = {0};

  problem_init (&self, gemm, gemm->k + gemm->a_type);
  solve (&self, kernel, run);
}

static GemmclGemm
make_gemm (gsize m, gsize n, gsize k, guint normalize)
{
  GemmclGemm gemm = GEMMCL_GEMM_INIT;

  gemm.m = m;
  gemm.n = n;
  gemm.k = k;
  gemm.normalize = normalize;
  return gemm;
}

/* All types of A and of D, with K and N below, at and above a vector's width. A 64-bit integer's
 * squares overflow. */
static void
test_types (void)
{
  static const gsize sizes[] = {16, 5, 33, 1, 47};

  for (guint i = 0; i < GEMMCL_N_TYPES; i++) {
    GemmclGemm gemm = make_gemm (7, sizes[(i + 1) % 5], sizes[i % 5], 1 + i % 3);
    gdouble low, high;

    gemm.a_type = i;
    gemm.d_type = (i + 5) % GEMMCL_N_TYPES;
    gemm.a_scale = i % 2 ? 1 : 1 / 128.0;
    gemm.a_shift = i % 3 ? 0 : -0.25;
    if (element_is_integer (gemm.d_type) && !(gemm.normalize & GEMMCL_NORMALIZE_D)) {
      element_get_range (gemm.d_type, &low, &high);
      gemm.alpha = high;
    }
    solve_gemm (&gemm, NULL, problem_run_device);
    gemm.d_type = GEMMCL_TYPE_F32;
    gemm.normalize = BOTH;
    gemm.alpha = 1;
    solve_gemm (&gemm, NULL, problem_run_device);
  }
}

/* Layouts with and without gaps, in the caller's memory and in a copy without gaps; batches that
 * share A and B, or have their own. */
static void
test_layouts (void)
{
  for (guint i = 0; i < 32; i++) {
    GemmclGemm gemm = make_gemm (6, 9, 19, 1 + i % 3);

    gemm.layout = i & 1 ? GEMMCL_LAYOUT_COLUMN_MAJOR : GEMMCL_LAYOUT_ROW_MAJOR;
    gemm.trans_a = !!(i & 2);
    gemm.a_type = i & 4 ? GEMMCL_TYPE_I8 : GEMMCL_TYPE_F32;
    gemm.d_type = i & 8 ? GEMMCL_TYPE_F16 : GEMMCL_TYPE_F32;
    gemm.addend = i & 8 ? GEMMCL_ADDEND_OUTPUT : GEMMCL_ADDEND_MATRIX;
    gemm.beta = 0.5;
    gemm.bias = TRUE;
    gemm.row_outputs = GEMMCL_ROW_SUM | GEMMCL_ROW_ARG_MAX;
    gemm.batch = 1 + i % 3;
    if (i & 16) {
      gemm.lda = 23;
      gemm.a_offset = 3;
      gemm.ldd = 11;
      gemm.d_offset = 2;
    }
    gemm.a_stride = i % 5 ? 23 * 19 : 0;
    gemm.b_stride = i % 7 ? 0 : 9 * 19;
    solve_gemm (&gemm, NULL, problem_run_device);
    gemm.row_outputs = 0;
    solve_gemm (&gemm, NULL, problem_run_host);
  }
}

/* Kernels that find whole rows themselves or not, with packed B, images, engines, int8, and K in
 * parts; activations before D's norms. */
static void
test_kernels (void)
{
  static const struct {
    const gchar *kernel;
    GemmclPrecision precision;
  } ways[] = {{"gemm_naive", GEMMCL_PRECISION_F32},
              {"gemm_naive/2", GEMMCL_PRECISION_F32},
              {"vector_4x8_1x1", GEMMCL_PRECISION_F32},
              {"vector_4x8_1x1/2", GEMMCL_PRECISION_F32},
              {"block_read_4x1_1x8", GEMMCL_PRECISION_F32},
              {"xmx_bf16_8x1_1x16", GEMMCL_PRECISION_BF16},
              {"dot_1x1_1x64", GEMMCL_PRECISION_I8},
              {NULL, GEMMCL_PRECISION_F16},
              {NULL, GEMMCL_PRECISION_I8}};
  static const GemmclActivation activations[] = {GEMMCL_ACTIVATION_NONE, GEMMCL_ACTIVATION_SOFTMAX,
                                                 GEMMCL_ACTIVATION_RELU};

  for (guint i = 0; i < G_N_ELEMENTS (ways); i++)
    for (guint j = 0; j < 6; j++) {
      GemmclGemm gemm = make_gemm (9, 7, 64, 1 + j % 3);

      gemm.precision = ways[i].precision;
      gemm.activation = activations[(i + j) % 3];
      gemm.d_type = (i + j) % 4 == 3 ? GEMMCL_TYPE_F16 : GEMMCL_TYPE_F32;
      gemm.row_outputs = GEMMCL_ROW_MAX | GEMMCL_ROW_TOP_K;
      gemm.top_k = 3;
      if (!gemmcl_kernel_fits (test_get_context (), ways[i].kernel ? ways[i].kernel : "gemm_naive",
                               &gemm, NULL))
        continue;
      solve_gemm (&gemm, ways[i].kernel, problem_run_device);
      gemm.row_outputs = 0;
      solve_gemm (&gemm, ways[i].kernel, problem_run_plan);
    }
}

/* @x: the row before it was normalized */
static void
check_row (const gfloat *x, const gfloat *found, gsize n)
{
  gdouble squares = 0, norm;

  for (gsize i = 0; i < n; i++)
    squares += (gdouble)x[i] * x[i];
  norm = sqrt (squares);
  for (gsize i = 0; i < n; i++) {
    const gdouble expected = x[i] / (norm < 1e-12 ? 1e-12 : norm);

    if (isnan (expected))
      g_assert_true (isnan (found[i]));
    else
      g_assert_cmpfloat_with_epsilon (found[i], expected, 1e-6 * fabs (expected) + 1e-24);
  }
}

/* Rows of zeros, of the least and the largest numbers, around the least norm, and with NaN and
 * infinities: as A, multiplied by the identity, and as C, which is D. */
static void
test_extremes (void)
{
  static const gfloat values[][3] = {{0, 0, 0},
                                     {-0.0f, 0, 0},
                                     {1e19f, -1e19f, 1e18f},
                                     {3e38f, 3e38f, -3e38f},
                                     {3e38f, 1, 0},
                                     {1e-12f, 0, 0},
                                     {9e-13f, 0, 1e-14f},
                                     {3e-12f, 4e-12f, 0},
                                     {1e-25f, 1e-25f, 1e-25f},
                                     {3, 4, 0},
                                     {NAN, 1, 2},
                                     {INFINITY, 1, 2},
                                     {1, -INFINITY, INFINITY},
                                     {1, INFINITY, NAN}};
  const gsize m = G_N_ELEMENTS (values), n_finite = 10, k = 3;

  for (guint of_d = 0; of_d < 2; of_d++) {
    GemmclGemm gemm = make_gemm (m, k, k, of_d ? GEMMCL_NORMALIZE_D : GEMMCL_NORMALIZE_A);
    g_auto (Problem) self = {0};
    g_autoptr (GError) error = NULL;

    gemm.alpha = !of_d;
    gemm.beta = of_d;
    gemm.addend = of_d ? GEMMCL_ADDEND_MATRIX : GEMMCL_ADDEND_NONE;
    problem_init (&self, &gemm, 1);
    memcpy (of_d ? self.c : self.a, values, sizeof values);
    for (gsize i = 0; i < k * k; i++)
      self.b[i] = i % (k + 1) == 0;
    problem_run_device (&self, test_get_context (), "gemm_naive", &error);
    g_assert_no_error (error);
    for (gsize i = 0; i < (of_d ? m : n_finite); i++)
      check_row (values[i], (gfloat *)self.d + i * k, k);
    problem_verify (&self, "extremes");
  }
}

/* Runs of fewer rows and problems than the plan has. */
static void
test_smaller (void)
{
  for (guint i = 0; i < 4; i++) {
    GemmclGemm gemm = make_gemm (8, 5, 21, BOTH);
    g_auto (Problem) self = {0};
    g_autoptr (GemmclPlan) plan = NULL;
    g_autoptr (GError) error = NULL;
    GemmclData a[2], d[2];
    const GemmclRun run = {
        .size = sizeof run, .m = 3, .batch = 1 + i / 2, .alpha = 1, .a = a, .d = d};

    gemm.layout = i % 2;
    gemm.batch = 2;
    gemm.a_stride = 8 * 21;
    problem_init (&self, &gemm, i);
    plan = test_make_plan (&gemm, "gemm_naive", NULL);
    {
      g_autofree gfloat *b = g_new (gfloat, 5 * 21);
      g_autoptr (GemmclMatrix) matrix = NULL;

      for (gsize at = 0; at < 5 * 21; at++)
        b[at] = self.b[problem_b_index (&self, 0, at / 5, at % 5)];
      matrix = gemmcl_matrix_new (GEMMCL_TYPE_F32, 21, 5, b, &error);
      g_assert_true (gemmcl_plan_set_b (plan, matrix, &error));
    }
    for (gsize batch = 0; batch < 2; batch++) {
      a[batch] = (GemmclData){.host = {(gfloat *)self.a + batch * 8 * 21}};
      d[batch] = (GemmclData){.host = {(gfloat *)self.d + batch * 8 * 5}};
    }
    gemmcl_plan_run (plan, &run, &error);
    g_assert_no_error (error);
    problem_check_part (&self, 3, run.batch, "fewer rows");
  }
}

/* The previous result is the normalized one. */
static void
test_previous (void)
{
  static const gfloat a[] = {3, 4}, b[] = {1, 0, 0, 1};
  GemmclGemm gemm = make_gemm (1, 2, 2, GEMMCL_NORMALIZE_D);
  g_autoptr (GemmclPlan) plan = NULL;
  g_autoptr (GError) error = NULL;
  gint8 found[2];
  const GemmclData data_a = {.host = {(gpointer)a}}, data_d = {.host = {found}};
  GemmclRun run = GEMMCL_RUN_INIT;

  gemm.addend = GEMMCL_ADDEND_PREVIOUS;
  gemm.d_type = GEMMCL_TYPE_I8;
  plan = test_make_plan (&gemm, NULL, b);
  run.a = &data_a;
  run.d = &data_d;
  gemmcl_plan_run (plan, &run, &error);
  g_assert_no_error (error);
  g_assert_cmpint (found[0], ==, 1); /* 0.6 and 0.8, rounded */
  g_assert_cmpint (found[1], ==, 1);
  run.alpha = 0;
  run.beta = 100;
  gemmcl_plan_run (plan, &run, &error);
  g_assert_no_error (error);
  gemm.normalize = 0;
  {
    g_autoptr (GemmclPlan) plain = test_make_plan (&gemm, NULL, b);

    gemmcl_plan_adopt_previous (plain, plan);
    gemmcl_plan_run (plain, &run, &error);
    g_assert_no_error (error);
  }
  g_assert_cmpint (found[0], ==, 60);
  g_assert_cmpint (found[1], ==, 80);
}

/* With alpha 0 the rows of A are not read; D is C, normalized. */
static void
test_without_a (void)
{
  GemmclGemm gemm = make_gemm (4, 6, 8, BOTH);
  g_auto (Problem) self = {0};

  gemm.alpha = 0;
  gemm.beta = 3;
  gemm.addend = GEMMCL_ADDEND_ROW;
  problem_init (&self, &gemm, 1);
  for (gsize i = 0; i < self.n_a; i++)
    ((gfloat *)self.a)[i] = NAN;
  solve (&self, NULL, problem_run_device);
}

/* A search runs the product without its norms, and the plan finds what it stored. */
static void
test_search (void)
{
  const gchar *const names[] = {"gemm_naive", "vector_4x8_1x1", NULL};
  GemmclGemm gemm = make_gemm (9, 12, 40, BOTH);
  GemmclTuningOptions options = GEMMCL_TUNING_OPTIONS_INIT;
  g_autoptr (GemmclTuningResult) result = NULL;
  g_autoptr (GError) error = NULL;

  gemm.a_type = GEMMCL_TYPE_U8;
  gemm.row_outputs = GEMMCL_ROW_ARG_MAX;
  options.names = names;
  options.seconds = 0.1;
  options.dry_run = TRUE;
  result = gemmcl_tuning_search (test_get_context (), &gemm, &options, NULL, &error);
  g_assert_no_error (error);
  g_assert_nonnull (result->best);
}

static void
test_refused (void)
{
  const GemmclImage image = {.format = GEMMCL_PIXEL_RGB, .width = 4, .height = 2};
  GemmclGemm gemm = make_gemm (8, 3, 3, BOTH + 1);
  g_autoptr (GError) error = NULL;

  g_assert_false (gemmcl_gemm_validate (&gemm, &error));
  g_assert_error (error, GEMMCL_ERROR, GEMMCL_ERROR_INVALID);
  g_clear_error (&error);
  gemm.normalize = GEMMCL_NORMALIZE_D;
  gemm.d_image = &image;
  g_assert_false (gemmcl_gemm_validate (&gemm, &error));
  g_assert_error (error, GEMMCL_ERROR, GEMMCL_ERROR_INVALID);
  g_clear_error (&error);
  gemm.normalize = GEMMCL_NORMALIZE_A;
  g_assert_true (gemmcl_gemm_validate (&gemm, &error));
}

int
main (int argc, char *argv[])
{
  test_init_device (&argc, &argv);
  g_test_add_func ("/normalize/types", test_types);
  g_test_add_func ("/normalize/layouts", test_layouts);
  g_test_add_func ("/normalize/kernels", test_kernels);
  g_test_add_func ("/normalize/extremes", test_extremes);
  g_test_add_func ("/normalize/smaller", test_smaller);
  g_test_add_func ("/normalize/previous", test_previous);
  g_test_add_func ("/normalize/without-a", test_without_a);
  g_test_add_func ("/normalize/search", test_search);
  g_test_add_func ("/normalize/refused", test_refused);
  return g_test_run ();
}
