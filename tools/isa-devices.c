/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Where each number comes from, and which are taken over from a relative or assumed, is in
 * docs/model.md.
 */
#include "isa-model.h"

#define KIB 1024.0
#define MIB (1024.0 * KIB)

/* What a generation's devices have in common. */
#define GEN8                                                                                       \
  .pipes = 2, .pass_clocks = 2, .conflict_clocks = 1, .port_bytes = 64, .slm_banks = 16,           \
  .slm_size = 64 * KIB, .link_bytes = 64, .port_clocks = 400, .slm_clocks = 400,                   \
  .barrier_clocks = 200
#define XE_LP                                                                                      \
  .core_eus = 16, .threads = 7, .pipes = 1, .pass_clocks = 1, .port_bytes = 128, .slm_banks = 32,  \
  .slm_size = 128 * KIB, .port_clocks = 146, .slm_clocks = 28, .barrier_clocks = 30
#define WITH_LSC                                                                                   \
  .threads = 8, .pipes = 1, .pass_clocks = 1, .integer_pipe = TRUE, .port_bytes = 512,             \
  .slm_bytes = 128, .slm_banks = 32, .slm_size = 128 * KIB, .fill_bytes = 64, .port_clocks = 45,   \
  .slm_clocks = 28, .fill_clocks = 200, .barrier_clocks = 30

const IsaDevice isa_devices[] = {{.target = "bdw",
                                  .title = "HD 4400 (Gen7.5)",
                                  GEN8,
                                  .eus = 20,
                                  .core_eus = 10,
                                  .threads = 7,
                                  .mhz = 600,
                                  .llc_size = 3 * MIB,
                                  .cache_size = 256 * KIB,
                                  .memory_gbs = 25.6,
                                  .memory_ns = 200},
                                 {.target = "skl",
                                  .title = "HD 530 (Gen9)",
                                  GEN8,
                                  .eus = 24,
                                  .core_eus = 8,
                                  .threads = 7,
                                  .mhz = 1150,
                                  .llc_size = 8 * MIB,
                                  .cache_size = 512 * KIB,
                                  .memory_gbs = 34.1,
                                  .memory_ns = 200},
                                 {.target = "tgllp",
                                  .title = "Iris Xe (Xe-LP)",
                                  XE_LP,
                                  .eus = 96,
                                  .mhz = 1300,
                                  .link_bytes = 64,
                                  .llc_size = 12 * MIB,
                                  .cache_size = 3840 * KIB,
                                  .memory_gbs = 68.3,
                                  .memory_ns = 200},
                                 {.target = "dg1",
                                  .title = "Iris Xe MAX (Xe-LP)",
                                  XE_LP,
                                  .eus = 96,
                                  .mhz = 1100,
                                  .cache_size = 16 * MIB,
                                  .memory_gbs = 68.3,
                                  .memory_ns = 200},
                                 {.target = "dg2",
                                  .title = "Arc A770 (Xe-HPG)",
                                  WITH_LSC,
                                  .dpas_clocks = 16,
                                  .eus = 512,
                                  .core_eus = 16,
                                  .mhz = 2100,
                                  .cache_size = 16 * MIB,
                                  .memory_gbs = 560,
                                  .memory_ns = 300},
                                 {.target = "pvc",
                                  .title = "Max 1550, a stack (Xe-HPC)",
                                  WITH_LSC,
                                  .dpas_clocks = 8,
                                  .eus = 512,
                                  .core_eus = 8,
                                  .mhz = 1600,
                                  .cache_size = 204 * MIB,
                                  .memory_gbs = 1638,
                                  .memory_ns = 300},
                                 {.target = "lnl",
                                  .title = "Arc 140V (Xe2)",
                                  WITH_LSC,
                                  .dpas_clocks = 16,
                                  .eus = 64,
                                  .core_eus = 8,
                                  .mhz = 2050,
                                  .cache_size = 8 * MIB,
                                  .memory_gbs = 136.5,
                                  .memory_ns = 200},
                                 {.target = "bmg",
                                  .title = "Arc B580 (Xe2)",
                                  WITH_LSC,
                                  .dpas_clocks = 16,
                                  .eus = 160,
                                  .core_eus = 8,
                                  .mhz = 2670,
                                  .cache_size = 18 * MIB,
                                  .memory_gbs = 456,
                                  .memory_ns = 300},
                                 {.target = "ptl",
                                  .title = "12 Xe3 cores",
                                  WITH_LSC,
                                  .dpas_clocks = 16,
                                  .eus = 96,
                                  .core_eus = 8,
                                  .mhz = 2300,
                                  .cache_size = 16 * MIB,
                                  .memory_gbs = 153.6,
                                  .memory_ns = 200},
                                 {NULL}};

const IsaDevice *
isa_device_find (const IsaTarget *target)
{
  for (const IsaDevice *device = isa_devices; device->target != NULL; device++)
    if (g_str_equal (device->target, target->name))
      return device;
  return NULL;
}
