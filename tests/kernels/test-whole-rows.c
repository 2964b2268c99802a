/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Tests softmax and row outputs of kernels that compute them before they store D. N is at most as
 * wide as the tile of a work-group, or one column wider. D is compared with a reference, and the
 * row outputs with D.
 *
 * Tested are the rows that compile fastest: one for each vector width and precision, and for each
 * kind of subgroups. With GEMMCL_TEST_ROWS=all in the environment the edges of every other row are
 * tested, too. Without it, rows with several subgroups per row of D have fewer tests, since their
 * programs are the longest.
 */
#include <math.h>
#include <string.h>

#include "elements.h"
#include "kernels/table.h"
#include "problem.h"

#define N_TESTS 6
#define ALL     (GEMMCL_ROW_SUM | GEMMCL_ROW_MAX | GEMMCL_ROW_ARG_MAX | GEMMCL_ROW_TOP_K)

static const GemmclKernel table[] = {
#define GEMMCL_KERNEL(name_, source_, ...) {.name = name_, .source = source_, __VA_ARGS__},
#define GEMMCL_HELPER(name, source)
#include "kernels.def"
};

/* TRUE if every row of the table is tested. */
static gboolean all_rows;

/* Returns: the columns of a work-group's tile; a few, which compile fast, if N is compiled in. */
static gsize
get_width (const GemmclKernel *row)
{
  return row->tile_n ? row->tile_n * row->group_n : 4;
}

/* TRUE if several subgroups of a group share rows of D. */
static gboolean
is_across (const GemmclKernel *row)
{
  return row->subgroup > 0 && row->group_n > row->subgroup;
}

static gsize
get_height (const GemmclKernel *row)
{
  return row->tile_m * row->group_m;
}

/* TRUE if the device can run the row; otherwise the test is skipped. */
static gboolean
can_run (const GemmclKernel *row)
{
  g_autoptr (GError) error = NULL;

  if (gemmcl_kernel_fits (test_get_context (), row->name, NULL, &error))
    return TRUE;
  g_test_skip (error->message);
  return FALSE;
}

/* Returns: a problem with an odd row distance of D. A multiple of 4 would need another program. */
static GemmclGemm
make_gemm (const GemmclKernel *row, gsize m, gsize n)
{
  GemmclGemm gemm = GEMMCL_GEMM_INIT;

  gemm.precision = row->precision;
  gemm.m = m;
  gemm.n = n;
  gemm.k = 5;
  gemm.ldd = n | 1;
  gemm.bias = TRUE;
  gemm.row_outputs = ALL;
  gemm.top_k = MIN (n, 3);
  return gemm;
}

static void
run (const GemmclKernel *row, Problem *problem)
{
  g_autoptr (GError) error = NULL;

  if (!gemmcl_kernel_fits (test_get_context (), row->name, &problem->gemm, NULL))
    return;
  problem_run_device (problem, test_get_context (), row->name, &error);
  g_assert_no_error (error);
  if (!problem_check (problem, row->name))
    return;
  if (problem->rows == NULL || problem_check_rows (problem, row->name))
    if (problem->gemm.d_type == GEMMCL_TYPE_F32)
      problem_verify (problem, row->name);
}

static void
run_gemm (const GemmclKernel *row, const GemmclGemm *gemm)
{
  g_auto (Problem) problem = {0};

  problem_init (&problem, gemm, gemm->m + gemm->n);
  run (row, &problem);
}

static void
test_edges (gconstpointer data)
{
  const GemmclKernel *row = data;
  const gsize width = get_width (row), height = get_height (row);
  const gsize of_subgroup = is_across (row) ? row->tile_n * row->subgroup : width;
  const gsize ns[] = {width, width - 1, width / 2 + 1, of_subgroup + 1, of_subgroup, 1, width + 1};
  const guint count = is_across (row) && !all_rows ? 4 : G_N_ELEMENTS (ns);
  const gsize ms[] = {1, height + 1, height, height - 1, 2 * height + 3};

  if (!can_run (row))
    return;
  for (guint i = 0; i < count; i++)
    for (guint j = 0; j < G_N_ELEMENTS (ms); j++) {
      GemmclGemm gemm = make_gemm (row, MAX (ms[j], 1), ns[i]);

      gemm.activation = GEMMCL_ACTIVATION_SOFTMAX;
      if (row->tile_n != 0 || i == 0)
        run_gemm (row, &gemm);
    }
}

