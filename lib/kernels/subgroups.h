/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Subgroups and other features of a device that OpenCL C does not guarantee.
 */
#pragma once

#include "kernels/table.h"

/** The first level from @best on that @device promises for @kernel; a build may still fail there. A
 * kernel without subgroups is native, or emulated if the device lacks its dot products or
 * matrix engines. */
GemmclKernelLevel gemmcl_subgroups_get_level (const GemmclKernel *kernel,
                                              const GemmclDeviceInfo *device,
                                              GemmclKernelLevel best);

/** Appends the compiler's options for subgroups (see subgroup.clh), or for the device's
 * dot-product instructions (dot.clh). */
void gemmcl_subgroups_append_options (GString *options, const GemmclKernel *kernel,
                                      const GemmclDeviceInfo *device, GemmclKernelLevel level);

/** Work-items per subgroup of @kernel, as @built; 0 if the driver does not report it. */
gsize gemmcl_subgroups_get_size (const GemmclKernel *kernel, cl_kernel built,
                                 GemmclContext *context);

/** TRUE if the subgroups of @kernel, @built at @level, have the size in its row. */
gboolean gemmcl_subgroups_check (const GemmclKernel *kernel, cl_kernel built,
                                 GemmclContext *context, GemmclKernelLevel level, GError **error);
