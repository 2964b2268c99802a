/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Runs on host memory: A to the device, the run, D back. Each run that is under way has buffers of
 * its own, which the next one takes over. What the caller has on the device needs none of that: the
 * run works in its buffers.
 *
 * A device with memory of its own copies while it computes, if it is given three queues and memory
 * that it can read by itself:
 *
 *     upload     A: caller's -> pinned (by the CPU, in submit) -> device
 *     context's                                                   device: kernels
 *     download                                                    device -> pinned -> caller's: D
 *                                                        (the last by the CPU, in finish)
 *
 * Where device and host share memory there is one queue, and no detour; and where it pays there is
 * no copy: the run's buffers are the caller's memory.
 */

#include "context.h"
#include "plan-pending.h"
#include "plan-planes.h"
#include "plan-queues.h"
#include "plan-rows.h"
#include "plan-transfer.h"

/* Bytes from the start of the device's buffer within which a run's elements lie. */
static gsize
get_used (GemmclPlan *self, GemmclOperand which, const GemmclPendingRun *run)
{
  const GemmclStored stored = gemmcl_gemm_get_stored (&self->gemm, which, TRUE);
  const gsize whole = gemmcl_plan_get_operand_bytes (self, which, self->gemm.m);

  if (stored.by_column)
    return whole * run->batch;
  return whole * (run->batch - 1) + gemmcl_plan_get_operand_bytes (self, which, run->m);
}

void
gemmcl_plan_reset_output (GemmclPlan *self)
{
  g_autoptr (GMutexLocker) locker = NULL;

  g_return_if_fail (GEMMCL_IS_PLAN (self));
  locker = g_mutex_locker_new (&self->lock);
  self->last_run = NULL;
}

/* Whether what D holds before is C. */
static gboolean
adds_output (GemmclPlan *self)
{
  return self->gemm.addend == GEMMCL_ADDEND_OUTPUT && self->beta != 0.0f;
}

/* Makes @d the output that was, where the caller has that. */
static gboolean
bring_host_output (GemmclPlan *self, GemmclPendingRun *run, const GemmclHostData *previous,
                   cl_mem d, GError **error)
{
  const GemmclTransfer transfer = {
      .plan = self,
      .which = GEMMCL_OPERAND_D,
      .to_device = TRUE,
      .m = run->m,
      .batch = run->batch,
      .host = previous,
      .queue = run->chain.queue,
      .buffer = d,
  };

  return gemmcl_transfer (&transfer, error);
}

/* Makes @d, which is what @run writes, what the last run's was. */
static gboolean
bring_output (GemmclPlan *self, GemmclPendingRun *run, const GemmclMixedRun *mixed, cl_mem d,
              GError **error)
{
  const cl_command_queue queue = run->chain.queue;
  const gsize size = get_used (self, GEMMCL_OPERAND_D, run);
  const guchar zero = 0;
  cl_mem last = mixed->previous;

  if (mixed->host_previous != NULL && !gemmcl_plan_has_own_memory (self))
    return bring_host_output (self, run, mixed->host_previous, d, error);
  if (!mixed->device_d)
    last = self->last_run ? self->last_run->d : NULL;
  if (last == NULL)
    return gemmcl_cl_check (
        clEnqueueFillBuffer (queue, d, &zero, sizeof (zero), 0, size, 0, NULL, NULL), error,
        "clEnqueueFillBuffer for D");
  return last == d ||
         gemmcl_cl_check (clEnqueueCopyBuffer (queue, last, d, 0, 0, size, 0, NULL, NULL), error,
                          "clEnqueueCopyBuffer for D");
}

static gboolean
upload_pinned (GemmclPlan *self, GemmclPendingRun *run, GError **error)
{
  if (!gemmcl_cl_check (clEnqueueWriteBuffer (self->upload, run->a, CL_FALSE, 0,
                                              get_used (self, GEMMCL_OPERAND_A, run),
                                              run->pinned_a.data, 0, NULL,
                                              &run->before[run->chain.n_wait]),
                        error, "clEnqueueWriteBuffer for A"))
    return FALSE;
  run->chain.n_wait++;
  return gemmcl_cl_check (clFlush (self->upload), error, "clFlush for A");
}

static GemmclTransfer
describe (GemmclPlan *self, GemmclPendingRun *run, GemmclOperand which,
          const GemmclDeviceData *device)
{
  const gboolean is_a = which == GEMMCL_OPERAND_A;

  return (GemmclTransfer){
      .plan = self,
      .which = which,
      .to_device = is_a,
      .m = run->m,
      .batch = run->batch,
      .host = is_a ? run->host_a : run->host_d,
      .device = device,
      .queue = run->chain.queue,
      .buffer = is_a ? run->a : run->d,
      .done = is_a ? NULL : &run->done,
  };
}

