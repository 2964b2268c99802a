/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The library's check of results: what is right passes, what is wrong by little more than the bound
 * does not. No device is needed: results are made here, in double precision.
 */

#include <math.h>
#include <string.h>

#include "../kernels/problem.h"

#define M 6
#define N 5
#define K 7

typedef struct {
  GemmclGemm gemm;
  gfloat a[M * K], b[K * N], bias[N], d[M * N];
} Fixture;

static gboolean
verify (const Fixture *f, gdouble *error, gdouble *bound)
{
  return gemmcl_gemm_verify (&f->gemm, f->a, f->b, NULL, f->gemm.bias ? f->bias : NULL, f->d, error,
                             bound);
}

/* The exact results, rounded once. */
static void
fixture_init (Fixture *f)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (7);
  const GemmclGemm init = GEMMCL_GEMM_INIT;

  *f = (Fixture){.gemm = init};
  f->gemm.m = M;
  f->gemm.n = N;
  f->gemm.k = K;
  for (guint i = 0; i < M * K; i++)
    f->a[i] = g_rand_double_range (rand, -1, 1);
  for (guint i = 0; i < K * N; i++)
    f->b[i] = g_rand_double_range (rand, -1, 1);
  for (guint i = 0; i < M * N; i++) {
    gdouble sum = 0;
    for (guint k = 0; k < K; k++)
      sum += (gdouble)f->a[i / N * K + k] * f->b[k * N + i % N];
    f->d[i] = sum;
  }
}

/* g (K) |A||B| of element @i. */
static gdouble
get_bound (const Fixture *f, guint i)
{
  const gdouble nu = (K + 4) * 0x1p-24;
  gdouble sum = 0;

  for (guint k = 0; k < K; k++)
    sum += fabs ((gdouble)f->a[i / N * K + k] * f->b[k * N + i % N]);
  return nu / (1 - nu) * sum;
}

static void
test_right (void)
{
  gdouble error, bound;
  Fixture f;

  fixture_init (&f);
  g_assert_true (verify (&f, &error, &bound));
  g_assert_cmpfloat (error, >, 0);
  g_assert_cmpfloat (error, <, bound);
  g_assert_true (verify (&f, NULL, NULL));
}

/* Each element by itself, by a tenth less and a tenth more than it may be off. */
static void
test_bound (void)
{
  for (guint i = 0; i < M * N; i++)
    for (gint sign = -1; sign <= 1; sign += 2) {
      gdouble error, bound;
      Fixture f;
      gfloat right;

      fixture_init (&f);
      right = f.d[i];
      f.d[i] = right + sign * 0.9 * get_bound (&f, i);
      g_assert_true (verify (&f, NULL, NULL));
      f.d[i] = right + sign * (1.1 * get_bound (&f, i) + 0x1p-24 * fabs (right));
      g_assert_false (verify (&f, &error, &bound));
      g_assert_cmpfloat (error, >, bound);
      g_assert_cmpfloat_with_epsilon (bound, get_bound (&f, i), 0.01 * bound);
    }
}

static void
test_wrong (void)
{
  static const gfloat wrong[] = {NAN, INFINITY, -INFINITY, 3e38f};

  for (guint i = 0; i < G_N_ELEMENTS (wrong); i++) {
    Fixture f;

    fixture_init (&f);
    f.d[M * N - 1] = wrong[i];
    g_assert_false (verify (&f, NULL, NULL));
    fixture_init (&f);
    f.d[0] = wrong[i];
    g_assert_false (verify (&f, NULL, NULL));
  }
}

/* A result may be off by what lower precision of A and B brings, and not by much more. */
static void
check_precision (GemmclPrecision precision, gdouble v)
{
  Fixture f;

  fixture_init (&f);
  for (guint i = 0; i < M * N; i++)
    f.d[i] += 1.5 * v * get_bound (&f, i) / ((K + 4) * 0x1p-24);
  g_assert_false (verify (&f, NULL, NULL));
  f.gemm.precision = precision;
  g_assert_true (verify (&f, NULL, NULL));
  for (guint i = 0; i < M * N; i++)
    f.d[i] += 1.5 * v * get_bound (&f, i) / ((K + 4) * 0x1p-24);
  g_assert_false (verify (&f, NULL, NULL));
}

