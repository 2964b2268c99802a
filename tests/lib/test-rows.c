/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Sum, max, arg-max and top-k of the rows of D, held against what D holds. */
#include <math.h>
#include <string.h>

#include "../kernels/problem.h"

#define M     11
#define K     3
#define BATCH 2
#define TOP_K 4
#define Q     (3 + 2 * TOP_K) /* row outputs */
#define ALL   (GEMMCL_ROW_SUM | GEMMCL_ROW_MAX | GEMMCL_ROW_ARG_MAX | GEMMCL_ROW_TOP_K)

/* Few different numbers, so that many are the largest; in some rows NaN, or only -infinity. */
static gfloat
get_c (gsize i, gsize j)
{
  if (i % 5 == 3 && j % 7 == 6)
    return NAN;
  if (i % 5 == 4)
    return -INFINITY;
  return (gfloat)((i * 31 + j * 17) % 11) - 8;
}

/* A batch of problems of M x N x K with the C above, for gemm_naive unless @kernel is set. */
static GemmclPlan *
make_plan (Problem *problem, GemmclGemm gemm, const gchar *kernel)
{
  g_autoptr (GemmclMatrix) c = NULL;
  GemmclPlan *plan;

  gemm.m = M;
  gemm.k = K;
  gemm.batch = BATCH;
  gemm.a_stride = M * K;
  gemm.a_scale = 1;
  gemm.addend = GEMMCL_ADDEND_MATRIX;
  gemm.beta = 1;
  problem_init (problem, &gemm, gemm.n);
  for (gsize at = 0; at < M * gemm.n; at++)
    problem->c[at] = get_c (at / gemm.n, at % gemm.n);
  c = gemmcl_matrix_new (GEMMCL_TYPE_F32, M, gemm.n, problem->c, NULL);
  gemm.a_stride = 0; /* which means nothing for runs that say where each A is */
  plan = test_make_plan (&gemm, kernel ? kernel : "gemm_naive", problem->b);
  g_assert_true (gemmcl_plan_set_c (plan, c, NULL));
  return plan;
}

static void
run (GemmclPlan *plan, GemmclRun *run)
{
  g_autoptr (GError) error = NULL;

  run->size = sizeof *run;
  run->beta = 1;
  gemmcl_plan_run (plan, run, &error);
  g_assert_no_error (error);
}

static void
run_on_host (Problem *self, GemmclPlan *plan, gsize m, gsize batch)
{
  const gsize step = problem_count_rows (&self->gemm) / BATCH;
  const gsize d_bytes = M * self->gemm.n * gemmcl_type_get_size (self->gemm.d_type);
  const GemmclData rows[BATCH] = {{.host = {self->rows}}, {.host = {self->rows + step}}};
  const GemmclData a[BATCH] = {{.host = {self->a}}, {.host = {(gfloat *)self->a + M * K}}};
  const GemmclData d[BATCH] = {{.host = {self->d}}, {.host = {(guint8 *)self->d + d_bytes}}};

  for (gsize i = 0; i < BATCH * step; i++)
    self->rows[i] = -77;
  run (plan, &(GemmclRun){
                 .m = m, .batch = batch, .alpha = self->gemm.alpha, .a = a, .d = d, .rows = rows});
  problem_check_some_rows (self, m ? m : M, batch ? batch : BATCH, "rows");
  if (m > 0) /* and nothing behind them */
    g_assert_cmpfloat (self->rows[step - 1], ==, -77);
}

static void
test_host (void)
{
  static const gsize sizes[] = {1, 5, 16, 33, 67};
  /* The last one makes them by itself, of up to 64 columns. */
  static const struct {
    GemmclType type;
    const gchar *kernel;
    gdouble scale, shift;
  } ways[] = {{GEMMCL_TYPE_F32, "gemm_naive"},
              {GEMMCL_TYPE_F16, "gemm_naive"},
              {GEMMCL_TYPE_I8, "gemm_naive"},
              {GEMMCL_TYPE_I8, "gemm_naive", 0.3, -5},
              {GEMMCL_TYPE_F32, "vector_2x64_1x1"}};

  for (guint t = 0; t < G_N_ELEMENTS (ways); t++)
    for (guint i = 0; i < G_N_ELEMENTS (sizes); i++) {
      const GemmclGemm gemm = {.n = sizes[i],
                               .d_type = ways[t].type,
                               .d_scale = ways[t].scale,
                               .d_shift = ways[t].shift,
                               .alpha = i % 2,
                               .layout = (i + t) / 2 % 2,
                               .row_outputs = ALL,
                               .top_k = MIN (sizes[i], i == 3 ? GEMMCL_MAX_TOP_K : TOP_K)};
      g_auto (Problem) self = {0};
      g_autoptr (GemmclPlan) plan = make_plan (&self, gemm, ways[t].kernel);

      run_on_host (&self, plan, 0, 0);
      for (gsize batch = 1; gemm.layout == GEMMCL_LAYOUT_ROW_MAJOR && batch <= BATCH; batch++)
        run_on_host (&self, plan, 4, batch);
    }
}

