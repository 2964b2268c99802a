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
 *                                                                   (the last by the CPU, in
 * finish)
 *
 * Where device and host share memory there is one queue, and no detour; and where it pays there is
 * no copy: the run's buffers are the caller's memory.
 */

/* clCreateCommandQueue: its successor does not exist on OpenCL 1.2 devices. */
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include "context.h"
#include "plan-hold.h"
#include "plan-planes.h"
#include "plan-rows.h"
#include "plan-transfer.h"

/* Memory of the host that the device copies from and to by itself. */
typedef struct {
  cl_mem buffer;
  guchar *data;
} Pinned;

struct _GemmclPendingRun {
  gboolean busy;
  cl_mem a, d, rows;
  Pinned pinned_a, pinned_d, pinned_rows;

  /* Of this run. */
  gsize m, batch;
  const GemmclHostData *host_a, *host_d; /* NULL: on the device */
  gfloat *const *host_rows;
  GemmclChain chain;
  cl_event before[2]; /* what the first kernel waits for: commands of its own queue, and A */
  cl_event done, rows_done;
  cl_mem shared_a, shared_d; /* the caller's memory, in place of a and d */
  GemmclHold hold;           /* of objects that others use, too */
};

static gboolean
has_own_memory (GemmclPlan *self)
{
  return !gemmcl_context_get_device_info (self->context)->host_unified;
}

static void
release_run (GemmclPendingRun *run)
{
  g_clear_pointer (&run->shared_a, clReleaseMemObject);
  g_clear_pointer (&run->shared_d, clReleaseMemObject);
  gemmcl_hold_clear (&run->hold);
  gemmcl_chain_clear (&run->chain);
  for (guint i = 0; i < G_N_ELEMENTS (run->before); i++)
    g_clear_pointer (&run->before[i], clReleaseEvent);
  g_clear_pointer (&run->done, clReleaseEvent);
  g_clear_pointer (&run->rows_done, clReleaseEvent);
}

/* For all that leaves by queues of its own. One by one: to wait for several may end when the first
 * of them fails, and the others still use memory. */
static cl_int
wait_for (const GemmclPendingRun *run)
{
  const cl_event events[] = {run->done, run->rows_done, run->hold.released};
  cl_int status = CL_SUCCESS;

  for (guint i = 0; i < G_N_ELEMENTS (events); i++)
    if (events[i] != NULL) {
      const cl_int found = clWaitForEvents (1, &events[i]);
      status = status == CL_SUCCESS ? found : status;
    }
  return status;
}

static void
pinned_clear (Pinned *self, cl_command_queue queue)
{
  if (self->data != NULL)
    clEnqueueUnmapMemObject (queue, self->buffer, self->data, 0, NULL, NULL);
  g_clear_pointer (&self->buffer, clReleaseMemObject);
}

static void
pending_run_free (GemmclPlan *self, GemmclPendingRun *run)
{
  const cl_command_queue queue = gemmcl_context_get_cl_queue (self->context);

  if (run->busy)
    wait_for (run);
  release_run (run);
  pinned_clear (&run->pinned_a, queue);
  pinned_clear (&run->pinned_d, queue);
  pinned_clear (&run->pinned_rows, queue);
  g_clear_pointer (&run->rows, clReleaseMemObject);
  g_clear_pointer (&run->a, clReleaseMemObject);
  g_clear_pointer (&run->d, clReleaseMemObject);
  g_free (run);
}

void
gemmcl_plan_clear_host (GemmclPlan *self)
{
  for (guint i = 0; self->host_runs != NULL && i < self->host_runs->len; i++)
    pending_run_free (self, g_ptr_array_index (self->host_runs, i));
  g_clear_pointer (&self->host_runs, g_ptr_array_unref);
  g_clear_pointer (&self->gather, clReleaseKernel);
  g_clear_pointer (&self->upload, clReleaseCommandQueue);
  g_clear_pointer (&self->download, clReleaseCommandQueue);
}

/* Bytes of all that the plan has room for; G_MAXSIZE for too many. */
static gsize
get_room (GemmclPlan *self, GemmclOperand which)
{
  gsize size;

  if (!g_size_checked_mul (&size, gemmcl_plan_get_operand_bytes (self, which, self->gemm.m),
                           self->gemm.batch))
    size = G_MAXSIZE;
  return size;
}

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

static gboolean
pin (GemmclPlan *self, gsize size, Pinned *pinned, GError **error)
{
  const cl_context context = gemmcl_context_get_cl_context (self->context);
  const cl_command_queue queue = gemmcl_context_get_cl_queue (self->context);
  cl_int status;

  pinned->buffer =
      clCreateBuffer (context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, size, NULL, &status);
  if (status == CL_SUCCESS)
    pinned->data = clEnqueueMapBuffer (queue, pinned->buffer, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE,
                                       0, size, 0, NULL, NULL, &status);
  return gemmcl_cl_check (status, error, "Pinning %" G_GSIZE_FORMAT " bytes of memory", size);
}

