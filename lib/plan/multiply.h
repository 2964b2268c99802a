/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The step of the gemm kernel, with and without a split of K.
 */
#pragma once

#include "plan/kernel-plan.h"

/** Multiplies all of K. */
gboolean gemmcl_multiply_launch (GemmclKernelPlan *self, GemmclStep *step, GemmclKernelRun *run,
                                 GError **error);

/** The memory of the parts of K that multiply adds up itself (gemmcl_kernel_adds_parts()). */
cl_mem gemmcl_multiply_create_parts (GemmclKernelPlan *self, GError **error);

/** Multiplies the parts of K; multiply adds them up, with the epilogue. */
gboolean gemmcl_multiply_launch_parts (GemmclKernelPlan *self, GemmclStep *step,
                                       GemmclKernelRun *run, GError **error);

/** Multiplies the parts of K, and launches reduce, which adds them up, with the epilogue. */
gboolean gemmcl_multiply_launch_and_reduce (GemmclKernelPlan *self, GemmclStep *step,
                                            GemmclKernelRun *run, GError **error);
