/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The reference in double precision, and the bound of an f32 result's error.
 */
#include "problem/verify.h"

#include <float.h>
#include <math.h>

#include "matrix/matrix.h"
#include "problem/gemm.h"
#include "problem/pool.h"

/* The error of exp, erfc, tanh and a division together, in unit roundoffs: 40 covers OpenCL's full
 * profile (section 7.4 of its C specification; the largest error is erfc's 16 ulp). */
#define ACTIVATION_ERROR 40

/* A device may flush results below the smallest normal float to 0. */
#define FLUSHED ((gdouble)FLT_MIN)

/* An element of D. */
typedef struct {
  gdouble value;
  gdouble bound;       /* of its error */
  gboolean may_be_nan; /* I8: for a row of A or a column of B with NaN or an infinity */
} Element;

/* The least divisor of a row, and the absolute error of a normalized element: steps/normalize.cl
 * scales by 2^-80 if squares overflow, and a device may flush a small result to 0 before it is
 * divided by at least 2^-17. */
#define LEAST_NORM 1e-12
#define LOST       0x1p-109

/* The rounding of factors to a precision: the unit roundoff, and the smallest normal number. The
 * error of a smaller number is at most their product. 0: factors are not rounded. */
static const gdouble roundings[GEMMCL_N_PRECISIONS][2] = {
    [GEMMCL_PRECISION_F16] = {0x1p-11, 0x1p-14},
    [GEMMCL_PRECISION_BF16] = {0x1p-8, 0x1p-126},
    [GEMMCL_PRECISION_TF32] = {0x1p-11, 0x1p-126},
};

/* The rounding errors that a product may have. */
typedef struct {
  gdouble growth, normalizing; /* relative errors of the sum, and of A if it is normalized */
  gdouble roundoff, normal;    /* see roundings */
  gboolean is_int8;
} Errors;

typedef struct {
  const GemmclGemm *gemm;
  Errors errors;
  GemmclStrides a_strides, b_strides, c_strides, d_strides;
  gconstpointer a;
  const gfloat *b, *c, *bias;
  gdouble alpha, beta, a_scale, a_shift; /* rounded to f32, as a device gets them */
  gdouble *row;                          /* of A, scaled and normalized */
  gdouble *b_steps; /* I8: half a quantization step of each column of B in this batch */
} Reference;

/* The relative error of x / |x| in f32, for a row x of @n elements with the error u. The sum of
 * their squares has the error (n + 2) u, since all are positive, and its root half of that. The
 * root itself may be off by 3 ulp and the division by 2.5 ulp (section 7.4 of OpenCL's C
 * specification), together 11 u, and the dividend by u. */
static gdouble
normalizing_error (gsize n)
{
  return ((n + 2) / 2.0 + 12) * UNIT_ROUNDOFF * (1 + 0x1p-10);
}

/* The growth is (K + 4) u / (1 - (K + 4) u): K additions of products, then alpha, beta C, bias and
 * A's own scale. */
static Errors
get_errors (const GemmclGemm *gemm)
{
  const gdouble nu = (gemm->k + 4) * UNIT_ROUNDOFF;

  return (Errors){
      .growth = nu < 1 ? nu / (1 - nu) : INFINITY,
      .normalizing = gemm->normalize & GEMMCL_NORMALIZE_A ? normalizing_error (gemm->k) : 0,
      .roundoff = roundings[gemm->precision][0],
      .normal = roundings[gemm->precision][1],
      .is_int8 = gemm->precision == GEMMCL_PRECISION_I8,
  };
}

/* The error of the product a b. Quantization changes the factors by up to @ea and @eb. */
static gdouble
product_error (const Errors *self, gdouble a, gdouble ea, gdouble b, gdouble eb)
{
  const gdouble product = fabs (a * b), v = self->roundoff;
  gdouble before = 0, error = self->growth * product;

  if (self->normalizing > 0)
    before = self->normalizing * product + LOST * fabs (b);
  if (self->is_int8)
    before += ea * fabs (b) + eb * fabs (a) + ea * eb;
  if (v > 0)
    error += (2 * v + v * v) * product + v * self->normal * (fabs (a) + fabs (b));
  return error + (1 + self->growth) * before;
}

