/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The steps that compute the row outputs: from D, or from what work-groups collected.
 */
#pragma once

#include "plan/kernel-plan.h"

/** Floats from a problem's row outputs to the next problem's. */
cl_long gemmcl_row_outputs_get_batch (GemmclKernelPlan *self);

/** (transfer full): the options of row_outputs.cl. */
gchar *gemmcl_row_outputs_make_options (GemmclKernelPlan *self);

/** (transfer full): the options of merge_rows.cl. */
gchar *gemmcl_row_outputs_make_merge_options (const GemmclGemm *gemm);

/** The bytes that a work-group collects for a row (kernels/shared/collected_rows.clh). */
gsize gemmcl_row_outputs_get_collected_bytes (const GemmclGemm *gemm);

/** Launches merge_rows: what @parts work-groups collected of each row, in the step's output, to row
 * outputs. */
gboolean gemmcl_row_outputs_merge (GemmclKernelPlan *self, GemmclStep *step, GemmclKernelRun *run,
                                   gsize parts, GError **error);

/** Launches row_outputs: D to row outputs. */
gboolean gemmcl_row_outputs_launch (GemmclKernelPlan *self, GemmclStep *step, GemmclKernelRun *run,
                                    GError **error);
