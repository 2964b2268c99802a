/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Compares every row of the table of kernels with a reference, so that a new row needs no new test.
 *
 *     test-kernels [SHARD SHARDS]     the rows of shard SHARD, from 0, of SHARDS; default: all rows
 *
 * Compiling takes most of the time. Options that need another program are therefore tested in full
 * only with two rows: the first one, and the first one that loads and stores frames itself. The
 * other rows share the macros of these two. Each of them is tested with one type and activation,
 * and the first row of each method with all layouts and vectors of 4. row.h describes how
 * environment variables reduce the tests.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elements.h"
#include "problem.h"
#include "row.h"

/* TRUE if a GPU has too few registers for the kernel's work-groups, which only the build tells. */
static gboolean
has_no_room (GemmclContext *context, const GError *error)
{
  return g_error_matches (error, GEMMCL_ERROR, GEMMCL_ERROR_KERNEL) &&
         gemmcl_context_get_device_info (context)->type == GEMMCL_DEVICE_TYPE_GPU;
}

typedef gboolean (*Run) (Problem *, GemmclContext *, const gchar *, GError **);

/* Runs a problem that fits the kernel. Returns: FALSE, with the test skipped, if the GPU has too
 * few registers. */
static gboolean
run_fitting (const Row *row, Problem *problem, Run run_problem)
{
  GemmclContext *context = test_get_context ();
  g_autoptr (GError) error = NULL;

  if (run_problem (problem, context, row->info->name, &error))
    return TRUE;
  if (!has_no_room (context, error))
    g_assert_no_error (error);
  g_test_skip (error->message);
  return FALSE;
}

/* Runs and checks a problem that fits the kernel. */
static void
solve (const Row *row, Problem *problem, Run run_problem)
{
  if (run_fitting (row, problem, run_problem) && problem_check (problem, row->info->name))
    problem_verify (problem, row->info->name);
}

/* Runs and checks a problem. Returns: FALSE if it does not fit the kernel or the GPU. */
static gboolean
run (const Row *row, const GemmclGemm *gemm, guint32 seed)
{
  GemmclContext *context = test_get_context ();
  g_autoptr (GError) error = NULL;
  g_auto (Problem) problem = {0};

  if (!gemmcl_kernel_fits (context, row->info->name, gemm, &error)) {
    g_assert_error (error, GEMMCL_ERROR, GEMMCL_ERROR_KERNEL);
    return FALSE;
  }
  problem_init (&problem, gemm, seed);
  if (!problem_run_device (&problem, context, row->info->name, &error)) {
    g_autofree gchar *what = problem_describe (gemm);
    g_test_message ("%s: %s (%s)", row->info->name, error->message, what);
    if (has_no_room (context, error))
      return FALSE;
    g_test_fail ();
    return TRUE;
  }
  if (problem_check (&problem, row->info->name) && gemm->d_type == GEMMCL_TYPE_F32)
    problem_verify (&problem, row->info->name);
  return TRUE;
}

/* TRUE if the device can run the row; otherwise the test is skipped. */
static gboolean
can_run (const Row *row)
{
  g_autoptr (GError) error = NULL;

  if (row_is_miscompiled (row)) {
    g_test_skip (TEST_MISCOMPILED);
    return FALSE;
  }
  if (gemmcl_kernel_fits (test_get_context (), row->info->name, NULL, &error))
    return TRUE;
  g_test_skip (error->message);
  return FALSE;
}

/* Skips the test if it tested no problem. */
static void
count (guint tested)
{
  if (tested == 0)
    g_test_skip ("no problem of this kind fits the kernel");
}

/* Returns: a problem with sizes that no tile divides, or the nearest that fits the kernel. */
static GemmclGemm
make_gemm (const Row *row, gsize k)
{
  const gsize sizes[][3] = {
      {row->tile_m + 1, row->tile_n + 3, k},
      {row->tile_m, row->tile_n + 3, k},
      {row->tile_m + 1, 3, MIN (k, 5)},
  };
  GemmclGemm gemm = GEMMCL_GEMM_INIT;

  gemm.precision = row->info->precision;
  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++) {
    gemm.m = sizes[i][0];
    gemm.n = sizes[i][1];
    gemm.k = sizes[i][2];
    if (gemmcl_kernel_fits (test_get_context (), row->info->name, &gemm, NULL))
      return gemm;
  }
  gemm.m = gemm.n = gemm.k = 1;
  return gemm;
}

