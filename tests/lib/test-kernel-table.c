/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The table of kernels as users see it: names, methods, needs; what is said of a wrong name. */

#include <string.h>

#include "../kernels/problem.h"

static void
test_rows (void)
{
  g_autoptr (GHashTable) names = g_hash_table_new (g_str_hash, g_str_equal);

  g_assert_cmpuint (gemmcl_get_n_kernels (), >, 0);
  for (guint i = 0; i < gemmcl_get_n_kernels (); i++) {
    const GemmclKernelInfo *info = gemmcl_get_kernel (i);

    g_assert_true (g_hash_table_add (names, (gpointer)info->name));
    g_assert_true (g_regex_match_simple ("^[A-Za-z][A-Za-z0-9_]*$", info->name, 0, 0));
    g_assert_true (g_str_has_prefix (info->name, info->method));
    g_assert_true (info->name[strlen (info->method)] == '_' ||
                   info->name[strlen (info->method)] == '\0');
    g_assert_cmpuint (strlen (info->summary), >, 10);
    g_assert_null (strchr (info->summary, '\n'));
    g_assert_nonnull (gemmcl_precision_get_name (info->precision));
    g_assert_nonnull (info->needs);
    g_assert_true (gemmcl_get_kernel (i) == info);
  }
}

/* A name with a tile consists of the method and the tile. */
static void
test_tiles (void)
{
  for (guint i = 0; i < gemmcl_get_n_kernels (); i++) {
    const GemmclKernelInfo *info = gemmcl_get_kernel (i);
    const gchar *tile = info->name + strlen (info->method);

    g_assert_true (*tile == '\0' || g_regex_match_simple (
                                        "^_[0-9]+x[0-9]+_[0-9]+x[0-9]+(_[a-z0-9]+)*$", tile, 0, 0));
  }
}

/* The first row is the fallback: it needs nothing and takes every problem. */
static void
test_fallback (void)
{
  const GemmclKernelInfo *info = gemmcl_get_kernel (0);
  GemmclContext *context = test_get_context ();
  GemmclGemm gemm = GEMMCL_GEMM_INIT;

  g_assert_cmpstr (info->name, ==, "gemm_naive");
  if (context == NULL)
    return;
  gemm.m = gemm.n = gemm.k = 1;
  g_assert_true (gemmcl_kernel_fits (context, info->name, NULL, NULL));
  g_assert_true (gemmcl_kernel_fits (context, info->name, &gemm, NULL));
  gemm.m = G_MAXINT32;
  g_assert_true (gemmcl_kernel_fits (context, info->name, &gemm, NULL));
}

/* A problem that does not fit has a reason, which gemmcl_plan_new() gives, too. */
static void
test_fits (void)
{
  static const gsize sizes[][3] = {{1, 1, 1}, {5, 5, 5}, {300, 3, 4}, {64, 64, 64}, {7, 1000, 17}};
  GemmclContext *context = test_get_context ();

  if (context == NULL)
    return;
  for (guint i = 0; i < gemmcl_get_n_kernels (); i++)
    for (guint s = 0; s < G_N_ELEMENTS (sizes); s++) {
      const gchar *name = gemmcl_get_kernel (i)->name;
      g_autoptr (GError) fits_error = NULL, plan_error = NULL;
      GemmclGemm gemm = GEMMCL_GEMM_INIT;

      gemm.m = sizes[s][0];
      gemm.n = sizes[s][1];
      gemm.k = sizes[s][2];
      if (gemmcl_kernel_fits (context, name, &gemm, &fits_error))
        continue;
      g_assert_error (fits_error, GEMMCL_ERROR, GEMMCL_ERROR_KERNEL);
      g_assert_nonnull (strstr (fits_error->message, name));
      g_assert_null (gemmcl_plan_new (context, &gemm, name, &plan_error));
      g_assert_error (plan_error, GEMMCL_ERROR, GEMMCL_ERROR_KERNEL);
      g_assert_cmpstr (plan_error->message, ==, fits_error->message);
    }
}

/* A kernel of a lower precision does not take a problem of f32. */
static void
test_precision (void)
{
  GemmclContext *context = test_get_context ();
  GemmclGemm gemm = GEMMCL_GEMM_INIT;

  if (context == NULL)
    return;
  gemm.m = gemm.n = gemm.k = 8;
  for (guint i = 0; i < gemmcl_get_n_kernels (); i++) {
    const GemmclKernelInfo *info = gemmcl_get_kernel (i);
    g_autoptr (GError) error = NULL;

    if (info->precision == GEMMCL_PRECISION_F32)
      continue;
    g_assert_false (gemmcl_kernel_fits (context, info->name, &gemm, &error));
    g_assert_error (error, GEMMCL_ERROR, GEMMCL_ERROR_KERNEL);
  }
}

static void
test_invalid (void)
{
  GemmclContext *context = test_get_context ();
  const GemmclGemm gemm = GEMMCL_GEMM_INIT;
  g_autoptr (GError) error = NULL;

  if (context == NULL)
    return;
  g_assert_false (gemmcl_kernel_fits (context, "gemm_naive", &gemm, &error));
  g_assert_error (error, GEMMCL_ERROR, GEMMCL_ERROR_INVALID);
}