/* None, one or two of the row outputs, of another activation, too; alpha and beta are also 0. */
static void
test_sets (gconstpointer data)
{
  static const guint sets[] = {0, GEMMCL_ROW_SUM | GEMMCL_ROW_TOP_K, GEMMCL_ROW_ARG_MAX,
                               GEMMCL_ROW_MAX | GEMMCL_ROW_ARG_MAX};
  const GemmclKernel *row = data;

  if (!can_run (row))
    return;
  for (guint i = 0; i < G_N_ELEMENTS (sets); i++) {
    GemmclGemm gemm = make_gemm (row, get_height (row) / 2 + 3, get_width (row) - 1);

    gemm.row_outputs = sets[i];
    gemm.activation = sets[i] == 0 ? GEMMCL_ACTIVATION_SOFTMAX : GEMMCL_ACTIVATION_RELU;
    gemm.alpha = i % 3;
    gemm.addend = GEMMCL_ADDEND_MATRIX;
    gemm.beta = i % 2;
    run_gemm (row, &gemm);
  }
}

/* The value @extreme in all columns, in many, or only in the last one. */
static void
check_extreme (const GemmclKernel *row, GemmclActivation activation, gfloat extreme)
{
  GemmclGemm gemm = make_gemm (row, get_height (row) + 1, get_width (row) - 1);
  g_auto (Problem) problem = {0};

  gemm.activation = activation;
  gemm.addend = GEMMCL_ADDEND_MATRIX;
  gemm.beta = 1;
  gemm.alpha = 0;
  gemm.bias = FALSE;
  problem_init (&problem, &gemm, activation);
  for (gsize at = 0; at < gemm.m; at++)
    for (gsize j = 0; j < gemm.n; j++)
      if (at % 4 == 0 || (at % 4 == 1 && j % 4 == 1) || (at % 4 == 2 && j == gemm.n - 1))
        problem.c[problem_c_index (&problem, 0, at, j)] = extreme;
  run (row, &problem);
}

static void
test_extremes (gconstpointer data)
{
  static const gfloat extremes[] = {NAN, INFINITY, -INFINITY, 0, 1e30f, -1e30f};
  const GemmclKernel *row = data;

  if (!can_run (row))
    return;
  for (guint i = 0; i < G_N_ELEMENTS (extremes); i++) {
    check_extreme (row, GEMMCL_ACTIVATION_SOFTMAX, extremes[i]);
    if (all_rows || !is_across (row))
      check_extreme (row, GEMMCL_ACTIVATION_NONE, extremes[i]);
  }
}

/* D of other types, also column-major, in place of C. */
static void
test_types (gconstpointer data)
{
  static const GemmclType types[] = {GEMMCL_TYPE_F16, GEMMCL_TYPE_I8};
  const GemmclKernel *row = data;

  if (!can_run (row))
    return;
  for (guint i = 0; i < G_N_ELEMENTS (types); i++) {
    GemmclGemm gemm = make_gemm (row, get_height (row) + 1, get_width (row) - 1);

    gemm.d_type = types[i];
    gemm.layout = i % 2 ? GEMMCL_LAYOUT_COLUMN_MAJOR : GEMMCL_LAYOUT_ROW_MAJOR;
    gemm.ldd = MAX (gemm.m, gemm.n) + 2;
    gemm.addend = GEMMCL_ADDEND_OUTPUT;
    gemm.beta = 0.5;
    gemm.alpha = 70;
    run_gemm (row, &gemm);
    if (i == 0) {
      gemm.activation = GEMMCL_ACTIVATION_SOFTMAX;
      run_gemm (row, &gemm);
    }
  }
}

/* Batches without gaps, with gaps, and with a B for each. */
static void
test_batches (gconstpointer data)
{
  const GemmclKernel *row = data;

  if (!can_run (row))
    return;
  for (guint i = 0; i < 3; i++) {
    GemmclGemm gemm = make_gemm (row, get_height (row) + 1, get_width (row) - 1);

    gemm.activation = GEMMCL_ACTIVATION_SOFTMAX;
    gemm.batch = 3;
    gemm.a_stride = gemm.m * gemm.k;
    gemm.d_stride = i == 1 ? gemm.m * gemm.ldd + 3 : 0;
    gemm.b_stride = i == 2 ? gemm.k * gemm.n : 0;
    run_gemm (row, &gemm);
  }
}