static guint
collect_sizes (gsize tile, gsize group, gsize sizes[8])
{
  const gsize wanted[] = {1, tile - 1, tile, tile + 1, group - 1, group, group + 1, 2 * tile + 5};
  guint n = 0;

  for (guint i = 0; i < G_N_ELEMENTS (wanted); i++) {
    gboolean known = wanted[i] == 0;

    for (guint j = 0; j < n; j++)
      known |= sizes[j] == wanted[i];
    if (!known)
      sizes[n++] = wanted[i];
  }
  return n;
}

/* Batches with the row distance of 2D block reads; the second one of K = 20 begins unaligned. */
static guint
run_aligned_batches (const Row *row)
{
  static const gsize ks[] = {20, 32};
  guint tested = 0;

  for (guint i = 0; i < G_N_ELEMENTS (ks) && row->engines; i++) {
    GemmclGemm gemm = make_gemm (row, ks[i]);
    gemm.batch = 2;
    gemm.a_stride = gemm.m * gemm.k;
    gemm.b_stride = gemm.k * gemm.n;
    tested += run (row, &gemm, i);
  }
  return tested;
}

static void
test_edges (gconstpointer data)
{
  static const gsize plain_depths[] = {1, 2, 17, 33, 3, 8};
  /* Some of these make rows of a multiple of 16 bytes, which 2D block reads need. */
  static const gsize engine_depths[] = {20, 1, 33, 36, 17, 68};
  const Row *row = data;
  const gsize *depths = row->engines ? engine_depths : plain_depths;
  gsize ms[8], ns[8];
  const guint n_ms = collect_sizes (row->tile_m, row->group_m, ms);
  const guint n_ns = collect_sizes (row->tile_n, row->group_n, ns);
  /* K = 8 is for the first row only: rows of a multiple of 4 need another program. */
  const guint n_depths = G_N_ELEMENTS (plain_depths) - (row->first || row->engines ? 0 : 1);
  guint tested = 0, turn = 0;

  if (!can_run (row))
    return;
  for (guint i = 0; i < n_ms; i++)
    for (guint j = 0; j < n_ns; j++) {
      GemmclGemm gemm = GEMMCL_GEMM_INIT;

      gemm.precision = row->info->precision;
      gemm.m = ms[i];
      gemm.n = ns[j];
      gemm.k = i + j == 0 ? 1300 : depths[turn++ % n_depths]; /* 1300: several steps of any row */
      gemm.ldd = row->first ? 0 : gemm.n | 1;
      tested += run (row, &gemm, turn);
    }
  count (tested + run_aligned_batches (row));
}

/* Returns: @wanted for the first row of a method. Other rows have one program for each layout. */
static gboolean
is_transposed (const Row *row, GemmclLayout layout, gboolean wanted)
{
  return row->first ? wanted : layout == GEMMCL_LAYOUT_COLUMN_MAJOR && row->index % 2;
}

static void
test_layouts (gconstpointer data)
{
  const Row *row = data;
  guint tested = 0;

  if (!can_run (row))
    return;
  for (guint i = 0; i < 16; i++) {
    GemmclGemm gemm = make_gemm (row, 9);

    gemm.layout = i & 1 ? GEMMCL_LAYOUT_COLUMN_MAJOR : GEMMCL_LAYOUT_ROW_MAJOR;
    gemm.trans_a = is_transposed (row, gemm.layout, !!(i & 2));
    gemm.trans_b = !!(i & 4);
    gemm.addend = GEMMCL_ADDEND_MATRIX;
    gemm.beta = 0.5;
    gemm.bias = TRUE;
    if (i & 8) {
      gemm.lda = MAX (gemm.m, gemm.k) + 3;
      gemm.ldb = MAX (gemm.n, gemm.k) + 5;
      gemm.ldc = MAX (gemm.n, gemm.m) + 1;
      gemm.ldd = MAX (gemm.n, gemm.m) + 2;
      gemm.a_offset = 3;
      gemm.b_offset = 1;
      gemm.c_offset = 7;
      gemm.d_offset = 5;
    }
    tested += run (row, &gemm, i);
  }
  count (tested);
}

