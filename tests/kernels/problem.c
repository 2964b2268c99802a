/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "problem.h"

#include <math.h>
#include <stdlib.h>
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

gsize
problem_c_index (const Problem *self, gsize batch, gsize i, gsize j)
{
  const Shape shape = c_shape (&self->gemm);

  if (self->gemm.addend == GEMMCL_ADDEND_ROW)
    return shape.offset + j;
  return locate (&self->gemm, &shape, batch, i, j);
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

gsize
problem_count_rows (const GemmclGemm *gemm)
{
  return get_batch (gemm) * gemm->m * gemmcl_gemm_count_row_outputs (gemm);
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
  if (gemm->row_outputs)
    self->rows = g_new (gfloat, problem_count_rows (gemm));
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
  g_clear_pointer (&self->rows, g_free);
}

/* The reference of all activations except softmax, by their formulas in gemmcl-gemm.h. */
static gdouble
activate (GemmclActivation activation, gdouble x)
{
  const gboolean vanishes =
      activation == GEMMCL_ACTIVATION_GELU || activation == GEMMCL_ACTIVATION_GELU_TANH ||
      activation == GEMMCL_ACTIVATION_SILU || activation == GEMMCL_ACTIVATION_HARD_SWISH;

  if (isnan (x))
    return x;
  if (x == -INFINITY && vanishes)
    return 0;
  switch (activation) {
  case GEMMCL_ACTIVATION_RELU:
    return fmax (x, 0);
  case GEMMCL_ACTIVATION_LEAKY_RELU:
    return x >= 0 ? x : 0.01 * x;
  case GEMMCL_ACTIVATION_GELU:
    return x * (1 + erf (x / sqrt (2))) / 2;
  case GEMMCL_ACTIVATION_GELU_TANH:
    return x * (1 + tanh (sqrt (2 / G_PI) * (x + 0.044715 * x * x * x))) / 2;
  case GEMMCL_ACTIVATION_SIGMOID:
    return 1 / (1 + exp (-x));
  case GEMMCL_ACTIVATION_SILU:
    return x / (1 + exp (-x));
  case GEMMCL_ACTIVATION_TANH:
    return tanh (x);
  case GEMMCL_ACTIVATION_HARD_SWISH:
    return x * fmin (fmax (x + 3, 0), 6) / 6;
  default:
    return x;
  }
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

/* Returns: D (i, j) before the activation. @off: (out): the error bound of a float. C is read from
 * before the run. */
static gdouble
get_sum (const Problem *self, gsize batch, gsize i, gsize j, gdouble *off)
{
  const GemmclGemm *gemm = &self->gemm;
  const gfloat alpha = gemm->alpha, beta = gemm->beta;
  const gboolean in_bytes = gemm->precision == GEMMCL_PRECISION_I8;
  gdouble sum = 0, size = 0, c = 0, bias = 0, rounding = 0;
  Bytes bytes = {0};

  for (gsize k = 0; alpha != 0 && k < gemm->k; k++) {
    const gdouble a = get_a (self, batch, i, k);
    const gdouble b = get_b (self, problem_b_index (self, batch, k, j));
    const gdouble a_off = get_a_off (self, a);

    sum += a * b;
    rounding += a_off > 0 ? a_off * fabs (b) : 0;
    size += (fabs (a - (gfloat)gemm->a_shift) + fabs (gemm->a_shift)) * fabs (b);
    add_to_bytes (&bytes, a, b);
  }
  /* A row of A or column of B with NaN or infinity becomes NaN. */
  if (in_bytes && !isfinite (sum))
    sum = NAN;
  if (beta != 0 && gemm->addend == GEMMCL_ADDEND_OUTPUT)
    c = (gfloat)element_get (gemm->d_type, self->d_before, problem_d_index (self, batch, i, j));
  else if (beta != 0 && gemm->addend != GEMMCL_ADDEND_NONE)
    c = self->c[problem_c_index (self, batch, i, j)];
  if (gemm->bias)
    bias = self->bias[j];
  *off = (gemm->k + 4) * 0x1p-24 * (fabs (alpha) * size + fabs (beta * c) + fabs (bias)) * 1.001;
  *off += fabs (alpha) * rounding;
  if (in_bytes)
    *off += fabs (alpha) * get_bytes_error (&bytes);
  return alpha * sum + beta * c + bias;
}

/* Gets the expected values of a row and their error bounds. */
static void
get_row (const Problem *self, gsize batch, gsize i, gdouble *value, gdouble *off)
{
  const GemmclGemm *gemm = &self->gemm;
  gdouble highest = -INFINITY, sum = 0, worst = 0;

  for (gsize j = 0; j < gemm->n; j++) {
    value[j] = get_sum (self, batch, i, j, &off[j]);
    highest = isnan (value[j]) || value[j] > highest ? value[j] : highest;
    worst = fmax (worst, isinf (off[j]) ? 0 : off[j]);
  }
  if (gemm->activation == GEMMCL_ACTIVATION_NONE)
    return;
  for (gsize j = 0; j < gemm->n; j++)
    sum += exp (value[j] - highest);
  for (gsize j = 0; j < gemm->n; j++) {
    const gdouble x = value[j];

    value[j] = gemm->activation == GEMMCL_ACTIVATION_SOFTMAX ? exp (x - highest) / sum
                                                             : activate (gemm->activation, x);
    off[j] = gemm->activation == GEMMCL_ACTIVATION_SOFTMAX
                 ? value[j] * (2.5 * worst + 1e-5)
                 : (isinf (x) ? 0 : 1.5 * off[j]) + 4e-6 * fabs (value[j]);
    off[j] += 1e-6;
  }
}

static gchar *
problem_describe (const GemmclGemm *gemm)
{
  static const gchar *const addends[] = {"none", "matrix", "row", "output", "previous"};

  return g_strdup_printf (
      "M %zu N %zu K %zu batch %zu, %s, %s%s%s, ld %zu %zu %zu %zu, offset %zu %zu %zu %zu, stride "
      "%zu "
      "%zu %zu %zu, %s -> %s, scale %g shift %g, alpha %g beta %g addend %s%s, %s",
      gemm->m, gemm->n, gemm->k, get_batch (gemm), gemmcl_precision_get_name (gemm->precision),
      gemm->layout == GEMMCL_LAYOUT_ROW_MAJOR ? "row-major" : "column-major",
      gemm->trans_a ? ", A transposed" : "", gemm->trans_b ? ", B transposed" : "", gemm->lda,
      gemm->ldb, gemm->ldc, gemm->ldd, gemm->a_offset, gemm->b_offset, gemm->c_offset,
      gemm->d_offset, gemm->a_stride, gemm->b_stride, gemm->c_stride, gemm->d_stride,
      gemmcl_type_get_name (gemm->a_type), gemmcl_type_get_name (gemm->d_type), gemm->a_scale,
      gemm->a_shift, gemm->alpha, gemm->beta, addends[gemm->addend], gemm->bias ? ", bias" : "",
      gemmcl_activation_get_name (gemm->activation));
}

static gboolean fail (const Problem *self, const gchar *what, const gchar *format, ...)
    G_GNUC_PRINTF (3, 4);

static gboolean
fail (const Problem *self, const gchar *what, const gchar *format, ...)
{
  g_autofree gchar *problem = problem_describe (&self->gemm);
  g_autofree gchar *how = NULL;
  va_list args;

  va_start (args, format);
  how = g_strdup_vprintf (format, args);
  va_end (args);
  g_test_message ("%s: %s (%s)", what, how, problem);
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
  g_autofree gdouble *value = g_new (gdouble, gemm->n);
  g_autofree gdouble *off = g_new (gdouble, gemm->n);

  for (gsize batch = 0; batch < get_batch (gemm); batch++)
    for (gsize i = 0; i < gemm->m; i++) {
      get_row (self, batch, i, value, off);
      for (gsize j = 0; j < gemm->n; j++) {
        const gdouble found =
            element_get (gemm->d_type, self->d, problem_d_index (self, batch, i, j));

        if (!element_is_near (gemm->d_type, value[j], off[j], found))
          return fail (self, what, "D(%zu, %zu) of batch %zu is %.9g, expected %.9g +- %.3g", i, j,
                       batch, found, value[j], off[j]);
      }
    }
  return check_gaps (self, what);
}

/* An element of a row, and its column. */
typedef struct {
  gdouble value;
  gsize column;
} Element;

/* In descending order, NaN first; equal elements by their columns. */
static gint
compare_elements (gconstpointer a, gconstpointer b)
{
  const Element *x = a, *y = b;

  if (isnan (x->value) != isnan (y->value))
    return isnan (x->value) ? -1 : 1;
  if (x->value > y->value || x->value < y->value)
    return x->value > y->value ? -1 : 1;
  return x->column < y->column ? -1 : 1;
}

/* Checks the next row output at *@found, and advances it. */
static gboolean
check_output (const Problem *self, const gchar *what, const gchar *name, gsize row,
              gdouble expected, gdouble off, const gfloat **found)
{
  const gfloat value = *(*found)++;

  return element_is_near (GEMMCL_TYPE_F32, expected, off, value) ||
         fail (self, what,
               "the %s of row %zu, counted through the batches, is %.9g, expected %.9g +- %.3g",
               name, row, value, expected, off);
}

static gboolean
check_row (const Problem *self, const gchar *what, gsize row)
{
  const GemmclGemm *gemm = &self->gemm;
  const gfloat *found = self->rows + row * gemmcl_gemm_count_row_outputs (gemm);
  g_autofree Element *elements = g_new (Element, gemm->n);
  gdouble sum = 0, size = 0;

  for (gsize j = 0; j < gemm->n; j++) {
    const gsize at = problem_d_index (self, row / gemm->m, row % gemm->m, j);

    elements[j] = (Element){element_get (gemm->d_type, self->d, at), j};
    sum += elements[j].value;
    size += fabs (elements[j].value);
  }
  qsort (elements, gemm->n, sizeof *elements, compare_elements);
  if ((gemm->row_outputs & GEMMCL_ROW_SUM &&
       !check_output (self, what, "sum", row, sum, isfinite (sum) ? gemm->n * 0x1p-24 * size : 0,
                      &found)) ||
      (gemm->row_outputs & GEMMCL_ROW_MAX &&
       !check_output (self, what, "max", row, elements[0].value, 0, &found)) ||
      (gemm->row_outputs & GEMMCL_ROW_ARG_MAX &&
       !check_output (self, what, "arg-max", row, elements[0].column, 0, &found)))
    return FALSE;
  for (guint i = 0; gemm->row_outputs & GEMMCL_ROW_TOP_K && i < 2 * gemm->top_k; i++) {
    const Element *element = &elements[i % gemm->top_k];
    const gboolean is_value = i < gemm->top_k;

    if (!check_output (self, what, is_value ? "top-k" : "top-k's column", row,
                       is_value ? element->value : element->column, 0, &found))
      return FALSE;
  }
  return TRUE;
}

gboolean
problem_check_rows (const Problem *self, const gchar *what)
{
  for (gsize i = 0; i < get_batch (&self->gemm) * self->gemm.m; i++)
    if (!check_row (self, what, i))
      return FALSE;
  return TRUE;
}

gboolean
problem_verify (const Problem *self, const gchar *what)
{
  const gfloat *c = self->gemm.addend == GEMMCL_ADDEND_OUTPUT ? self->d_before : self->c;
  gdouble error, bound;

  if (gemmcl_gemm_verify (&self->gemm, self->a, self->b, c, self->bias, self->d, &error, &bound))
    return TRUE;
  return fail (self, what, "the library's own check fails: error %g, bound %g", error, bound);
}
