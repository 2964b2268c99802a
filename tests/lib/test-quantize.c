/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Matrices of bytes with scales: how they are made, what they stand for, in files, and as the B of
 * plans whose kernels multiply bytes. */

#include <float.h>
#include <math.h>
#include <string.h>

#include "files.h"
#include "gemmcl.h"

enum { ROWS = 5, COLS = 3 };

/* The only exact test of what bytes are multiplied to: whole numbers. */
#define KERNEL "vector_i8_1x64_1x1"

static GemmclMatrix *
make (GemmclType type, gsize rows, gsize cols, gconstpointer data)
{
  g_autoptr (GError) error = NULL;
  GemmclMatrix *matrix = gemmcl_matrix_new (type, rows, cols, data, &error);

  g_assert_no_error (error);
  return matrix;
}

static GemmclMatrix *
make_floats (gsize rows, gsize cols, guint seed)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  g_autofree gfloat *data = g_new (gfloat, rows * cols);

  for (gsize i = 0; i < rows * cols; i++)
    data[i] = g_rand_double_range (rand, -1, 1);
  return make (GEMMCL_TYPE_F32, rows, cols, data);
}

static GemmclMatrix *
make_bytes (guint seed)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  gint8 data[ROWS * COLS];

  for (gsize i = 0; i < ROWS * COLS; i++)
    data[i] = g_rand_int_range (rand, -128, 128);
  return make (GEMMCL_TYPE_I8, ROWS, COLS, data);
}

static const gfloat *
get_floats (GemmclMatrix *matrix, gboolean transpose, GemmclMatrix **floats)
{
  g_autoptr (GError) error = NULL;

  *floats = gemmcl_matrix_to_f32 (matrix, transpose, &error);
  g_assert_no_error (error);
  return gemmcl_matrix_get_data (*floats);
}

/* Each element is off by half of its row's or column's scale at most, the largest by nothing. */
static void
test_made (void)
{
  for (guint by_row = 0; by_row < 2; by_row++) {
    g_autoptr (GemmclMatrix) matrix = make_floats (ROWS, COLS, 1), again = NULL, quantized = NULL;
    const gfloat *before = gemmcl_matrix_get_data (matrix), *after, *scale;
    GemmclQuantization done;
    gdouble worst = 0, squares = 0;

    quantized = gemmcl_matrix_quantize (matrix, by_row, &done, NULL);
    g_assert_nonnull (quantized);
    g_assert_cmpint (gemmcl_matrix_get_element_type (quantized), ==, GEMMCL_TYPE_I8);
    g_assert_cmpint (gemmcl_precision_of_matrix (quantized), ==, GEMMCL_PRECISION_I8);
    g_assert_null (gemmcl_matrix_get_zero_points (quantized));
    scale = gemmcl_matrix_get_data (gemmcl_matrix_get_scales (quantized));
    after = get_floats (quantized, FALSE, &again);
    for (gsize i = 0; i < ROWS * COLS; i++) {
      const gdouble off = fabs ((gdouble)after[i] - before[i]);

      g_assert_cmpfloat (off, <=, 0.5001 * scale[by_row ? i / COLS : i % COLS]);
      worst = MAX (worst, off);
      squares += off * off;
    }
    g_assert_cmpfloat_with_epsilon (done.max_error, worst, 1e-7);
    g_assert_cmpfloat_with_epsilon (done.rms_error, sqrt (squares / (ROWS * COLS)), 1e-7);
    g_assert_cmpfloat (done.largest, <=, 1);
  }
}

static void
test_not_a_number (void)
{
  static const gfloat wrong[] = {NAN, INFINITY, -INFINITY};

  for (guint i = 0; i < G_N_ELEMENTS (wrong); i++) {
    const gfloat data[] = {1, 2, wrong[i], 4};
    g_autoptr (GemmclMatrix) matrix = make (GEMMCL_TYPE_F32, 2, 2, data);
    g_autoptr (GError) error = NULL;

    g_assert_null (gemmcl_matrix_quantize (matrix, FALSE, NULL, &error));
    files_assert_error (error, GEMMCL_ERROR_INVALID, "int8");
  }
}

