/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The runs of a plan.
 */
#pragma once

#include "plan/kernel-plan.h"

/** Runs, their resources and statistics. Zeros at first. Use it from one thread at a time. */
typedef struct {
  GQueue slots; /* slots of runs.c, oldest run first, as many as were in flight at once; owned */
  cl_command_queue queue;            /* the context's, of the last runs; NULL before the first */
  cl_command_queue upload, download; /* for a device with memory of its own; NULL: not needed yet */
  GemmclContext *context;            /* of the last runs; not owned */
  gboolean failed;                   /* a run failed; its queues may fail all later ones */
  gboolean cut_short;                /* a run failed, in any queue, perhaps within a kernel */
  GemmclPlanStats stats;
  gdouble ns_per_flop; /* of the last run with a time; 0 before it */
} GemmclRuns;

/** All runs must be done. */
void gemmcl_runs_clear (GemmclRuns *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (GemmclRuns, gemmcl_runs_clear)

/** Does gemmcl_plan_submit(). @plan: of the same context in all runs; @run: as
 * gemmcl_data_check_run() accepts it */
gboolean gemmcl_runs_submit (GemmclRuns *self, GemmclKernelPlan *plan, const GemmclRun *run,
                             cl_event *first, cl_event *done, GError **error);

/** (transfer full): the last event of each run that may not be done, to wait for. */
GPtrArray *gemmcl_runs_get_events (GemmclRuns *self);

/** TRUE if all runs are done. */
gboolean gemmcl_runs_are_done (GemmclRuns *self);

GemmclPlanStats gemmcl_runs_get_stats (GemmclRuns *self);
