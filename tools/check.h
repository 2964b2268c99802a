/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdio.h>

#include "bench.h"
#include "worker.h"

/**
 * gemmcl check:
 *
 *   check.c          the subcommand, which has no device, writes the report and prints a summary
 *   check-worker.c   the worker: the device's facts, and the order of the steps
 *   check-rows.c     each kernel on exact problems
 *   check-va.c       the element with VA surfaces
 *   search.c         the candidates of each shape side by side
 *
 * The state of the worker has "start" and "end" of the check, in microseconds of the monotonic
 * clock, and "report", whose keys are in docs/tuning.md.
 */

/** CheckAsked: @kernels (element-type utf8) and @shapes (element-type GemmclGemm) of the command
 * line; no shapes: those of a whole check. */
typedef struct {
  GPtrArray *kernels;
  GArray *shapes;
} CheckAsked;

/** check_serve: The worker: does what the report lacks. */
gboolean check_serve (const CheckAsked *asked, GError **error);

/** check_build: Compiles every @n-th of the kernels of the command line, from @first on, so that
 * the worker finds them in the cache. */
gboolean check_build (const CheckAsked *asked, guint first, guint n, GError **error);

/**
 * Check:
 * @deadline: the end of the whole check, in microseconds of the monotonic clock
 * @patience: seconds for building and running a kernel, after which it is taken to hang
 *
 * A check in the worker. Each step adds the results that the report lacks.
 */
typedef struct {
  GemmclContext *context;
  json_t *report;
  gint64 deadline;
  gdouble patience;
} Check;

/** check_get_left: Returns: the seconds until @deadline; 0 after it. */
gdouble check_get_left (gint64 deadline);

/** check_rows: Runs the native rows of "rows" on exact problems until @deadline. */
void check_rows (const Check *self, gint64 deadline);

/** check_build_row: Compiles the programs that check_rows() needs for @row. */
void check_build_row (GemmclContext *context, const json_t *row);

/** check_va: Runs VA surfaces through the element if there are a VA display, GStreamer and a device
 * that shares surfaces; for at most @seconds. Fills "va". */
void check_va (const Check *self, gdouble seconds);

/** check_is_open: TRUE if a row or "va" has no result yet. */
gboolean check_is_open (const json_t *object);

/** check_is_faulty: TRUE if its result is a fault. */
gboolean check_is_faulty (const json_t *object);

/** check_is_native: TRUE if the device can run the row natively. */
gboolean check_is_native (const json_t *row);

/** check_set_result: Sets "result" and "why" (nullable) of a row or "va". */
void check_set_result (json_t *object, const gchar *result, const gchar *why);