/* Softmax and row outputs in separate steps: on request, and with a split K. */
static void
test_apart (gconstpointer data)
{
  const GemmclKernel *row = data;
  GemmclGemm gemm = make_gemm (row, get_height (row) + 1, get_width (row) - 1);

  if (!can_run (row))
    return;
  gemm.activation = GEMMCL_ACTIVATION_SOFTMAX;
  g_setenv ("GEMMCL_ROWS", "apart", TRUE);
  run_gemm (row, &gemm);
  g_unsetenv ("GEMMCL_ROWS");
  if (row->packed && row->precision == GEMMCL_PRECISION_F32) {
    g_autofree gchar *name = g_strconcat (row->name, "/2", NULL);
    const GemmclKernel in_parts = {.name = name};

    gemm.k = 32;
    run_gemm (&in_parts, &gemm);
    gemm.d_type = GEMMCL_TYPE_F16;
    run_gemm (&in_parts, &gemm);
  }
}

/* Adds the first @n tests, in the order of the programs that they need. */
static void
add_tests (const GemmclKernel *row, guint n)
{
  static const struct {
    const gchar *name;
    GTestDataFunc function;
  } tests[N_TESTS] = {{"edges", test_edges}, {"batches", test_batches}, {"extremes", test_extremes},
                      {"types", test_types}, {"sets", test_sets},       {"apart", test_apart}};

  for (guint i = 0; i < n; i++) {
    g_autofree gchar *path = g_strdup_printf ("/whole-rows/%s/%s", row->name, tests[i].name);
    g_test_add_data_func (path, row, tests[i].function);
  }
}

/* Returns: the size of the tile, to compare rows. Tiles of a single row or column are last, since
 * they would not show mixed-up indices. */
static gsize
get_size (const GemmclKernel *row)
{
  return row->tile_m > 1 && row->tile_n != 1
             ? row->tile_m * row->tile_n * 1000 + row->group_m * row->group_n
             : G_MAXSIZE;
}

/* TRUE if both rows handle whole rows of D alike: rows with subgroups, with matrix engines or not,
 * and with is_across() or not; other rows by source, devices, vector width and, unless it is for
 * NVIDIA's matrix engines, precision. */
static gboolean
is_of_same_kind (const GemmclKernel *row, const GemmclKernel *other)
{
  if (row->subgroup > 0 || other->subgroup > 0)
    return row->subgroup > 0 && other->subgroup > 0 && row->dpas == other->dpas &&
           is_across (row) == is_across (other);
  return strcmp (other->source, row->source) == 0 && other->devices == row->devices &&
         other->float_width == row->float_width &&
         (other->precision == row->precision || row->capability > 0);
}

/* TRUE if no row of the same kind has a smaller tile. */
static gboolean
is_smallest (const GemmclKernel *row)
{
  for (const GemmclKernel *other = table; other < table + G_N_ELEMENTS (table); other++) {
    const gboolean smaller =
        get_size (other) < get_size (row) || (get_size (other) == get_size (row) && other < row);

    if (other->whole_rows && smaller && is_of_same_kind (row, other))
      return FALSE;
  }
  return TRUE;
}

static guint
count_tests (const GemmclKernel *row)
{
  if (!is_smallest (row))
    return 1;
  if (is_across (row) || row->capability > 0)
    return all_rows ? N_TESTS : 3;
  return row->precision == GEMMCL_PRECISION_F32 && row->tile_n > 0 && row->subgroup == 0 &&
                 (row->float_width == 0 || row->float_width == 16)
             ? N_TESTS
             : 1;
}

int
main (int argc, char **argv)
{
  all_rows = g_strcmp0 (g_getenv ("GEMMCL_TEST_ROWS"), "all") == 0;

  test_init_device (&argc, &argv);
  for (const GemmclKernel *row = table; row < table + G_N_ELEMENTS (table); row++)
    if (row->whole_rows && (all_rows || is_smallest (row)))
      add_tests (row, count_tests (row));
  return g_test_run ();
}
