/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Problems: what is refused and with which words; huge numbers, which may crash nothing. */

#include <math.h>
#include <string.h>

#include "../kernels/problem.h"

static const GemmclImage rgb = {.format = GEMMCL_PIXEL_RGB, .width = 6, .height = 2};
static const GemmclImage nv12 = {
    .format = GEMMCL_PIXEL_NV12, .width = 6, .height = 2, .kr = 0.299, .kb = 0.114};
static const GemmclImage empty = {.format = GEMMCL_PIXEL_RGB};

static const struct {
  const gchar *name;
  GemmclGemm gemm; /* what is different from 4 x 5 x 6 */
  gint code;       /* -1: valid */
  const gchar *words;
} problems[] = {
    {"plain", {.batch = 0}, -1, NULL},
    {"largest", {.m = G_MAXINT32}, -1, NULL},
    {"bytes of the largest",
     {.m = G_MAXINT32, .n = G_MAXINT32},
     GEMMCL_ERROR_TOO_LARGE,
     "bytes of D"},
    {"too many rows", {.m = 1u << 31}, GEMMCL_ERROR_TOO_LARGE, "M is 2147483648; at most"},
    {"too many columns", {.n = 1u << 31}, GEMMCL_ERROR_TOO_LARGE, "N is 2147483648"},
    {"too deep", {.k = G_MAXSIZE}, GEMMCL_ERROR_TOO_LARGE, "K is 18446744073709551615"},
    {"too many batches", {.batch = 1u << 31}, GEMMCL_ERROR_TOO_LARGE, "batches is 2147483648"},
    {"short lda", {.lda = 5}, GEMMCL_ERROR_INVALID, "leading dimension of A is 5, shorter than"},
    {"short ldb", {.ldb = 4}, GEMMCL_ERROR_INVALID, "leading dimension of B is 4"},
    {"short ldc", {.ldc = 4, .addend = GEMMCL_ADDEND_MATRIX}, GEMMCL_ERROR_INVALID, "of C is 4"},
    {"ldc without C", {.ldc = 4}, -1, NULL},
    {"ldc of a row", {.ldc = 1, .addend = GEMMCL_ADDEND_ROW}, -1, NULL},
    {"short ldd", {.ldd = 1}, GEMMCL_ERROR_INVALID, "leading dimension of D is 1"},
    {"lda of a transposed A", {.lda = 4, .trans_a = TRUE}, -1, NULL},
    {"short lda of a transposed A", {.lda = 3, .trans_a = TRUE}, GEMMCL_ERROR_INVALID, "A is 3"},
    {"short lda by columns",
     {.lda = 3, .layout = GEMMCL_LAYOUT_COLUMN_MAJOR},
     GEMMCL_ERROR_INVALID,
     "shorter than its columns of 4"},
    {"lda by columns", {.lda = 4, .layout = GEMMCL_LAYOUT_COLUMN_MAJOR}, -1, NULL},
    {"overlapping results",
     {.batch = 2, .d_stride = 19},
     GEMMCL_ERROR_INVALID,
     "results overlap: the batch stride of D is 19, but one D spans 20"},
    {"side by side", {.batch = 2, .d_stride = 5, .ldd = 10}, -1, NULL},
    {"side by side, too narrow",
     {.batch = 2, .d_stride = 5, .ldd = 9},
     GEMMCL_ERROR_INVALID,
     "overlap"},
    {"shared A", {.batch = 9, .a_stride = 1}, -1, NULL},
    {"bytes of A", {.lda = G_MAXSIZE / 4}, GEMMCL_ERROR_TOO_LARGE, "bytes of A"},
    {"bytes of B", {.ldb = G_MAXSIZE}, GEMMCL_ERROR_TOO_LARGE, "bytes of B"},
    {"bytes of C",
     {.batch = 2, .c_stride = G_MAXSIZE, .addend = GEMMCL_ADDEND_MATRIX},
     GEMMCL_ERROR_TOO_LARGE,
     "bytes of C"},
    {"bytes of D", {.d_offset = G_MAXSIZE - 1}, GEMMCL_ERROR_TOO_LARGE, "bytes of D"},
    {"bytes of batches",
     {.batch = G_MAXINT32, .a_stride = (gsize)1 << 33},
     GEMMCL_ERROR_TOO_LARGE,
     "bytes of A"},
    {"type of A", {.a_type = GEMMCL_N_TYPES}, GEMMCL_ERROR_INVALID, "type of A, 12"},
    {"type of D", {.d_type = -1}, GEMMCL_ERROR_INVALID, "type of D"},
    {"scaled bytes", {.d_type = GEMMCL_TYPE_I8, .d_scale = 0.5, .d_shift = -3}, -1, NULL},
    {"negative scale of D",
     {.d_type = GEMMCL_TYPE_I8, .d_scale = -0.5},
     GEMMCL_ERROR_INVALID,
     "scale of -0.5"},
    {"tiny scale of D",
     {.d_type = GEMMCL_TYPE_I8, .d_scale = 1e-40},
     GEMMCL_ERROR_INVALID,
     "scale of 1e-40"},
    {"infinite shift of D",
     {.d_type = GEMMCL_TYPE_I8, .d_shift = 1e40},
     GEMMCL_ERROR_INVALID,
     "shift of 1e+40"},
    {"scaled floats", {.d_scale = 2}, GEMMCL_ERROR_INVALID, "integers as D"},
    {"shifted floats",
     {.d_type = GEMMCL_TYPE_BF16, .d_shift = 2},
     GEMMCL_ERROR_INVALID,
     "integers"},
    {"scaled D that is C",
     {.d_type = GEMMCL_TYPE_U8, .d_scale = 2, .addend = GEMMCL_ADDEND_OUTPUT},
     GEMMCL_ERROR_INVALID,
     "not C"},
    {"layout", {.layout = 2}, GEMMCL_ERROR_INVALID, "2 is no GemmclLayout"},
    {"addend", {.addend = 5}, GEMMCL_ERROR_INVALID, "5 is no GemmclAddend"},
    {"precision", {.precision = 5}, GEMMCL_ERROR_INVALID, "5 is no GemmclPrecision"},
    {"activation", {.activation = 10}, GEMMCL_ERROR_INVALID, "10 is no GemmclActivation"},
    {"frame", {.m = 12, .k = 3, .a_image = &rgb}, -1, NULL},
    {"frame, column-major",
     {.m = 12, .k = 3, .a_image = &rgb, .layout = GEMMCL_LAYOUT_COLUMN_MAJOR},
     GEMMCL_ERROR_INVALID,
     "row-major"},
    {"frame of another size",
     {.a_image = &rgb},
     GEMMCL_ERROR_INVALID,
     "makes 12 rows of 3 features, but A is 4 x 6"},
    {"empty frame", {.a_image = &empty}, GEMMCL_ERROR_INVALID, "width"},
    {"frame as D", {.m = 12, .n = 3, .d_image = &rgb}, -1, NULL},
    {"frame as D of another size", {.d_image = &rgb}, GEMMCL_ERROR_INVALID, "D is 4 x 5"},
    {"NV12 as D", {.m = 12, .n = 3, .d_image = &nv12}, GEMMCL_ERROR_INVALID, "one plane, not NV12"},
};

