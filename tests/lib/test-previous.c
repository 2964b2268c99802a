/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* D = alpha A B + beta times the result before, which the plan keeps, held against plain loops in
 * double precision. */

#include <math.h>
#include <string.h>

#include "../kernels/elements.h"
#include "../kernels/problem.h"

#define BATCH 2
#define ALL   (GEMMCL_ROW_SUM | GEMMCL_ROW_MAX | GEMMCL_ROW_ARG_MAX)

typedef struct {
  GemmclGemm gemm;
  GemmclImage image;
  GemmclPlan *plan;
  gfloat *a, *b;
  guint8 *d, *before;
  gfloat *rows;
  gdouble *state; /* what the result should be, before it is rounded */
  gsize d_bytes;  /* of a problem, with gaps */
} Case;

static void
case_clear (Case *self)
{
  g_clear_object (&self->plan);
  g_free (self->a);
  g_free (self->b);
  g_free (self->d);
  g_free (self->before);
  g_free (self->rows);
  g_free (self->state);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Case, case_clear)

/* A row-major or column-major problem of the sizes that @self has; frames of RGB and the like. */
static void
case_init (Case *self, const gchar *kernel)
{
  GemmclGemm *gemm = &self->gemm;
  const gboolean by_column = gemm->layout == GEMMCL_LAYOUT_COLUMN_MAJOR;
  GemmclPlane planes[GEMMCL_MAX_PLANES];

  gemm->a_scale = 1;
  gemm->addend = GEMMCL_ADDEND_PREVIOUS;
  gemm->batch = MAX (gemm->batch, 1);
  if (self->image.width > 0) {
    gemm->d_image = &self->image;
    self->d_bytes = gemmcl_image_get_planes (&self->image, planes);
  } else {
    gemm->ldd = MAX (gemm->ldd, by_column ? gemm->m : gemm->n);
    self->d_bytes =
        gemm->ldd * (by_column ? gemm->n : gemm->m) * gemmcl_type_get_size (gemm->d_type);
  }
  self->a = g_new (gfloat, gemm->batch * gemm->m * gemm->k);
  self->b = g_new (gfloat, gemm->k * gemm->n);
  self->d = g_malloc0 (gemm->batch * self->d_bytes);
  self->before = g_malloc0 (gemm->batch * self->d_bytes);
  self->rows = g_new0 (gfloat, gemm->batch * gemm->m * 3);
  self->state = g_new0 (gdouble, gemm->batch * gemm->m * gemm->n);
  for (gsize i = 0; i < gemm->batch * gemm->m * gemm->k; i++)
    self->a[i] = g_test_rand_int_range (0, 256);
  for (gsize i = 0; i < gemm->k * gemm->n; i++)
    self->b[i] = g_test_rand_double_range (-1, 1);
  self->plan = test_make_plan (&self->gemm, kernel, self->b);
}

/* The samples of a pixel's channels in memory, by their names. */
static gsize
get_sample (const Case *self, gsize i, gsize j)
{
  const gchar *name = gemmcl_pixel_format_get_name (self->image.format);
  const gboolean grey = g_str_has_prefix (name, "GRAY");

  return grey ? i : i * strlen (name) + (strchr (name, "RGBA"[j]) - name);
}

static gdouble
load_d (const Case *self, const guint8 *all, gsize batch, gsize i, gsize j)
{
  const guint8 *d = all + batch * self->d_bytes;
  const gsize ldd = self->gemm.ldd;

  if (self->gemm.d_image && self->image.format == GEMMCL_PIXEL_GRAY16_LE)
    return ((const guint16 *)d)[i];
  if (self->gemm.d_image)
    return d[get_sample (self, i, j)];
  return element_get (self->gemm.d_type, d,
                      self->gemm.layout == GEMMCL_LAYOUT_COLUMN_MAJOR ? i + j * ldd : i * ldd + j);
}

static void
softmax (gdouble *row, gsize n)
{
  gdouble most = row[0], sum = 0;

  for (gsize j = 1; j < n; j++)
    most = fmax (most, row[j]);
  for (gsize j = 0; j < n; j++)
    sum += row[j] = exp (row[j] - most);
  for (gsize j = 0; j < n; j++)
    row[j] /= sum;
}

