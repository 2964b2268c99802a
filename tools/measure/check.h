/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "measure/bench.h"
#include "measure/worker.h"

/**
 * gemmcl check:
 *
 *   check.c          the subcommand: the device's facts, and the order of the steps
 *   check-rows.c     each kernel on exact problems
 *   check-va.c       the element with VA surfaces
 *   check-report.c   the report: results of its objects, and the summary
 *   search.c         the candidates of each shape side by side
 *
 * The keys of the report are in docs/tuning.md.
 */

/** check_row: In a worker: runs @row, which is native, on exact problems and sets its result. */
void check_row (GemmclContext *context, json_t *row);

/** check_build_rows: Compiles the programs of every @n-th of @rows without a result, from @first
 * on. The worker then finds them in the cache. */
void check_build_rows (const json_t *rows, gsize first, gsize n);

/** check_va: In a worker: runs VA surfaces through the element if there are a VA display and
 * GStreamer, and sets the result of @va. */
void check_va (GemmclContext *context, json_t *va);

/** check_is_row: TRUE for a row, FALSE for "va". */
gboolean check_is_row (const json_t *object);

/** check_is_open: TRUE if "va" or a native row has no result yet. */
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