/* scale (q - zero point), as they lie and transposed, by column, by row, one for all. */
static void
test_stands_for (void)
{
  static const gfloat scales[ROWS] = {0.5, 2, 0, 1, 0.25};
  static const gint8 zeros[ROWS] = {-128, 0, 5, 127, -1};
  const gsize shapes[][2] = {{1, COLS}, {ROWS, 1}, {1, 1}};

  for (guint s = 0; s < G_N_ELEMENTS (shapes); s++)
    for (guint transpose = 0; transpose < 2; transpose++) {
      g_autoptr (GemmclMatrix) bytes = make_bytes (2), floats = NULL, quantized = NULL;
      g_autoptr (GemmclMatrix) scale = make (GEMMCL_TYPE_F32, shapes[s][0], shapes[s][1], scales);
      g_autoptr (GemmclMatrix) zero = make (GEMMCL_TYPE_I8, shapes[s][0], shapes[s][1], zeros);
      const gint8 *q = gemmcl_matrix_get_data (bytes);
      const gfloat *values;

      quantized = gemmcl_matrix_new_quantized (bytes, scale, zero, NULL);
      g_assert_nonnull (quantized);
      values = get_floats (quantized, transpose, &floats);
      for (gsize i = 0; i < ROWS; i++)
        for (gsize j = 0; j < COLS; j++) {
          const gsize at = s == 0 ? j : s == 1 ? i : 0;

          g_assert_cmpfloat (values[transpose ? j * ROWS + i : i * COLS + j], ==,
                             scales[at] * (q[i * COLS + j] - zeros[at]));
        }
    }
}

static void
test_refused (void)
{
  static const gfloat good[] = {1, 1, 1, 1, 1}, nan[] = {1, NAN, 1, 1, 1}, low[] = {1, 1, -1, 1, 1};
  static const gfloat half[] = {0, 0.5, 0}, far[] = {0, 0, 128};
  const struct {
    const gfloat *scales, *zeros;
    gsize rows, cols;
    GemmclError code;
    const gchar *words;
  } cases[] = {
      {good, NULL, 1, 4, GEMMCL_ERROR_SHAPE, "scales of 1 x 1"},
      {good, NULL, 3, 1, GEMMCL_ERROR_SHAPE, "not of 3 x 1"},
      {nan, NULL, 1, COLS, GEMMCL_ERROR_INVALID, "finite"},
      {low, NULL, 1, COLS, GEMMCL_ERROR_INVALID, "not below 0"},
      {good, half, 1, COLS, GEMMCL_ERROR_INVALID, "integers from -128 to 127"},
      {good, far, 1, COLS, GEMMCL_ERROR_INVALID, "found 128"},
  };
  g_autoptr (GemmclMatrix) bytes = make_bytes (3), floats = make_floats (ROWS, COLS, 1);
  g_autoptr (GemmclMatrix) one = make (GEMMCL_TYPE_F32, 1, 1, good);
  g_autoptr (GemmclMatrix) three = make (GEMMCL_TYPE_F32, 1, COLS, good);
  g_autoptr (GError) error = NULL;

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GemmclMatrix) scales =
        make (GEMMCL_TYPE_F32, cases[i].rows, cases[i].cols, cases[i].scales);
    g_autoptr (GemmclMatrix) zeros =
        cases[i].zeros ? make (GEMMCL_TYPE_F32, cases[i].rows, cases[i].cols, cases[i].zeros)
                       : NULL;

    g_assert_null (gemmcl_matrix_new_quantized (bytes, scales, zeros, &error));
    files_assert_error (error, cases[i].code, cases[i].words);
  }
  g_assert_null (gemmcl_matrix_new_quantized (floats, one, NULL, &error));
  files_assert_error (error, GEMMCL_ERROR_INVALID, "i8 or u8");
  g_assert_null (gemmcl_matrix_new_quantized (bytes, three, one, &error));
  files_assert_error (error, GEMMCL_ERROR_SHAPE, "as many zero points");
}

