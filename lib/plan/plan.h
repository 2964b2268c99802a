/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The fields of a plan.
 */
#pragma once

#include "gemmcl-search.h"
#include "plan/runs.h"

struct _GemmclPlan {
  GObject parent;

  GemmclContext *context;    /* constant */
  GCancellable *cancellable; /* of the search; NULL: none; set before the plan is used */

  GMutex lock;               /* guards the following fields */
  GCond changed;             /* of the fields of the search */
  GemmclKernelPlan *current; /* constant if there is no search */
  GemmclRuns runs;
  GemmclKernelPlan *inlined; /* current's counterpart on the inline device; NULL: none; constant */
  GemmclRuns inline_runs;
  cl_command_queue inline_queue; /* its own, so that no other thread runs the plan's commands */

  /* The search for a faster kernel, of auto-tune.c */
  GemmclTuningState tuning;
  GemmclTuningResult *result; /* constant once set, like why */
  gchar *why;
  gboolean searches; /* its thread still runs; the operands' sources are kept for it */
  gboolean claimed;  /* the search is about to exchange current: gemmcl_plan_prepare() waits */
  guint n_prepared;  /* operands that are being prepared, or are neither used nor freed */
};

/** Prints a line about @self, a new plan for @gemm, if the environment has GEMMCL_VERBOSE=1. */
void gemmcl_plan_print (GemmclPlan *self, const GemmclGemm *gemm);

/** Waits for all runs that were submitted before. */
void gemmcl_plan_wait (GemmclPlan *self);
