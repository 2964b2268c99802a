/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The previous result that a plan with GEMMCL_ADDEND_PREVIOUS keeps. Kernels work in it, as their D
 * and their C; of it the last step makes the D that the caller gets. All do nothing without it.
 */
#pragma once

#include "plan-private.h"

/** gemmcl_plan_build_state: the steps, and memory. */
gboolean gemmcl_plan_build_state (GemmclPlan *self, GError **error);

/** gemmcl_plan_launch_load: before the kernels: zeros, or what came with the run, if it counts. */
gboolean gemmcl_plan_launch_load (GemmclPlan *self, const GemmclOperands *operands, gsize m,
                                  gsize batch, GemmclChain *chain, GError **error);

/** gemmcl_plan_launch_store: behind them: D. */
gboolean gemmcl_plan_launch_store (GemmclPlan *self, const GemmclOperands *operands, gsize m,
                                   gsize batch, GemmclChain *chain, GError **error);
