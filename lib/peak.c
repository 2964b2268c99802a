/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "device.h"

/*
 * How many f32 multiply-adds a device starts in a second at most:
 *
 *     CPU      cores x clock x 2 units x vector width. Two FMA units are what Intel since Haswell,
 *              AMD since Zen 2 and Arm's large cores have; compute units count hardware threads,
 *              so that a CPU with two threads a core comes out twice as fast as it is.
 *     Intel    EUs x clock x 8 lanes (Gen7.5 to Gen12: two FPUs of 4; Xe-LP: 8 lanes) or 16 (Xe2's
 * and Xe-HPC's vector engines, told by a smallest subgroup of 16). NVIDIA   multiprocessors x clock
 * x lanes of the compute capability (CUDA C++ Programming Guide, "Arithmetic Instructions").
 *
 * and two operations for each. Others do not tell what they have: 0.
 */

static guint
nvidia_lanes (guint major, guint minor)
{
  static const struct {
    guint major, minor, lanes;
  } table[] = {
      {3, 0, 192}, {5, 0, 128}, {6, 0, 64},  {6, 1, 128},  {7, 0, 64},
      {8, 0, 64},  {8, 6, 128}, {9, 0, 128}, {10, 0, 128},
  };
  guint lanes = 0;

  for (gsize i = 0; i < G_N_ELEMENTS (table); i++)
    if (major > table[i].major || (major == table[i].major && minor >= table[i].minor))
      lanes = table[i].lanes;
  return lanes;
}

void
gemmcl_device_info_set_peak (GemmclDeviceInfo *info, guint nvidia_major, guint nvidia_minor)
{
  const gchar *units = NULL;
  guint n = 0, lanes = 0;

  if (info->nvidia && nvidia_major > 0) {
    units = "multiprocessors";
    n = info->compute_units;
    lanes = nvidia_lanes (nvidia_major, nvidia_minor);
  } else if (info->intel && info->eus > 0) {
    units = "EUs";
    n = info->eus;
    lanes = info->n_subgroup_sizes > 0 && info->subgroup_sizes[0] >= 16 ? 16 : 8;
  } else if (info->type == GEMMCL_DEVICE_TYPE_CPU) {
    units = "hardware threads";
    n = info->compute_units;
    lanes = 2 * info->float_width;
  }

  if (n == 0 || lanes == 0 || info->clock_mhz == 0) {
    info->peak_source = g_strdup ("unknown: the driver does not tell the device's width or clock");
    return;
  }
  info->peak_gflops = 2.0 * n * lanes * info->clock_mhz / 1000.0;
  info->peak_source = g_strdup_printf ("%u %s x %u f32 lanes x %u MHz x (MUL + ADD)", n, units,
                                       lanes, info->clock_mhz);
}
