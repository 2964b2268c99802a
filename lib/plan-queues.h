/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "plan-private.h"

/**
 * gemmcl_plan_choose_queue:
 * @run: what is to be enqueued, by gemmcl_plan_submit_mixed()
 *
 * On a CPU what comes between two small kernels, of which one waits for the other, is as long as
 * they are: threads go to sleep and are woken. So runs that have nothing to do with one another
 * take turns in two queues, and the device goes from one to the next. All others are in the
 * context's queue, behind all that was submitted before.
 *
 * Returns: (transfer none): an in-order queue with profiling.
 */
cl_command_queue gemmcl_plan_choose_queue (GemmclPlan *self, const GemmclMixedRun *run);

/** gemmcl_plan_note_run: @done: of the run that was enqueued in the queue that was chosen last */
void gemmcl_plan_note_run (GemmclPlan *self, cl_event done);

/** gemmcl_plan_clear_queues: Drops what the above has. */
void gemmcl_plan_clear_queues (GemmclPlan *self);