/* Each set of outputs alone, after a softmax, whose rows add up to 1. */
static void
test_sets (void)
{
  for (guint set = 1; set <= ALL; set++) {
    const GemmclGemm gemm = {.n = 19,
                             .alpha = 1,
                             .activation = GEMMCL_ACTIVATION_SOFTMAX,
                             .row_outputs = set,
                             .top_k = 1 + set % TOP_K};
    g_auto (Problem) self = {0};
    g_autoptr (GemmclPlan) plan = make_plan (&self, gemm, NULL);

    run_on_host (&self, plan, 0, 0);
    if (set == GEMMCL_ROW_SUM)
      g_assert_cmpfloat_with_epsilon (self.rows[0], 1, 1e-5);
  }
}

/* A buffer for the row outputs of the first problem, and the host's memory for those of the other:
 * the tests of the kernels have all in one buffer. */
static void
test_device (void)
{
  const GemmclGemm gemm = {.n = 21, .alpha = 1, .row_outputs = ALL, .top_k = TOP_K};
  g_auto (Problem) self = {0};
  g_autoptr (GemmclPlan) plan = make_plan (&self, gemm, NULL);
  const gsize a_bytes = M * K * sizeof (gfloat), d_bytes = M * gemm.n * sizeof (gfloat);
  const gsize rows_bytes = M * Q * sizeof (gfloat);
  g_auto (cl_mem) a = test_create_buffer (BATCH * a_bytes, self.a);
  g_auto (cl_mem) d = test_create_buffer (BATCH * d_bytes, NULL);
  g_auto (cl_mem) rows = test_create_buffer (rows_bytes, NULL);
  GemmclData data_a[BATCH], data_d[BATCH];
  const GemmclData data_rows[BATCH] = {{.kind = GEMMCL_DATA_BUFFER, .objects = {rows}},
                                       {.host = {self.rows + M * Q}}};

  for (gsize i = 0; i < BATCH; i++) {
    data_a[i] = (GemmclData){.kind = GEMMCL_DATA_BUFFER, .objects = {a}, .offset = {i * a_bytes}};
    data_d[i] = (GemmclData){.kind = GEMMCL_DATA_BUFFER, .objects = {d}, .offset = {i * d_bytes}};
  }
  run (plan, &(GemmclRun){.alpha = 1, .a = data_a, .d = data_d, .rows = data_rows});
  test_read_buffer (d, BATCH * d_bytes, self.d);
  test_read_buffer (rows, rows_bytes, self.rows);
  problem_check_rows (&self, "rows");
}

static void
test_refused (void)
{
  GemmclGemm gemm = GEMMCL_GEMM_INIT;
  const GemmclImage image = {.format = GEMMCL_PIXEL_RGB, .width = 4, .height = 2};
  g_autoptr (GError) error = NULL;

  gemm.m = 8;
  gemm.n = gemm.k = 3;
  gemm.row_outputs = 16;
  g_assert_false (gemmcl_gemm_validate (&gemm, &error));
  g_assert_error (error, GEMMCL_ERROR, GEMMCL_ERROR_INVALID);
  g_clear_error (&error);
  gemm.row_outputs = GEMMCL_ROW_SUM;
  gemm.d_image = &image;
  g_assert_false (gemmcl_gemm_validate (&gemm, &error));
  g_assert_error (error, GEMMCL_ERROR, GEMMCL_ERROR_INVALID);
  g_clear_error (&error);
  gemm.d_image = NULL;
  gemm.n = (1 << 24) + 1;
  g_assert_true (gemmcl_gemm_validate (&gemm, &error));
  g_assert_no_error (error);
  gemm.row_outputs = GEMMCL_ROW_ARG_MAX;
  g_assert_false (gemmcl_gemm_validate (&gemm, &error));
  g_assert_error (error, GEMMCL_ERROR, GEMMCL_ERROR_TOO_LARGE);
  for (guint k = 0; k <= GEMMCL_MAX_TOP_K + 1; k++) {
    g_clear_error (&error);
    gemm.row_outputs = GEMMCL_ROW_TOP_K;
    gemm.n = k % 2 ? 100 : 7;
    gemm.top_k = k;
    g_assert_cmpint (gemmcl_gemm_validate (&gemm, &error), ==,
                     k > 0 && k <= (k % 2 ? GEMMCL_MAX_TOP_K : 7));
  }
  g_assert_error (error, GEMMCL_ERROR, GEMMCL_ERROR_INVALID);
}

int
main (int argc, char *argv[])
{
  test_init_device (&argc, &argv);
  g_test_add_func ("/rows/host", test_host);
  g_test_add_func ("/rows/sets", test_sets);
  g_test_add_func ("/rows/device", test_device);
  g_test_add_func ("/rows/refused", test_refused);
  return g_test_run ();
}
