/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "cl.h"
#include "kernel-table.h"

/**
 * gemmcl_subgroups_get_level:
 *
 * Returns: the best level that @device's extensions promise for @kernel; native if it has no
 *   subgroups, and emulated if it multiplies bytes for which there are no instructions. A build may
 *   show that they promise too much.
 */
GemmclKernelLevel gemmcl_subgroups_get_level (const GemmclKernel *kernel,
                                              const GemmclDeviceInfo *device);

/** gemmcl_subgroups_get_next: Returns: what is worth a try after @level; emulated is the last. */
GemmclKernelLevel gemmcl_subgroups_get_next (GemmclKernelLevel level,
                                             const GemmclDeviceInfo *device);

/**
 * gemmcl_subgroups_append_options: what @device's compiler must know (see subgroup.clh).
 */
void gemmcl_subgroups_append_options (GString *options, const GemmclKernel *kernel,
                                      const GemmclDeviceInfo *device, GemmclKernelLevel level);

/**
 * gemmcl_subgroups_check:
 * @built: @kernel as built at @level
 *
 * Returns: whether its subgroups are as large as the row says; else %FALSE with
 *   #GEMMCL_ERROR_KERNEL.
 */
gboolean gemmcl_subgroups_check (const GemmclKernel *kernel, cl_kernel built, cl_device_id device,
                                 GemmclKernelLevel level, GError **error);

/** gemmcl_dot_append_options: what the compiler must know to use @device's dot products. */
void gemmcl_dot_append_options (GString *options, const GemmclDeviceInfo *device);