/* A saved matrix loads as it was, with and without zero points. */
static void
test_files (void)
{
  static const gfloat scales[COLS] = {0.5, 2, 1}, zeros[COLS] = {-128, 0, 127};
  g_auto (Files) files = {0};

  files_init (&files);
  for (guint i = 0; i < 3; i++) {
    g_autofree gchar *path = files_path (&files, "q.safetensors");
    g_autoptr (GemmclMatrix) bytes = make_bytes (4),
                             scale = make (GEMMCL_TYPE_F32, 1, COLS, scales);
    g_autoptr (GemmclMatrix) zero = make (GEMMCL_TYPE_F32, 1, COLS, zeros);
    g_autoptr (GemmclMatrix) made = NULL, loaded = NULL, before = NULL, after = NULL;
    g_autoptr (GError) error = NULL;

    made = i == 2 ? gemmcl_matrix_ref (bytes)
                  : gemmcl_matrix_new_quantized (bytes, scale, i ? zero : NULL, NULL);
    g_assert_true (gemmcl_matrix_save_safetensors (made, path, "a.weight", &error));
    loaded = gemmcl_matrix_load_safetensors (path, "a.weight", &error);
    g_assert_no_error (error);
    g_assert_true (!gemmcl_matrix_get_scales (loaded) == (i == 2));
    g_assert_true (!gemmcl_matrix_get_zero_points (loaded) == (i != 1));
    g_assert_cmpmem (get_floats (made, FALSE, &before), ROWS * COLS * sizeof (gfloat),
                     get_floats (loaded, FALSE, &after), ROWS * COLS * sizeof (gfloat));
    g_assert_false (gemmcl_matrix_save_safetensors (made, files.dir, "w", &error));
    files_assert_error (error, GEMMCL_ERROR_IO, "Cannot write");
  }
}

/* D of A = even, odd, even ..: with 0 they have a range of 255, so that the row's step is 1 and
 * nothing of it is rounded. */
static gfloat
multiply (GemmclContext *context, GemmclMatrix *b, gsize k, gboolean trans_b, gfloat even,
          gfloat odd)
{
  GemmclGemm gemm = GEMMCL_GEMM_INIT;
  g_autoptr (GemmclPlan) plan = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree gfloat *a = g_new0 (gfloat, k);
  gfloat d = NAN;
  const GemmclData host_a = {.host = {a}}, host_d = {.host = {&d}};
  const GemmclRun run = {.size = sizeof run, .alpha = 1, .a = &host_a, .d = &host_d};

  gemm.m = gemm.n = 1;
  gemm.k = k;
  gemm.trans_b = trans_b;
  gemm.precision = GEMMCL_PRECISION_I8;
  plan = gemmcl_plan_new (context, &gemm, KERNEL, &error);
  g_assert_no_error (error);
  g_assert_cmpint (gemmcl_plan_get_precision (plan), ==, GEMMCL_PRECISION_I8);
  g_assert_true (gemmcl_plan_set_b (plan, b, &error));
  for (gsize i = 0; i < k; i++)
    a[i] = i % 2 ? odd : even;
  g_assert_true (gemmcl_plan_run (plan, &run, &error));
  return d;
}

/* Bytes that say what they are, with a sign or without, are taken as they are: by other scales than
 * theirs some of these would be off. */
