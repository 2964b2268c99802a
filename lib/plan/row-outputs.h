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

/** The elements that all tiles leave of a row in place of D (TILED_ROWS, whole_rows.clh), or 0. */
gsize gemmcl_row_outputs_count_tops (GemmclKernelPlan *self);

/** Memory for these elements and their columns. */
cl_mem gemmcl_row_outputs_create_tops (GemmclKernelPlan *self, GError **error);

/** The parts of a row of D whose row outputs are collected apart and then merged; 1: none. */
gsize gemmcl_row_outputs_count_parts (GemmclKernelPlan *self);

/** The bytes that the parts of a row collect (CollectedRow in row_outputs.cl); 0 if it has one
 * part. */
gsize gemmcl_row_outputs_count_collected (GemmclKernelPlan *self);

/** Launches row_outputs: D, or what tiles left of it, to row outputs or those of parts of rows. */
gboolean gemmcl_row_outputs_launch (GemmclKernelPlan *self, GemmclStep *step, GemmclKernelRun *run,
                                    GError **error);

/** Launches merge_rows: what the parts of rows collected, to row outputs. */
gboolean gemmcl_row_outputs_merge (GemmclKernelPlan *self, GemmclStep *step, GemmclKernelRun *run,
                                   GError **error);