static void
expect (Case *self, const GemmclRun *run)
{
  const GemmclGemm *gemm = &self->gemm;
  const gsize m = run->m ? run->m : gemm->m, batch = run->batch ? run->batch : gemm->batch;
  const gboolean by_column = gemm->layout == GEMMCL_LAYOUT_COLUMN_MAJOR;

  for (gsize b = 0; b < batch; b++)
    for (gsize i = 0; i < m; i++) {
      gdouble *row = self->state + (b * gemm->m + i) * gemm->n;

      for (gsize j = 0; j < gemm->n; j++) {
        gdouble sum = 0;

        for (gsize k = 0; k < gemm->k; k++)
          sum += self->a[b * gemm->m * gemm->k + (by_column ? i + k * gemm->m : i * gemm->k + k)] *
                 self->b[k * gemm->n + j];
        row[j] = (gfloat)run->alpha * sum + (gfloat)run->beta * row[j];
      }
      if (gemm->activation == GEMMCL_ACTIVATION_SOFTMAX)
        softmax (row, gemm->n);
    }
}

/* D = stored number * scale + shift. */
static gdouble
get_scale (const Case *self)
{
  return self->gemm.d_scale > 0 ? self->gemm.d_scale : 1;
}

static gdouble
to_stored (const Case *self, gdouble value)
{
  return (value - self->gemm.d_shift) / get_scale (self);
}

/* @share: of an element, or of those of A, that it may be off by before it is rounded. */
static void
check (const Case *self, const GemmclRun *run, gdouble share)
{
  const GemmclGemm *gemm = &self->gemm;
  const gsize m = run->m ? run->m : gemm->m, batch = run->batch ? run->batch : gemm->batch;
  const GemmclType type = !gemm->d_image                                 ? gemm->d_type
                          : self->image.format == GEMMCL_PIXEL_GRAY16_LE ? GEMMCL_TYPE_U16
                                                                         : GEMMCL_TYPE_U8;

  for (gsize at = 0; at < batch * m * gemm->n; at++) {
    const gsize b = at / (m * gemm->n), i = at / gemm->n % m, j = at % gemm->n;
    const gdouble expected = self->state[(b * gemm->m + i) * gemm->n + j];
    const gdouble found = load_d (self, self->d, b, i, j);

    if (!element_is_near (type, to_stored (self, expected),
                          share * (fabs (expected) + 255) / get_scale (self), found))
      g_error ("D(%zu, %zu) of problem %zu is %.9g, expected %.9g", i, j, b, found, expected);
  }
  for (gsize i = 0; gemm->d_image && self->image.format == GEMMCL_PIXEL_RGBX && i < m; i++)
    g_assert_cmpuint (self->d[4 * i + 3], ==, 255);
}

/* Sum, max and its place, of what D holds. */
static void
check_rows (const Case *self, gsize m)
{
  const GemmclGemm *gemm = &self->gemm;

  for (gsize b = 0; b < gemm->batch; b++)
    for (gsize i = 0; i < m; i++) {
      const gfloat *found = self->rows + (b * gemm->m + i) * 3;
      gdouble sum = 0, most = -INFINITY;
      gsize at = 0;

      for (gsize j = 0; j < gemm->n; j++) {
        const gdouble x = load_d (self, self->d, b, i, j) * get_scale (self) + gemm->d_shift;

        sum += x;
        if (x > most) {
          most = x;
          at = j;
        }
      }
      g_assert_cmpfloat_with_epsilon (found[0], sum, 1e-4 * (fabs (sum) + gemm->n));
      g_assert_cmpfloat (found[1], ==, (gfloat)most);
      g_assert_cmpfloat (found[2], ==, at);
    }
}

/* Fills the data of a run on the host. */
static void
describe (const Case *self, GemmclData *a, GemmclData *d, GemmclData *rows)
{
  GemmclPlane planes[GEMMCL_MAX_PLANES];

  for (gsize i = 0; i < self->gemm.batch; i++) {
    a[i] = (GemmclData){.host = {self->a + i * self->gemm.m * self->gemm.k}};
    d[i] = (GemmclData){.host = {self->d + i * self->d_bytes}};
    rows[i] = (GemmclData){.host = {self->rows + i * self->gemm.m * 3}};
    if (self->gemm.d_image) {
      gemmcl_image_get_planes (&self->image, planes);
      d[i].stride[0] = planes[0].row_bytes;
    }
  }
}