static gboolean
upload (GemmclPlan *self, GemmclPendingRun *run, const GemmclMixedRun *mixed, GError **error)
{
  GemmclTransfer transfer = describe (self, run, GEMMCL_OPERAND_A, mixed->device_a);

  if (self->alpha == 0.0f)
    return TRUE;
  if (mixed->planes_a != NULL)
    return gemmcl_plan_gather (self, mixed->planes_a, run->batch, run->a, &run->chain, error);
  if (mixed->device_a == NULL)
    transfer.staged = run->pinned_a.data;
  return gemmcl_transfer (&transfer, error) &&
         (transfer.staged == NULL || upload_pinned (self, run, error));
}

/* To map is what makes the host's memory hold what the device wrote. That it is not mapped any more
 * changes nothing there, and nothing else of it is then under way. */
static gboolean
download_shared (GemmclPlan *self, GemmclPendingRun *run, GError **error)
{
  const cl_command_queue queue = run->chain.queue;
  cl_int status;
  gpointer data =
      clEnqueueMapBuffer (queue, run->shared_d, CL_FALSE, CL_MAP_READ, 0,
                          get_used (self, GEMMCL_OPERAND_D, run), 0, NULL, NULL, &status);

  return gemmcl_cl_check (status, error, "clEnqueueMapBuffer for D") &&
         gemmcl_cl_check (clEnqueueUnmapMemObject (queue, run->shared_d, data, 0, NULL, &run->done),
                          error, "clEnqueueUnmapMemObject for D") &&
         gemmcl_cl_check (clFlush (queue), error, "clFlush");
}

/* What is left to do once D is in pinned memory is done by finish(). */
static gboolean
download_pinned (GemmclPlan *self, GemmclPendingRun *run, GError **error)
{
  return gemmcl_cl_check (clFlush (run->chain.queue), error, "clFlush") &&
         gemmcl_cl_check (clEnqueueReadBuffer (self->download, run->d, CL_FALSE, 0,
                                               get_used (self, GEMMCL_OPERAND_D, run),
                                               run->pinned_d.data, 1, &run->chain.last, &run->done),
                          error, "clEnqueueReadBuffer for D") &&
         gemmcl_cl_check (clFlush (self->download), error, "clFlush for D");
}

/* To where they go, or to pinned memory, from which finish() takes them. */
static gboolean
download_rows (GemmclPlan *self, GemmclPendingRun *run, GError **error)
{
  const gboolean pinned = run->pinned_rows.data != NULL;
  const cl_command_queue queue = pinned ? self->download : run->chain.queue;
  const gsize all = gemmcl_plan_get_rows_bytes (self, self->gemm.m);
  const gsize used = gemmcl_plan_get_rows_bytes (self, run->m);

  if (pinned && !gemmcl_cl_check (clFlush (run->chain.queue), error, "clFlush"))
    return FALSE;
  for (gsize i = 0; i < run->batch; i++) {
    gpointer to = pinned ? run->pinned_rows.data + i * all : (guchar *)run->host_rows[i];

    if (!gemmcl_cl_check (clEnqueueReadBuffer (queue, run->rows, CL_FALSE, i * all, used, to, 1,
                                               &run->chain.last,
                                               i + 1 < run->batch ? NULL : &run->rows_done),
                          error, "clEnqueueReadBuffer for the row outputs"))
      return FALSE;
  }
  return gemmcl_cl_check (clFlush (queue), error, "clFlush for the row outputs");
}

static gboolean
download (GemmclPlan *self, GemmclPendingRun *run, const GemmclDeviceData *device, GError **error)
{
  const GemmclTransfer transfer = describe (self, run, GEMMCL_OPERAND_D, device);

  if (run->shared_d != NULL && device == NULL)
    return download_shared (self, run, error);
  if (run->pinned_d.data != NULL && device == NULL)
    return download_pinned (self, run, error);
  if (run->shared_d != NULL) {
    clRetainEvent (run->chain.last);
    run->done = run->chain.last;
  } else if (!gemmcl_transfer (&transfer, error)) {
    return FALSE;
  }
  return gemmcl_cl_check (clFlush (run->chain.queue), error, "clFlush");
}