static void
test_precisions (void)
{
  check_precision (GEMMCL_PRECISION_F16, 0x1p-11);
  check_precision (GEMMCL_PRECISION_BF16, 0x1p-8);
  check_precision (GEMMCL_PRECISION_TF32, 0x1p-11);
}

/* Half a step of the bytes that a row of A, with 0, or a column of B becomes. */
static gdouble
get_a_step (const Fixture *f, guint i)
{
  gdouble low = 0, high = 0;

  for (guint k = 0; k < K; k++) {
    low = MIN (low, f->a[i * K + k]);
    high = MAX (high, f->a[i * K + k]);
  }
  return (high - low) / 255 / 2;
}

static gdouble
get_b_step (const Fixture *f, guint j)
{
  gdouble most = 0;

  for (guint k = 0; k < K; k++)
    most = MAX (most, fabs (f->b[k * N + j]));
  return most / 127 / 2;
}

static gdouble
get_byte_bound (const Fixture *f, guint at)
{
  const gdouble ea = get_a_step (f, at / N), eb = get_b_step (f, at % N);
  gdouble bound = get_bound (f, at);

  for (guint k = 0; k < K; k++)
    bound += ea * fabs (f->b[k * N + at % N]) + eb * fabs (f->a[at / N * K + k]) + ea * eb;
  return bound;
}

/* int8: each element alone, off by a hundredth less and more than half the steps of both. */
static void
test_bytes (void)
{
  for (guint i = 0; i < M * N; i++)
    for (gint sign = -1; sign <= 1; sign += 2) {
      Fixture f;
      gfloat right;

      fixture_init (&f);
      right = f.d[i];
      f.d[i] = right + sign * 0.99 * get_byte_bound (&f, i);
      g_assert_false (verify (&f, NULL, NULL));
      f.gemm.precision = GEMMCL_PRECISION_I8;
      g_assert_true (verify (&f, NULL, NULL));
      f.d[i] = right + sign * 1.01 * get_byte_bound (&f, i);
      g_assert_false (verify (&f, NULL, NULL));
    }
}

/* A row of A that is of one sign has 0 in its range, too. */
static void
test_bytes_of_one_sign (void)
{
  Fixture f;

  fixture_init (&f);
  f.gemm.precision = GEMMCL_PRECISION_I8;
  for (guint k = 0; k < K; k++)
    f.a[k] = 1000;
  for (guint j = 0; j < N; j++) {
    gdouble sum = 0;

    for (guint k = 0; k < K; k++)
      sum += 1000.0 * f.b[k * N + j];
    f.d[j] = sum;
  }
  f.d[1] += 0.99 * get_byte_bound (&f, 1);
  g_assert_true (verify (&f, NULL, NULL));
  f.d[1] += 0.03 * get_byte_bound (&f, 1);
  g_assert_false (verify (&f, NULL, NULL));
}

/* A NaN or infinity may spoil its row or column, and nothing else. The results of f32 kernels pass,
 * too. */
static void
test_spoilt_bytes (void)
{
  for (guint in_b = 0; in_b < 2; in_b++) {
    Fixture f;

    fixture_init (&f);
    f.gemm.precision = GEMMCL_PRECISION_I8;
    for (guint i = 0; i < M; i++)
      f.a[i * K] = 1;
    for (guint j = 0; j < N; j++)
      f.b[j] = 1;
    *(in_b ? &f.b[2] : &f.a[2 * K]) = INFINITY;
    for (guint at = 0; at < M * N; at++) {
      gdouble sum = 0;

      for (guint k = 0; k < K; k++)
        sum += (gdouble)f.a[at / N * K + k] * f.b[k * N + at % N];
      f.d[at] = sum;
    }
    g_assert_true (verify (&f, NULL, NULL));
    for (guint at = 0; at < M * N; at++)
      if ((in_b ? at % N : at / N) == 2)
        f.d[at] = NAN;
    g_assert_true (verify (&f, NULL, NULL));
    f.d[0] = NAN;
    g_assert_false (verify (&f, NULL, NULL));
  }
}