/* A run on the host of @m rows (0: all) and @batch problems, and what it should give. */
static void
run_part (Case *self, gsize m, gsize batch, gdouble alpha, gdouble beta)
{
  GemmclData a[BATCH], d[BATCH], rows[BATCH];
  const GemmclRun run = {
      .size = sizeof run,
      .m = m,
      .batch = batch,
      .alpha = alpha,
      .beta = beta,
      .a = alpha == 0 ? NULL : a,
      .d = d,
      .rows = self->gemm.row_outputs ? rows : NULL,
  };
  g_autoptr (GError) error = NULL;

  describe (self, a, d, rows);
  gemmcl_plan_run (self->plan, &run, &error);
  g_assert_no_error (error);
  expect (self, &run);
  check (self, &run, (self->gemm.k + 8) * 0x1p-22);
  if (self->gemm.row_outputs)
    check_rows (self, m ? m : self->gemm.m);
}

static void
run_and_check (Case *self, gdouble alpha, gdouble beta)
{
  run_part (self, 0, 0, alpha, beta);
}

/* A feedback of 200 runs; A changes in the first half, and then D comes to rest at A B. */
static void
feed_back (Case *self)
{
  const GemmclGemm *gemm = &self->gemm;
  const GemmclRun whole = GEMMCL_RUN_INIT;

  for (guint i = 0; i < 200; i++) {
    for (gsize at = i; i < 100 && at < gemm->batch * gemm->m * gemm->k; at += 7)
      self->a[at] = g_test_rand_int_range (0, 256);
    run_and_check (self, 0.2, 0.8);
  }
  memset (self->state, 0, gemm->batch * gemm->m * gemm->n * sizeof *self->state);
  expect (self, &whole);
  check (self, &whole, 1e-5);
}

static void
test_types (void)
{
  static const GemmclType types[] = {GEMMCL_TYPE_I16, GEMMCL_TYPE_F32, GEMMCL_TYPE_U8,
                                     GEMMCL_TYPE_F16, GEMMCL_TYPE_F64};

  for (guint i = 0; i < G_N_ELEMENTS (types); i++) {
    g_auto (Case) self = {
        .gemm = {
            .m = 9, .n = 7, .k = 3, .ldd = i % 2 ? 11 : 0, .batch = BATCH, .d_type = types[i]}};

    case_init (&self, NULL);
    feed_back (&self);
  }
}

static void
test_frames (void)
{
  static const struct {
    GemmclPixelFormat format;
    guint n;
  } formats[] = {{GEMMCL_PIXEL_RGB, 3},
                 {GEMMCL_PIXEL_GRAY8, 1},
                 {GEMMCL_PIXEL_RGBX, 3},
                 {GEMMCL_PIXEL_BGRA, 4},
                 {GEMMCL_PIXEL_GRAY16_LE, 1}};

  for (guint i = 0; i < G_N_ELEMENTS (formats); i++) {
    g_auto (Case) self = {
        .gemm = {.m = 7 * 5, .n = formats[i].n, .k = 4, .batch = BATCH},
        .image = {.format = formats[i].format, .width = 7, .height = 5},
    };

    case_init (&self, NULL);
    feed_back (&self);
  }
}

/* Integers with a scale; what is fed back is not rounded, and row outputs are those of D. */
static void
test_scaled (void)
{
  for (guint i = 0; i < 4; i++) {
    g_auto (Case) self = {.gemm = {.m = 9,
                                   .n = 7,
                                   .k = 3,
                                   .layout = i % 2,
                                   .batch = BATCH,
                                   .d_type = i / 2 ? GEMMCL_TYPE_I8 : GEMMCL_TYPE_I16,
                                   .d_scale = i / 2 ? 3.5 : 0.125,
                                   .d_shift = i % 2 ? 0 : -5,
                                   .row_outputs = ALL}};

    case_init (&self, NULL);
    feed_back (&self);
  }
}