/* The caller's buffers, or the host's memory, to work in; in place of what is not NULL then. */
static gboolean
choose_buffers (GemmclPlan *self, GemmclPendingRun *run, const GemmclMixedRun *mixed,
                GError **error)
{
  const GemmclTransfer a = describe (self, run, GEMMCL_OPERAND_A, mixed->device_a);
  const GemmclTransfer d = describe (self, run, GEMMCL_OPERAND_D, mixed->device_d);

  if (self->alpha != 0.0f && mixed->planes_a == NULL)
    run->shared_a = gemmcl_transfer_share (&a);
  /* A result that the next run may want stays on the device, unless it is told where it is. */
  if (mixed->device_d != NULL || mixed->keeps_d || self->gemm.addend != GEMMCL_ADDEND_OUTPUT)
    run->shared_d = gemmcl_transfer_share (&d);
  return (run->shared_a != NULL ||
          gemmcl_pending_run_make_room (self, run, GEMMCL_OPERAND_A, run->host_a != NULL, error)) &&
         (run->shared_d != NULL ||
          gemmcl_pending_run_make_room (self, run, GEMMCL_OPERAND_D, run->host_d != NULL, error)) &&
         gemmcl_pending_run_make_room_for_rows (self, run, error);
}

/* What stands before the kernels. Where there is nothing they wait for themselves. */
static gboolean
enqueue_copies (GemmclPlan *self, GemmclPendingRun *run, const GemmclMixedRun *mixed, cl_mem d,
                GError **error)
{
  if (mixed->n_wait > 0 &&
      !gemmcl_cl_check (clEnqueueMarkerWithWaitList (run->chain.queue, mixed->n_wait, mixed->wait,
                                                     &run->before[0]),
                        error, "clEnqueueMarkerWithWaitList"))
    return FALSE;
  run->chain.n_wait = mixed->n_wait > 0;
  run->chain.wait = run->before;
  return (!adds_output (self) || bring_output (self, run, mixed, d, error)) &&
         (run->shared_a != NULL || (upload (self, run, mixed, error) &&
                                    gemmcl_hold_release (&run->hold, run->chain.queue, error)));
}

/* Acquires what A is shared in, if it is. */
static gboolean
take_hold (GemmclPlan *self, GemmclPendingRun *run, const GemmclMixedRun *mixed, GError **error)
{
  const GemmclImage *image = self->gemm.a_image;
  const guint n_planes = image ? gemmcl_pixel_format_get_n_planes (image->format) : 0;

  return self->alpha == 0.0f ||
         gemmcl_hold_acquire (&run->hold, mixed, run->batch, n_planes, run->chain.queue, error);
}

static gboolean
enqueue_all (GemmclPlan *self, GemmclPendingRun *run, const GemmclMixedRun *mixed, GError **error)
{
  GemmclOperands operands = {.tight = TRUE};

  if (!choose_buffers (self, run, mixed, error) || !take_hold (self, run, mixed, error))
    return FALSE;
  operands.a = run->shared_a ? run->shared_a : run->a;
  operands.d = run->shared_d ? run->shared_d : run->d;
  operands.rows = run->rows;
  if (run->shared_a != NULL && !adds_output (self)) {
    run->chain.n_wait = mixed->n_wait;
    run->chain.wait = mixed->wait;
  } else if (!enqueue_copies (self, run, mixed, operands.d, error)) {
    return FALSE;
  }
  return gemmcl_plan_enqueue_locked (self, &operands, run->m, run->batch, &run->chain, error) &&
         gemmcl_hold_release (&run->hold, run->chain.queue, error) &&
         (self->rows == NULL || download_rows (self, run, error)) &&
         download (self, run, mixed->device_d, error);
}

/* After a failure: what was enqueued before it uses the caller's memory. */
static void
give_up (GemmclPlan *self, GemmclPendingRun *run)
{
  const cl_command_queue queues[] = {self->upload, run->chain.queue, self->download};

  gemmcl_hold_release (&run->hold, run->chain.queue, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (queues); i++)
    if (queues[i] != NULL)
      clFinish (queues[i]);
  gemmcl_pending_run_release (run);
  run->busy = FALSE;
}

/* Some drivers never come to the end of a command that is to wait for one that failed already. */
static gboolean
check_wait (const GemmclMixedRun *run, GError **error)
{
  for (guint i = 0; i < run->n_wait; i++) {
    cl_int status = CL_COMPLETE;

    clGetEventInfo (run->wait[i], CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof (status), &status,
                    NULL);
    if (status < CL_COMPLETE)
      return gemmcl_cl_check (CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, error, "A run");
  }
  return TRUE;
}

