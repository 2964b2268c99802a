/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* clCreateCommandQueue: its successor does not exist on OpenCL 1.2 devices. */
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include "plan-pending.h"

#include "context.h"
#include "plan-queues.h"
#include "plan-rows.h"
#include "plan-transfer.h"

gboolean
gemmcl_plan_has_own_memory (GemmclPlan *self)
{
  return !gemmcl_context_get_device_info (self->context)->host_unified;
}

void
gemmcl_pending_run_release (GemmclPendingRun *run)
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
cl_int
gemmcl_pending_run_wait (const GemmclPendingRun *run)
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
pinned_clear (GemmclPinned *self, cl_command_queue queue)
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
    gemmcl_pending_run_wait (run);
  gemmcl_pending_run_release (run);
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
  gemmcl_plan_clear_queues (self);
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

/* In a queue of its own, so as not to wait for runs. */
static gboolean
pin (GemmclPlan *self, gsize size, GemmclPinned *pinned, GError **error)
{
  const cl_context context = gemmcl_context_get_cl_context (self->context);
  cl_int status;
  g_auto (cl_command_queue) queue =
      clCreateCommandQueue (context, gemmcl_context_get_cl_device (self->context), 0, &status);

  if (status == CL_SUCCESS)
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

gboolean
gemmcl_pending_run_make_room (GemmclPlan *self, GemmclPendingRun *run, GemmclOperand which,
                              gboolean host, GError **error)
{
  const gboolean is_a = which == GEMMCL_OPERAND_A;
  cl_mem *buffer = is_a ? &run->a : &run->d;
  GemmclPinned *pinned = is_a ? &run->pinned_a : &run->pinned_d;

  if (*buffer == NULL)
    *buffer = gemmcl_context_create_buffer (self->context, get_room (self, which), is_a ? "A" : "D",
                                            error);
  if (*buffer == NULL)
    return FALSE;
  return !host || !gemmcl_plan_has_own_memory (self) || pinned->data != NULL ||
         (open_queue (self, is_a ? &self->upload : &self->download, error) &&
          pin (self, get_room (self, which), pinned, error));
}

gboolean
gemmcl_pending_run_make_room_for_rows (GemmclPlan *self, GemmclPendingRun *run, GError **error)
{
  gsize size;

  if (self->rows == NULL || run->rows != NULL)
    return TRUE;
  if (!g_size_checked_mul (&size, gemmcl_plan_get_rows_bytes (self, self->gemm.m),
                           self->gemm.batch))
    size = G_MAXSIZE;
  run->rows = gemmcl_context_create_buffer (self->context, size, "the row outputs", error);
  return run->rows != NULL &&
         (!gemmcl_plan_has_own_memory (self) || (open_queue (self, &self->download, error) &&
                                                 pin (self, size, &run->pinned_rows, error)));
}

GemmclPendingRun *
gemmcl_plan_take_run (GemmclPlan *self)
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