/* The index of element (@i, @j) of a matrix. */
static gsize
find (const GemmclStrides *s, gsize batch, gsize i, gsize j)
{
  return s->offset + batch * s->batch + i * s->row + j * s->col;
}

static gdouble
get_divisor (gdouble squares)
{
  const gdouble norm = sqrt (squares);

  return norm < LEAST_NORM ? LEAST_NORM : norm;
}

static void
load_row (const Reference *self, gsize batch, gsize i)
{
  const GemmclGemm *gemm = self->gemm;
  gdouble squares = 0, divisor;

  for (gsize k = 0; k < gemm->k; k++) {
    const gsize at = find (&self->a_strides, batch, i, k);

    self->row[k] = gemmcl_type_load_f32 (gemm->a_type, self->a, at) * self->a_scale + self->a_shift;
    squares += self->row[k] * self->row[k];
  }
  divisor = gemm->normalize & GEMMCL_NORMALIZE_A ? get_divisor (squares) : 1;
  for (gsize k = 0; k < gemm->k; k++)
    self->row[k] /= divisor;
}

/* Half a quantization step, if int8 covers @range in @steps steps. Slightly more than half, since
 * quantizing rounds a few times. The whole range if a device may flush the step to 0. NaN if the
 * range is NaN. */
static gdouble
half_step (gdouble range, gdouble steps)
{
  const gdouble step = range / steps;

  return step < (1 + 0x1p-20) * FLT_MIN ? range : step / 2 * (1 + 0x1p-11);
}

/* The quantization error of the row of A: its elements and 0 lie within 255 steps, unless A is
 * used unchanged. NaN if the row has a NaN or an infinity. */
static gdouble
get_a_step (const Reference *self)
{
  gdouble low = 0, high = 0, spoil = 0;

  /* Scale and shift are rounded here, so the stored value for 0 is only close to it. */
  if (gemmcl_gemm_keeps_int8 (self->gemm)) {
    const gdouble zero = rint (-self->gemm->a_shift / self->gemm->a_scale);

    return fabs (self->a_shift + zero * self->a_scale) * (1 + 0x1p-11);
  }
  for (gsize k = 0; k < self->gemm->k; k++) {
    low = fmin (low, self->row[k]);
    high = fmax (high, self->row[k]);
    spoil += self->row[k] - self->row[k];
  }
  return half_step (high - low, 255) + spoil;
}

/* The quantization error of column @j of B, whose largest |element| is 127 steps. */
static gdouble
get_b_step (const Reference *self, gsize batch, gsize j)
{
  gdouble highest = 0, spoil = 0;

  for (gsize k = 0; k < self->gemm->k; k++) {
    const gdouble b = self->b[find (&self->b_strides, batch, k, j)];

    highest = fmax (highest, fabs (b));
    spoil += b - b;
  }
  return half_step (highest, 127) + spoil;
}

gdouble
gemmcl_gemm_get_sum_error (const GemmclGemm *gemm, gdouble a, gdouble b)
{
  const Errors errors = get_errors (gemm);

  return gemm->k * product_error (&errors, a, half_step (2 * a, 255), b, half_step (b, 127));
}

/* The sums of products, and their error bounds before alpha. */
static void
add_products (const Reference *self, gsize batch, gsize i, Element *row)
{
  const GemmclGemm *gemm = self->gemm;
  gdouble ea = 0;

  load_row (self, batch, i);
  if (self->errors.is_int8)
    ea = (1 + self->errors.normalizing) * get_a_step (self);
  for (gsize k = 0; k < gemm->k; k++)
    for (gsize j = 0; j < gemm->n; j++) {
      const gdouble a = self->row[k], b = self->b[find (&self->b_strides, batch, k, j)];

      row[j].value += a * b;
      row[j].bound += product_error (&self->errors, a, ea, b, self->b_steps[j]);
    }
}

