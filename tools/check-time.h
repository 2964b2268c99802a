/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "bench.h"
#include "output.h"

/**
 * CheckTime:
 *
 * Kernels that are timed side by side on one problem, in turns, so that what disturbs the device or
 * changes its clock hits all alike.
 */
typedef struct _CheckTime CheckTime;

/** check_time_new: Returns: (transfer full): no kernels yet, of random matrices, or %NULL with the
 * errors of bench_problem_new(). */
CheckTime *check_time_new (GemmclContext *context, gsize m, gsize n, gsize k, GError **error);

void check_time_free (CheckTime *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (CheckTime, check_time_free)

/**
 * check_time_prepare:
 * @precision: that of the problem
 *
 * Builds @kernel, runs it three times and checks the first and the last row of D by
 * gemmcl_gemm_verify(). A kernel that is right takes part in the turns.
 *
 * Returns: (transfer full): an object with "kernel", "result": "ok", "wrong" or "failed", "why",
 *   "ms" of the faster one of the later runs, what the driver made of it, and "lost" if OpenCL
 * failed a run.
 */
json_t *check_time_prepare (CheckTime *self, GemmclPrecision precision, const gchar *kernel);

/**
 * check_time_run:
 * @seconds: for all turns
 *
 * Times the kernels that were prepared, and drops them. One that took much longer than the fastest
 * when it was prepared has no turns, unless it was prepared first.
 *
 * Returns: (transfer full): "times": for each kernel with turns "kernel", "ms" (the median),
 * "min_ms" and "runs"; or "lost" and "why".
 */
json_t *check_time_run (CheckTime *self, gdouble seconds);
