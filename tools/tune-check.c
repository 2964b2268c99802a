/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tune-check.h"

#include <float.h>
#include <math.h>

#include "tool.h"

/* Any will do, as long as it stays the same. */
#define SEED 19770801

/* Columns of a block, at the least, and how many products of an element of A and one of B x the
 * host may be given: a quarter of a second. */
#define LEAST_WIDTH 16
#define MOST_WORK   1.25e8

/* Rows that are looked at closely, at the most, and how many products that may take. */
#define MOST_ROWS     4
#define MOST_ROW_WORK 1e8

#define UNIT_ROUNDOFF 0x1p-24

struct _TuneCheck {
  const BenchProblem *problem;
  const gfloat *b; /* row by row */
  gsize width, n_blocks;
  gfloat *signs;     /* of each column */
  gdouble *expected; /* of each row and block: what its signed sum should be */
  gdouble *bound;    /* and how far from that it may be */
  gsize rows[MOST_ROWS];
  gsize n_rows;
  gfloat *rows_a; /* those rows of A, one after the other */
};

/* What is summed over the columns of each block, for each k. */
typedef struct {
  gdouble *with_signs;
  gdouble *absolute;
} Blocks;

static void
blocks_clear (Blocks *self)
{
  g_free (self->with_signs);
  g_free (self->absolute);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Blocks, blocks_clear)

static gboolean
fail_memory (GError **error)
{
  g_set_error_literal (error, GEMMCL_ERROR, GEMMCL_ERROR_TOO_LARGE,
                       "There is not enough memory to check results of this size. Choose smaller "
                       "sizes.");
  return FALSE;
}

static void
draw (TuneCheck *self, GRand *random)
{
  const GemmclGemm *gemm = &self->problem->gemm;
  const gsize most = (gsize)MAX (MOST_ROW_WORK / ((gdouble)gemm->n * gemm->k), 1);

  for (gsize j = 0; j < gemm->n; j++)
    self->signs[j] = g_rand_boolean (random) ? 1 : -1;
  self->n_rows = MIN (MIN (gemm->m, MOST_ROWS), most);
  for (gsize r = 1; r < self->n_rows; r++)
    self->rows[r] = r == 1 ? gemm->m - 1
                           : (gsize)g_rand_int_range (random, 0, (gint32)MIN (gemm->m, G_MAXINT32));
}

/* Element (i, j) of a matrix of @rows x @cols that is laid out as the problem's are. */
static gsize
get_index (const TuneCheck *self, gsize rows, gsize cols, gsize i, gsize j)
{
  return self->problem->gemm.layout == GEMMCL_LAYOUT_ROW_MAJOR ? i * cols + j : i + j * rows;
}

static void
sum_b (const TuneCheck *self, Blocks *blocks)
{
  const GemmclGemm *gemm = &self->problem->gemm;
  const gfloat *b = self->b;

  for (gsize k = 0; k < gemm->k; k++)
    for (gsize block = 0; block < self->n_blocks; block++) {
      const gsize end = MIN (gemm->n, (block + 1) * self->width);
      gdouble with_signs = 0, absolute = 0;

      for (gsize j = block * self->width; j < end; j++, b++) {
        with_signs += self->signs[j] * *b;
        absolute += fabsf (*b);
      }
      blocks->with_signs[k * self->n_blocks + block] = with_signs;
      blocks->absolute[k * self->n_blocks + block] = absolute;
    }
}

/* What the product of @a with a block of row k of B adds to a row of D. */
static void
add_product (const TuneCheck *self, const Blocks *blocks, gsize i, gsize k, gdouble a)
{
  const gsize n = self->n_blocks;
  const gdouble nu = (self->problem->gemm.k + 4) * UNIT_ROUNDOFF;
  const gdouble growth = nu < 1 ? nu / (1 - nu) : INFINITY;
  gdouble normal;
  const gdouble v = gemmcl_precision_get_rounding (self->problem->gemm.precision, &normal);
  const gdouble relative = growth + 2 * v + v * v;
  const gdouble absolute = v * normal;
  const gdouble *with_signs = blocks->with_signs + k * n;
  const gdouble *sums = blocks->absolute + k * n;

  for (gsize block = 0; block < n; block++) {
    self->expected[i * n + block] += a * with_signs[block];
    self->bound[i * n + block] +=
        relative * fabs (a) * sums[block] + absolute * (fabs (a) * self->width + sums[block]);
  }
}

