/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "progress.h"
#include "tune-worker.h"

/**
 * TuneCandidate:
 * @name: as gemmcl_plan_new() takes it
 * @ms: the median of the runs that were made last; NaN before the first
 * @times: (element-type gdouble): the medians of the batches of the present round
 * @generation: of the worker that has it ready; 0: none
 * @spills: its build spills registers
 * @why: (nullable): why it is out of the race; %NULL as long as it is not
 * @faulty: it is out for something that it did wrong, and not for being slow
 */
typedef struct {
  gchar *name;
  gdouble ms;
  GArray *times;
  guint generation;
  gboolean spills;
  gchar *why;
  gboolean faulty;
} TuneCandidate;

/**
 * TuneSearch:
 * @gemm: the problem
 * @candidates: (element-type TuneCandidate): all, in the order of the rules
 * @rules: (nullable): the rules' choice, or the first of the others, in the rules' order, that
 * works; %NULL where none does
 * @best: (nullable): the fastest, which is @rules unless another is faster by more than the noise;
 *   %NULL where there was no time, or nothing works
 * @gain: how many times as fast as @rules @best is; NaN where one of the two lacks
 * @seconds: how long it took
 *
 * The search for the kernel that is fastest for a problem.
 */
typedef struct {
  GemmclGemm gemm;
  GPtrArray *candidates;
  TuneCandidate *rules;
  TuneCandidate *best;
  gdouble gain;
  gdouble seconds;
} TuneSearch;

/**
 * tune_search_new:
 * @names: as gemmcl_tuning_list_candidates() has them, the rules' choice first
 */
TuneSearch *tune_search_new (const GemmclGemm *gemm, const gchar *const *names);

void tune_search_free (TuneSearch *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TuneSearch, tune_search_free)

/**
 * tune_search_run:
 * @seconds: about how long it may take
 * @banned: (element-type utf8 utf8): kernels that lose the worker before they are ready, and why;
 *   those are not tried again, and more are added
 *
 * First each candidate is built and run once, its result checked; one that needs four times as long
 * as the best so far is out, and one that spills registers, if another works. Then come rounds in
 * which the candidates that are left take turns, and the slower half leaves; each round has twice
 * the turns of the one before. In the last one the rules' choice and two others take turns. So what
 * disturbs the device for a while hits all alike, and each other's turn is compared with the rules'
 * choice's turn beside it: the other is faster if it was so in three of four turns, and by 2 % in
 * half of them.
 *
 * Returns: %FALSE with %TUNE_ERROR_GIVEN_UP, %TUNE_ERROR_REFUSED (the problem is too large) or
 *   %TOOL_ERROR_INTERRUPTED; what was found before stands in @self also then.
 */
gboolean tune_search_run (TuneSearch *self, TuneWorker *worker, gdouble seconds, GHashTable *banned,
                          ToolProgress *progress, GError **error);
