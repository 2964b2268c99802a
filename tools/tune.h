/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "child.h"
#include "gemmcl-tuning.h"
#include "progress.h"

/**
 * gemmcl tune:
 *
 *   tune.c          the subcommand
 *   tune-search.c   a problem: asks a child to search, and goes on without a kernel that ends it
 *   tune-serve.c    the child: gemmcl_tuning_search()
 *   tune-report.c   the table, and JSON
 */

/**
 * TuneCandidate:
 * @name: as gemmcl_plan_new() takes it
 * @ms: the median of its last runs; NaN if it was not timed
 * @why: (nullable): why it left; %NULL for one that was timed to the end
 * @faulty: it left for something that it did wrong, and not for being slow
 */
typedef struct {
  gchar *name;
  gdouble ms;
  gchar *why;
  gboolean faulty;
} TuneCandidate;

/**
 * TuneSearch:
 * @gemm: the problem
 * @candidates: (element-type TuneCandidate): all, in the order of the rules
 * @rules: (nullable): the rules' choice, or the first of the others that works; %NULL: none does
 * @best: (nullable): the fastest, which is @rules unless another is faster by more than the noise;
 *   %NULL: there was no time to compare, or none works
 * @gain: how many times as fast as @rules @best is; NaN where one of the two lacks
 * @seconds: how long it took
 */
typedef struct {
  GemmclGemm gemm;
  GPtrArray *candidates;
  TuneCandidate *rules;
  TuneCandidate *best;
  gdouble gain;
  gdouble seconds;
} TuneSearch;

/** tune_search_new: @names: as gemmcl_tuning_list_candidates() returns them. */
TuneSearch *tune_search_new (const GemmclGemm *gemm, const gchar *const *names);

void tune_search_free (TuneSearch *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TuneSearch, tune_search_free)

/**
 * tune_search_run:
 * @child: "tune"
 * @seconds: about how long the search may take
 * @banned: (element-type utf8 utf8): rows of the table that ended a child when they were tried, and
 *   why; they are left out, and more are added
 *
 * Returns: %FALSE with %TOOL_ERROR_FAILED (the problem cannot be searched, others can),
 *   %TOOL_CHILD_ERROR_GIVEN_UP, a #GSpawnError or %TOOL_ERROR_INTERRUPTED.
 */
gboolean tune_search_run (TuneSearch *self, ToolChild *child, gdouble seconds, GHashTable *banned,
                          ToolProgress *progress, GError **error);

/**
 * tune_serve:
 *
 * The child's side. The request is a problem:
 *
 *   {"m": M, "n": N, "k": K, "precision": P, "layout": L, "seconds": S, "kernels": [NAME ...]}
 *
 * without "kernels" the rules' choice and those that follow it. Each candidate is announced before
 * it is tried and before each of its turns, and the last answer is what the search found:
 *
 *   {"step": "try" | "turn", "kernel": NAME, "ms": TIME}
 *   {"step": "tried", "kernel": NAME, "ms": TIME, "result": "ok"}
 *   {"first": NAME, "best": NAME, "gain": FACTOR,
 *    "candidates": [{"kernel": NAME, "ms": TIME, "why": TEXT, "faulty": BOOLEAN} ...]}
 *
 * "first" and "best" are null where there is none, and "ms" without a time.
 */
gboolean tune_serve (GError **error);

/** TuneReport: what tune found, as a table whose rows are printed as they become known, and as
 * JSON. */
typedef struct _TuneReport TuneReport;

/**
 * tune_report_new:
 * @out: where the table goes; borrowed
 * @info: the device; borrowed
 */
TuneReport *tune_report_new (FILE *out, const GemmclDeviceInfo *info);

void tune_report_free (TuneReport *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TuneReport, tune_report_free)

/** tune_report_start: Prints the head; @problems: (element-type GemmclGemm): those to come. */
void tune_report_start (TuneReport *self, const GArray *problems);

/** tune_report_add: @stored: the best was remembered */
void tune_report_add (TuneReport *self, const TuneSearch *search, gboolean stored);

/** tune_report_get_json: Returns: (transfer none): a list with an object per problem. */
const json_t *tune_report_get_json (const TuneReport *self);

/**
 * tune_report_list:
 * @out: where the table goes
 * @entries: (element-type GemmclTuningEntry): what gemmcl_tuning_list() knows
 *
 * Prints the entries.
 *
 * Returns: (transfer full): the same as a list in JSON.
 */
json_t *tune_report_list (FILE *out, const GPtrArray *entries);