/* GRAY8 that is fed back comes to rest at its input, to the last bit. */
static void
test_fixed_point (void)
{
  g_auto (Case) self = {
      .gemm = {.m = 16 * 16, .n = 1, .k = 1},
      .image = {.format = GEMMCL_PIXEL_GRAY8, .width = 16, .height = 16},
  };

  case_init (&self, NULL);
  for (guint i = 0; i < 256; i++)
    self.a[i] = i;
  g_clear_object (&self.plan);
  self.b[0] = 1;
  self.plan = test_make_plan (&self.gemm, NULL, self.b);
  for (guint i = 0; i < 200; i++)
    run_and_check (&self, 0.2, 0.8);
  for (guint i = 0; i < 256; i++)
    g_assert_cmpuint (self.d[i], ==, i);
}

/* Neither alpha nor beta 0 reads what it scales, and both leave a result for the next run. */
static void
test_scalars (void)
{
  g_auto (Case) self = {.gemm = {.m = 5, .n = 3, .k = 4, .d_type = GEMMCL_TYPE_I16}};

  case_init (&self, NULL);
  run_and_check (&self, 1, 1);
  run_and_check (&self, 1, 0);
  run_and_check (&self, 0, 0.5);
  run_and_check (&self, 0, 0);
  run_and_check (&self, 0.3, 1);
}

/* Runs of fewer rows and problems leave those of the others as they are. */
static void
test_smaller (void)
{
  for (guint i = 0; i < 4; i++) {
    g_auto (Case)
        self = {.gemm = {.m = 6,
                         .n = 5,
                         .k = 2,
                         .batch = BATCH,
                         .ldd = i / 2 ? 8 : 0,
                         .layout = i % 2 ? GEMMCL_LAYOUT_COLUMN_MAJOR : GEMMCL_LAYOUT_ROW_MAJOR,
                         .d_type = GEMMCL_TYPE_I16}};

    case_init (&self, NULL);
    run_part (&self, 2, 1, 1, 0);
    run_part (&self, 6, 1, 0.5, 0.5);
    run_part (&self, 0, 0, 0.5, 0.5);
    run_part (&self, 3, 2, 0.5, 0.5);
    run_part (&self, 0, 0, 0.5, 0.5);
  }
}

/* Steps behind the product: softmax, parts of K, row outputs, which are of what D holds. */
static void
test_steps (void)
{
  for (guint i = 0; i < 12; i++) {
    g_auto (Case)
        self = {.gemm = {.m = 6,
                         .n = i % 3 == 2 ? 700 : 5,
                         .k = 32,
                         .batch = i % 3 ? BATCH : 1,
                         .row_outputs = ALL,
                         .activation = i % 2 ? GEMMCL_ACTIVATION_SOFTMAX : GEMMCL_ACTIVATION_NONE,
                         .d_type = i / 6 ? GEMMCL_TYPE_I16 : GEMMCL_TYPE_F32}};

    case_init (&self, i % 3 ? NULL : "gemm_naive/2");
    for (guint run = 0; run < 3; run++)
      run_and_check (&self, 0.01, 0.8);
  }
}

