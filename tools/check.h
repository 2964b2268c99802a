/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdio.h>

#include "child.h"
#include "progress.h"

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

/** check_find_candidate: Returns: (nullable) (transfer none): the candidate @kernel (nullable) of
 * an entry of "speed". */
json_t *check_find_candidate (const json_t *entry, const gchar *kernel);

/** check_report_print: Prints the summary of @report. */
void check_report_print (FILE *out, const json_t *report);

/** check_report_count_faults: Returns: the number of rows, candidates and steps that are wrong,
 * failed or lost. */
guint check_report_count_faults (const json_t *report);
