/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdio.h>

#include "bench.h"
#include "child.h"
#include "progress.h"

/**
 * gemmcl check: the parent, which has no device, writes the report; its child runs the kernels.
 *
 *   check.c          the subcommand, and the order of its steps
 *   check-rows.c     each kernel on exact problems
 *   check-va.c       the element with VA surfaces
 *   check-speed.c    the candidates of each shape side by side
 *   check-report.c   the summary
 *
 *   check-serve.c    the child: the device's facts, and answers to requests
 *   check-exact.c    a kernel on exact problems
 *   check-time.c     candidates in turns
 */

/**
 * Check:
 * @deadline: the end of the whole check, in microseconds of the monotonic clock
 * @patience: seconds for building and running a kernel, after which it is taken to hang
 * @progress, @worker: owned
 * @report: the report, whose keys are in docs/tuning.md; owned
 *
 * A run of `gemmcl check`. The steps below add to the report. A step that finds a fault adds it to
 * the report and goes on. It returns %FALSE only with %TOOL_ERROR_INTERRUPTED, or if no process can
 * be started.
 */
typedef struct {
  gint64 deadline;
  gdouble patience;
  ToolProgress *progress;
  ToolChild *worker;
  json_t *report;
} Check;

/** check_get_left: Returns: the seconds until @deadline; 0 after it. */
gdouble check_get_left (gint64 deadline);

/** check_count_rows: Returns: the number of rows with that @result; %NULL: with any. */
guint check_count_rows (const json_t *report, const gchar *result);

/** check_set_result: Sets "result" and "why" (nullable) of a row, an entry or a candidate. */
void check_set_result (json_t *object, const gchar *result, const gchar *why);

/**
 * check_explain:
 * @cut: the request had less time than it might have needed
 * @why: (transfer full): the reason why there is no answer
 *
 * Sets the result of @object to "lost" or "not reached". Returns: %FALSE with @why if @why is not
 * the loss of the worker, so that the check cannot go on.
 */
gboolean check_explain (json_t *object, gboolean cut, GError *why, GError **error);

/** check_rows: Runs each native row of "rows" that has no result, or was not reached, on exact
 * problems; for at most @seconds. */
gboolean check_rows (Check *self, gdouble seconds, GError **error);

/** check_va: Runs VA surfaces through the element if there are a VA display, GStreamer and a device
 * that shares surfaces; for at most @seconds. Fills "va". */
gboolean check_va (Check *self, gdouble seconds, GError **error);

/** check_speed: Times the rules' choice and other candidates on each of @shapes, until the
 * deadline. Fills "speed". */
gboolean check_speed (Check *self, const json_t *shapes, GError **error);

/** check_report_print: Prints the summary of @report. */
void check_report_print (FILE *out, const json_t *report);

/** check_report_count_faults: Returns: the number of rows, candidates and steps that are wrong,
 * failed or lost. */
guint check_report_count_faults (const json_t *report);

/**
 * The child, see child.h. Its requests:
 *
 *   {"do": "facts", "shapes": ["M,N,K" ...]}      the device, each row's level, and for each shape
 *                                                 the candidates of each precision; without shapes
 *                                                 those of a whole check
 *   {"do": "va"}                                  frames as VA surfaces, through the element
 *   {"do": "row", "kernel": NAME}                 small exact problems: see check_exact_row()
 *   {"do": "build", "kernels": [NAME ...]}        compiles them, so that another process need not
 *   {"do": "prepare", "m": M, "n": N, "k": K, "precision": P, "kernel": NAME}
 *                                                 see check_time_prepare()
 *   {"do": "time", "seconds": S}                  the prepared kernels: see check_time_run()
 */

/** CHECK_N_SHAPES: the number of shapes of a whole check. */
#define CHECK_N_SHAPES 8

/** check_va_serve: Returns: (transfer full): "va" of the report. */
json_t *check_va_serve (GemmclContext *context);

/** check_serve: Answers requests until the end of the input. Returns: %FALSE with an error if the
 * device cannot be opened. */
gboolean check_serve (GError **error);

/**
 * check_exact_row:
 * @info: a row of the table
 *
 * Runs the row on problems of small integers. Their products and sums are exact in every precision,
 * so that any difference is an error. Each problem has a whole work-group and parts of one.
 *
 * Returns: (transfer full): an object with "result": "ok", "wrong", "failed" or "unfit" (the row
 *   fits none of the problems), "why", the members of check_exact_add_build(), and "lost" if an
 *   OpenCL call failed, so that the device may be lost.
 */
json_t *check_exact_row (GemmclContext *context, const GemmclKernelInfo *info);

/** check_exact_build: Compiles the programs of check_exact_row() into the caches on the disk. */
void check_exact_build (GemmclContext *context, const GemmclKernelInfo *info);

/**
 * check_exact_add_build:
 *
 * Adds the driver's figures of the plan's kernel to @object: "subgroup_size", and "private_bytes"
 * and "spill_bytes" unless @object has larger ones.
 *
 * Returns: %TRUE if the kernel was built natively.
 */
gboolean check_exact_add_build (GemmclPlan *plan, json_t *object);

/**
 * CheckTime:
 *
 * Times kernels on one problem in turns, so that disturbances and changes of the device's clock
 * affect all of them alike.
 */
typedef struct _CheckTime CheckTime;

/** check_time_new: Returns: (transfer full): random matrices for the sizes of @gemm, or %NULL with
 * the errors of bench_problem_new(). */
CheckTime *check_time_new (GemmclContext *context, const GemmclGemm *gemm, GError **error);

void check_time_free (CheckTime *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (CheckTime, check_time_free)

/**
 * check_time_prepare:
 * @precision: the precision of the problem; another one than before drops all kernels
 *
 * Builds @kernel, runs it three times and checks the first and the last row of D by
 * gemmcl_gemm_verify(). A kernel with a right result takes part in the turns.
 *
 * Returns: (transfer full): an object with "kernel", "result": "ok", "wrong" or "failed", "why",
 *   "ms" of the faster of the last two runs, the members of check_exact_add_build(), and "lost" if
 *   an OpenCL call failed.
 */
json_t *check_time_prepare (CheckTime *self, GemmclPrecision precision, const gchar *kernel);

/**
 * check_time_run:
 * @seconds: the limit for all turns
 *
 * Times the prepared kernels, then drops them. A kernel that was much slower than the fastest when
 * it was prepared gets no turns, unless it was prepared first.
 *
 * Returns: (transfer full): "times": for each kernel with turns "kernel", "ms" (the median),
 * "min_ms" and "runs"; or "lost" and "why".
 */
json_t *check_time_run (CheckTime *self, gdouble seconds);