/* A run may bring its previous result, in host memory or in a buffer, strided as D is. */
static void
test_given (void)
{
  for (guint i = 0; i < 8; i++) {
    g_auto (Case) self = {.gemm = {.m = 6,
                                   .n = 5,
                                   .k = 3,
                                   .batch = i % 2 ? BATCH : 1,
                                   .ldd = i / 4 ? 7 : 0,
                                   .row_outputs = ALL,
                                   .d_type = GEMMCL_TYPE_I16}};
    g_auto (cl_mem) a_buffer = NULL, d_buffer = NULL, before_buffer = NULL, rows_buffer = NULL;
    GemmclData a[BATCH], d[BATCH], rows[BATCH], before[BATCH];
    GemmclRun run = GEMMCL_RUN_INIT;
    g_autoptr (GError) error = NULL;
    gsize d_bytes, rows_bytes;

    case_init (&self, NULL);
    rows_bytes = self.gemm.batch * 6 * 3 * sizeof (gfloat);
    d_bytes = self.gemm.batch * self.d_bytes;
    run_and_check (&self, 1, 0);
    for (gsize at = 0; at < d_bytes / 2; at++)
      ((gint16 *)self.before)[at] = g_test_rand_int_range (-9000, 9000);
    for (gsize at = 0; at < self.gemm.batch * 6 * 5; at++)
      self.state[at] = load_d (&self, self.before, at / 30, at % 30 / 5, at % 5);
    describe (&self, a, d, rows);
    for (gsize b = 0; b < self.gemm.batch; b++)
      before[b] = (GemmclData){.host = {self.before + b * self.d_bytes}};
    if (i / 2 % 2) {
      run.strided = TRUE;
      a_buffer = test_create_buffer (self.gemm.batch * 6 * 3 * sizeof (gfloat), self.a);
      d_buffer = test_create_buffer (d_bytes, self.d);
      before_buffer = test_create_buffer (d_bytes, self.before);
      rows_buffer = test_create_buffer (rows_bytes, self.rows);
      a[0] = (GemmclData){.kind = GEMMCL_DATA_BUFFER, .objects = {a_buffer}};
      d[0] = (GemmclData){.kind = GEMMCL_DATA_BUFFER, .objects = {d_buffer}};
      before[0] = (GemmclData){.kind = GEMMCL_DATA_BUFFER, .objects = {before_buffer}};
      rows[0] = (GemmclData){.kind = GEMMCL_DATA_BUFFER, .objects = {rows_buffer}};
      g_object_unref (self.plan);
      self.gemm.a_stride = 6 * 3;
      self.plan = test_make_plan (&self.gemm, NULL, self.b);
    }
    run.alpha = 0.5;
    run.beta = 0.5;
    run.a = a;
    run.d = d;
    run.rows = rows;
    run.previous = before;
    gemmcl_plan_run (self.plan, &run, &error);
    g_assert_no_error (error);
    if (run.strided) {
      const cl_command_queue queue = gemmcl_context_get_cl_queue (test_get_context ());

      clEnqueueReadBuffer (queue, d_buffer, CL_TRUE, 0, d_bytes, self.d, 0, NULL, NULL);
      clEnqueueReadBuffer (queue, rows_buffer, CL_TRUE, 0, rows_bytes, self.rows, 0, NULL, NULL);
    }
    expect (&self, &run);
    check (&self, &run, 1e-5);
    check_rows (&self, 6);
    run_and_check (&self, 0.5, 0.5);
  }
}

static void
forget (Case *self)
{
  memset (self->state, 0, self->gemm.batch * self->gemm.m * self->gemm.n * sizeof *self->state);
}

/* It can be taken over by another plan, which is of another type and has another B; or forgotten.
 */
static void
test_adopt (void)
{
  g_auto (Case) self = {.gemm = {.m = 5, .n = 3, .k = 4, .d_type = GEMMCL_TYPE_I16}};
  g_autoptr (GemmclPlan) first = NULL, other = NULL;
  GemmclGemm gemm;

  case_init (&self, NULL);
  run_and_check (&self, 1, 1);
  gemmcl_plan_reset_previous (self.plan);
  forget (&self);
  run_and_check (&self, 0.2, 0.8);
  first = g_steal_pointer (&self.plan);
  g_free (self.d);
  self.gemm.d_type = GEMMCL_TYPE_F32;
  self.d_bytes *= 2;
  self.d = g_malloc0 (self.d_bytes);
  self.b[0] += 1;
  self.plan = test_make_plan (&self.gemm, NULL, self.b);
  gemmcl_plan_adopt_previous (self.plan, first);
  run_and_check (&self, 0.2, 0.8);
  gemm = self.gemm;
  self.gemm.m--;
  other = test_make_plan (&self.gemm, NULL, self.b);
  self.gemm = gemm;
  gemmcl_plan_adopt_previous (self.plan, other);
  forget (&self);
  run_and_check (&self, 0.2, 0.8);
  /* A plan whose state was given away begins with zeros. */
  gemmcl_plan_adopt_previous (first, self.plan);
  forget (&self);
  run_and_check (&self, 0.2, 0.8);
}

int
main (int argc, char **argv)
{
  test_init_device (&argc, &argv);
  g_test_add_func ("/previous/types", test_types);
  g_test_add_func ("/previous/scaled", test_scaled);
  g_test_add_func ("/previous/frames", test_frames);
  g_test_add_func ("/previous/fixed-point", test_fixed_point);
  g_test_add_func ("/previous/scalars", test_scalars);
  g_test_add_func ("/previous/smaller", test_smaller);
  g_test_add_func ("/previous/steps", test_steps);
  g_test_add_func ("/previous/given", test_given);
  g_test_add_func ("/previous/adopt", test_adopt);
  return g_test_run ();
}
