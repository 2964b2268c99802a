/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The step that pools a result into D.
 */
#pragma once

#include "plan/kernel-plan.h"

/** (transfer full): the options of pool.cl for a valid problem with a pool. */
gchar *gemmcl_pool_make_options (const GemmclGemm *gemm);

/** Launches pool: state to D. */
gboolean gemmcl_pool_launch (GemmclKernelPlan *self, GemmclStep *step, GemmclKernelRun *run,
                             GError **error);
