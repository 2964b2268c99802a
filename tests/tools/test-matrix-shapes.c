/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Tests the shapes of matrix engines for several devices.
 */
#include "devices.h"

#include <string.h>

#define ENGINES "cl_intel_subgroup_matrix_multiply_accumulate"

static GArray *
list (const gchar *extensions, guint first, guint second)
{
  const GemmclDeviceInfo info = {.extensions = (gchar *)extensions,
                                 .subgroup_sizes = {first, second},
                                 .n_subgroup_sizes = (first > 0) + (second > 0)};

  return matrix_shapes_list (&info);
}

/* TRUE if the list has the product of these types, with @k. */
static gboolean
has (const GArray *shapes, const gchar *type, const gchar *sum, guint n, guint k)
{
  for (guint i = 0; i < shapes->len; i++) {
    const MatrixShape *shape = &g_array_index (shapes, MatrixShape, i);

    g_assert_cmpuint (shape->m, ==, 8);
    g_assert_cmpuint (shape->n, ==, shape->subgroup);
    if (g_str_equal (shape->type_a, type) && g_str_equal (shape->type_b, type) &&
        g_str_equal (shape->type_sum, sum) && shape->n == n && shape->k == k)
      return TRUE;
  }
  return FALSE;
}

static void
test_narrow (void)
{
  g_autoptr (GArray) shapes = list ("cl_khr_fp16 " ENGINES, 8, 16);

  g_assert_cmpuint (shapes->len, ==, 10);
  g_assert_true (has (shapes, "bf16", "f32", 8, 16));
  g_assert_true (has (shapes, "f16", "f32", 8, 16));
  g_assert_true (has (shapes, "i8", "i32", 8, 32));
  g_assert_true (has (shapes, "u4", "i32", 8, 64));
  g_assert_false (has (shapes, "bf16", "bf16", 8, 16));
}

static void
test_wide (void)
{
  g_autoptr (GArray) shapes = list (ENGINES " " ENGINES "_tf32", 16, 32);
  g_autoptr (GArray) without = list (ENGINES, 16, 32);

  g_assert_cmpuint (shapes->len, ==, 13);
  g_assert_true (has (shapes, "bf16", "f32", 16, 16));
  g_assert_true (has (shapes, "f16", "f16", 16, 16));
  g_assert_true (has (shapes, "i8", "i32", 16, 32));
  g_assert_true (has (shapes, "tf32", "f32", 16, 8));
  g_assert_cmpuint (without->len, ==, 12);
  g_assert_false (has (without, "tf32", "f32", 16, 8));
}

/* One shape is used for each precision that has kernels for matrix engines. */
static void
test_used (void)
{
  g_autoptr (GArray) shapes = list (ENGINES " " ENGINES "_tf32", 16, 32);
  gboolean found[GEMMCL_N_PRECISIONS] = {FALSE}, wanted[GEMMCL_N_PRECISIONS] = {FALSE};

  for (guint i = 0; i < gemmcl_get_n_kernels (); i++)
    if (strstr (gemmcl_get_kernel (i)->needs, "matrix engines") != NULL)
      wanted[gemmcl_get_kernel (i)->precision] = TRUE;
  for (guint i = 0; i < shapes->len; i++)
    for (GemmclPrecision p = 0; p < GEMMCL_N_PRECISIONS; p++)
      if (g_array_index (shapes, MatrixShape, i).used &&
          g_str_equal (g_array_index (shapes, MatrixShape, i).type_b,
                       gemmcl_precision_get_name (p)))
        found[p] = TRUE;
  g_assert_cmpmem (found, sizeof (found), wanted, sizeof (wanted));
}

static void
test_none (void)
{
  g_autoptr (GArray) no_engines = list ("cl_khr_fp16", 8, 16);
  g_autoptr (GArray) no_sizes = list (ENGINES, 0, 0);
  g_autoptr (GArray) other_sizes = list (ENGINES, 4, 8);

  g_assert_cmpuint (no_engines->len, ==, 0);
  g_assert_cmpuint (no_sizes->len, ==, 0);
  g_assert_cmpuint (other_sizes->len, ==, 0);
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/matrix-shapes/narrow", test_narrow);
  g_test_add_func ("/matrix-shapes/wide", test_wide);
  g_test_add_func ("/matrix-shapes/used", test_used);
  g_test_add_func ("/matrix-shapes/none", test_none);
  return g_test_run ();
}