/* Rows swapped, a row of zeros, the transpose. */
static void
test_misplaced (void)
{
  gfloat row[N];
  Fixture f;

  fixture_init (&f);
  memcpy (row, f.d, sizeof row);
  memcpy (f.d, f.d + N, sizeof row);
  g_assert_false (verify (&f, NULL, NULL));
  memcpy (f.d + N, row, sizeof row);
  g_assert_false (verify (&f, NULL, NULL));
  fixture_init (&f);
  memset (f.d + 3 * N, 0, sizeof row);
  g_assert_false (verify (&f, NULL, NULL));
}

/* NaN and infinities must be where they are expected, of the same sign. */
static void
test_infinities (void)
{
  static const gfloat special[] = {INFINITY, -INFINITY, NAN};

  for (guint i = 0; i < 3; i++)
    for (guint found = 0; found < 3; found++) {
      Fixture f;

      fixture_init (&f);
      f.gemm.bias = TRUE;
      f.bias[2] = special[i];
      for (guint row = 0; row < M; row++)
        f.d[row * N + 2] = special[found];
      g_assert_true (verify (&f, NULL, NULL) == (i == found));
      f.d[2] = 1;
      g_assert_false (verify (&f, NULL, NULL));
    }
}

/* An element whose expected value exceeds the largest float must be infinite. */
static void
test_overflow (void)
{
  Fixture f;

  fixture_init (&f);
  memset (f.a, 0, sizeof f.a);
  memset (f.d, 0, sizeof f.d);
  f.gemm.alpha = 3e38;
  f.a[0] = 1;
  for (guint j = 0; j < N; j++) {
    f.b[j] = 2;
    f.d[j] = INFINITY;
  }
  g_assert_true (verify (&f, NULL, NULL));
  f.d[0] = -INFINITY;
  g_assert_false (verify (&f, NULL, NULL));
  f.d[0] = 3e38;
  g_assert_false (verify (&f, NULL, NULL));
}

/* Each activation: its values pass, others do not. */
static void
test_activations (void)
{
  for (GemmclActivation i = 0; i < GEMMCL_N_ACTIVATIONS; i++) {
    Fixture f;

    if (i == GEMMCL_ACTIVATION_SOFTMAX)
      continue;
    g_test_message ("%s", gemmcl_activation_get_name (i));
    fixture_init (&f);
    f.gemm.activation = i;
    for (guint j = 0; j < M * N; j++)
      f.d[j] = test_activate (i, f.d[j]);
    g_assert_true (verify (&f, NULL, NULL));
    for (guint j = 0; j < M * N; j++) {
      f.d[j] += 1e-4f;
      g_assert_false (verify (&f, NULL, NULL));
      f.d[j] -= 1e-4f;
    }
  }
}

/* With infinite logits activations have finite values, which are held to. */
static void
test_saturated (void)
{
  static const struct {
    GemmclActivation activation;
    gfloat logit, right, wrong;
  } cases[] = {
      {GEMMCL_ACTIVATION_RELU, -INFINITY, 0, 0.5},
      {GEMMCL_ACTIVATION_SIGMOID, -INFINITY, 0, 1},
      {GEMMCL_ACTIVATION_SIGMOID, INFINITY, 1, 0},
      {GEMMCL_ACTIVATION_TANH, INFINITY, 1, -1},
      {GEMMCL_ACTIVATION_TANH, -INFINITY, -1, 0},
      {GEMMCL_ACTIVATION_GELU, INFINITY, INFINITY, 1},
      {GEMMCL_ACTIVATION_HARD_SWISH, INFINITY, INFINITY, -INFINITY},
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    Fixture f;

    fixture_init (&f);
    f.gemm.bias = TRUE;
    f.gemm.activation = cases[i].activation;
    for (guint j = 0; j < N; j++)
      f.bias[j] = cases[i].logit;
    for (guint at = 0; at < M * N; at++)
      f.d[at] = cases[i].right;
    g_assert_true (verify (&f, NULL, NULL));
    f.d[3] = cases[i].wrong;
    g_assert_false (verify (&f, NULL, NULL));
  }
}

