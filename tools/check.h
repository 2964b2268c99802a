/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdio.h>

#include "child.h"
#include "progress.h"

/**
 * Check:
 * @deadline: by the monotonic clock, in microseconds: when the whole check should have ended
 * @patience: seconds that a kernel may take to be built and run; what is later hangs
 * @progress, @worker: owned
 * @report: what is written: docs/tuning.md has its keys; owned
 *
 * A run of `gemmcl check`. Its steps below add to the report. What a step finds wrong is in the
 * report, and the step goes on; it returns %FALSE only with %TOOL_ERROR_INTERRUPTED, or if no
 * process can be started.
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

/** check_count_rows: Returns: rows of the report with that @result; %NULL: with any. */
guint check_count_rows (const json_t *report, const gchar *result);

/** check_set_result: Sets "result" and "why" (nullable) of a row, an entry or a candidate. */
void check_set_result (json_t *object, const gchar *result, const gchar *why);

/**
 * check_explain:
 * @cut: the request had less time than it might have needed
 * @why: (transfer full): why there is no answer
 *
 * Sets "lost" or "not reached" for @object. Returns: %FALSE with @why if it is not about the
 * process that answers, so that the check cannot go on.
 */
gboolean check_explain (json_t *object, gboolean cut, GError *why, GError **error);

/** check_rows: Runs each native row of "rows" that has no result yet, or was not reached, on exact
 * problems; for @seconds at most. */
gboolean check_rows (Check *self, gdouble seconds, GError **error);

/** check_va: Runs VA surfaces through the element, where there are a VA display, GStreamer and a
 * device that shares surfaces; for @seconds at most. Fills "va". */
gboolean check_va (Check *self, gdouble seconds, GError **error);

/** check_speed: Times the rules' choice and other candidates on each of @shapes, until the
 * deadline. Fills "speed". */
gboolean check_speed (Check *self, const json_t *shapes, GError **error);

/** check_find_candidate: Returns: (nullable) (transfer none): that of an entry of "speed" which is
 * called @kernel (nullable). */
json_t *check_find_candidate (const json_t *entry, const gchar *kernel);

/** check_report_print: Prints the summary of @report. */
void check_report_print (FILE *out, const json_t *report);

/** check_report_count_faults: Returns: how many rows, candidates and steps are wrong, failed or
 * were lost. */
guint check_report_count_faults (const json_t *report);
