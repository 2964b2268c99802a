/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* What gemmcl_plan_get_build_info() says of kernels as this device's driver built them. */

#include "../kernels/problem.h"

/* FALSE, with the test skipped, without a device. */
static gboolean
get_info (const gchar *kernel, gsize n, GemmclBuildInfo *info)
{
  GemmclContext *context = test_get_context ();
  GemmclGemm gemm = GEMMCL_GEMM_INIT;
  g_autoptr (GemmclPlan) plan = NULL;
  g_autoptr (GError) error = NULL;

  if (context == NULL)
    return FALSE;
  gemm.m = gemm.n = gemm.k = n;
  plan = gemmcl_plan_new (context, &gemm, kernel, &error);
  g_assert_no_error (error);
  gemmcl_plan_get_build_info (plan, info);
  return TRUE;
}

/* One that needs nothing needs nothing. */
static void
test_fallback (void)
{
  GemmclBuildInfo info;

  if (!get_info ("gemm_naive", 1, &info))
    return;
  g_assert_cmpint (info.level, ==, GEMMCL_KERNEL_LEVEL_NATIVE);
  g_assert_cmpuint (info.max_work_group, >=, 64);
  g_assert_cmpuint (info.max_work_group, <=,
                    gemmcl_context_get_device_info (test_get_context ())->max_work_group);
  g_assert_cmpuint (info.local_bytes, ==, 0);
  g_assert_cmpuint (info.spill_bytes, ==, 0);
}

/* 16 columns of 64 rows of A and as much of B; drivers may round that up. */
static void
test_local (void)
{
  const guint64 bytes = 2 * 16 * 64 * sizeof (gfloat);
  GemmclBuildInfo info;

  if (!get_info ("slm_4x4_16x16", 5, &info))
    return;
  g_assert_cmpuint (info.max_work_group, >=, 256);
  if (info.local_bytes == 0) {
    g_test_skip ("the driver tells nothing of local memory that kernels declare");
    return;
  }
  g_assert_cmpuint (info.local_bytes, >=, bytes);
  g_assert_cmpuint (info.local_bytes, <, 2 * bytes);
}

/* The level is that of the build; native subgroups are as large as the row says. */
static void
test_subgroups (void)
{
  const gchar *kernel = "L3_SIMD_8x4_1x16";
  g_autoptr (GError) error = NULL;
  GemmclKernelLevel level;
  GemmclBuildInfo info;

  if (!get_info (kernel, 5, &info))
    return;
  g_assert_true (gemmcl_kernel_get_level (test_get_context (), kernel, &level, &error));
  g_assert_no_error (error);
  g_assert_cmpint (info.level, ==, level);
  if (level == GEMMCL_KERNEL_LEVEL_EMULATED)
    g_assert_cmpuint (info.local_bytes, >, 0);
  else
    g_assert_cmpuint (info.subgroup_size, ==, 16);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/build-info/fallback", test_fallback);
  g_test_add_func ("/build-info/local", test_local);
  g_test_add_func ("/build-info/subgroups", test_subgroups);
  return g_test_run ();
}