/* Columns that are masked with -infinity, or a number as low as 1e9, have no share. */
static void
test_masked_softmax (void)
{
  static const gfloat masks[] = {-INFINITY, -1e9f, -1e30f};

  for (guint i = 0; i < G_N_ELEMENTS (masks); i++) {
    Fixture f;

    fixture_init (&f);
    memset (f.a, 0, sizeof f.a);
    f.gemm.bias = TRUE;
    f.gemm.activation = GEMMCL_ACTIVATION_SOFTMAX;
    f.bias[1] = f.bias[4] = masks[i];
    for (guint at = 0; at < M * N; at++)
      f.d[at] = at % N == 1 || at % N == 4 ? 0 : 1.0f / 3;
    g_assert_true (verify (&f, NULL, NULL));
    f.d[0] += 1e-4f;
    g_assert_false (verify (&f, NULL, NULL));
    f.d[0] = 1.0f / 3;
    f.d[1] = 1e-6f;
    g_assert_false (verify (&f, NULL, NULL));
  }
}

/* The gaps of D are not checked. */
static void
test_gaps (void)
{
  gfloat d[20 + M * (N + 3)];
  Fixture f;

  fixture_init (&f);
  f.gemm.ldd = N + 3;
  f.gemm.d_offset = 20;
  for (guint i = 0; i < G_N_ELEMENTS (d); i++)
    d[i] = NAN;
  for (guint i = 0; i < M * N; i++)
    d[20 + i / N * (N + 3) + i % N] = f.d[i];
  g_assert_true (gemmcl_gemm_verify (&f.gemm, f.a, f.b, NULL, NULL, d, NULL, NULL));
  d[20] = NAN;
  g_assert_false (gemmcl_gemm_verify (&f.gemm, f.a, f.b, NULL, NULL, d, NULL, NULL));
}

/* With alpha 0 neither A nor B is read, with beta 0 C is not. */
static void
test_unread (void)
{
  gfloat d[M * N] = {0};
  Fixture f;

  fixture_init (&f);
  f.gemm.alpha = 0;
  f.gemm.addend = GEMMCL_ADDEND_MATRIX;
  g_assert_true (gemmcl_gemm_verify (&f.gemm, NULL, NULL, NULL, NULL, d, NULL, NULL));
  d[1] = 1e-30f;
  g_assert_false (gemmcl_gemm_verify (&f.gemm, NULL, NULL, NULL, NULL, d, NULL, NULL));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/verify/right", test_right);
  g_test_add_func ("/verify/bound", test_bound);
  g_test_add_func ("/verify/wrong", test_wrong);
  g_test_add_func ("/verify/precisions", test_precisions);
  g_test_add_func ("/verify/bytes", test_bytes);
  g_test_add_func ("/verify/bytes-of-one-sign", test_bytes_of_one_sign);
  g_test_add_func ("/verify/spoilt-bytes", test_spoilt_bytes);
  g_test_add_func ("/verify/misplaced", test_misplaced);
  g_test_add_func ("/verify/infinities", test_infinities);
  g_test_add_func ("/verify/overflow", test_overflow);
  g_test_add_func ("/verify/activations", test_activations);
  g_test_add_func ("/verify/saturated", test_saturated);
  g_test_add_func ("/verify/masked-softmax", test_masked_softmax);
  g_test_add_func ("/verify/gaps", test_gaps);
  g_test_add_func ("/verify/unread", test_unread);
  return g_test_run ();
}