/* alpha A B + beta C + bias, and g (K) (|alpha| |A||B| + |beta||C| + |bias|). */
static void
compute_row (const Reference *self, gsize batch, gsize i, Element *row)
{
  const GemmclGemm *gemm = self->gemm;
  const gboolean has_c = self->c != NULL && gemm->addend != GEMMCL_ADDEND_NONE && self->beta != 0;

  for (gsize j = 0; j < gemm->n; j++)
    row[j] = (Element){0, 0, FALSE};
  if (self->alpha != 0)
    add_products (self, batch, i, row);
  for (gsize j = 0; j < gemm->n; j++) {
    const gdouble c = has_c ? self->beta * self->c[find (&self->c_strides, batch, i, j)] : 0;
    const gdouble bias = gemm->bias ? self->bias[j] : 0;

    row[j].value = self->alpha * row[j].value + c + bias;
    row[j].bound = fabs (self->alpha) * row[j].bound +
                   self->errors.growth * (fabs (c) + fabs (bias)) + FLUSHED;
    row[j].may_be_nan = self->errors.is_int8 && isnan (row[j].bound);
    /* An infinite reference has no relative bound. */
    if (isinf (row[j].value))
      row[j].bound = FLUSHED;
  }
}

/* @slope, @growth: see kernels/shared/activations.def */
static gdouble
activate (GemmclActivation activation, gdouble x, gdouble *slope, gdouble *growth)
{
  switch (activation) {
#define FUNCTION(ID, name, text, kind, value, slope_, growth_)                                     \
  case GEMMCL_ACTIVATION_##ID:                                                                     \
    *slope = slope_;                                                                               \
    *growth = growth_;                                                                             \
    return value;
#include "shared/activations.def"
  }
  g_return_val_if_reached (x);
}

static gdouble
get_relative_error (gdouble growth)
{
  return (ACTIVATION_ERROR + 4 * growth) * UNIT_ROUNDOFF;
}

gdouble
gemmcl_activation_get_error (GemmclActivation activation, gdouble x, gdouble *slope)
{
  gdouble growth;

  activate (activation, x, slope, &growth);
  return get_relative_error (growth);
}

static void
activate_row (GemmclActivation activation, gsize n, Element *row)
{
  if (activation == GEMMCL_ACTIVATION_NONE)
    return;
  for (gsize j = 0; j < n; j++) {
    const gdouble x = row[j].value;
    gdouble slope, growth_of_exp;

    row[j].value = activate (activation, x, &slope, &growth_of_exp);
    if (isinf (x)) {
      slope = 1;
      growth_of_exp = 0;
    }
    row[j].bound =
        slope * row[j].bound + get_relative_error (growth_of_exp) * fabs (row[j].value) + FLUSHED;
    if (isinf (row[j].value))
      row[j].bound = FLUSHED;
  }
}

/* A share is smallest if its own logit is as low and all others are as high as their bounds allow,
 * and largest in the opposite case. A share of 0 has no rounding error, however low its logit. */
static void
softmax_row (gsize n, Element *row)
{
  gdouble highest = -INFINITY, sum = 0, low_sum = 0, high_sum = 0;

  for (gsize j = 0; j < n; j++)
    highest = isnan (row[j].value) ? NAN : row[j].value > highest ? row[j].value : highest;
  for (gsize j = 0; j < n; j++) {
    row[j].value -= highest;
    sum += exp (row[j].value);
    low_sum += exp (row[j].value - row[j].bound);
    high_sum += exp (row[j].value + row[j].bound);
  }
  for (gsize j = 0; j < n; j++) {
    const gdouble x = row[j].value, off = row[j].bound;
    const gdouble share = exp (x) / sum;
    const gdouble rounding = share > 0 ? (ACTIVATION_ERROR + n + 2 * fabs (x)) * UNIT_ROUNDOFF : 0;

    row[j].value = share;
    row[j].bound = fmax (fmin (exp (x + off) / low_sum, 1) - share,
                         share - fmax (exp (x - off) / high_sum, 0)) +
                   rounding * share + FLUSHED;
  }
}

/* Divides a row by its norm. The device's row differs by at most the vector of the bounds, and its
 * norm by at most the norm of that vector. No element of a normalized row exceeds 1. */
