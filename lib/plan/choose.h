/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The choice of a plan's kernel.
 */
#pragma once

#include "plan/kernel-plan.h"

/** A kernel plan that is ready for runs. @kernel: as for gemmcl_plan_new() */
GemmclKernelPlan *gemmcl_kernel_plan_new (GemmclContext *context, const GemmclGemm *gemm,
                                          const gchar *kernel, GError **error);