static GemmclGemm
complete (GemmclGemm gemm)
{
  gemm.m = gemm.m ? gemm.m : 4;
  gemm.n = gemm.n ? gemm.n : 5;
  gemm.k = gemm.k ? gemm.k : 6;
  gemm.alpha = gemm.a_scale = 1;
  return gemm;
}

static void
test_problem (gconstpointer data)
{
  const guint index = GPOINTER_TO_UINT (data);
  const GemmclGemm gemm = complete (problems[index].gemm);
  g_autoptr (GError) error = NULL;

  if (problems[index].code < 0) {
    g_assert_true (gemmcl_gemm_validate (&gemm, &error));
    g_assert_no_error (error);
    return;
  }
  g_assert_false (gemmcl_gemm_validate (&gemm, &error));
  g_assert_error (error, GEMMCL_ERROR, problems[index].code);
  if (strstr (error->message, problems[index].words) == NULL) {
    g_test_message ("expected “%s” in: %s", problems[index].words, error->message);
    g_test_fail ();
  }
  g_assert_false (gemmcl_gemm_validate (&gemm, NULL));
}

static void
test_empty (void)
{
  static const gchar *const names[] = {"M is 0", "N is 0", "K is 0"};

  for (guint i = 0; i < 3; i++) {
    GemmclGemm gemm = GEMMCL_GEMM_INIT;
    g_autoptr (GError) error = NULL;

    gemm.m = i != 0;
    gemm.n = i != 1;
    gemm.k = i != 2;
    g_assert_false (gemmcl_gemm_validate (&gemm, &error));
    g_assert_error (error, GEMMCL_ERROR, GEMMCL_ERROR_INVALID);
    g_assert_nonnull (strstr (error->message, names[i]));
  }
}