static void
test_taken (void)
{
  static const guint8 u8[] = {0, 255, 3, 200};
  static const gint8 i8[] = {-128, 127, 3, -100};
  static const gfloat scale = 0.5, zero = 100;
  g_autoptr (GemmclContext) context = gemmcl_context_new (NULL, NULL);
  g_autoptr (GemmclMatrix) of_u8 = make (GEMMCL_TYPE_U8, 4, 1, u8);
  g_autoptr (GemmclMatrix) of_i8 = make (GEMMCL_TYPE_I8, 4, 1, i8);
  g_autoptr (GemmclMatrix) row = make (GEMMCL_TYPE_I8, 1, 4, i8);
  g_autoptr (GemmclMatrix) scales = make (GEMMCL_TYPE_F32, 1, 1, &scale);
  g_autoptr (GemmclMatrix) zeros = make (GEMMCL_TYPE_F32, 1, 1, &zero);
  g_autoptr (GemmclMatrix) q8 = gemmcl_matrix_new_quantized (of_i8, scales, zeros, NULL);

  if (context == NULL)
    return g_test_skip ("there is no device");
  g_assert_cmpfloat (multiply (context, of_u8, 4, FALSE, 255, 255), ==, 255 * (0 + 255 + 3 + 200));
  g_assert_cmpfloat (multiply (context, of_i8, 4, FALSE, 255, 255), ==,
                     255 * (-128 + 127 + 3 - 100));
  g_assert_cmpfloat (multiply (context, row, 4, TRUE, 255, 255), ==, 255 * (-128 + 127 + 3 - 100));
  g_assert_cmpfloat (multiply (context, q8, 4, FALSE, 255, 255), ==, 255 * 0.5 * (-98 - 400));
  /* A device may divide the range of 255 by 255 with an error of 2.5 ulp. */
  g_assert_cmpfloat_with_epsilon (multiply (context, q8, 4, FALSE, 200, -55),
                                  0.5 * (200 * (-228 - 97) - 55 * (27 - 200)), 0.02);
}

/* A of bytes is not rounded if one of them stands for 0: these sums are exact, unlike those of rows
 * that are cut into 255 steps. With another shift the result is as close as those. */
static void
test_kept (void)
{
  static const gint8 weight[] = {100, -7, 11, 127}, stored[] = {-100, 13, 7, 90};
  static const struct {
    GemmclType type;
    gdouble scale, shift;
    gfloat off;
  } cases[] = {{GEMMCL_TYPE_U8, 0.5, -16, 0},    {GEMMCL_TYPE_U8, 1, 0, 0},
               {GEMMCL_TYPE_I8, 0.25, 8, 0},     {GEMMCL_TYPE_I8, 1, 0, 0},
               {GEMMCL_TYPE_U8, 0.5, 16, 40},    {GEMMCL_TYPE_U8, 0.5, -128, 40},
               {GEMMCL_TYPE_U8, 0.5, -15.75, 40}};
  g_autoptr (GemmclContext) context = gemmcl_context_new (NULL, NULL);
  g_autoptr (GemmclMatrix) b = make (GEMMCL_TYPE_I8, 4, 1, weight);

  if (context == NULL)
    return g_test_skip ("there is no device");
  for (guint c = 0; c < G_N_ELEMENTS (cases); c++) {
    g_autoptr (GError) error = NULL;
    g_autoptr (GemmclPlan) plan = NULL;
    GemmclGemm gemm = GEMMCL_GEMM_INIT;
    gfloat d = NAN, sum = 0;
    const GemmclData host_a = {.host = {(gpointer)stored}}, host_d = {.host = {&d}};
    const GemmclRun run = {.size = sizeof run, .alpha = 1, .a = &host_a, .d = &host_d};

    gemm.m = gemm.n = 1;
    gemm.k = 4;
    gemm.precision = GEMMCL_PRECISION_I8;
    gemm.a_type = cases[c].type;
    gemm.a_scale = cases[c].scale;
    gemm.a_shift = cases[c].shift;
    plan = gemmcl_plan_new (context, &gemm, KERNEL, &error);
    g_assert_no_error (error);
    g_assert_true (gemmcl_plan_set_b (plan, b, &error));
    g_assert_true (gemmcl_plan_run (plan, &run, &error));
    for (guint k = 0; k < 4; k++)
      sum += weight[k] *
             (cases[c].shift +
              cases[c].scale * (cases[c].type == GEMMCL_TYPE_U8 ? (guint8)stored[k] : stored[k]));
    g_assert_cmpfloat_with_epsilon (d, sum, cases[c].off + FLT_MIN);
  }
}

