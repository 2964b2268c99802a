/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* clCreateCommandQueue: its successor does not exist on OpenCL 1.2 devices. */
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include "plan-queues.h"

#include "context.h"

/* Larger ones, of a few milliseconds, gain nothing, and two at once want twice the cache. */
#define SMALL_FLOPS (1 << 29)

/* Whether it neither reads what another run writes nor writes what another uses. */
static gboolean
is_independent (GemmclPlan *self, const GemmclMixedRun *run)
{
  const gboolean shares_memory =
      self->features || self->bytes || self->logits || self->image_a || self->parts;
  const gboolean adds_output = self->gemm.addend == GEMMCL_ADDEND_OUTPUT && self->beta != 0.0f;

  return !shares_memory && !adds_output && run->planes_a == NULL && run->acquire == NULL;
}

static gboolean
is_worth_it (GemmclPlan *self, const GemmclMixedRun *run)
{
  const GemmclGemm *gemm = &self->gemm;
  const gdouble m = run->m ? run->m : gemm->m, batch = run->batch ? run->batch : gemm->batch;

  return gemmcl_context_get_device_info (self->context)->type == GEMMCL_DEVICE_TYPE_CPU &&
         2.0 * m * batch * gemm->n * gemm->k <= SMALL_FLOPS;
}

static gboolean
open_second_queue (GemmclPlan *self)
{
  if (self->beside == NULL)
    self->beside = clCreateCommandQueue (gemmcl_context_get_cl_context (self->context),
                                         gemmcl_context_get_cl_device (self->context),
                                         CL_QUEUE_PROFILING_ENABLE, NULL);
  return self->beside != NULL;
}

/* What follows in @queue comes after @end. What failed is not waited for: with some drivers that
 * takes forever. */
static void
order (cl_command_queue queue, cl_event end)
{
  cl_int status = CL_COMPLETE;

  if (end != NULL)
    clGetEventInfo (end, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof (status), &status, NULL);
  if (status > CL_COMPLETE)
    clEnqueueBarrierWithWaitList (queue, 1, &end, NULL);
}

cl_command_queue
gemmcl_plan_choose_queue (GemmclPlan *self, const GemmclMixedRun *run)
{
  const cl_command_queue queue = gemmcl_context_get_cl_queue (self->context);
  const gboolean turns =
      is_independent (self, run) && is_worth_it (self, run) && open_second_queue (self);

  if (turns != self->takes_turns && self->beside != NULL) {
    order (queue, self->ends[1]);
    order (self->beside, self->ends[0]);
  }
  self->takes_turns = turns;
  self->is_beside = turns && !self->is_beside;
  return self->is_beside ? self->beside : queue;
}

void
gemmcl_plan_note_run (GemmclPlan *self, cl_event done)
{
  cl_event *end = &self->ends[self->is_beside];

  clRetainEvent (done);
  g_clear_pointer (end, clReleaseEvent);
  *end = done;
}

void
gemmcl_plan_clear_queues (GemmclPlan *self)
{
  for (guint i = 0; i < G_N_ELEMENTS (self->ends); i++)
    g_clear_pointer (&self->ends[i], clReleaseEvent);
  g_clear_pointer (&self->beside, clReleaseCommandQueue);
}
