/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "bench.h"
#include "worker.h"

/**
 * gemmcl check:
 *
 *   check.c          the subcommand: the device's facts, and the order of the steps
 *   check-report.c   the report: results of its objects, and the summary
 *   check-rows.c     each kernel on exact problems
 *   check-va.c       the element with VA surfaces
 *   search.c         the candidates of each shape side by side
 *
 * The keys of the report are in docs/tuning.md. A step's objects are items of a worker, which is
 * ended at @end, the end of the whole check; times are of the monotonic clock.
 */

/**
 * check_rows:
 * @rows: the rows, of which the native ones without a result run on exact problems
 * @deadline: no row begins after it
 * @patience: seconds for a row, after which it is taken to hang
 */
gboolean check_rows (json_t *rows, gint64 deadline, gint64 end, gdouble patience, GError **error);

/** check_va: Runs VA surfaces through the element if there are a VA display, GStreamer and a device
 * that shares surfaces, before @deadline. Fills "va". */
gboolean check_va (json_t *report, gint64 deadline, gint64 end, GError **error);

/** check_is_open: TRUE if a row, which must be native, or "va" has no result yet. */
gboolean check_is_open (const json_t *object);

/** check_is_faulty: TRUE if its result is a fault. */
gboolean check_is_faulty (const json_t *object);

/** check_set_result: Sets "result" and "why" (nullable) of a row or "va". */
void check_set_result (json_t *object, const gchar *result, const gchar *why);

/** check_count_faults: Returns: the number of rows, candidates and steps that are wrong, failed or
 * lost. */
guint check_count_faults (const json_t *report);

/** check_print_summary: Prints the summary of @report. */
void check_print_summary (FILE *out, const json_t *report);