GemmclPendingRun *
gemmcl_plan_submit_mixed (GemmclPlan *self, const GemmclMixedRun *run, cl_event *done,
                          GError **error)
{
  g_autoptr (GMutexLocker) locker = NULL;
  GemmclPendingRun *pending;
  gsize m, batch;

  g_return_val_if_fail (GEMMCL_IS_PLAN (self), NULL);
  g_return_val_if_fail (run != NULL && !run->host_d != !run->device_d, NULL);
  g_return_val_if_fail (!!run->host_a + !!run->device_a + !!run->planes_a <= 1, NULL);
  g_return_val_if_fail (!run->acquire == !run->release, NULL);
  g_return_val_if_fail (!run->rows == !self->rows, NULL);

  m = run->m;
  batch = run->batch;
  if (!gemmcl_plan_check_run (self, &m, &batch, error) || !check_wait (run, error) ||
      (run->planes_a && !gemmcl_plan_check_planes (self, run->planes_a, batch, error)))
    return NULL;
  locker = g_mutex_locker_new (&self->lock);
  pending = gemmcl_plan_take_run (self);
  pending->busy = TRUE;
  pending->m = m;
  pending->batch = batch;
  pending->host_a = run->host_a;
  pending->host_d = run->host_d;
  pending->host_rows = run->rows;
  pending->chain = (GemmclChain){.queue = gemmcl_plan_choose_queue (self, run)};
  if (!enqueue_all (self, pending, run, error)) {
    give_up (self, pending);
    return NULL;
  }
  self->last_run = run->host_d && !pending->shared_d ? pending : NULL;
  gemmcl_plan_note_run (self, pending->done);
  if (done != NULL) {
    clRetainEvent (pending->done);
    *done = pending->done;
  }
  return pending;
}

GemmclPendingRun *
gemmcl_plan_submit (GemmclPlan *self, const GemmclHostRun *run, GError **error)
{
  g_return_val_if_fail (run != NULL, NULL);

  return gemmcl_plan_submit_mixed (
      self,
      &(GemmclMixedRun){
          .m = run->m, .batch = run->batch, .host_a = run->a, .host_d = run->d, .rows = run->rows},
      NULL, error);
}

/* Nanoseconds from the first kernel's start to the last one's end, less what was counted already of
 * runs that overlap; 0 if the device does not say. */
static guint64
kernel_time (GemmclPlan *self, const GemmclChain *chain)
{
  cl_ulong start = 0, end = 0;

  if (clGetEventProfilingInfo (chain->first, CL_PROFILING_COMMAND_START, sizeof (start), &start,
                               NULL) != CL_SUCCESS ||
      clGetEventProfilingInfo (chain->last, CL_PROFILING_COMMAND_END, sizeof (end), &end, NULL) !=
          CL_SUCCESS)
    return 0;
  start = MAX (start, self->counted_until);
  self->counted_until = MAX (end, self->counted_until);
  return end > start ? end - start : 0;
}

static void
count_run (GemmclPlan *self, const GemmclPendingRun *run)
{
  GemmclPlanStats *stats = &self->stats;

  stats->runs++;
  stats->kernel_ns += kernel_time (self, &run->chain);
  stats->flops += 2.0 * run->m * self->gemm.n * self->gemm.k * run->batch;
  if (run->host_a != NULL)
    stats->bytes_in += gemmcl_plan_get_operand_bytes (self, GEMMCL_OPERAND_A, run->m) * run->batch;
  if (run->host_d != NULL)
    stats->bytes_out += gemmcl_plan_get_operand_bytes (self, GEMMCL_OPERAND_D, run->m) * run->batch;
}

gboolean
gemmcl_plan_finish (GemmclPlan *self, GemmclPendingRun *run, GError **error)
{
  GemmclTransfer transfer;
  gboolean ok;

  g_return_val_if_fail (GEMMCL_IS_PLAN (self), FALSE);
  g_return_val_if_fail (run != NULL && run->busy, FALSE);

  /* Without the lock, so that another run can be submitted meanwhile. */
  ok = gemmcl_cl_check (gemmcl_pending_run_wait (run), error, "clWaitForEvents after %s",
                        self->row->name);
  for (gsize i = 0; ok && run->pinned_rows.data != NULL && i < run->batch; i++)
    memcpy (run->host_rows[i],
            run->pinned_rows.data + i * gemmcl_plan_get_rows_bytes (self, self->gemm.m),
            gemmcl_plan_get_rows_bytes (self, run->m));
  if (ok && run->host_d != NULL && run->shared_d == NULL && run->pinned_d.data != NULL) {
    transfer = describe (self, run, GEMMCL_OPERAND_D, NULL);
    transfer.staged = run->pinned_d.data;
    ok = gemmcl_transfer (&transfer, error);
  }
  g_mutex_lock (&self->lock);
  if (ok)
    count_run (self, run);
  gemmcl_pending_run_release (run);
  run->busy = FALSE;
  g_mutex_unlock (&self->lock);
  return ok;
}

gboolean
gemmcl_plan_run (GemmclPlan *self, const GemmclHostRun *run, GError **error)
{
  GemmclPendingRun *pending = gemmcl_plan_submit (self, run, error);

  return pending != NULL && gemmcl_plan_finish (self, pending, error);
}
