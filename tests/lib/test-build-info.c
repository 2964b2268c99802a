/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* gemmcl_plan_get_build_info() for the kernels that this device's driver built. */

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

/* Local memory that a driver takes for itself: the fallback declares none. */
static guint64
get_driver_bytes (void)
{
  GemmclBuildInfo info;

  g_assert_true (get_info ("gemm_naive", 1, &info));
  return info.local_bytes;
}

/* The fallback declares no local memory, and spills nothing. */
static void
test_fallback (void)
{
  const GemmclDeviceInfo *device;
  GemmclBuildInfo info;

  if (!get_info ("gemm_naive", 1, &info))
    return;
  device = gemmcl_context_get_device_info (test_get_context ());
  g_assert_cmpint (info.level, ==, GEMMCL_KERNEL_LEVEL_NATIVE);
  g_assert_cmpuint (info.max_work_group, >=, 64);
  g_assert_cmpuint (info.max_work_group, <=, device->max_work_group);
  g_assert_cmpuint (info.local_bytes, <, device->local_bytes);
  g_assert_cmpuint (info.spill_bytes, ==, 0);
}

/* 16 columns of 64 rows of A and as much of B; drivers may round that up, and add memory of their
 * own. */
static void
test_local (void)
{
  const guint64 bytes = 2 * 16 * 64 * sizeof (gfloat);
  GemmclBuildInfo info;
  guint64 driver_bytes;

  if (!get_info ("slm_4x4_16x16", 5, &info))
    return;
  g_assert_cmpuint (info.max_work_group, >=, 256);
  driver_bytes = get_driver_bytes ();
  if (info.local_bytes == driver_bytes) {
    g_test_skip ("the driver tells nothing of local memory that kernels declare");
    return;
  }
  g_assert_cmpuint (info.local_bytes, >=, bytes);
  g_assert_cmpuint (info.local_bytes, <, 2 * bytes + driver_bytes);
}

/* The level is that of the build; native subgroups are as large as the row says, emulated ones
 * exchange values through local memory. */
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
  if (level != GEMMCL_KERNEL_LEVEL_EMULATED)
    g_assert_cmpuint (info.subgroup_size, ==, 16);
  else if (info.local_bytes == get_driver_bytes ())
    g_test_skip ("the driver tells nothing of local memory that kernels declare");
  else
    g_assert_cmpuint (info.local_bytes, >, 0);
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