/* Offline compilers get a whole program, and the options of the row. */
static void
test_source (void)
{
  for (guint i = 0; i < gemmcl_get_n_kernels (); i++) {
    const GemmclKernelInfo *info = gemmcl_get_kernel (i);
    GemmclGemm gemm = GEMMCL_GEMM_INIT;
    g_autofree gchar *options = NULL;
    g_autoptr (GError) error = NULL;
    const gchar *text;

    gemm.m = gemm.n = gemm.k = 8;
    text = gemmcl_kernel_get_source (info->name, &gemm, &options, &error);
    g_assert_no_error (error);
    g_assert_nonnull (strstr (text, "gemm ("));
    g_assert_null (strstr (text, "#include \""));
    g_assert_nonnull (strstr (options, "-cl-std="));
    g_assert_nonnull (strstr (options, "-DTILE_M="));
  }
}

/* TRUE if the options of the row's program for @gemm have -D@define. */
static gboolean
is_made_with (const gchar *name, const GemmclGemm *gemm, const gchar *define)
{
  g_autofree gchar *options = NULL, *word = g_strdup_printf (" -D%s", define);
  g_autoptr (GError) error = NULL;
  g_auto (GStrv) parts = NULL;

  g_assert_nonnull (gemmcl_kernel_get_source (name, gemm, &options, &error));
  g_assert_no_error (error);
  parts = g_strsplit (options, word, -1);
  for (guint i = 1; i < g_strv_length (parts); i++)
    if (*parts[i] == '\0' || *parts[i] == ' ')
      return TRUE;
  return FALSE;
}

/* Vectors, and block reads of halves, only where each row and the first begin at a multiple. */
static void
test_source_alignment (void)
{
  static const struct {
    const gchar *name, *define;
    gsize lda, a_offset, ldd, d_offset;
    gboolean with;
  } cases[] = {
      {"tiled_8x8_8x8", "D_FLOAT4", 0, 0, 0, 0, TRUE},
      {"tiled_8x8_8x8", "D_FLOAT4", 0, 0, 20, 4, TRUE},
      {"tiled_8x8_8x8", "D_FLOAT4", 0, 0, 0, 2, FALSE},
      {"tiled_8x8_8x8", "D_FLOAT4", 0, 0, 18, 0, FALSE},
      {"tiled_8x8_8x8", "A_FLOAT4", 20, 4, 0, 0, TRUE},
      {"tiled_8x8_8x8", "A_FLOAT4", 0, 2, 0, 0, FALSE},
      {"buffer_read_f16_4x1_1x16", "A_BLOCKS", 18, 2, 0, 0, TRUE},
      {"buffer_read_f16_4x1_1x16", "A_BLOCKS", 0, 1, 0, 0, FALSE},
      {"buffer_read_f16_4x1_1x16", "A_BLOCKS", 17, 0, 0, 0, FALSE},
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    GemmclGemm gemm = GEMMCL_GEMM_INIT;

    gemm.m = gemm.n = gemm.k = 16;
    gemm.lda = cases[i].lda;
    gemm.ldd = cases[i].ldd;
    gemm.a_offset = cases[i].a_offset;
    gemm.d_offset = cases[i].d_offset;
    if (strstr (cases[i].name, "f16")) {
      gemm.precision = GEMMCL_PRECISION_F16;
      gemm.a_type = GEMMCL_TYPE_F16;
    }
    if (is_made_with (cases[i].name, &gemm, cases[i].define) != cases[i].with)
      g_error ("case %u: %s %s %s", i, cases[i].name, cases[i].with ? "lacks" : "has",
               cases[i].define);
  }
}

/* Row outputs by a kernel or by a step after it, and softmax by the kernel either way. */
static void
test_source_rows (void)
{
  static const struct {
    const gchar *name;
    gsize n;
    guint outputs;
    gboolean inside;
  } cases[] = {
      {"xmx_i8_32x4_8x64", 64, GEMMCL_ROW_ARG_MAX, TRUE},
      {"xmx_i8_32x4_8x64", 65, GEMMCL_ROW_SUM | GEMMCL_ROW_MAX, TRUE},
      {"xmx_i8_32x4_8x64", 65, GEMMCL_ROW_ARG_MAX, FALSE},
      {"xmx_i8_32x4_8x64", 256, GEMMCL_ROW_MAX | GEMMCL_ROW_ARG_MAX, FALSE},
      {"xmx_bf16_32x4_8x64", 256, GEMMCL_ROW_MAX | GEMMCL_ROW_ARG_MAX, TRUE},
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    GemmclGemm gemm = GEMMCL_GEMM_INIT;
    g_autofree gchar *options = NULL;
    g_autoptr (GError) error = NULL;

    gemm.m = gemm.k = 64;
    gemm.n = cases[i].n;
    gemm.activation = GEMMCL_ACTIVATION_SOFTMAX;
    gemm.row_outputs = cases[i].outputs;
    gemmcl_kernel_get_source (cases[i].name, &gemm, &options, &error);
    g_assert_no_error (error);
    g_assert_nonnull (strstr (options, "-DWHOLE_ROWS"));
    g_assert_cmpint (strstr (options, "-DROW_COUNT=") != NULL, ==, cases[i].inside);
    g_assert_cmpint (strstr (options, "-DROWS_ACROSS") != NULL, ==, cases[i].n > 64);
  }
}

