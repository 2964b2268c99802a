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
 *   check-serve.c    the child's answers, and the device's facts
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

/** CheckAsked: @kernels (element-type utf8) and @shapes (element-type GemmclGemm) of the command
 * line; no shapes: those of a whole check. */
typedef struct {
  GPtrArray *kernels;
  GArray *shapes;
} CheckAsked;

/** check_get_left: Returns: the seconds until @deadline; 0 after it. */
gdouble check_get_left (gint64 deadline);

/** check_begin: Shows @step in the progress. */
void check_begin (Check *self, const gchar *step, gdouble seconds);

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

/** check_speed: Times the rules' choice and other candidates of each entry of "speed", until the
 * deadline. */
gboolean check_speed (Check *self, GError **error);

/** check_report_print: Prints the summary of @report. */
void check_report_print (FILE *out, const json_t *report);

/** check_report_count_faults: Returns: the number of rows, candidates and steps that are wrong,
 * failed or lost. */
guint check_report_count_faults (const json_t *report);

/**
 * The child, see child.h. Its requests, and the functions that answer them:
 *
 *   {"do": "facts"}                               "device", "shares_surfaces", "rows" and "speed"
 *                                                 of the report, without results
 *   {"do": "va"}                                  "va" of the report
 *   {"do": "row", "kernel": NAME}                 "result" and the others of "rows" of the report
 *   {"do": "build", "kernels": [NAME ...]}        compiles them, so that another process need not
 *   {"do": "prepare", "m": M, "n": N, "k": K, "precision": P, "kernel": NAME}
 *                                                 "ms" and "result" of a candidate
 *   {"do": "time", "seconds": S}                  "times": "kernel", "ms", "min_ms" and "runs" of
 *                                                 the prepared ones that had turns
 */
json_t *check_serve_va (GemmclContext *context, const json_t *request);
json_t *check_serve_row (GemmclContext *context, const json_t *request);
json_t *check_serve_build (GemmclContext *context, const json_t *request);
json_t *check_serve_prepare (GemmclContext *context, const json_t *request);
json_t *check_serve_time (GemmclContext *context, const json_t *request);

/** check_serve: Answers requests until the end of the input. Returns: %FALSE with an error if the
 * device cannot be opened. */
gboolean check_serve (const CheckAsked *asked, GError **error);

/** check_add_build: Adds the driver's figures of the plan's kernel to @object: "subgroup_size", and
 * "private_bytes" and "spill_bytes" unless @object has larger ones. Returns: %TRUE if the kernel
 * was built natively. */
gboolean check_add_build (GemmclPlan *plan, json_t *object);
