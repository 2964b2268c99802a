/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Plans.
 */
#pragma once

#include "plan/body.h"

struct _GemmclPlan {
  GObject parent;

  GCancellable *cancellable; /* of the search; NULL: none; set before the plan is used */

  GMutex lock;                       /* guards the following fields */
  GCond changed;                     /* of the fields of the search */
  GemmclBody *body;                  /* constant if there is no search */
  cl_command_queue upload, download; /* for a device with memory of its own; NULL: not needed yet */
  GPtrArray *slots; /* slots of run.c, as many as there were runs in flight at once; owned */
  guint oldest;     /* index of the slot whose run is the oldest */
  GemmclPlanStats stats;
  gdouble ns_per_flop; /* of the last run with a time; 0 before it */

  /* The search for a faster kernel: auto-tune.c */
  GemmclTuningState tuning;
  GemmclTuningResult *result; /* constant once set, like why */
  gchar *why;
  gboolean searches; /* its thread has not ended; the operands' sources are kept for it */
  gboolean claimed;  /* no operand may be prepared */
  guint n_prepared;  /* operands that are being prepared, or are neither used nor freed */
};

/* run.c */

void gemmcl_plan_init_runs (GemmclPlan *self);

/** Waits for all runs that were submitted before. */
void gemmcl_plan_wait (GemmclPlan *self);