static void
test_source_invalid (void)
{
  GemmclGemm gemm = GEMMCL_GEMM_INIT;
  g_autofree gchar *options = NULL;
  g_autoptr (GError) error = NULL;

  g_assert_null (gemmcl_kernel_get_source ("gemm_naive", &gemm, &options, &error));
  g_assert_error (error, GEMMCL_ERROR, GEMMCL_ERROR_INVALID);
  g_clear_error (&error);
  gemm.m = gemm.n = gemm.k = 1;
  g_assert_null (gemmcl_kernel_get_source ("gemm_nave", &gemm, &options, &error));
  g_assert_error (error, GEMMCL_ERROR, GEMMCL_ERROR_KERNEL);
  g_assert_null (options);
}

static void
test_near_names (void)
{
  static const struct {
    const gchar *wrong, *near;
  } names[] = {
      {"gemm_naiv", "gemm_naive"}, {"GEMM-NAIVE", "gemm_naive"},
      {"naive", "gemm_naive"},     {"vector_12x23_1x1", "vector_12x32_1x1"},
      {"", "gemm_naive"},          {"gemm_naive ", "gemm_naive"},
      {"täfelchen", "tiled"},
  };
  GemmclContext *context = test_get_context ();
  GemmclGemm gemm = GEMMCL_GEMM_INIT;

  if (context == NULL)
    return;
  gemm.m = gemm.n = gemm.k = 2;
  for (guint i = 0; i < G_N_ELEMENTS (names); i++) {
    g_autoptr (GError) error = NULL;
    const gchar *near;

    g_assert_null (gemmcl_plan_new (context, &gemm, names[i].wrong, &error));
    g_assert_error (error, GEMMCL_ERROR, GEMMCL_ERROR_KERNEL);
    g_assert_nonnull (strstr (error->message, names[i].wrong));
    near = strstr (error->message, "Near names: ");
    g_assert_nonnull (near);
    if (i < 4)
      g_assert_nonnull (strstr (near, names[i].near));
    g_clear_error (&error);
    g_assert_false (gemmcl_kernel_fits (context, names[i].wrong, NULL, &error));
    g_assert_error (error, GEMMCL_ERROR, GEMMCL_ERROR_KERNEL);
  }
}

/* "auto" and NULL choose the same, a row of the table that fits. */
static void
test_choice (void)
{
  static const gsize sizes[][3] = {{1, 1, 1},    {1, 300, 500}, {4, 300, 500},
                                   {70, 70, 70}, {5000, 3, 3},  {5000, 16, 17}};
  GemmclContext *context = test_get_context ();

  if (context == NULL)
    return;
  for (guint s = 0; s < G_N_ELEMENTS (sizes); s++) {
    g_autoptr (GemmclPlan) plan = NULL, other = NULL;
    g_autoptr (GError) error = NULL;
    GemmclGemm gemm = GEMMCL_GEMM_INIT;

    gemm.m = sizes[s][0];
    gemm.n = sizes[s][1];
    gemm.k = sizes[s][2];
    plan = gemmcl_plan_new (context, &gemm, NULL, &error);
    g_assert_no_error (error);
    other = gemmcl_plan_new (context, &gemm, "auto", &error);
    g_assert_no_error (error);
    g_assert_cmpstr (gemmcl_plan_get_kernel (plan), ==, gemmcl_plan_get_kernel (other));
    g_assert_true (gemmcl_kernel_fits (context, gemmcl_plan_get_kernel (plan), &gemm, NULL));
    g_test_message ("%zux%zux%zu: %s", gemm.m, gemm.n, gemm.k, gemmcl_plan_get_kernel (plan));
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/kernel-table/rows", test_rows);
  g_test_add_func ("/kernel-table/tiles", test_tiles);
  g_test_add_func ("/kernel-table/fallback", test_fallback);
  g_test_add_func ("/kernel-table/fits", test_fits);
  g_test_add_func ("/kernel-table/precision", test_precision);
  g_test_add_func ("/kernel-table/invalid", test_invalid);
  g_test_add_func ("/kernel-table/source", test_source);
  g_test_add_func ("/kernel-table/source-alignment", test_source_alignment);
  g_test_add_func ("/kernel-table/source-rows", test_source_rows);
  g_test_add_func ("/kernel-table/source-invalid", test_source_invalid);
  g_test_add_func ("/kernel-table/near-names", test_near_names);
  g_test_add_func ("/kernel-table/choice", test_choice);
  return g_test_run ();
}