/* In the order in which A lies in memory. */
static void
multiply (TuneCheck *self, const Blocks *blocks)
{
  const GemmclGemm *gemm = &self->problem->gemm;
  const gboolean by_rows = gemm->layout == GEMMCL_LAYOUT_ROW_MAJOR;
  const gsize outer = by_rows ? gemm->m : gemm->k, inner = by_rows ? gemm->k : gemm->m;
  const gfloat *a = self->problem->a;

  for (gsize s = 0; s < outer; s++)
    for (gsize t = 0; t < inner; t++)
      add_product (self, blocks, by_rows ? s : t, by_rows ? t : s, *a++);
}

/* Half a step of a row of A, of 255 with 0 among them, and the sum of its sizes. */
static gdouble
get_row_step (const TuneCheck *self, gsize i, gdouble *size)
{
  const GemmclGemm *gemm = &self->problem->gemm;
  gfloat low = 0, high = 0;

  *size = 0;
  for (gsize k = 0; k < gemm->k; k++) {
    const gfloat a = self->problem->a[get_index (self, gemm->m, gemm->k, i, k)];

    low = MIN (low, a);
    high = MAX (high, a);
    *size += fabsf (a);
  }
  return (high - low) / 510;
}

/* Half a step of each column of B, of which the largest element has 127, added up by blocks. */
static gdouble *
sum_column_steps (const TuneCheck *self)
{
  const GemmclGemm *gemm = &self->problem->gemm;
  gdouble *steps = g_new0 (gdouble, self->n_blocks);

  for (gsize j = 0; j < gemm->n; j++) {
    gfloat highest = 0;

    for (gsize k = 0; k < gemm->k; k++)
      highest = MAX (highest, fabsf (self->b[k * gemm->n + j]));
    steps[j / self->width] += highest / 254;
  }
  return steps;
}

/* What bytes in the place of A and B may be off by besides. */
static void
add_byte_errors (TuneCheck *self, const Blocks *blocks)
{
  const GemmclGemm *gemm = &self->problem->gemm;
  const gsize n = self->n_blocks;
  g_autofree gdouble *steps = sum_column_steps (self);
  g_autofree gdouble *sizes = g_new0 (gdouble, n);

  for (gsize at = 0; at < gemm->k * n; at++)
    sizes[at % n] += blocks->absolute[at];
  for (gsize i = 0; i < gemm->m; i++) {
    gdouble size;
    const gdouble step = get_row_step (self, i, &size);

    for (gsize block = 0; block < n; block++)
      self->bound[i * n + block] +=
          1.001 * (step * sizes[block] + (size + gemm->k * step) * steps[block]);
  }
}

static void
copy_rows (TuneCheck *self)
{
  const GemmclGemm *gemm = &self->problem->gemm;

  for (gsize r = 0; r < self->n_rows; r++)
    for (gsize k = 0; k < gemm->k; k++)
      self->rows_a[r * gemm->k + k] =
          self->problem->a[get_index (self, gemm->m, gemm->k, self->rows[r], k)];
}

TuneCheck *
tune_check_new (const BenchProblem *problem, GError **error)
{
  const GemmclGemm *gemm = &problem->gemm;
  const gdouble most_blocks = MOST_WORK / ((gdouble)gemm->m * gemm->k);
  g_autoptr (TuneCheck) self = g_new0 (TuneCheck, 1);
  g_autoptr (GRand) random = g_rand_new_with_seed (SEED);
  g_auto (Blocks) blocks = {NULL};

  self->problem = problem;
  self->b = gemmcl_matrix_get_data (problem->weights);
  self->n_blocks = (gsize)CLAMP (most_blocks, 1, (gemm->n + LEAST_WIDTH - 1) / LEAST_WIDTH);
  self->width = (gemm->n + self->n_blocks - 1) / self->n_blocks;
  self->n_blocks = (gemm->n + self->width - 1) / self->width;
  self->signs = g_try_new (gfloat, gemm->n);
  self->expected = g_try_new0 (gdouble, gemm->m * self->n_blocks);
  self->bound = g_try_new (gdouble, gemm->m * self->n_blocks);
  self->rows_a = g_try_new (gfloat, MOST_ROWS * gemm->k);
  blocks.with_signs = g_try_new (gdouble, gemm->k * self->n_blocks);
  blocks.absolute = g_try_new (gdouble, gemm->k * self->n_blocks);
  if (self->signs == NULL || self->expected == NULL || self->bound == NULL ||
      self->rows_a == NULL || blocks.with_signs == NULL || blocks.absolute == NULL) {
    fail_memory (error);
    return NULL;
  }
  /* Results below the smallest normal float may be flushed to 0. */
  for (gsize at = 0; at < gemm->m * self->n_blocks; at++)
    self->bound[at] = (gdouble)self->width * FLT_MIN;
  draw (self, random);
  sum_b (self, &blocks);
  multiply (self, &blocks);
  if (gemm->precision == GEMMCL_PRECISION_I8)
    add_byte_errors (self, &blocks);
  copy_rows (self);
  return g_steal_pointer (&self);
}