static void
normalize_row (gsize n, Element *row)
{
  gdouble squares = 0, off_squares = 0, divisor, off, least;

  for (gsize j = 0; j < n; j++) {
    squares += row[j].value * row[j].value;
    off_squares += row[j].bound * row[j].bound;
  }
  divisor = get_divisor (squares);
  off = sqrt (off_squares);
  least = fmax (divisor - off, LEAST_NORM);
  for (gsize j = 0; j < n; j++) {
    const gdouble share = row[j].value / divisor, bound = row[j].bound;

    row[j].value = share;
    row[j].bound =
        (bound + fabs (share) * off) / least + normalizing_error (n) * fabs (share) + LOST;
    if (row[j].bound > 2)
      row[j].bound = 2;
  }
}

/* Adds @x to a window of one or more elements. @sizes: the sum of their magnitudes */
static void
add_to_window (GemmclPool pool, Element *window, gdouble *sizes, Element x)
{
  *sizes += fabs (x.value);
  window->may_be_nan |= x.may_be_nan;
  if (pool == GEMMCL_POOL_AVERAGE) {
    window->value += x.value;
    window->bound += x.bound;
    return;
  }
  if (x.value > window->value || isnan (x.value))
    window->value = x.value;
  window->bound = fmax (window->bound, x.bound);
}

/* Row @i of D, of @rows that are M x N. */
static void
pool_row (const GemmclGemm *gemm, const Element *rows, gsize i, Element *pooled)
{
  const GemmclWindows windows = gemmcl_gemm_get_windows (gemm);
  const gsize y = i / windows.to_across, count = windows.width * windows.height;
  const gsize top = y / windows.to_down * windows.down + y % windows.to_down * windows.stride_y;
  const gsize left = i % windows.to_across * windows.stride_x;
  const gsize additions = windows.width + windows.height + 3;

  for (gsize j = 0; j < gemm->n; j++) {
    const Element *first = &rows[(top * windows.across + left) * gemm->n + j];
    Element *window = &pooled[j];
    gdouble sizes = fabs (first->value);

    *window = *first;
    for (gsize at = 1; at < count; at++) {
      const gsize row = at / windows.width * windows.across + at % windows.width;

      add_to_window (gemm->pool, window, &sizes, first[row * gemm->n]);
    }
    if (gemm->pool == GEMMCL_POOL_MAX)
      continue;
    window->value /= count;
    window->bound = (window->bound + additions * UNIT_ROUNDOFF * sizes) / count + FLUSHED;
    if (isinf (window->value))
      window->bound = FLUSHED;
  }
}

/* TRUE if @found is within the bound. @off: its error. Without a finite one, 0 if @found is right,
 * otherwise NaN. */
static gboolean
is_within (gdouble expected, gdouble bound, gfloat found, gdouble *off)
{
  gboolean right;

  if (isnan (expected) || isnan (found))
    right = isnan (expected) && isnan (found);
  else if (isinf (found))
    right = fabs (expected) + bound > FLT_MAX && !signbit (found) == !signbit (expected);
  else if (isinf (expected))
    right = FALSE;
  else {
    *off = fabs (found - expected);
    return *off <= bound || *off == 0; /* NaN if K is 2^24 or more and the products are 0 */
  }
  *off = right ? 0 : NAN;
  return right;
}

static Reference
make_reference (const GemmclGemm *gemm, gconstpointer a, const gfloat *b, const gfloat *c,
                const gfloat *bias)
{
  Reference self = {
      .gemm = gemm,
      .a = a,
      .b = b,
      .c = c,
      .bias = bias,
      .errors = get_errors (gemm),
      .a_strides = gemmcl_gemm_get_strides (gemm, GEMMCL_OPERAND_A, FALSE),
      .b_strides = gemmcl_gemm_get_strides (gemm, GEMMCL_OPERAND_B, FALSE),
      .c_strides = gemmcl_gemm_get_strides (gemm, GEMMCL_OPERAND_C, FALSE),
      .d_strides = gemmcl_gemm_get_strides (gemm, GEMMCL_OPERAND_D, FALSE),
      .alpha = (gfloat)gemm->alpha,
      .beta = (gfloat)gemm->beta,
      .a_scale = (gfloat)gemm->a_scale,
      .a_shift = (gfloat)gemm->a_shift,
  };

  if (gemm->addend == GEMMCL_ADDEND_OUTPUT || gemm->addend == GEMMCL_ADDEND_PREVIOUS)
    self.c_strides = self.d_strides;
  return self;
}

