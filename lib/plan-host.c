/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Runs on host memory: A to the device, the run, D back. Each run that is under way has buffers of
 * its own, which the next one takes over.
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
#include "plan-transfer.h"

/* Memory of the host that the device copies from and to by itself. */
typedef struct {
  cl_mem buffer;
  guchar *data;
} Pinned;

struct _GemmclPendingRun {
  gboolean busy;
  cl_mem a, d;
  Pinned pinned_a, pinned_d;

  /* Of this run. */
  gsize m, batch;
  const GemmclHostData *host_d;
  GemmclChain chain;
  cl_event uploaded, done;
  cl_mem shared_a, shared_d; /* the caller's memory, in place of a and d */
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
  gemmcl_chain_clear (&run->chain);
  g_clear_pointer (&run->uploaded, clReleaseEvent);
  g_clear_pointer (&run->done, clReleaseEvent);
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
    clWaitForEvents (1, &run->done);
  release_run (run);
  pinned_clear (&run->pinned_a, queue);
  pinned_clear (&run->pinned_d, queue);
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
pin (GemmclPlan *self, GemmclOperand which, Pinned *pinned, GError **error)
{
  const cl_context context = gemmcl_context_get_cl_context (self->context);
  const cl_command_queue queue = gemmcl_context_get_cl_queue (self->context);
  const gsize size = get_room (self, which);
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

static gboolean
make_room (GemmclPlan *self, GemmclPendingRun *run, GError **error)
{
  run->a =
      gemmcl_context_create_buffer (self->context, get_room (self, GEMMCL_OPERAND_A), "A", error);
  if (run->a == NULL)
    return FALSE;
  run->d =
      gemmcl_context_create_buffer (self->context, get_room (self, GEMMCL_OPERAND_D), "D", error);
  if (run->d == NULL)
    return FALSE;
  return !has_own_memory (self) ||
         (open_queue (self, &self->upload, error) && open_queue (self, &self->download, error) &&
          pin (self, GEMMCL_OPERAND_A, &run->pinned_a, error) &&
          pin (self, GEMMCL_OPERAND_D, &run->pinned_d, error));
}

/* One that is not busy, or a new one. */
static GemmclPendingRun *
take_run (GemmclPlan *self, GError **error)
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
  if (!make_room (self, run, error)) {
    pending_run_free (self, run);
    return NULL;
  }
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

/* Makes @run's D what the last run's was, where that is C. */
static gboolean
bring_output (GemmclPlan *self, GemmclPendingRun *run, GError **error)
{
  const cl_command_queue queue = gemmcl_context_get_cl_queue (self->context);
  const gsize size = get_room (self, GEMMCL_OPERAND_D);
  const guchar zero = 0;

  if (self->gemm.addend != GEMMCL_ADDEND_OUTPUT || self->beta == 0.0f || self->last_run == run)
    return TRUE;
  if (self->last_run == NULL)
    return gemmcl_cl_check (
        clEnqueueFillBuffer (queue, run->d, &zero, sizeof (zero), 0, size, 0, NULL, NULL), error,
        "clEnqueueFillBuffer for D");
  return gemmcl_cl_check (
      clEnqueueCopyBuffer (queue, self->last_run->d, run->d, 0, 0, size, 0, NULL, NULL), error,
      "clEnqueueCopyBuffer for D");
}

static gboolean
upload_pinned (GemmclPlan *self, GemmclPendingRun *run, GError **error)
{
  if (!gemmcl_cl_check (clEnqueueWriteBuffer (self->upload, run->a, CL_FALSE, 0,
                                              get_used (self, GEMMCL_OPERAND_A, run),
                                              run->pinned_a.data, 0, NULL, &run->uploaded),
                        error, "clEnqueueWriteBuffer for A"))
    return FALSE;
  run->chain.n_wait = 1;
  run->chain.wait = &run->uploaded;
  return gemmcl_cl_check (clFlush (self->upload), error, "clFlush for A");
}

static gboolean
upload (GemmclPlan *self, GemmclPendingRun *run, const GemmclHostData *a, GError **error)
{
  const GemmclTransfer transfer = {
      .plan = self,
      .which = GEMMCL_OPERAND_A,
      .m = run->m,
      .batch = run->batch,
      .host = a,
      .queue = run->chain.queue,
      .buffer = run->a,
      .staged = run->pinned_a.data,
  };

  if (self->alpha == 0.0f || (run->shared_a = gemmcl_transfer_share (&transfer)) != NULL)
    return TRUE;
  return gemmcl_transfer (&transfer, error) &&
         (transfer.staged == NULL || upload_pinned (self, run, error));
}

static GemmclTransfer
describe_d (GemmclPlan *self, GemmclPendingRun *run)
{
  return (GemmclTransfer){
      .plan = self,
      .which = GEMMCL_OPERAND_D,
      .m = run->m,
      .batch = run->batch,
      .host = run->host_d,
      .queue = run->chain.queue,
      .buffer = run->d,
      .done = &run->done,
  };
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

static gboolean
download (GemmclPlan *self, GemmclPendingRun *run, GError **error)
{
  const GemmclTransfer transfer = describe_d (self, run);

  if (run->shared_d != NULL)
    return download_shared (self, run, error);
  if (run->pinned_d.data != NULL)
    return download_pinned (self, run, error);
  return gemmcl_transfer (&transfer, error) &&
         gemmcl_cl_check (clFlush (run->chain.queue), error, "clFlush");
}

static gboolean
enqueue_all (GemmclPlan *self, GemmclPendingRun *run, const GemmclHostData *a, GError **error)
{
  const GemmclTransfer result = describe_d (self, run);
  GemmclOperands operands = {.tight = TRUE};

  if (!bring_output (self, run, error) || !upload (self, run, a, error))
    return FALSE;
  /* A result that the next run may want stays on the device. */
  if (self->gemm.addend != GEMMCL_ADDEND_OUTPUT)
    run->shared_d = gemmcl_transfer_share (&result);
  operands.a = run->shared_a ? run->shared_a : run->a;
  operands.d = run->shared_d ? run->shared_d : run->d;
  return gemmcl_plan_enqueue_locked (self, &operands, run->m, run->batch, &run->chain, error) &&
         download (self, run, error);
}

/* After a failure: what was enqueued before it uses the caller's memory. */
static void
give_up (GemmclPlan *self, GemmclPendingRun *run)
{
  const cl_command_queue queues[] = {self->upload, run->chain.queue, self->download};

  for (guint i = 0; i < G_N_ELEMENTS (queues); i++)
    if (queues[i] != NULL)
      clFinish (queues[i]);
  release_run (run);
  run->busy = FALSE;
}

GemmclPendingRun *
gemmcl_plan_submit (GemmclPlan *self, const GemmclHostRun *run, GError **error)
{
  g_autoptr (GMutexLocker) locker = NULL;
  GemmclPendingRun *pending;
  gsize m, batch;

  g_return_val_if_fail (GEMMCL_IS_PLAN (self), NULL);
  g_return_val_if_fail (run != NULL && run->d != NULL, NULL);

  m = run->m;
  batch = run->batch;
  if (!gemmcl_plan_check_run (self, &m, &batch, error))
    return NULL;
  locker = g_mutex_locker_new (&self->lock);
  pending = take_run (self, error);
  if (pending == NULL)
    return NULL;
  pending->busy = TRUE;
  pending->m = m;
  pending->batch = batch;
  pending->host_d = run->d;
  pending->chain = (GemmclChain){.queue = gemmcl_context_get_cl_queue (self->context)};
  if (!enqueue_all (self, pending, run->a, error)) {
    give_up (self, pending);
    return NULL;
  }
  self->last_run = pending;
  return pending;
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
  stats->bytes_in += gemmcl_plan_get_operand_bytes (self, GEMMCL_OPERAND_A, run->m) * run->batch;
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
  ok = gemmcl_cl_check (clWaitForEvents (1, &run->done), error, "clWaitForEvents after %s",
                        self->row->name);
  if (ok && run->pinned_d.data != NULL) {
    transfer = describe_d (self, run);
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
