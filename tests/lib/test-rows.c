/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Sum, max and arg-max of the rows of D, held against what D holds. */
#include <math.h>
#include <string.h>

#include "../kernels/elements.h"
#include "../kernels/problem.h"

#define K     3
#define BATCH 2
#define ALL   (GEMMCL_ROW_SUM | GEMMCL_ROW_MAX | GEMMCL_ROW_ARG_MAX)

typedef struct {
  GemmclGemm gemm;
  const gchar *kernel; /* the fallback if NULL */
  GemmclPlan *plan;
  gfloat *a;
  guchar *d;
  gfloat *rows;
} Fixture;

static void
fixture_clear (Fixture *self)
{
  g_clear_object (&self->plan);
  g_free (self->a);
  g_free (self->d);
  g_free (self->rows);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Fixture, fixture_clear)

static gsize
get_d_bytes (const Fixture *self)
{
  return self->gemm.m * self->gemm.n * gemmcl_type_get_size (self->gemm.d_type);
}

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

static GemmclMatrix *
make_matrix (gsize rows, gsize cols, gfloat (*get) (gsize i, gsize j))
{
  g_autofree gfloat *data = g_new (gfloat, rows * cols);
  g_autoptr (GError) error = NULL;
  GemmclMatrix *matrix;

  for (gsize i = 0; i < rows * cols; i++)
    data[i] = get (i / cols, i % cols);
  matrix = gemmcl_matrix_new (GEMMCL_TYPE_F32, rows, cols, data, &error);
  g_assert_no_error (error);
  return matrix;
}

static gfloat
get_b (gsize i, gsize j)
{
  return (gfloat)((i * 7 + j * 13) % 19) / 8 - 1;
}

/* @self->gemm is set but for what all have in common. FALSE, with the test skipped, without a
 * device. */
static gboolean
fixture_init (Fixture *self)
{
  GemmclGemm *gemm = &self->gemm;
  g_autoptr (GemmclMatrix) b = make_matrix (K, gemm->n, get_b);
  g_autoptr (GemmclMatrix) c = make_matrix (gemm->m, gemm->n, get_c);
  g_autoptr (GError) error = NULL;

  if (test_get_context () == NULL)
    return FALSE;
  gemm->k = K;
  gemm->batch = BATCH;
  gemm->a_scale = 1;
  gemm->addend = GEMMCL_ADDEND_MATRIX;
  gemm->beta = 1;
  self->plan = gemmcl_plan_new (test_get_context (), gemm,
                                self->kernel ? self->kernel : "gemm_naive", &error);
  g_assert_no_error (error);
  g_assert_true (gemmcl_plan_set_b (self->plan, b, NULL));
  g_assert_true (gemmcl_plan_set_c (self->plan, c, NULL));
  self->a = g_new (gfloat, BATCH * gemm->m * K);
  for (gsize i = 0; i < BATCH * gemm->m * K; i++)
    self->a[i] = (gfloat)(i % 23) / 4 - 2;
  self->d = g_malloc (BATCH * get_d_bytes (self));
  self->rows = g_new (gfloat, BATCH * gemm->m * 3);
  return TRUE;
}

static gdouble
get_d (const Fixture *self, gsize batch, gsize i, gsize j)
{
  const GemmclGemm *gemm = &self->gemm;
  const gsize at = gemm->layout == GEMMCL_LAYOUT_ROW_MAJOR ? i * gemm->n + j : i + j * gemm->m;

  return element_get (gemm->d_type, self->d + batch * get_d_bytes (self), at);
}

static void
check_row (const Fixture *self, gsize batch, gsize i, const gfloat *found)
{
  gdouble sum = 0, size = 0, most = get_d (self, batch, i, 0);
  gsize at = 0;

  for (gsize j = 0; j < self->gemm.n; j++) {
    const gdouble x = get_d (self, batch, i, j);

    sum += x;
    size += fabs (x);
    if (x > most || (isnan (x) && !isnan (most))) {
      most = x;
      at = j;
    }
  }
  if (self->gemm.row_outputs & GEMMCL_ROW_SUM) {
    if (isfinite (size))
      g_assert_cmpfloat (fabs (*found - sum), <=, self->gemm.n * 0x1p-24 * size);
    else
      g_assert_true (isnan (sum) ? isnan (*found) : *found == sum);
    found++;
  }
  if (self->gemm.row_outputs & GEMMCL_ROW_MAX) {
    g_assert_true (isnan (most) ? isnan (*found) : *found == (gfloat)most);
    found++;
  }
  if (self->gemm.row_outputs & GEMMCL_ROW_ARG_MAX)
    g_assert_cmpfloat (*found, ==, at);
}

/* @step: floats from the row outputs of a problem to those of the next. */
static void
check (const Fixture *self, gsize m, gsize batch, gsize step)
{
  const guint count = gemmcl_gemm_count_row_outputs (&self->gemm);

  for (gsize b = 0; b < batch; b++)
    for (gsize i = 0; i < m; i++)
      check_row (self, b, i, self->rows + b * step + i * count);
}