static void
test_activation_names (void)
{
  static const gchar *const names[] = {"none",    "relu", "leaky-relu", "gelu",       "gelu-tanh",
                                       "sigmoid", "silu", "tanh",       "hard-swish", "softmax"};

  g_assert_cmpuint (GEMMCL_N_ACTIVATIONS, ==, G_N_ELEMENTS (names));
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    g_assert_cmpstr (gemmcl_activation_get_name (i), ==, names[i]);
}

static gsize
draw (GRand *rand)
{
  static const gsize numbers[] = {0,
                                  1,
                                  3,
                                  7,
                                  64,
                                  65535,
                                  1u << 30,
                                  G_MAXINT32,
                                  1u << 31,
                                  G_MAXUINT32,
                                  (gsize)1 << 33,
                                  G_MAXINT64 / 4,
                                  G_MAXINT64 / 2,
                                  G_MAXINT64,
                                  (gsize)1 << 63,
                                  G_MAXSIZE / 2,
                                  G_MAXSIZE - 1,
                                  G_MAXSIZE};
  const gsize number = numbers[g_rand_int_range (rand, 0, G_N_ELEMENTS (numbers))];

  return g_rand_int_range (rand, 0, 4) ? number : number + g_rand_int_range (rand, -2, 3);
}

static GemmclGemm
draw_problem (GRand *rand)
{
  GemmclGemm gemm = GEMMCL_GEMM_INIT;
  gsize *const sizes[] = {&gemm.lda,      &gemm.ldb,      &gemm.ldc,      &gemm.ldd,
                          &gemm.a_offset, &gemm.b_offset, &gemm.c_offset, &gemm.d_offset,
                          &gemm.batch,    &gemm.a_stride, &gemm.b_stride, &gemm.c_stride,
                          &gemm.d_stride};

  gemm.m = draw (rand);
  gemm.n = draw (rand);
  gemm.k = draw (rand);
  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++)
    if (g_rand_int_range (rand, 0, 4) == 0)
      *sizes[i] = draw (rand);
  gemm.layout = g_rand_int_range (rand, 0, 2);
  gemm.trans_a = g_rand_boolean (rand);
  gemm.trans_b = g_rand_boolean (rand);
  gemm.addend = g_rand_int_range (rand, 0, 4);
  return gemm;
}

/* Returns: TRUE if the number of elements fits 63 bits, by arithmetic that does not overflow. */
static gboolean
is_countable (gsize runs, gsize length, gsize ld, gsize offset, gsize batch, gsize stride)
{
  const __uint128_t bytes = 4 * ((__uint128_t)offset + (__uint128_t)(batch - 1) * stride +
                                 (__uint128_t)(runs - 1) * (ld ? ld : length) + length);
  return bytes <= G_MAXINT64;
}

static void
test_random (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (3);
  guint valid = 0;

  for (guint i = 0; i < 50000; i++) {
    const GemmclGemm gemm = draw_problem (rand);
    const gsize batch = MAX (gemm.batch, 1);
    const gboolean by_column = gemm.layout == GEMMCL_LAYOUT_COLUMN_MAJOR;
    const gboolean a_by_column = by_column != gemm.trans_a, b_by_column = by_column != gemm.trans_b;
    g_autoptr (GError) error = NULL;

    if (!gemmcl_gemm_validate (&gemm, &error)) {
      g_assert_true (g_error_matches (error, GEMMCL_ERROR, GEMMCL_ERROR_INVALID) ||
                     g_error_matches (error, GEMMCL_ERROR, GEMMCL_ERROR_TOO_LARGE));
      continue;
    }
    valid++;
    g_assert_true (is_countable (a_by_column ? gemm.k : gemm.m, a_by_column ? gemm.m : gemm.k,
                                 gemm.lda, gemm.a_offset, batch, gemm.a_stride));
    g_assert_true (is_countable (b_by_column ? gemm.n : gemm.k, b_by_column ? gemm.k : gemm.n,
                                 gemm.ldb, gemm.b_offset, batch, gemm.b_stride));
    g_assert_true (is_countable (by_column ? gemm.n : gemm.m, by_column ? gemm.m : gemm.n, gemm.ldd,
                                 gemm.d_offset, batch, gemm.d_stride));
  }
  g_assert_cmpuint (valid, >, 300);
}

