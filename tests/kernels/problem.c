/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "problem.h"

#include <math.h>
#include <string.h>

#include "elements.h"

#define GUARD 37 /* elements after each matrix */

typedef struct {
  gsize rows, cols, ld, offset, stride;
  gboolean transposed;
} Shape;

static Shape
a_shape (const GemmclGemm *gemm)
{
  return (Shape){gemm->m, gemm->k, gemm->lda, gemm->a_offset, gemm->a_stride, gemm->trans_a};
}

static Shape
b_shape (const GemmclGemm *gemm)
{
  return (Shape){gemm->k, gemm->n, gemm->ldb, gemm->b_offset, gemm->b_stride, gemm->trans_b};
}

static Shape
c_shape (const GemmclGemm *gemm)
{
  if (gemm->addend == GEMMCL_ADDEND_ROW)
    return (Shape){.rows = 1, .cols = gemm->n, .offset = gemm->c_offset};
  return (Shape){gemm->m, gemm->n, gemm->ldc, gemm->c_offset, gemm->c_stride, FALSE};
}

static Shape
d_shape (const GemmclGemm *gemm)
{
  const gboolean by_column = gemm->layout == GEMMCL_LAYOUT_COLUMN_MAJOR;
  Shape shape = {gemm->m, gemm->n, gemm->ldd, gemm->d_offset, gemm->d_stride, FALSE};

  if (shape.ld == 0)
    shape.ld = by_column ? gemm->m : gemm->n;
  if (shape.stride == 0)
    shape.stride = shape.ld * (by_column ? gemm->n : gemm->m);
  return shape;
}

static gsize
locate (const GemmclGemm *gemm, const Shape *shape, gsize batch, gsize i, gsize j)
{
  const gboolean by_column = (gemm->layout == GEMMCL_LAYOUT_COLUMN_MAJOR) != !!shape->transposed;
  const gsize length = by_column ? shape->rows : shape->cols;
  const gsize ld = shape->ld ? shape->ld : length;

  return shape->offset + batch * shape->stride + (by_column ? j * ld + i : i * ld + j);
}

static gsize
problem_a_index (const Problem *self, gsize batch, gsize i, gsize k)
{
  const Shape shape = a_shape (&self->gemm);
  return locate (&self->gemm, &shape, batch, i, k);
}

static gsize
problem_b_index (const Problem *self, gsize batch, gsize k, gsize j)
{
  const Shape shape = b_shape (&self->gemm);
  return locate (&self->gemm, &shape, batch, k, j);
}

static gsize
problem_d_index (const Problem *self, gsize batch, gsize i, gsize j)
{
  const Shape shape = d_shape (&self->gemm);
  return locate (&self->gemm, &shape, batch, i, j);
}

static gsize
get_batch (const GemmclGemm *gemm)
{
  return MAX (gemm->batch, 1);
}

static gsize
count_elements (const GemmclGemm *gemm, const Shape *shape)
{
  return locate (gemm, shape, get_batch (gemm) - 1, shape->rows - 1, shape->cols - 1) + 1 + GUARD;
}

/* Returns: the value in gaps. */
static gdouble
get_filler (GemmclType type)
{
  gdouble low, high;

  if (!element_is_integer (type))
    return NAN;
  element_get_range (type, &low, &high);
  return gemmcl_type_get_size (type) < 8 ? high : 0x1.5p62;
}

/* Returns: a random element of A, of the whole range of an integer type; of a large one only
 * numbers that a float holds exactly. */
static gdouble
draw (GRand *rand, GemmclType type)
{
  gdouble low, high;

  if (!element_is_integer (type))
    return type == GEMMCL_TYPE_F64 ? g_rand_double_range (rand, -1, 1)
                                   : (gfloat)g_rand_double_range (rand, -1, 1);
  element_get_range (type, &low, &high);
  if (gemmcl_type_get_size (type) == 8)
    high /= 2;
  return nearbyint (g_rand_double_range (rand, MAX (low, -high), high));
}

