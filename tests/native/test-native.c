/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Runs the source that Intel's GPUs compile for their matrix engines and 2D block reads on Intel's
 * OpenCL runtime for CPUs, which layer.c makes such a GPU. Elements are random, so that a wrong
 * lane or order shows.
 */
#include <string.h>

#include "../kernels/problem.h"
#include "examples.h"

/**
 * Product: a problem for a row of the table, of several work-groups, which are not whole
 * @k: 80 and 96 fit 2D reads, whole steps of A, or both
 * @stored: A has the type that the kernel multiplies; otherwise f32
 * @split: parts of K
 */
typedef struct {
  const gchar *name;
  gsize k, batch;
  gboolean stored, columns;
  guint split;
  gdouble a_scale;
} Product;

static const Product products[] = {
    {"stored", 96, 1, TRUE, FALSE, 1, 1},   {"rounded", 80, 1, FALSE, FALSE, 1, 1},
    {"lanes", 83, 1, FALSE, FALSE, 1, 1},   {"parts", 192, 1, TRUE, FALSE, 4, 1},
    {"batches", 20, 2, FALSE, FALSE, 1, 1}, {"columns", 41, 1, FALSE, TRUE, 1, 1},
    {"scaled", 80, 1, TRUE, FALSE, 1, 2},
};

static GemmclType
get_stored_type (const GemmclKernelInfo *info)
{
  static const GemmclType types[] = {
      [GEMMCL_PRECISION_F32] = GEMMCL_TYPE_F32,   [GEMMCL_PRECISION_F16] = GEMMCL_TYPE_F16,
      [GEMMCL_PRECISION_BF16] = GEMMCL_TYPE_BF16, [GEMMCL_PRECISION_TF32] = GEMMCL_TYPE_F32,
      [GEMMCL_PRECISION_I8] = GEMMCL_TYPE_U8,
  };

  return types[info->precision];
}

/* Gets the rows and columns of D of a work-group from the row's name. */
static void
get_group (const GemmclKernelInfo *info, gsize *rows, gsize *columns)
{
  guint tile_m = 0, tile_n = 0, group_m = 0, group_n = 0;

  g_assert_cmpint (sscanf (info->name + strlen (info->method), "_%ux%u_%ux%u", &tile_m, &tile_n,
                           &group_m, &group_n),
                   ==, 4);
  *rows = tile_m * group_m;
  *columns = tile_n * group_n;
}

static GemmclGemm
make_gemm (const GemmclKernelInfo *info, const Product *product)
{
  GemmclGemm gemm = GEMMCL_GEMM_INIT;

  get_group (info, &gemm.m, &gemm.n);
  gemm.m += 3;
  gemm.n += 5;
  gemm.k = product->k;
  gemm.batch = product->batch;
  gemm.a_stride = gemm.m * gemm.k;
  gemm.b_stride = gemm.k * gemm.n;
  gemm.d_stride = gemm.m * gemm.n;
  gemm.trans_a = product->columns;
  gemm.precision = info->precision;
  gemm.a_type = product->stored ? get_stored_type (info) : GEMMCL_TYPE_F32;
  gemm.a_scale = product->a_scale;
  return gemm;
}

/* Runs and checks a problem. Returns: FALSE if it does not fit the row. */
static gboolean
check_product (const GemmclKernelInfo *info, const Product *product)
{
  const GemmclGemm gemm = make_gemm (info, product);
  g_autofree gchar *name = product->split > 1
                               ? g_strdup_printf ("%s/%u", info->name, product->split)
                               : g_strdup (info->name);
  g_autofree gchar *what = g_strdup_printf ("%s, %s", name, product->name), *said = NULL;
  g_auto (Problem) problem = {0};
  g_autoptr (GError) error = NULL;
  FILE *file;
  gboolean ok;
  int saved;

  if (!gemmcl_kernel_fits (test_get_context (), name, &gemm, NULL))
    return FALSE;
  problem_init (&problem, &gemm, 7);
  file = tmpfile ();
  saved = native_begin_output (file);
  ok = problem_run_host (&problem, test_get_context (), name, &error);
  said = native_end_output (file, saved);
  g_assert_no_error (error);
  g_assert_true (ok);
  if (*said) {
    g_test_message ("%s: %s", what, said);
    g_test_fail ();
  }
  problem_check (&problem, what);
  return TRUE;
}

static void
test_row (gconstpointer data)
{
  const GemmclKernelInfo *info = data;
  GemmclKernelLevel level;
  guint done = 0;

  if (!native_has_engines ())
    return;
  g_assert_true (gemmcl_kernel_get_level (test_get_context (), info->name, &level, NULL));
  g_assert_cmpint (level, ==, GEMMCL_KERNEL_LEVEL_NATIVE);
  for (guint i = 0; i < G_N_ELEMENTS (products); i++)
    done += check_product (info, &products[i]);
  g_assert_cmpuint (done, >, 1);
}

/* Adds the rows for matrix engines, and those that may read B by 2D block reads. */
static void
add_rows (void)
{
  g_autofree gchar *subgroups = g_strdup_printf ("subgroups of %u", native_get_subgroup ());

  for (guint i = 0; i < gemmcl_get_n_kernels (); i++) {
    const GemmclKernelInfo *info = gemmcl_get_kernel (i);
    g_autofree gchar *path = g_strdup_printf ("/native/%s", info->name);
    const gboolean reads_2d =
        native_get_subgroup () == 16 && g_str_equal (info->method, "buffer_read");

    if (strstr (info->needs, subgroups) && (strstr (info->needs, "matrix engines") || reads_2d))
      g_test_add_data_func (path, info, test_row);
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  native_add_examples ();
  add_rows ();
  return g_test_run ();
}