static gboolean
open_queue (GemmclPlan *self, cl_command_queue *queue, GError **error)
{
  cl_int status = CL_SUCCESS;

  if (*queue == NULL)
    *queue = clCreateCommandQueue (gemmcl_context_get_cl_context (self->context),
                                   gemmcl_context_get_cl_device (self->context), 0, &status);
  return gemmcl_cl_check (status, error, "clCreateCommandQueue");
}

/* The run's own A or D, and where the host is involved what the copies take. */
static gboolean
make_room (GemmclPlan *self, GemmclPendingRun *run, GemmclOperand which, gboolean host,
           GError **error)
{
  const gboolean is_a = which == GEMMCL_OPERAND_A;
  cl_mem *buffer = is_a ? &run->a : &run->d;
  Pinned *pinned = is_a ? &run->pinned_a : &run->pinned_d;

  if (*buffer == NULL)
    *buffer = gemmcl_context_create_buffer (self->context, get_room (self, which), is_a ? "A" : "D",
                                            error);
  if (*buffer == NULL)
    return FALSE;
  return !host || !has_own_memory (self) || pinned->data != NULL ||
         (open_queue (self, is_a ? &self->upload : &self->download, error) &&
          pin (self, get_room (self, which), pinned, error));
}

/* The same for the row outputs. */
static gboolean
make_room_for_rows (GemmclPlan *self, GemmclPendingRun *run, GError **error)
{
  gsize size;

  if (self->rows == NULL || run->rows != NULL)
    return TRUE;
  if (!g_size_checked_mul (&size, gemmcl_plan_get_rows_bytes (self, self->gemm.m),
                           self->gemm.batch))
    size = G_MAXSIZE;
  run->rows = gemmcl_context_create_buffer (self->context, size, "the row outputs", error);
  return run->rows != NULL &&
         (!has_own_memory (self) || (open_queue (self, &self->download, error) &&
                                     pin (self, size, &run->pinned_rows, error)));
}

/* One that is not busy, or a new one. */
static GemmclPendingRun *
take_run (GemmclPlan *self)
{
  GemmclPendingRun *run;

  if (self->host_runs == NULL)
    self->host_runs = g_ptr_array_new ();
  for (guint i = 0; i < self->host_runs->len; i++) {
    run = g_ptr_array_index (self->host_runs, i);
    if (!run->busy)
      return run;
  }
  run = g_new0 (GemmclPendingRun, 1);
  g_ptr_array_add (self->host_runs, run);
  return run;
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

/* Makes @d, which is what @run writes, what the last run's was. */
static gboolean
bring_output (GemmclPlan *self, GemmclPendingRun *run, const GemmclMixedRun *mixed, cl_mem d,
              GError **error)
{
  const cl_command_queue queue = run->chain.queue;
  const gsize size = get_used (self, GEMMCL_OPERAND_D, run);
  const guchar zero = 0;
  cl_mem last = mixed->previous;

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
  /* A result that the next run may want stays on the device. */
  if (mixed->device_d != NULL || self->gemm.addend != GEMMCL_ADDEND_OUTPUT)
    run->shared_d = gemmcl_transfer_share (&d);
  return (run->shared_a != NULL ||
          make_room (self, run, GEMMCL_OPERAND_A, run->host_a != NULL, error)) &&
         (run->shared_d != NULL ||
          make_room (self, run, GEMMCL_OPERAND_D, run->host_d != NULL, error)) &&
         make_room_for_rows (self, run, error);
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
  release_run (run);
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
  pending = take_run (self);
  pending->busy = TRUE;
  pending->m = m;
  pending->batch = batch;
  pending->host_a = run->host_a;
  pending->host_d = run->host_d;
  pending->host_rows = run->rows;
  pending->chain = (GemmclChain){.queue = gemmcl_context_get_cl_queue (self->context)};
  if (!enqueue_all (self, pending, run, error)) {
    give_up (self, pending);
    return NULL;
  }
  self->last_run = run->host_d ? pending : NULL;
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

/* Nanoseconds from the first kernel's start to the last one's end; 0 if the device does not say. */
static guint64
kernel_time (const GemmclChain *chain)
{
  cl_ulong start = 0, end = 0;

  if (clGetEventProfilingInfo (chain->first, CL_PROFILING_COMMAND_START, sizeof (start), &start,
                               NULL) != CL_SUCCESS ||
      clGetEventProfilingInfo (chain->last, CL_PROFILING_COMMAND_END, sizeof (end), &end, NULL) !=
          CL_SUCCESS)
    return 0;
  return end > start ? end - start : 0;
}

static void
count_run (GemmclPlan *self, const GemmclPendingRun *run)
{
  GemmclPlanStats *stats = &self->stats;

  stats->runs++;
  stats->kernel_ns += kernel_time (&run->chain);
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
  ok = gemmcl_cl_check (wait_for (run), error, "clWaitForEvents after %s", self->row->name);
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
  release_run (run);
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
