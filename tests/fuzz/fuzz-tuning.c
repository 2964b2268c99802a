/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuzz.h"

#include "kernels/choice.h"

/* gemmcl_tuning_find(): the user's tuning.json, and what it says of a problem on a device. */
int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  static const GemmclDeviceInfo device = {
      .platform = (gchar *)"Imagined",
      .name = (gchar *)"GPU",
      .version = (gchar *)"OpenCL 3.0 imagined",
      .driver = (gchar *)"1",
      .extensions = (gchar *)"",
      .type = GEMMCL_DEVICE_TYPE_GPU,
      .compute_units = 8,
      .float_width = 1,
      .max_work_group = 1024,
      .max_work_item_sizes = {1024, 1024, 1024},
      .local_bytes = 65536,
  };
  GemmclGemm gemm = GEMMCL_GEMM_INIT;
  GemmclTuned found;

  gemm.m = gemm.n = gemm.k = 64;
  fuzz_write_cache ("tuning.json", data, size);
  if (gemmcl_tuning_find (&device, &gemm, &found)) {
    g_assert_nonnull (found.choice.kernel);
    g_assert_true (gemmcl_choice_check (&found.choice, &device, &gemm, NULL));
    g_assert_true (found.gflops > 0);
  }
  return 0;
}