void
tune_check_free (TuneCheck *self)
{
  g_free (self->signs);
  g_free (self->expected);
  g_free (self->bound);
  g_free (self->rows_a);
  g_free (self);
}

/* The signed sums of D's blocks, in the order in which D lies in memory. */
static void
sum_d (const TuneCheck *self, gdouble *sums)
{
  const GemmclGemm *gemm = &self->problem->gemm;
  const gboolean by_rows = gemm->layout == GEMMCL_LAYOUT_ROW_MAJOR;
  const gsize outer = by_rows ? gemm->m : gemm->n, inner = by_rows ? gemm->n : gemm->m;
  const gfloat *d = self->problem->d;

  for (gsize s = 0; s < outer; s++)
    for (gsize t = 0; t < inner; t++) {
      const gsize i = by_rows ? s : t, j = by_rows ? t : s;
      sums[i * self->n_blocks + j / self->width] += self->signs[j] * *d++;
    }
}

static gboolean
check_blocks (const TuneCheck *self, GError **error)
{
  const GemmclGemm *gemm = &self->problem->gemm;
  const gsize count = gemm->m * self->n_blocks;
  g_autofree gdouble *sums = g_try_new0 (gdouble, count);

  if (sums == NULL)
    return fail_memory (error);
  sum_d (self, sums);
  for (gsize at = 0; at < count; at++) {
    const gdouble off = fabs (sums[at] - self->expected[at]);
    const gsize column = at % self->n_blocks * self->width;

    /* NaN, too, is out of bounds. */
    if (!(off <= self->bound[at])) {
      g_set_error (error, TOOL_ERROR, TOOL_ERROR_FAILED,
                   "The result is wrong in row %" G_GSIZE_FORMAT ", columns %" G_GSIZE_FORMAT
                   " to %" G_GSIZE_FORMAT
                   ": together they are off by %.3g, where %.3g is the bound.",
                   at / self->n_blocks, column, MIN (column + self->width, gemm->n) - 1, off,
                   self->bound[at]);
      return FALSE;
    }
  }
  return TRUE;
}

static gboolean
check_rows (const TuneCheck *self, GError **error)
{
  const GemmclGemm *gemm = &self->problem->gemm;
  GemmclGemm rows = GEMMCL_GEMM_INIT;
  g_autofree gfloat *d = g_try_new (gfloat, self->n_rows * gemm->n);
  gdouble max_error, bound;

  if (d == NULL)
    return fail_memory (error);
  rows.m = self->n_rows;
  rows.n = gemm->n;
  rows.k = gemm->k;
  rows.precision = gemm->precision;
  for (gsize r = 0; r < self->n_rows; r++)
    for (gsize j = 0; j < gemm->n; j++)
      d[r * gemm->n + j] = self->problem->d[get_index (self, gemm->m, gemm->n, self->rows[r], j)];
  if (gemmcl_gemm_verify (&rows, self->rows_a, self->b, NULL, NULL, d, &max_error, &bound))
    return TRUE;
  g_set_error (error, TOOL_ERROR, TOOL_ERROR_FAILED,
               "The result is wrong: an element is off by %.3g, where %.3g is the bound.",
               max_error, bound);
  return FALSE;
}

gboolean
tune_check_output (const TuneCheck *self, GError **error)
{
  return check_blocks (self, error) && check_rows (self, error);
}
