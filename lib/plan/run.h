/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The runs of a body.
 */
#pragma once

#include "plan/body.h"

/** Runs, their resources and statistics. Use it from one thread at a time. */
typedef struct {
  GPtrArray *slots; /* slots of run.c, as many as there were runs in flight at once; owned */
  guint oldest;     /* index of the slot whose run is the oldest */
  cl_command_queue upload, download; /* for a device with memory of its own; NULL: not needed yet */
  GemmclPlanStats stats;
  gdouble ns_per_flop; /* of the last run with a time; 0 before it */
} GemmclRuns;

/** @self: filled with zeros */
void gemmcl_runs_init (GemmclRuns *self);

/** All runs must be done. */
void gemmcl_runs_clear (GemmclRuns *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (GemmclRuns, gemmcl_runs_clear)

/** Does gemmcl_plan_submit(). @run: valid, with its m and batch; @body: of the same context in all
 * runs */
gboolean gemmcl_runs_submit (GemmclRuns *self, GemmclBody *body, const GemmclRun *run,
                             cl_event *first, cl_event *done, GError **error);

/** (transfer full): the last event of each run that may not be done, to wait for. */
GPtrArray *gemmcl_runs_get_events (GemmclRuns *self);

GemmclPlanStats gemmcl_runs_get_stats (GemmclRuns *self);