/* The longest sum, of nothing but the largest products: exact to the last bit of a float. */
static void
test_longest (void)
{
  const gsize k = 65536;
  g_autoptr (GemmclContext) context = gemmcl_context_new (NULL, NULL);
  g_autofree gint8 *data = g_malloc (k);
  g_autoptr (GemmclMatrix) b = NULL;

  if (context == NULL)
    return g_test_skip ("there is no device");
  memset (data, -128, k);
  b = make (GEMMCL_TYPE_I8, k, 1, data);
  g_assert_cmpfloat (multiply (context, b, k, FALSE, 255, 255), ==, -128.0 * 255 * k);
}

/* The same numbers by other scales are other bytes. */
static void
test_not_shared (void)
{
  static const gint8 one[] = {2, 4, 100, -50}, other[] = {1, 2, 50, -25};
  static const gfloat halves = 0.5, ones = 1;
  g_autoptr (GemmclContext) context = gemmcl_context_new (NULL, NULL);
  g_autoptr (GemmclMatrix) q = make (GEMMCL_TYPE_I8, 4, 1, one);
  g_autoptr (GemmclMatrix) r = make (GEMMCL_TYPE_I8, 4, 1, other);
  g_autoptr (GemmclMatrix) half = make (GEMMCL_TYPE_F32, 1, 1, &halves);
  g_autoptr (GemmclMatrix) whole = make (GEMMCL_TYPE_F32, 1, 1, &ones);
  g_autoptr (GPtrArray) plans = g_ptr_array_new_with_free_func (g_object_unref);
  GemmclGemm gemm = GEMMCL_GEMM_INIT;
  GemmclContextStats stats;

  if (context == NULL)
    return g_test_skip ("there is no device");
  gemm.m = gemm.n = 1;
  gemm.k = 4;
  gemm.precision = GEMMCL_PRECISION_I8;
  for (guint i = 0; i < 3; i++) {
    GemmclPlan *plan = gemmcl_plan_new (context, &gemm, KERNEL, NULL);
    g_autoptr (GemmclMatrix) b = NULL;

    g_assert_nonnull (plan);
    g_ptr_array_add (plans, plan);
    b = gemmcl_matrix_new_quantized (i == 1 ? r : q, i == 1 ? whole : half, NULL, NULL);
    g_assert_true (gemmcl_plan_set_b (plan, b, NULL));
  }
  gemmcl_context_get_stats (context, &stats);
  g_assert_cmpuint (stats.weights, ==, 2);
}

/* Weights that are no numbers are refused, and a K whose sums might overflow. */
static void
test_limits (void)
{
  static const gfloat spoilt[] = {1, INFINITY};
  g_autoptr (GemmclContext) context = gemmcl_context_new (NULL, NULL);
  g_autoptr (GemmclMatrix) b = make (GEMMCL_TYPE_F32, 2, 1, spoilt);
  g_autoptr (GemmclPlan) plan = NULL;
  g_autoptr (GError) error = NULL;
  GemmclGemm gemm = GEMMCL_GEMM_INIT;

  if (context == NULL)
    return g_test_skip ("there is no device");
  gemm.m = gemm.n = 1;
  gemm.k = 2;
  gemm.precision = GEMMCL_PRECISION_I8;
  plan = gemmcl_plan_new (context, &gemm, KERNEL, NULL);
  g_assert_false (gemmcl_plan_set_b (plan, b, &error));
  files_assert_error (error, GEMMCL_ERROR_INVALID, "int8");
  gemm.k = 65537;
  g_assert_false (gemmcl_kernel_fits (context, KERNEL, &gemm, &error));
  files_assert_error (error, GEMMCL_ERROR_KERNEL, "takes K up to 65536");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/quantize/made", test_made);
  g_test_add_func ("/quantize/not-a-number", test_not_a_number);
  g_test_add_func ("/quantize/stands-for", test_stands_for);
  g_test_add_func ("/quantize/refused", test_refused);
  g_test_add_func ("/quantize/files", test_files);
  g_test_add_func ("/quantize/taken", test_taken);
  g_test_add_func ("/quantize/kept", test_kept);
  g_test_add_func ("/quantize/longest", test_longest);
  g_test_add_func ("/quantize/not-shared", test_not_shared);
  g_test_add_func ("/quantize/limits", test_limits);
  return g_test_run ();
}
