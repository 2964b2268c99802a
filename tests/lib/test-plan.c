/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Plans: operands that do not fit, smaller runs, statistics. */

#include <math.h>
#include <string.h>

#include "../kernels/problem.h"
#include "files.h"

/* A plan of m x n x k with all of B 1, all of A 1 on the host, and room for D. */
typedef struct {
  GemmclGemm gemm;
  GemmclPlan *plan;
  gfloat *a, *d;
} Fixture;

static void
fixture_clear (Fixture *self)
{
  g_clear_object (&self->plan);
  g_clear_pointer (&self->a, g_free);
  g_clear_pointer (&self->d, g_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Fixture, fixture_clear)

/* @gemm: (nullable): more than the sizes */
static void
fixture_init (Fixture *self, gsize m, gsize n, gsize k, const GemmclGemm *gemm)
{
  const GemmclGemm init = GEMMCL_GEMM_INIT;
  gsize batch;

  self->gemm = gemm ? *gemm : init;
  self->gemm.m = m;
  self->gemm.n = n;
  self->gemm.k = k;
  batch = MAX (self->gemm.batch, 1);
  self->plan = test_make_plan (&self->gemm, NULL, NULL);
  self->a = g_new (gfloat, batch * m * k);
  self->d = g_new (gfloat, batch * m * n);
  for (gsize i = 0; i < batch * m * k; i++)
    self->a[i] = 1;
}

static void
fixture_set_b (Fixture *self, gfloat value)
{
  g_autoptr (GemmclMatrix) b =
      test_make_filled (self->gemm.trans_b ? self->gemm.n : self->gemm.k,
                        self->gemm.trans_b ? self->gemm.k : self->gemm.n, value);
  g_autoptr (GError) error = NULL;

  gemmcl_plan_set_b (self->plan, b, &error);
  g_assert_no_error (error);
}

static gboolean
fixture_run (Fixture *self, gsize m, gsize batch, GError **error)
{
  GemmclData a[8] = {0}, d[8] = {0};
  const GemmclRun run = {
      .size = sizeof run,
      .m = m,
      .batch = batch,
      .alpha = self->gemm.alpha,
      .beta = self->gemm.beta,
      .a = self->gemm.alpha == 0 ? NULL : a,
      .d = d,
  };

  for (guint i = 0; i < MAX (self->gemm.batch, 1); i++) {
    a[i].host[0] = self->a + i * self->gemm.m * self->gemm.k;
    d[i].host[0] = self->d + i * self->gemm.m * self->gemm.n;
  }
  for (gsize i = 0; i < MAX (self->gemm.batch, 1) * self->gemm.m * self->gemm.n; i++)
    self->d[i] = -77;
  return gemmcl_plan_run (self->plan, &run, error);
}

/* Runs, and holds every element to @expected. */
static void
fixture_assert (Fixture *self, gfloat expected)
{
  g_autoptr (GError) error = NULL;

  fixture_run (self, 0, 0, &error);
  g_assert_no_error (error);
  for (gsize i = 0; i < MAX (self->gemm.batch, 1) * self->gemm.m * self->gemm.n; i++)
    g_assert_cmpfloat (self->d[i], ==, expected);
}

typedef gboolean (*SetFunction) (GemmclPlan *, GemmclMatrix *, GError **);

static void
assert_refused (Fixture *self, SetFunction set, gsize rows, gsize cols, gint code,
                const gchar *words)
{
  g_autoptr (GemmclMatrix) matrix = test_make_filled (rows, cols, 9);
  g_autoptr (GError) error = NULL;

  g_assert_false (set (self->plan, matrix, &error));
  files_assert_error (error, code, words);
}

/* A refused operand changes nothing. */
static void
test_shapes (void)
{
  GemmclGemm gemm = GEMMCL_GEMM_INIT;
  g_auto (Fixture) f = {0};

  gemm.bias = TRUE;
  gemm.addend = GEMMCL_ADDEND_MATRIX;
  gemm.beta = 1;
  fixture_init (&f, 2, 3, 4, &gemm);
  fixture_set_b (&f, 1);
  assert_refused (&f, gemmcl_plan_set_b, 3, 4, GEMMCL_ERROR_SHAPE, "B must be 4 x 3 but is 3 x 4");
  assert_refused (&f, gemmcl_plan_set_b, 4, 4, GEMMCL_ERROR_SHAPE, "4 x 4");
  assert_refused (&f, gemmcl_plan_set_b, 12, 1, GEMMCL_ERROR_SHAPE, "12 x 1");
  assert_refused (&f, gemmcl_plan_set_bias, 1, 4, GEMMCL_ERROR_SHAPE, "bias must be 1 x 3");
  assert_refused (&f, gemmcl_plan_set_bias, 4, 1, GEMMCL_ERROR_SHAPE, "bias must be 3 x 1");
  assert_refused (&f, gemmcl_plan_set_bias, 3, 3, GEMMCL_ERROR_SHAPE, "bias");
  assert_refused (&f, gemmcl_plan_set_c, 3, 2, GEMMCL_ERROR_SHAPE, "C must be 2 x 3");
  assert_refused (&f, gemmcl_plan_set_c, 1, 3, GEMMCL_ERROR_SHAPE, "C must be 2 x 3");
  fixture_assert (&f, 4);
}

static void
test_row_shapes (void)
{
  GemmclGemm gemm = GEMMCL_GEMM_INIT;
  g_autoptr (GemmclMatrix) column = test_make_filled (3, 1, 5);
  g_autoptr (GemmclMatrix) row = test_make_filled (1, 3, 6);
  g_auto (Fixture) f = {0};

  gemm.addend = GEMMCL_ADDEND_ROW;
  gemm.beta = 2;
  gemm.bias = TRUE;
  fixture_init (&f, 2, 3, 4, &gemm);
  fixture_set_b (&f, 1);
  assert_refused (&f, gemmcl_plan_set_c, 2, 3, GEMMCL_ERROR_SHAPE, "C must be 1 x 3");
  fixture_assert (&f, 4);
  g_assert_true (gemmcl_plan_set_c (f.plan, column, NULL));
  g_assert_true (gemmcl_plan_set_bias (f.plan, column, NULL));
  fixture_assert (&f, 4 + 2 * 5 + 5);
  g_assert_true (gemmcl_plan_set_c (f.plan, row, NULL));
  g_assert_true (gemmcl_plan_set_bias (f.plan, row, NULL));
  fixture_assert (&f, 4 + 2 * 6 + 6);
}

/* A problem without bias or C has no place for them. */
static void
test_unstated (void)
{
  g_auto (Fixture) f = {0};

  fixture_init (&f, 2, 3, 4, NULL);
  assert_refused (&f, gemmcl_plan_set_bias, 1, 3, GEMMCL_ERROR_INVALID, "without a bias");
  assert_refused (&f, gemmcl_plan_set_c, 2, 3, GEMMCL_ERROR_INVALID, "without a C");
}

/* B may be of any type and order. */
static void
test_b_types (void)
{
  const gint8 small[] = {1, -2, 3, 4, 5, 6};
  g_autoptr (GemmclMatrix) b = gemmcl_matrix_new (GEMMCL_TYPE_I8, 3, 2, small, NULL);
  g_autoptr (GError) error = NULL;
  g_auto (Fixture) f = {0};

  fixture_init (&f, 1, 2, 3, NULL);
  g_assert_true (gemmcl_plan_set_b (f.plan, b, &error));
  g_assert_true (fixture_run (&f, 0, 0, &error));
  g_assert_cmpfloat (f.d[0], ==, 9);
  g_assert_cmpfloat (f.d[1], ==, 8);
}

static void
test_without_b (void)
{
  g_autoptr (GError) error = NULL;
  g_auto (Fixture) f = {0};

  fixture_init (&f, 2, 3, 4, NULL);
  g_assert_false (fixture_run (&f, 0, 0, &error));
  files_assert_error (error, GEMMCL_ERROR_INVALID, "no B yet");
  f.gemm.alpha = 0;
  fixture_assert (&f, 0);
  f.gemm.alpha = 2;
  fixture_set_b (&f, 3);
  fixture_assert (&f, 24);
}

static void
test_smaller (void)
{
  GemmclGemm gemm = GEMMCL_GEMM_INIT;
  g_autoptr (GError) error = NULL;
  g_auto (Fixture) f = {0};

  gemm.batch = 3;
  gemm.a_stride = 5 * 4;
  fixture_init (&f, 5, 3, 4, &gemm);
  fixture_set_b (&f, 1);
  for (gsize m = 1; m <= 5; m++)
    for (gsize batch = 1; batch <= 3; batch++) {
      g_assert_true (fixture_run (&f, m, batch, &error));
      for (gsize i = 0; i < 3 * 5 * 3; i++)
        g_assert_cmpfloat (f.d[i], ==, i / 15 < batch && i % 15 / 3 < m ? 4 : -77);
    }
  g_assert_false (fixture_run (&f, 6, 0, &error));
  files_assert_error (error, GEMMCL_ERROR_INVALID, "6 rows and 3 batches is more than");
  g_assert_false (fixture_run (&f, 0, 4, &error));
  files_assert_error (error, GEMMCL_ERROR_INVALID, "5 rows and 4 batches");
}

/* Fewer rows of matrices that lie column by column, or of a transposed A. */
static void
test_smaller_by_column (void)
{
  for (guint i = 0; i < 4; i++) {
    GemmclGemm gemm = GEMMCL_GEMM_INIT;
    gfloat a[6 * 4], d[6 * 3];
    const GemmclData host_a = {.host = {a}}, host_d = {.host = {d}};
    const GemmclRun run = {.size = sizeof run, .m = 2, .alpha = 1, .a = &host_a, .d = &host_d};
    g_autoptr (GError) error = NULL;
    g_auto (Fixture) f = {0};

    gemm.layout = i & 1 ? GEMMCL_LAYOUT_COLUMN_MAJOR : GEMMCL_LAYOUT_ROW_MAJOR;
    gemm.trans_a = i >> 1;
    gemm.lda = gemm.ldd = 6;
    fixture_init (&f, 5, 3, 4, &gemm);
    fixture_set_b (&f, 1);
    for (guint at = 0; at < G_N_ELEMENTS (a); at++)
      a[at] = NAN;
    for (guint at = 0; at < G_N_ELEMENTS (d); at++)
      d[at] = -77;
    for (guint row = 0; row < 2; row++)
      for (guint k = 0; k < 4; k++)
        if ((row * 6 + k < 24) && i % 3 == 0)
          a[row * 6 + k] = row + 1;
        else if (i % 3)
          a[k * 6 + row] = row + 1;
    g_assert_true (gemmcl_plan_run (f.plan, &run, &error));
    for (guint at = 0; at < G_N_ELEMENTS (d); at++) {
      const guint row = i & 1 ? at % 6 : at / 6, col = i & 1 ? at / 6 : at % 6;
      g_assert_cmpfloat (d[at], ==, row < 2 && col < 3 ? 4.0f * (row + 1) : -77);
    }
  }
}

static void
test_stats (void)
{
  GemmclPlanStats stats;
  g_autoptr (GError) error = NULL;
  g_auto (Fixture) f = {0};

  fixture_init (&f, 50, 30, 40, NULL);
  gemmcl_plan_get_stats (f.plan, &stats);
  g_assert_cmpuint (stats.runs | stats.kernel_ns | stats.bytes_in | stats.bytes_out | stats.copies,
                    ==, 0);
  fixture_set_b (&f, 1);
  g_assert_true (fixture_run (&f, 0, 0, &error));
  g_assert_true (fixture_run (&f, 10, 0, &error));
  gemmcl_plan_get_stats (f.plan, &stats);
  g_assert_cmpuint (stats.runs, ==, 2);
  g_assert_cmpfloat (stats.flops, ==, 2.0 * 60 * 30 * 40);
  g_assert_cmpuint (stats.bytes_in, ==, 60 * 40 * 4);
  g_assert_cmpuint (stats.bytes_out, ==, 60 * 30 * 4);
  g_assert_cmpuint (stats.kernel_ns, >, 0);
}

/* Shares of rows too wide for any kernel to own, and rounded into integers. */
static void
test_softmax (void)
{
  static const GemmclType types[] = {GEMMCL_TYPE_F32, GEMMCL_TYPE_F64, GEMMCL_TYPE_F16,
                                     GEMMCL_TYPE_U8};
  GemmclContext *context = test_get_context ();

  for (guint i = 0; i < G_N_ELEMENTS (types); i++) {
    GemmclGemm gemm = GEMMCL_GEMM_INIT;
    g_autoptr (GError) error = NULL;
    g_auto (Problem) problem = {0};

    gemm.m = 7;
    gemm.n = 1000;
    gemm.k = 9;
    gemm.alpha = 3;
    gemm.d_type = types[i];
    gemm.activation = GEMMCL_ACTIVATION_SOFTMAX;
    gemm.layout = i % 2 ? GEMMCL_LAYOUT_COLUMN_MAJOR : GEMMCL_LAYOUT_ROW_MAJOR;
    gemm.ldd = 1003;
    problem_init (&problem, &gemm, i);
    g_assert_true (problem_run_plan (&problem, context, NULL, &error));
    problem_check (&problem, "softmax");
  }
}

/* Integers that stand for numbers: shares of a softmax, norms, sums that saturate. */
static void
test_scaled_d (void)
{
  static const struct {
    GemmclType type;
    gdouble scale, shift;
    GemmclActivation activation;
    guint normalize;
  } cases[] = {
      {GEMMCL_TYPE_U8, 1 / 256.0, 0, GEMMCL_ACTIVATION_SOFTMAX, 0},
      {GEMMCL_TYPE_I8, 1 / 127.0, 0, GEMMCL_ACTIVATION_NONE, GEMMCL_NORMALIZE_D},
      {GEMMCL_TYPE_U8, 2 / 255.0, -1, GEMMCL_ACTIVATION_TANH, 0},
      {GEMMCL_TYPE_I8, 0.75, 40, GEMMCL_ACTIVATION_NONE, 0},
      {GEMMCL_TYPE_I16, 1 / 32768.0, 0, GEMMCL_ACTIVATION_SOFTMAX, GEMMCL_NORMALIZE_A},
      {GEMMCL_TYPE_U8, 1, 3, GEMMCL_ACTIVATION_RELU, 0},
  };
  GemmclContext *context = test_get_context ();

  for (guint i = 0; i < 2 * G_N_ELEMENTS (cases); i++) {
    const guint at = i / 2;
    GemmclGemm gemm = GEMMCL_GEMM_INIT;
    g_autoptr (GError) error = NULL;
    g_auto (Problem) problem = {0};

    gemm.m = 7;
    gemm.n = i % 3 ? 33 : 300;
    gemm.k = 9;
    gemm.batch = 1 + i % 4 / 2;
    gemm.a_stride = gemm.m * gemm.k;
    gemm.d_type = cases[at].type;
    gemm.d_scale = cases[at].scale;
    gemm.d_shift = cases[at].shift;
    gemm.activation = cases[at].activation;
    gemm.normalize = cases[at].normalize;
    gemm.layout = i % 2 ? GEMMCL_LAYOUT_COLUMN_MAJOR : GEMMCL_LAYOUT_ROW_MAJOR;
    gemm.ldd = 303;
    problem_init (&problem, &gemm, i);
    g_assert_true (problem_run_plan (&problem, context, NULL, &error));
    problem_check (&problem, "scaled D");
  }
}

/* Rows that follow one another over the batches, or do not, give the same. */
static void
test_batches (void)
{
  GemmclContext *context = test_get_context ();

  for (guint i = 0; i < 16; i++) {
    GemmclGemm gemm = GEMMCL_GEMM_INIT;
    g_autoptr (GError) error = NULL;
    g_auto (Problem) problem = {0};

    gemm.m = i & 1 ? 1 : 6;
    gemm.n = 5;
    gemm.k = i & 2 ? 1 : 3;
    gemm.batch = 7;
    gemm.a_stride = gemm.m * gemm.k;
    gemm.layout = i & 4 ? GEMMCL_LAYOUT_COLUMN_MAJOR : GEMMCL_LAYOUT_ROW_MAJOR;
    gemm.addend = i & 8 ? GEMMCL_ADDEND_ROW : GEMMCL_ADDEND_MATRIX;
    gemm.beta = 1;
    problem_init (&problem, &gemm, i);
    g_assert_true (problem_run_plan (&problem, context, NULL, &error));
    problem_check (&problem, "batches");
  }
}

/* Halves must be asked for, and hold what they are given. */
static void
test_halves (void)
{
  GemmclContext *context = test_get_context ();
  GemmclGemm gemm = GEMMCL_GEMM_INIT;
  g_autoptr (GemmclMatrix) most = test_make_filled (2, 2, 65519),
                           more = test_make_filled (2, 2, 65520);
  g_autoptr (GemmclPlan) plan = NULL;
  g_autoptr (GError) error = NULL;

  gemm.m = gemm.n = gemm.k = 2;
  g_assert_null (gemmcl_plan_new (context, &gemm, "buffer_read_f16_4x1_1x16", &error));
  g_assert_error (error, GEMMCL_ERROR, GEMMCL_ERROR_KERNEL);
  g_clear_error (&error);
  gemm.precision = GEMMCL_PRECISION_F16;
  plan = gemmcl_plan_new (context, &gemm, "buffer_read_f16_4x1_1x16", &error);
  g_assert_no_error (error);
  g_assert_true (gemmcl_plan_set_b (plan, most, &error));
  g_assert_no_error (error);
  g_assert_false (gemmcl_plan_set_b (plan, more, &error));
  g_assert_error (error, GEMMCL_ERROR, GEMMCL_ERROR_INVALID);
}

/* A D larger than caches, which CPUs write past them where its vectors are aligned: with rows that
 * follow one another, with a gap that keeps them so, and with one that does not. */
static void
test_large_output (void)
{
  static const gsize gaps[] = {0, 16, 1};
  GemmclContext *context = test_get_context ();

  for (guint i = 0; i < G_N_ELEMENTS (gaps); i++) {
    GemmclGemm gemm = GEMMCL_GEMM_INIT;
    g_autoptr (GError) error = NULL;
    g_auto (Problem) problem = {0};

    gemm.m = 65539;
    gemm.n = 64 + i;
    gemm.k = 3;
    gemm.alpha = 0.5;
    gemm.bias = TRUE;
    gemm.ldd = gaps[i] ? 64 + gaps[i] * 2 : 0;
    problem_init (&problem, &gemm, i);
    g_assert_true (problem_run_device (&problem, context, NULL, &error));
    g_assert_no_error (error);
    problem_check (&problem, "a large output");
  }
}

int
main (int argc, char **argv)
{
  test_init_device (&argc, &argv);
  g_test_add_func ("/plan/shapes", test_shapes);
  g_test_add_func ("/plan/row-shapes", test_row_shapes);
  g_test_add_func ("/plan/unstated", test_unstated);
  g_test_add_func ("/plan/b-types", test_b_types);
  g_test_add_func ("/plan/without-b", test_without_b);
  g_test_add_func ("/plan/smaller", test_smaller);
  g_test_add_func ("/plan/smaller-by-column", test_smaller_by_column);
  g_test_add_func ("/plan/stats", test_stats);
  g_test_add_func ("/plan/softmax", test_softmax);
  g_test_add_func ("/plan/scaled-d", test_scaled_d);
  g_test_add_func ("/plan/batches", test_batches);
  g_test_add_func ("/plan/large-output", test_large_output);
  g_test_add_func ("/plan/halves", test_halves);
  return g_test_run ();
}