static gpointer
make_matrix (const GemmclGemm *gemm, const Shape *shape, GemmclType type, GRand *rand, gsize *n)
{
  gpointer data;

  *n = count_elements (gemm, shape);
  data = g_malloc (*n * gemmcl_type_get_size (type));
  for (gsize i = 0; i < *n; i++)
    element_set (type, data, i, get_filler (type));
  for (gsize batch = 0; batch < get_batch (gemm); batch++)
    for (gsize i = 0; i < shape->rows; i++)
      for (gsize j = 0; j < shape->cols; j++)
        element_set (type, data, locate (gemm, shape, batch, i, j), draw (rand, type));
  return data;
}

void
problem_init (Problem *self, const GemmclGemm *gemm, guint32 seed)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  const Shape a = a_shape (gemm), b = b_shape (gemm), c = c_shape (gemm), d = d_shape (gemm);
  const gboolean has_c = gemm->addend == GEMMCL_ADDEND_MATRIX || gemm->addend == GEMMCL_ADDEND_ROW;

  *self = (Problem){.gemm = *gemm};
  self->a = make_matrix (gemm, &a, gemm->a_type, rand, &self->n_a);
  self->b = make_matrix (gemm, &b, GEMMCL_TYPE_F32, rand, &self->n_b);
  if (has_c)
    self->c = make_matrix (gemm, &c, GEMMCL_TYPE_F32, rand, &self->n_c);
  if (gemm->bias) {
    self->bias = g_new (gfloat, gemm->n);
    for (gsize j = 0; j < gemm->n; j++)
      self->bias[j] = draw (rand, GEMMCL_TYPE_F32);
  }
  self->d_before = make_matrix (gemm, &d, gemm->d_type, rand, &self->n_d);
  self->d = g_memdup2 (self->d_before, self->n_d * gemmcl_type_get_size (gemm->d_type));
}

void
problem_clear (Problem *self)
{
  g_clear_pointer (&self->a, g_free);
  g_clear_pointer (&self->b, g_free);
  g_clear_pointer (&self->c, g_free);
  g_clear_pointer (&self->bias, g_free);
  g_clear_pointer (&self->d_before, g_free);
  g_clear_pointer (&self->d, g_free);
}

/* Returns: an element of B, rounded to the precision once, as when B is packed. */
static gdouble
get_b (const Problem *self, gsize index)
{
  const gfloat b = self->b[index];

  switch (self->gemm.precision) {
  case GEMMCL_PRECISION_F16:
    return element_round (GEMMCL_TYPE_F16, b);
  case GEMMCL_PRECISION_BF16:
    return element_round (GEMMCL_TYPE_BF16, b);
  case GEMMCL_PRECISION_TF32:
    return element_round_tf32 (b);
  default:
    return b;
  }
}

/* Returns: the error bound of an element of A, which some kernels round to the precision. */
static gdouble
get_a_off (const Problem *self, gdouble a)
{
  switch (self->gemm.precision) {
  case GEMMCL_PRECISION_F16:
    return fmax (fabs (a), 0x1p-14) * 0x1p-11;
  case GEMMCL_PRECISION_BF16:
    return fabs (a) * 0x1p-8;
  case GEMMCL_PRECISION_TF32:
    return fabs (a) * 0x1p-11;
  default:
    return 0;
  }
}

/* Returns: element (@i, @k) of A after scaling. */
static gdouble
get_a (const Problem *self, gsize batch, gsize i, gsize k)
{
  const GemmclGemm *gemm = &self->gemm;
  const gfloat raw = element_get (gemm->a_type, self->a, problem_a_index (self, batch, i, k));

  return (gdouble)raw * (gfloat)gemm->a_scale + (gfloat)gemm->a_shift;
}

/* Accumulates the error bound of the product of a row of A and a column of B as int8. */
typedef struct {
  gdouble low, high, most; /* the range of a and 0; the maximum of |b| */
  gdouble sum_a, sum_b;    /* the sums of |a| and |b| */
  gsize n;
} Bytes;

static void
add_to_bytes (Bytes *self, gdouble a, gdouble b)
{
  self->low = fmin (self->low, a);
  self->high = fmax (self->high, a);
  self->most = fmax (self->most, fabs (b));
  self->sum_a += fabs (a);
  self->sum_b += fabs (b);
  self->n++;
}

