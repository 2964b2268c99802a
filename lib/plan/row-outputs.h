/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The step that computes the row outputs from D.
 */
#pragma once

#include "plan/kernel-plan.h"

/** Floats from a problem's row outputs to the next problem's. */
cl_long gemmcl_row_outputs_get_batch (GemmclKernelPlan *self);

/** (transfer full): the options of row_outputs.cl. */
gchar *gemmcl_row_outputs_make_options (GemmclKernelPlan *self);

/** Launches row_outputs: D to row outputs. */
gboolean gemmcl_row_outputs_launch (GemmclKernelPlan *self, GemmclStep *step, GemmclKernelRun *run,
                                    GError **error);
