/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * PoCL compiles a kernel when it is launched for the first time. So that this is not in the first
 * run, a new plan launches all that a run would, in memory as large as a run's and of each grid
 * only a corner (see GemmclChain.warm_up): no work-item does anything but what it would do in a
 * run.
 */
#include "plan/plan.h"

static gboolean
enqueue (GemmclPlan *self, GemmclChain *chain, GError **error)
{
  const gboolean has_row_outputs = self->problem.row_outputs != 0;
  g_auto (cl_mem) weights = gemmcl_plan_warm_up_b (self, chain->queue, error);
  g_auto (cl_mem) a = weights ? gemmcl_plan_create_copy (self, GEMMCL_OPERAND_A, error) : NULL;
  g_auto (cl_mem) d = a ? gemmcl_plan_create_copy (self, GEMMCL_OPERAND_D, error) : NULL;
  g_auto (cl_mem) row_outputs = NULL;
  GemmclOperands operands;

  if (d == NULL || (has_row_outputs && !(row_outputs = gemmcl_plan_create_copy (
                                             self, GEMMCL_OPERAND_ROW_OUTPUTS, error))))
    return FALSE;
  operands = (GemmclOperands){
      .m = self->gemm.m,
      .batch = self->gemm.batch,
      .a = a,
      .d = d,
      .row_outputs = row_outputs,
      .weights = weights,
      .previous = d,
      .tight = TRUE,
      .alpha = 1,
  };
  return (self->gather == NULL || gemmcl_plan_warm_up_gather (self, a, chain, error)) &&
         gemmcl_plan_enqueue_locked (self, &operands, chain, error);
}

gboolean
gemmcl_plan_warm_up (GemmclPlan *self, GError **error)
{
  g_autoptr (GPtrArray) events = gemmcl_events_new ();
  g_autoptr (GError) failure = NULL;
  g_auto (cl_command_queue) queue = NULL;
  GemmclChain chain = {.events = events, .warm_up = TRUE};

  if (self->device->type != GEMMCL_DEVICE_TYPE_CPU)
    return TRUE;
  chain.queue = queue = gemmcl_context_create_queue (self->context, 0, error);
  if (queue == NULL)
    return FALSE;
  enqueue (self, &chain, &failure);
  /* A plan may be larger than all of its runs. */
  if (failure != NULL && !g_error_matches (failure, GEMMCL_ERROR, GEMMCL_ERROR_TOO_LARGE)) {
    clFinish (queue);
    g_propagate_error (error, g_steal_pointer (&failure));
    return FALSE;
  }
  return gemmcl_cl_check (clFinish (queue), error, "clFinish after warming up");
}
