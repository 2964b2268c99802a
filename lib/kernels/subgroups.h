/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "device/cl.h"
#include "kernels/table.h"

/** Returns: the best level that @device's extensions promise for @kernel; native if it has no
 * subgroups, and emulated if it multiplies bytes for which there are no instructions. A build may
 * show that they promise too much. */
GemmclKernelLevel gemmcl_subgroups_get_level (const GemmclKernel *kernel,
                                              const GemmclDeviceInfo *device);

/** Returns: the level that is worth a try after @level; emulated is the last. */
GemmclKernelLevel gemmcl_subgroups_get_next (GemmclKernelLevel level,
                                             const GemmclDeviceInfo *device);

/** Appends what the compiler must know (see subgroup.clh). */
void gemmcl_subgroups_append_options (GString *options, const GemmclKernel *kernel,
                                      const GemmclDeviceInfo *device, GemmclKernelLevel level);

/** Returns: whether the subgroups of @kernel, @built at @level, are as large as the row says; else
 * %FALSE with #GEMMCL_ERROR_KERNEL. */
gboolean gemmcl_subgroups_check (const GemmclKernel *kernel, cl_kernel built, cl_device_id device,
                                 GemmclKernelLevel level, GError **error);

/** Appends what the compiler must know to use the device's dot products. */
void gemmcl_dot_append_options (GString *options, const GemmclDeviceInfo *device);