/* Batches whose Ds follow one another, have gaps, or are side by side; with one B or several. */
static void
test_batches (gconstpointer data)
{
  const Row *row = data;
  guint tested = 0;

  if (!can_run (row))
    return;
  for (guint i = 0; i < 24; i++) {
    GemmclGemm gemm = make_gemm (row, 5);

    gemm.layout = i & 1 ? GEMMCL_LAYOUT_COLUMN_MAJOR : GEMMCL_LAYOUT_ROW_MAJOR;
    gemm.trans_a = is_transposed (row, gemm.layout, FALSE);
    gemm.batch = 3;
    gemm.a_stride = i & 2 ? gemm.m * gemm.k : 0;
    gemm.b_stride = i & 4 ? gemm.k * gemm.n + 2 : 0;
    gemm.addend = i & 2 ? GEMMCL_ADDEND_MATRIX : GEMMCL_ADDEND_ROW;
    gemm.beta = -1.5;
    gemm.c_stride = i & 4 ? gemm.m * gemm.n : 0;
    if (i / 8 == 1) {
      gemm.d_stride = gemm.m * gemm.n + 4;
    } else if (i / 8 == 2) {
      gemm.d_stride = MAX (gemm.m, gemm.n) + 1;
      gemm.ldd = 3 * gemm.d_stride + 1;
    }
    tested += run (row, &gemm, i);
  }
  count (tested);
}

/* If alpha or beta is 0, sets their operands to NaN, which must not affect the result. */
static void
spoil (Problem *problem)
{
  const GemmclGemm *gemm = &problem->gemm;

  for (gsize i = 0; gemm->alpha == 0 && i < problem->n_a; i++)
    element_set (gemm->a_type, problem->a, i, NAN);
  for (gsize i = 0; gemm->alpha == 0 && i < problem->n_b; i++)
    problem->b[i] = NAN;
  for (gsize i = 0; gemm->beta == 0 && i < problem->n_c; i++)
    problem->c[i] = NAN;
  for (gsize i = 0; gemm->beta == 0 && i < problem->n_d; i++) {
    element_set (gemm->d_type, problem->d_before, i, NAN);
    element_set (gemm->d_type, problem->d, i, NAN);
  }
}

static void
test_epilogue (gconstpointer data)
{
  static const gdouble alphas[] = {1, 0, -0.75};
  static const gdouble betas[] = {1, 0, 0.375};
  const Row *row = data;

  if (!can_run (row))
    return;
  for (guint i = 0; i < 9 * 8; i++) {
    GemmclGemm gemm = make_gemm (row, 7);
    g_auto (Problem) problem = {0};

    gemm.alpha = alphas[i % 3];
    gemm.beta = betas[i / 3 % 3];
    gemm.addend = i / 9 % 4;
    gemm.bias = i / 36;
    if (gemm.addend == GEMMCL_ADDEND_OUTPUT && !row->full)
      continue;
    problem_init (&problem, &gemm, i);
    spoil (&problem);
    solve (row, &problem, problem_run_device);
  }
}

/* NaN and infinities in A and B lead to those in D that the formula gives. */
static void
test_infinities (gconstpointer data)
{
  static const gdouble special[] = {NAN, INFINITY, -INFINITY};
  const Row *row = data;

  if (!can_run (row))
    return;
  for (guint i = 0; i < 6; i++) {
    const GemmclGemm gemm = make_gemm (row, 6);
    g_auto (Problem) problem = {0};

    problem_init (&problem, &gemm, i);
    if (i < 3)
      ((gfloat *)problem.a)[problem_a_index (&problem, 0, gemm.m / 2, gemm.k - 1)] = special[i];
    else
      problem.b[problem_b_index (&problem, 0, 0, gemm.n - 1)] = special[i - 3];
    if (i == 4)
      ((gfloat *)problem.a)[problem_a_index (&problem, 0, 0, 0)] = 0;
    solve (row, &problem, problem_run_device);
  }
}

/* Values from -8 to 8, some of them integers; with @extreme also infinities, NaN and large ones. */
static void
check_activation (const Row *row, GemmclActivation activation, gboolean extreme)
{
  static const gdouble extremes[] = {INFINITY, -INFINITY, NAN, 1e30, -1e30, 88.8, -104, 0};
  GemmclGemm gemm = make_gemm (row, 1);
  g_auto (Problem) problem = {0};

  gemm.activation = activation;
  gemm.bias = TRUE;
  problem_init (&problem, &gemm, activation);
  for (gsize i = 0; i < gemm.m; i++)
    ((gfloat *)problem.a)[problem_a_index (&problem, 0, i, 0)] = 1 + i;
  for (gsize j = 0; j < gemm.n; j++) {
    problem.b[problem_b_index (&problem, 0, 0, j)] = 8.0 * (2.0 * j / gemm.n - 1) / gemm.m;
    problem.bias[j] = extreme && j % 2 ? extremes[j / 2 % G_N_ELEMENTS (extremes)] : 0;
  }
  solve (row, &problem, problem_run_device);
}