/* A plan of a problem that is too large is refused, or at least takes no memory to speak of. */
static void
test_random_plans (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (4);
  GemmclContext *context = test_get_context ();
  gsize largest;

  if (context == NULL)
    return;
  largest = gemmcl_context_get_device_info (context)->max_alloc_bytes / sizeof (gfloat);
  for (guint made = 0; made < 40;) {
    GemmclGemm gemm = draw_problem (rand);
    g_autoptr (GemmclPlan) plan = NULL;
    g_autoptr (GError) error = NULL;

    /* Sizes that this device allows are left out: filling them would take minutes. */
    if (!gemmcl_gemm_validate (&gemm, NULL) || (gemm.n > 1000 && gemm.n <= largest))
      continue;
    made++;
    gemm.k = gemm.k <= 16 ? 1 : gemm.k;
    plan = gemmcl_plan_new (context, &gemm, made % 2 ? NULL : "gemm_naive", &error);
    if (plan == NULL)
      g_assert_true (g_error_matches (error, GEMMCL_ERROR, GEMMCL_ERROR_TOO_LARGE) ||
                     g_error_matches (error, GEMMCL_ERROR, GEMMCL_ERROR_INVALID) ||
                     g_error_matches (error, GEMMCL_ERROR, GEMMCL_ERROR_OPENCL));
  }
}

/* The first run is what needs room for A and D. */
static void
test_large_run (void)
{
  GemmclContext *context = test_get_context ();
  const gfloat one = 1;
  g_autoptr (GemmclMatrix) b = gemmcl_matrix_new (GEMMCL_TYPE_F32, 1, 1, &one, NULL);
  g_autoptr (GemmclPlan) plan = NULL;
  g_autoptr (GError) error = NULL;
  gfloat x = 1;
  const GemmclData data = {.host = {&x}};
  const GemmclRun run = {.size = sizeof run, .alpha = 1, .a = &data, .d = &data};
  GemmclGemm gemm = GEMMCL_GEMM_INIT;

  if (context == NULL)
    return;
  gemm.m = G_MAXINT32;
  gemm.n = gemm.k = 1;
  gemm.a_type = gemm.d_type = GEMMCL_TYPE_F64;
  if (gemmcl_context_get_device_info (context)->max_alloc_bytes >= 8 * (guint64)gemm.m) {
    g_test_skip ("the device allows buffers of 16 GB");
    return;
  }
  plan = gemmcl_plan_new (context, &gemm, "gemm_naive", &error);
  g_assert_no_error (error);
  g_assert_true (gemmcl_plan_set_b (plan, b, &error));
  g_assert_false (gemmcl_plan_run (plan, &run, &error));
  g_assert_error (error, GEMMCL_ERROR, GEMMCL_ERROR_TOO_LARGE);
  g_assert_nonnull (strstr (error->message, "17179869176 bytes"));
}

/* A in f64 is rounded to the nearest float, halves to even, whatever the device can do itself. */
static void
test_f64 (void)
{
  static const gdouble values[] = {1 + 0x1p-24,  1 + 0x3p-24, 1 + 0x1.8p-24,
                                   -1 - 0x1p-24, 0x1p-140,    1e300};
  static const gfloat expected[] = {1, 1 + 0x2p-23f, 1 + 0x1p-23f, -1, 0, INFINITY};
  const gfloat one = 1;
  gfloat d[G_N_ELEMENTS (values)];
  g_autoptr (GError) error = NULL;
  GemmclGemm gemm = GEMMCL_GEMM_INIT;

  if (test_get_context () == NULL)
    return;
  gemm.m = G_N_ELEMENTS (values);
  gemm.n = gemm.k = 1;
  gemm.a_type = GEMMCL_TYPE_F64;
  gemmcl_gemm_run (test_get_context (), &gemm, "gemm_naive", values, &one, NULL, NULL, d, &error);
  g_assert_no_error (error);
  for (guint i = 0; i < G_N_ELEMENTS (values); i++)
    g_assert_cmpfloat (d[i], ==, expected[i]);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (problems); i++) {
    g_autofree gchar *path = g_strdup_printf ("/gemm/validate/%s", problems[i].name);
    g_test_add_data_func (path, GUINT_TO_POINTER (i), test_problem);
  }
  g_test_add_func ("/gemm/validate/empty", test_empty);
  g_test_add_func ("/gemm/activation-names", test_activation_names);
  g_test_add_func ("/gemm/random", test_random);
  g_test_add_func ("/gemm/random-plans", test_random_plans);
  g_test_add_func ("/gemm/large-run", test_large_run);
  g_test_add_func ("/gemm/f64", test_f64);
  return g_test_run ();
}
