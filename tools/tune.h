/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "child.h"
#include "gemmcl-tuning.h"
#include "progress.h"

#define TUNE_N_COLUMNS 6

/**
 * gemmcl tune:
 *
 *   tune.c          the subcommand
 *   tune-search.c   a problem: makes a child search, again without a kernel that ended the child
 *   tune-serve.c    the child: gemmcl_tuning_search()
 *   tune-report.c   the table, and JSON
 */

/**
 * TuneCandidate:
 * @name: its name for gemmcl_plan_new()
 * @ms: the median of its last runs; NaN if it was not timed
 * @why: (nullable): the reason why it left; %NULL if it was timed to the end
 * @faulty: it left because of a fault, not because it was slow
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
 * @rules: (nullable): the rules' choice, or else the first candidate that works; %NULL: none works
 * @best: (nullable): the fastest, which is @rules unless another is faster by more than the noise;
 *   %NULL: there was no time to compare, or none works
 * @gain: the speed of @best relative to @rules; NaN if one of them is %NULL
 * @seconds: the duration of the search
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
 * @child: a child with the command "tune"
 * @seconds: the approximate time limit
 * @banned: (element-type utf8 utf8) (inout): rows of the table that ended a child when they were
 *   tried, and the reasons. They are left out; new ones are added
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
 *   {"m": M, "n": N, "k": K, "seconds": S, "kernels": [NAME ...]}
 *
 * Without "kernels" the candidates are the rules' choice and the next one. Each candidate is
 * announced before it is tried and before each of its turns. The last answer is the result:
 *
 *   {"step": "try" | "turn", "kernel": NAME, "ms": TIME}
 *   {"step": "tried", "kernel": NAME, "ms": TIME, "result": "ok"}
 *   {"first": NAME, "best": NAME, "gain": FACTOR,
 *    "candidates": [{"kernel": NAME, "ms": TIME, "why": TEXT, "faulty": BOOLEAN} ...]}
 *
 * "first" and "best" are null if there is none, and "ms" is null without a time.
 */
gboolean tune_serve (GError **error);

/**
 * TuneReport:
 * @out: the stream for the table; borrowed
 * @info: the device; borrowed
 * @columns: of the table
 * @json: a list with an object for each problem; owned
 *
 * The results of tune, as JSON and as a table that is printed row by row.
 */
typedef struct {
  FILE *out;
  const GemmclDeviceInfo *info;
  ToolColumn columns[TUNE_N_COLUMNS];
  json_t *json;
} TuneReport;

/** tune_report_start: Sets the columns and prints the head. @problems: (element-type GemmclGemm):
 * all problems. */
void tune_report_start (TuneReport *self, const GArray *problems);

/** tune_report_add: Prints and keeps a result. @stored: the best kernel was stored. */
void tune_report_add (TuneReport *self, const TuneSearch *search, gboolean stored);

/**
 * tune_report_list:
 * @out: the stream for the table
 * @entries: (element-type GemmclTuningEntry): the result of gemmcl_tuning_list()
 *
 * Prints the entries.
 *
 * Returns: (transfer full): the same as a list in JSON.
 */
json_t *tune_report_list (FILE *out, const GPtrArray *entries);