static gdouble
get_bytes_error (const Bytes *self)
{
  const gdouble ea = (self->high - self->low) / 255 / 2, eb = self->most / 127 / 2;

  return 1.001 * (ea * self->sum_b + eb * self->sum_a + self->n * ea * eb);
}

/* Returns: D (i, j). @off: (out): the error bound of a float. */
static gdouble
get_sum (const Problem *self, gsize batch, gsize i, gsize j, gdouble *off)
{
  const GemmclGemm *gemm = &self->gemm;
  const gfloat alpha = gemm->alpha;
  const gboolean in_bytes = gemm->precision == GEMMCL_PRECISION_I8;
  gdouble sum = 0, size = 0, rounding = 0;
  Bytes bytes = {0};

  for (gsize k = 0; k < gemm->k; k++) {
    const gdouble a = get_a (self, batch, i, k);
    const gdouble b = get_b (self, problem_b_index (self, batch, k, j));
    const gdouble a_off = get_a_off (self, a);

    sum += a * b;
    rounding += a_off > 0 ? a_off * fabs (b) : 0;
    size += (fabs (a - (gfloat)gemm->a_shift) + fabs (gemm->a_shift)) * fabs (b);
    add_to_bytes (&bytes, a, b);
  }
  *off = (gemm->k + 4) * 0x1p-24 * fabs (alpha) * size * 1.001;
  *off += fabs (alpha) * rounding;
  if (in_bytes)
    *off += fabs (alpha) * get_bytes_error (&bytes);
  return alpha * sum;
}

static gboolean fail (const Problem *self, const gchar *what, const gchar *format, ...)
    G_GNUC_PRINTF (3, 4);

static gboolean
fail (const Problem *self, const gchar *what, const gchar *format, ...)
{
  const GemmclGemm *gemm = &self->gemm;
  g_autofree gchar *how = NULL;
  va_list args;

  va_start (args, format);
  how = g_strdup_vprintf (format, args);
  va_end (args);
  g_test_message ("%s: %s (%zu x %zu x %zu)", what, how, gemm->m, gemm->n, gemm->k);
  if (!self->emulates || !test_miscompiles_barriers ())
    g_test_fail ();
  else if (!g_test_failed ())
    g_test_skip (TEST_MISCOMPILED);
  return FALSE;
}

/* Checks that nothing outside of the elements of D was written. */
static gboolean
check_gaps (const Problem *self, const gchar *what)
{
  const GemmclGemm *gemm = &self->gemm;
  const gsize size = gemmcl_type_get_size (gemm->d_type);
  g_autofree guint8 *is_element = g_malloc0 (self->n_d);

  for (gsize batch = 0; batch < get_batch (gemm); batch++)
    for (gsize i = 0; i < gemm->m; i++)
      for (gsize j = 0; j < gemm->n; j++)
        is_element[problem_d_index (self, batch, i, j)] = TRUE;
  for (gsize at = 0; at < self->n_d; at++)
    if (!is_element[at] && memcmp ((const guint8 *)self->d + at * size,
                                   (const guint8 *)self->d_before + at * size, size) != 0)
      return fail (self, what, "element %zu of %zu, in no D, was written", at, self->n_d);
  return TRUE;
}

gboolean
problem_check (const Problem *self, const gchar *what)
{
  const GemmclGemm *gemm = &self->gemm;

  for (gsize batch = 0; batch < get_batch (gemm); batch++)
    for (gsize i = 0; i < gemm->m; i++)
      for (gsize j = 0; j < gemm->n; j++) {
        const gdouble found =
            element_get (gemm->d_type, self->d, problem_d_index (self, batch, i, j));
        gdouble off;
        const gdouble value = get_sum (self, batch, i, j, &off);

        if (!element_is_near (gemm->d_type, value, off, found))
          return fail (self, what, "D(%zu, %zu) of batch %zu is %.9g, expected %.9g +- %.3g", i, j,
                       batch, found, value, off);
      }
  return check_gaps (self, what);
}
