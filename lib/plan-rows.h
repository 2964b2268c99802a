/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "plan-private.h"

/**
 * The row outputs of a plan: multiply makes them, where its work-groups own rows of D whole; else a
 * step after D is there, which reads it once more.
 */

/**
 * gemmcl_plan_build_rows: makes the step, or finds that multiply is it; nothing where the problem
 * asks for none.
 */
gboolean gemmcl_plan_build_rows (GemmclPlan *self, GError **error);

/** gemmcl_plan_get_rows_bytes: Returns: of the row outputs of one problem of @m rows; 0 for none.
 */
gsize gemmcl_plan_get_rows_bytes (GemmclPlan *self, gsize m);

/** gemmcl_plan_get_rows_stride: Returns: floats from those of one problem to those of the next. */
gint64 gemmcl_plan_get_rows_stride (GemmclPlan *self);

/**
 * gemmcl_plan_launch_rows: the step of its own
 * @d: where D is, laid out as @strides
 * @rows: where the row outputs go, those of a problem of all of the plan's M after the other
 */
gboolean gemmcl_plan_launch_rows (GemmclPlan *self, cl_mem d, const GemmclStrides *strides,
                                  cl_mem rows, gsize m, gsize batch, GemmclChain *chain,
                                  GError **error);