static void
test_activations (gconstpointer data)
{
  const Row *row = data;

  if (!can_run (row))
    return;
  for (guint i = 0; i < GEMMCL_N_ACTIVATIONS; i++) {
    check_activation (row, i, FALSE);
    check_activation (row, i, TRUE);
  }
}

/* Softmax over an N that is not a multiple of a work-group's columns, stored as f32 and f16. */
static void
test_softmax (gconstpointer data)
{
  static const gsize sizes[] = {1, 2, 16, 17, 63, 130};
  const Row *row = data;
  guint tested = 0;

  if (!can_run (row))
    return;
  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++) {
    GemmclGemm gemm = make_gemm (row, 3);

    gemm.n = sizes[i];
    gemm.activation = GEMMCL_ACTIVATION_SOFTMAX;
    gemm.ldd = sizes[i] + i % 3;
    gemm.batch = 2;
    gemm.a_stride = gemm.m * gemm.k;
    tested += run (row, &gemm, i);
    gemm.d_type = GEMMCL_TYPE_F16;
    tested += run (row, &gemm, i);
  }
  count (tested);
}

/* Returns: a problem with A and D of different types. Some integer elements of D saturate. */
static GemmclGemm
make_typed (const Row *row, GemmclType a_type, GemmclType d_type)
{
  GemmclGemm gemm = make_gemm (row, 4);
  gdouble low, high, a_high = 1;

  gemm.a_type = a_type;
  gemm.d_type = d_type;
  if (element_is_integer (a_type))
    element_get_range (a_type, &low, &a_high);
  gemm.a_scale = 1 / a_high;
  gemm.a_shift = 0.25;
  if (element_is_integer (d_type)) {
    element_get_range (d_type, &low, &high);
    gemm.alpha = high;
  }
  return gemm;
}

/* Runs A of the kernel's 16-bit type, which is read in blocks: with aligned and unaligned rows, and
 * with K that is and is not a multiple of a step. */
static guint
run_halves (const Row *row)
{
  static const gsize ks[] = {16, 38, 33, 72};
  const GemmclPrecision precision = row->info->precision;
  const gboolean has_halves =
      precision == GEMMCL_PRECISION_F16 || precision == GEMMCL_PRECISION_BF16;
  guint tested = 0;

  for (guint i = 0; i < G_N_ELEMENTS (ks) && has_halves; i++) {
    GemmclGemm gemm = make_gemm (row, ks[i]);
    gemm.a_type = precision == GEMMCL_PRECISION_F16 ? GEMMCL_TYPE_F16 : GEMMCL_TYPE_BF16;
    tested += run (row, &gemm, i);
  }
  return tested;
}

/* Rows that are not full are also tested here with an activation, and with C in D. */
static void
test_types (gconstpointer data)
{
  const Row *row = data;
  guint tested = 0;

  if (!can_run (row))
    return;
  for (guint i = 0; i < GEMMCL_N_TYPES; i++) {
    const GemmclType d_type = (i + 5) % GEMMCL_N_TYPES;
    GemmclGemm gemm;

    if (!row->full && i != row->index % GEMMCL_N_TYPES)
      continue;
    gemm = make_typed (row, i, d_type);
    if (!row->full) {
      gemm.activation = row->index % GEMMCL_ACTIVATION_SOFTMAX;
      gemm.addend = GEMMCL_ADDEND_OUTPUT;
      gemm.beta = 0.5;
    }
    tested += run (row, &gemm, i);
    gemm.ldd = gemm.n + 2;
    gemm.beta = 0;
    tested += run (row, &gemm, i);
  }
  count (tested + run_halves (row));
}

/* Checks the exact rounding to an integer type, of a bias, which no kernel rounds before. */
static void
check_rounding (const Row *row, GemmclType type)
{
  static const gdouble values[] = {
      0.5,   1.5,    2.5,  -0.5,    -1.5,    -2.5, 0.49999997, 126.5,  127.5,    -128.5,   254.5,
      255.5, 300,    -300, 32767.5, 65535.5, 1e9,  -1e9,       0x1p31, -0x1p31,  0x1p32,   1e19,
      -1e19, 0x1p63, 2e20, -2e20,   NAN,     1e38, -1e38,      3e-40,  INFINITY, -INFINITY};
  GemmclGemm gemm = make_gemm (row, 1);
  g_auto (Problem) problem = {0};

  gemm.m = 1;
  gemm.n = G_N_ELEMENTS (values);
  gemm.d_type = type;
  gemm.bias = TRUE;
  if (!gemmcl_kernel_fits (test_get_context (), row->info->name, &gemm, NULL))
    gemm.n = MIN (gemm.n, 8);
  problem_init (&problem, &gemm, 1);
  ((gfloat *)problem.a)[0] = 0;
  for (gsize j = 0; j < gemm.n; j++)
    problem.bias[j] = values[j];
  if (!run_fitting (row, &problem, problem_run_device))
    return;
  for (gsize j = 0; j < gemm.n; j++) {
    const gfloat value = values[j];
    const gdouble found = element_get (type, problem.d, j);
    gdouble low, high, expected;

    element_get_range (type, &low, &high);
    expected = isnan (value) ? 0 : CLAMP (nearbyint (value), low, high);
    if (found != expected) {
      g_test_message ("%s: %g as %s is %.20g, expected %.20g", row->info->name, value,
                      gemmcl_type_get_name (type), found, expected);
      g_test_fail ();
    }
  }
}