/* A NaN spreads to the whole row. */
static void
spread_nan (gsize n, Element *row)
{
  gboolean may_be_nan = FALSE;

  for (gsize j = 0; j < n; j++)
    may_be_nan |= row[j].may_be_nan;
  for (gsize j = 0; j < n; j++)
    row[j].may_be_nan = may_be_nan;
}

/* Row @i of the result, before pooling. */
static void
finish_row (const Reference *self, gsize batch, gsize i, Element *row)
{
  const GemmclGemm *gemm = self->gemm;

  compute_row (self, batch, i, row);
  if (gemmcl_activation_is_of_rows (gemm->activation))
    softmax_row (gemm->n, row);
  else
    activate_row (gemm->activation, gemm->n, row);
  if (gemm->normalize & GEMMCL_NORMALIZE_D)
    normalize_row (gemm->n, row);
  if (gemmcl_activation_is_of_rows (gemm->activation) || gemm->normalize & GEMMCL_NORMALIZE_D)
    spread_nan (gemm->n, row);
}

/* The element whose error has the largest share of its bound. */
typedef struct {
  gdouble error, share, bound;
  gboolean wrong; /* any element */
} Found;

static void
compare_row (const Reference *self, gsize batch, gsize i, const Element *row, const gfloat *d,
             Found *worst)
{
  for (gsize j = 0; j < self->gemm->n; j++) {
    const gfloat found = d[find (&self->d_strides, batch, i, j)];
    gdouble off, share;

    worst->wrong |= !is_within (row[j].value, row[j].bound, found, &off);
    share = isnan (off) ? INFINITY : off / row[j].bound;
    if (share > worst->share) {
      worst->error = off;
      worst->share = share;
      worst->bound = row[j].bound;
    }
  }
}

/* Like compare_row(). Elements that may be NaN are expected to be as @d has them. */
static void
check_row (const Reference *self, gsize batch, gsize i, Element *row, const gfloat *d, Found *worst)
{
  for (gsize j = 0; j < self->gemm->n; j++)
    if (row[j].may_be_nan && isnan (d[find (&self->d_strides, batch, i, j)]))
      row[j].value = NAN;
  compare_row (self, batch, i, row, d, worst);
}

gboolean
gemmcl_gemm_verify (const GemmclGemm *gemm, gconstpointer a, const gfloat *b, const gfloat *c,
                    const gfloat *bias, const gfloat *d, gdouble *max_error, gdouble *error_bound)
{
  g_autofree gdouble *a_row = NULL, *b_steps = NULL;
  g_autofree Element *rows = NULL, *pooled = NULL; /* rows: one, or all to be pooled */
  Found worst = {.share = -1};
  Reference self;

  g_return_val_if_fail (gemm != NULL && d != NULL, FALSE);
  g_return_val_if_fail (gemm->d_type == GEMMCL_TYPE_F32, FALSE);
  g_return_val_if_fail (gemmcl_gemm_validate (gemm, NULL), FALSE);

  self = make_reference (gemm, a, b, c, bias);
  self.row = a_row = g_new (gdouble, gemm->k);
  self.b_steps = b_steps = g_new0 (gdouble, gemm->n);
  pooled = g_new (Element, gemm->n);
  rows = g_new (Element, (gemm->pool ? gemm->m : 1) * gemm->n);
  for (gsize batch = 0; batch < gemmcl_gemm_get_batch (gemm); batch++) {
    for (gsize j = 0; self.errors.is_int8 && gemm->alpha != 0 && j < gemm->n; j++)
      b_steps[j] = get_b_step (&self, batch, j);
    for (gsize i = 0; i < gemm->m; i++) {
      finish_row (&self, batch, i, &rows[gemm->pool ? i * gemm->n : 0]);
      if (!gemm->pool)
        check_row (&self, batch, i, rows, d, &worst);
    }
    for (gsize i = 0; gemm->pool && i < gemmcl_gemm_count_rows_of_d (gemm, gemm->m); i++) {
      pool_row (gemm, rows, i, pooled);
      check_row (&self, batch, i, pooled, d, &worst);
    }
  }
  if (max_error)
    *max_error = worst.error;
  if (error_bound)
    *error_bound = worst.bound;
  return !worst.wrong;
}
