/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "bench-problem.h"

/** One run of a plan on the matrices of a BenchProblem. */

/**
 * bench_run_once:
 * @plan: for the problem; has its B
 * @m: rows of A and D this time; 0 for all
 * @ms: (out): milliseconds by the device's own clock, from the start of the run to its end, with
 *   all its steps, such as A's way into an image; NaN where it measured no time, as drivers without
 *   a GPU do not
 *
 * Returns: %FALSE with an error of the library's.
 */
gboolean bench_run_once (const BenchProblem *problem, GemmclPlan *plan, gsize m, gdouble *ms,
                         GError **error);

/** bench_spoil_output: Fills D on the device with NaN, so that what a kernel forgets to write does
 * not look right because an earlier one wrote it. */
gboolean bench_spoil_output (const BenchProblem *problem, GError **error);

/** bench_read_output: Copies D from the device to the host's copy of @problem. */
gboolean bench_read_output (BenchProblem *problem, GError **error);