static void
test_rounding (gconstpointer data)
{
  const Row *row = data;

  if (!can_run (row))
    return;
  for (guint i = GEMMCL_TYPE_I8; i < GEMMCL_N_TYPES; i++)
    check_rounding (row, i);
}

/* Runs with a plan's own B and C, packed once, and with A and D in host memory. */
static void
test_plan (gconstpointer data)
{
  const Row *row = data;

  if (!can_run (row))
    return;
  for (guint i = 0; i < 8; i++) {
    GemmclGemm gemm = make_gemm (row, 11);
    g_auto (Problem) problem = {0};

    gemm.layout = i & 1 ? GEMMCL_LAYOUT_COLUMN_MAJOR : GEMMCL_LAYOUT_ROW_MAJOR;
    gemm.trans_a = is_transposed (row, gemm.layout, !!(i & 2));
    gemm.trans_b = !!(i & 4);
    gemm.lda = i & 4 ? MAX (gemm.m, gemm.k) + 3 : 0;
    gemm.ldd = i & 4 ? MAX (gemm.m, gemm.n) + 3 : 0;
    gemm.addend = i & 2 ? GEMMCL_ADDEND_ROW : GEMMCL_ADDEND_MATRIX;
    gemm.beta = 2;
    gemm.bias = TRUE;
    gemm.batch = 2;
    gemm.a_stride = (gemm.lda ? gemm.lda : MAX (gemm.m, gemm.k)) * MAX (gemm.m, gemm.k);
    problem_init (&problem, &gemm, i);
    solve (row, &problem, problem_run_plan);
  }
}

static void
add_tests (Row *row)
{
  static const struct {
    const gchar *name;
    GTestDataFunc function;
    gboolean full;
  } tests[] = {
      {"edges", test_edges, FALSE},
      {"layouts", test_layouts, FALSE},
      {"batches", test_batches, FALSE},
      {"epilogue", test_epilogue, FALSE},
      {"infinities", test_infinities, FALSE},
      {"types", test_types, FALSE},
      {"plan", test_plan, FALSE},
      {"activations", test_activations, TRUE},
      {"softmax", test_softmax, TRUE},
      {"rounding", test_rounding, TRUE},
  };
  const gboolean brief = row_is_brief (row);

  for (guint i = 0; i < (brief ? 1 : G_N_ELEMENTS (tests)); i++) {
    g_autofree gchar *path = g_strdup_printf ("/kernels/%s/%s", row->info->name, tests[i].name);
    if (row->full || !tests[i].full)
      g_test_add_data_func (path, row, tests[i].function);
  }
}

/* Returns: the approximate duration of the row's tests; full rows compile more programs. */
static guint
get_weight (const Row *row)
{
  return row->full ? 6 : row_is_brief (row) ? 1 : 3;
}

/* Adds the rows of @shard. Each row goes to the shard with the smallest load so far. */
static void
add_rows (Row *rows, guint n, guint shard, guint shards)
{
  g_autofree guint *loads = g_new0 (guint, shards);

  for (guint i = 0; i < n; i++) {
    guint least = 0;

    row_read (&rows[i], i);
    if (!row_is_wanted (&rows[i]))
      continue;
    for (guint s = 1; s < shards; s++)
      if (loads[s] < loads[least])
        least = s;
    loads[least] += get_weight (&rows[i]);
    if (least == shard)
      add_tests (&rows[i]);
  }
}

int
main (int argc, char **argv)
{
  const guint n = gemmcl_get_n_kernels ();
  g_autofree Row *rows = g_new0 (Row, n);

  test_init_device (&argc, &argv);
  add_rows (rows, n, argc > 2 ? atoi (argv[1]) : 0, argc > 2 ? MAX (atoi (argv[2]), 1) : 1);
  return g_test_run ();
}
