/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The steps that compute the row outputs from D.
 */
#pragma once

#include "plan/kernel-plan.h"

/** Floats from a problem's row outputs to the next problem's. */
cl_long gemmcl_row_outputs_get_batch (GemmclKernelPlan *self);

/** (transfer full): the options of row_outputs.cl. */
gchar *gemmcl_row_outputs_make_options (GemmclKernelPlan *self);

/** The parts of a row of D whose row outputs are collected apart and then merged; 1: none. */
gsize gemmcl_row_outputs_count_parts (GemmclKernelPlan *self);

/** The bytes that the parts of a row collect (CollectedRow in row_outputs.cl); 0 if it has one
 * part. */
gsize gemmcl_row_outputs_count_collected (GemmclKernelPlan *self);

/** Launches row_outputs: D to row outputs, or to those of parts of rows. */
gboolean gemmcl_row_outputs_launch (GemmclKernelPlan *self, GemmclStep *step, GemmclKernelRun *run,
                                    GError **error);

/** Launches merge_rows: what the parts of rows collected, to row outputs. */
gboolean gemmcl_row_outputs_merge (GemmclKernelPlan *self, GemmclStep *step, GemmclKernelRun *run,
                                   GError **error);
