/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "bench-problem.h"
#include "gemmcl-tuning.h"

/**
 * BenchResult:
 * @kernel: the kernel that ran; static
 * @choice: where its choice comes from
 * @times: (element-type gdouble): milliseconds of each run, in the order of the runs; NaN where the
 *   device measured no time
 * @min, @median, @max: of @times; NaN without runs, or without their times
 * @gflops: by @median; NaN without runs
 * @verified: whether the result was checked, and @right what came of it
 * @max_error, @error_bound: as of gemmcl_gemm_verify(); NaN where it was not checked
 */
typedef struct {
  const gchar *kernel;
  GemmclChoiceSource choice;
  GArray *times;
  gdouble min, median, max;
  gdouble gflops;
  gboolean verified;
  gboolean right;
  gdouble max_error, error_bound;
} BenchResult;

void bench_result_free (BenchResult *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (BenchResult, bench_result_free)

/** bench_gflops: Returns: 10^9 operations a second of a run of @gemm that takes @ms. */
gdouble bench_gflops (const GemmclGemm *gemm, gdouble ms);

/**
 * bench_measure:
 * @kernel: a kernel's name, "auto" or "rules"
 * @iterations: how many runs are timed, after one that is not; 0 only makes everything ready
 * @verify: check the result of the first run
 *
 * Ends after a run where tool_catch_interrupt() was called before and there was a Ctrl-C.
 *
 * Times are the device's own, from the start of a run to its end: what the host does between runs
 * and the copies of A and D do not count, and B was packed before.
 *
 * Returns: (transfer full): what came of it, or %NULL with an error of the library's, or
 *   %TOOL_ERROR_INTERRUPTED.
 */
BenchResult *bench_measure (BenchProblem *problem, const gchar *kernel, guint iterations,
                            gboolean verify, GError **error);
