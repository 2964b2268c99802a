/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * PoCL compiles a kernel at its first launch. A new plan therefore launches the kernels of a run in
 * memory as large as a run's, but only a corner of each grid (see GemmclChain.warm_up). A failure
 * is only logged: smaller runs may have enough memory, and a lasting error fails the runs.
 */
#include "plan/plan.h"

static gboolean
enqueue (GemmclBody *self, GemmclChain *chain, GError **error)
{
  const gboolean has_row_outputs = self->problem.row_outputs != 0;
  g_auto (cl_mem) weights = gemmcl_body_warm_up_b (self, chain->queue, error);
  g_auto (cl_mem) a = weights ? gemmcl_body_create_copy (self, GEMMCL_OPERAND_A, error) : NULL;
  g_auto (cl_mem) d = a ? gemmcl_body_create_copy (self, GEMMCL_OPERAND_D, error) : NULL;
  g_auto (cl_mem) row_outputs = NULL;
  GemmclOperands operands;

  if (d == NULL || (has_row_outputs && !(row_outputs = gemmcl_body_create_copy (
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
  return (self->gather == NULL || gemmcl_body_warm_up_gather (self, a, chain, error)) &&
         gemmcl_body_enqueue_locked (self, &operands, chain, error);
}

void
gemmcl_body_warm_up (GemmclBody *self)
{
  g_autoptr (GPtrArray) events = gemmcl_events_new ();
  g_autoptr (GError) failure = NULL;
  g_auto (cl_command_queue) queue = NULL;
  GemmclChain chain = {.events = events, .warm_up = TRUE};

  if (self->device->type != GEMMCL_DEVICE_TYPE_CPU)
    return;
  chain.queue = queue = gemmcl_context_create_queue (self->context, 0, &failure);
  if (queue != NULL) {
    const gboolean enqueued = enqueue (self, &chain, &failure);

    gemmcl_cl_check (clFinish (queue), enqueued ? &failure : NULL, "clFinish after warming up");
  }
  if (failure != NULL)
    g_debug ("The first run compiles instead: %s", failure->message);
}