static void
run_on_host (Fixture *self, gsize m, gsize batch)
{
  const gsize step = self->gemm.m * gemmcl_gemm_count_row_outputs (&self->gemm);
  const GemmclData rows[BATCH] = {{.host = {self->rows}}, {.host = {self->rows + step}}};
  const GemmclData a[BATCH] = {{.host = {self->a}}, {.host = {self->a + self->gemm.m * K}}};
  const GemmclData d[BATCH] = {{.host = {self->d}}, {.host = {self->d + get_d_bytes (self)}}};
  const GemmclRun run = {
      .size = sizeof run,
      .m = m,
      .batch = batch,
      .alpha = self->gemm.alpha,
      .beta = self->gemm.beta,
      .a = a,
      .d = d,
      .rows = rows,
  };
  g_autoptr (GError) error = NULL;

  for (gsize i = 0; i < BATCH * step; i++)
    self->rows[i] = -77;
  gemmcl_plan_run (self->plan, &run, &error);
  g_assert_no_error (error);
  check (self, m ? m : self->gemm.m, batch ? batch : BATCH, step);
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
  } ways[] = {{GEMMCL_TYPE_F32, "gemm_naive"},
              {GEMMCL_TYPE_F16, "gemm_naive"},
              {GEMMCL_TYPE_I8, "gemm_naive"},
              {GEMMCL_TYPE_F32, "vector_2x64_1x1"}};

  for (guint t = 0; t < G_N_ELEMENTS (ways); t++)
    for (guint i = 0; i < G_N_ELEMENTS (sizes); i++) {
      g_auto (Fixture) self = {0};
      self.gemm.m = 11;
      self.gemm.n = sizes[i];
      self.gemm.d_type = ways[t].type;
      self.kernel = ways[t].kernel;
      self.gemm.alpha = i % 2;
      self.gemm.layout = (i + t) / 2 % 2;
      self.gemm.row_outputs = ALL;
      if (!fixture_init (&self))
        return;
      run_on_host (&self, 0, 0);
      if (self.gemm.layout == GEMMCL_LAYOUT_ROW_MAJOR) {
        run_on_host (&self, 4, 1);
        run_on_host (&self, 4, 2);
      }
    }
}

/* Each set of outputs alone, after a softmax, whose rows add up to 1. */
static void
test_sets (void)
{
  for (guint set = 1; set <= ALL; set++) {
    g_auto (Fixture) self = {0};
    self.gemm.m = 3;
    self.gemm.n = 19;
    self.gemm.alpha = 1;
    self.gemm.activation = GEMMCL_ACTIVATION_SOFTMAX;
    self.gemm.row_outputs = set;
    if (!fixture_init (&self))
      return;
    run_on_host (&self, 0, 0);
    if (set == GEMMCL_ROW_SUM)
      g_assert_cmpfloat_with_epsilon (self.rows[0], 1, 1e-5);
  }
}

static GemmclData
create_buffer (gsize size, gpointer data)
{
  const cl_mem_flags flags = CL_MEM_READ_WRITE | (data ? CL_MEM_COPY_HOST_PTR : 0);
  cl_int status;
  cl_mem buffer = clCreateBuffer (gemmcl_context_get_cl_context (test_get_context ()), flags, size,
                                  data, &status);

  g_assert_cmpint (status, ==, CL_SUCCESS);
  return (GemmclData){.kind = GEMMCL_DATA_BUFFER, .objects = {buffer}};
}

static void
read_and_release (GemmclData *data, gsize size, gpointer to)
{
  const cl_command_queue queue = gemmcl_context_get_cl_queue (test_get_context ());

  g_assert_cmpint (
      clEnqueueReadBuffer (queue, data->objects[0], CL_TRUE, 0, size, to, 0, NULL, NULL), ==,
      CL_SUCCESS);
  clReleaseMemObject (data->objects[0]);
}

/* Buffers of all problems; or of the row outputs one buffer for each, one of them on the host. */
static void
test_device (void)
{
  for (guint apart = 0; apart < 2; apart++) {
    g_auto (Fixture) self = {0};
    g_autoptr (GError) error = NULL;
    GemmclRun run = GEMMCL_RUN_INIT;
    GemmclData a[BATCH], d[BATCH], rows[BATCH];
    gsize a_bytes, d_bytes, rows_bytes;

    self.gemm.m = 9;
    self.gemm.n = 21;
    self.gemm.alpha = 1;
    self.gemm.a_stride = 9 * K;
    self.gemm.row_outputs = ALL;
    if (!fixture_init (&self))
      return;
    a_bytes = self.gemm.m * K * sizeof (gfloat);
    d_bytes = get_d_bytes (&self);
    rows_bytes = self.gemm.m * 3 * sizeof (gfloat);
    a[0] = create_buffer (BATCH * a_bytes, self.a);
    d[0] = create_buffer (BATCH * d_bytes, NULL);
    rows[0] = create_buffer (BATCH * rows_bytes, NULL);
    for (gsize i = 1; i < BATCH; i++) {
      a[i] = a[0];
      a[i].offset[0] = i * a_bytes;
      d[i] = d[0];
      d[i].offset[0] = i * d_bytes;
      rows[i] = (GemmclData){.host = {self.rows + i * self.gemm.m * 3}};
    }
    run.beta = self.gemm.beta;
    run.a = a;
    run.d = d;
    run.rows = rows;
    run.strided = !apart;
    g_assert_true (gemmcl_plan_run (self.plan, &run, &error));
    g_assert_no_error (error);
    clReleaseMemObject (a[0].objects[0]);
    read_and_release (&d[0], BATCH * d_bytes, self.d);
    read_and_release (&rows[0], apart ? rows_bytes : BATCH * rows_bytes, self.rows);
    check (&self, self.gemm.m, BATCH, self.gemm.m * 3);
  }
}

static void
test_refused (void)
{
  GemmclGemm gemm = GEMMCL_GEMM_INIT;
  const GemmclImage image = {.format = GEMMCL_PIXEL_RGB, .width = 4, .height = 2};
  g_autoptr (GError) error = NULL;

  gemm.m = 8;
  gemm.n = gemm.k = 3;
  gemm.row_outputs = 8;
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
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/rows/host", test_host);
  g_test_add_func ("/rows/sets", test_sets);
  g_test_add_func ("/rows/device", test_device);
  g_test_add_func ("/rows/refused", test_refused);
  return g_test_run ();
}
