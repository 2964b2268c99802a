/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Subgroups of the KHR extension, and PTX for sm_90a. No compiler here accepts them, so the test
 * calls the library's internal functions. choice.py tests the other features. */
#include "device/program.h"
#include "kernels/subgroups.h"

/* On a device that can shuffle, kernels with subgroups have the level khr. */
static void
test_khr (void)
{
  const GemmclDeviceInfo device = {
      .platform = (gchar *)"Imagined",
      .version = (gchar *)"OpenCL 3.0 imagined",
      .extensions = (gchar *)"cl_khr_integer_dot_product cl_khr_subgroup_shuffle",
      .type = GEMMCL_DEVICE_TYPE_GPU};

  for (guint i = 0; i < gemmcl_get_n_kernels (); i++) {
    const GemmclKernel *row = gemmcl_kernel_get (i);

    g_assert_cmpuint (gemmcl_subgroups_get_level (row, &device, GEMMCL_KERNEL_LEVEL_NATIVE), ==,
                      row->family >= GEMMCL_FAMILY_ASYNC_COPY ? GEMMCL_KERNEL_LEVEL_EMULATED
                      : row->subgroup > 0                     ? GEMMCL_KERNEL_LEVEL_KHR
                                                              : GEMMCL_KERNEL_LEVEL_NATIVE);
  }
}

/* PTX is retargeted if it is as NVIDIA's compiler writes it for sm_90, and else refused. */
static void
test_retarget (void)
{
  static const gchar *const refused[] = {
      "",
      "\177ELF\n.version 9.0\n.target sm_90, x\n",
      ".version 9.0\n.target sm_90, x\n//@wgmma.a;\n",
      "//\n.version 9.0\n.target sm_90, x\nmma.a;\n",
      "//\n.version 9.0\n.target sm_80, x\n//@wgmma.a;\n",
      "//\n.version 9.0\n.target sm_90a, x\n//@wgmma.a;\n",
      "//\n.version 9.0\n.target sm_90, x\n.target sm_90, x\n//@wgmma.a;\n"};
  g_autoptr (GError) error = NULL;
  g_autofree gchar *made = gemmcl_ptx_retarget (
      "//\n.version 9.0\n.target sm_90, x\n//@wgmma.a;\n// x\n//@wgmma.b;\n", &error);

  g_assert_no_error (error);
  g_assert_cmpstr (made, ==,
                   "//\n.version 9.0\n.target sm_90a, x\n   wgmma.a;\n// x\n   wgmma.b;\n");
  for (guint i = 0; i < G_N_ELEMENTS (refused); i++) {
    g_autofree gchar *none = gemmcl_ptx_retarget (refused[i], &error);

    g_assert_null (none);
    g_assert_error (error, GEMMCL_ERROR, GEMMCL_ERROR_BUILD);
    g_clear_error (&error);
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  /* The user's GEMMCL_SUBGROUPS does not apply to this test. */
  g_unsetenv ("GEMMCL_SUBGROUPS");
  g_test_add_func ("/subgroups/khr", test_khr);
  g_test_add_func ("/subgroups/retarget", test_retarget);
  return g_test_run ();
}
