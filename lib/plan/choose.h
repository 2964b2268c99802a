/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The choice of a plan's kernel.
 */
#pragma once

#include "plan/kernel-plan.h"

/** (nullable) (transfer none): the context of PoCL's inline device, if it computes @gemm sooner
 * than the threads of @self, whose start takes time. The result that ADDEND_PREVIOUS adds is kept
 * on one device alone, so such a problem stays on the threads. */
GemmclContext *gemmcl_context_find_inline (GemmclContext *self, const GemmclGemm *gemm);

/** A kernel plan that is ready for runs. @kernel: as for gemmcl_plan_new() */
GemmclKernelPlan *gemmcl_kernel_plan_new (GemmclContext *context, const GemmclGemm *gemm,
                                          const gchar *kernel, GError **error);
