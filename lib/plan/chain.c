/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Chains of commands, and the warm-up. PoCL compiles a kernel at its first launch. A new plan
 * therefore launches the kernels of a run in memory as large as a run's, but only a corner of each
 * grid (see GemmclChain.warm_up). A failure is only logged: smaller runs may have enough memory,
 * and a lasting error fails the runs.
 */
#include "plan/plan.h"

/* PoCL compiles a kernel at its first launch with each local size: once for grids with fewer
 * work-items than this in each dimension, once for larger ones, and once more for grids with an
 * offset. */
#define LARGE_GRID 65535

static void
release_event (gpointer event)
{
  clReleaseEvent (event);
}

GPtrArray *
gemmcl_events_new (void)
{
  return g_ptr_array_new_with_free_func (release_event);
}

cl_int
gemmcl_events_get_duration (cl_event first, cl_event last, guint64 *ns)
{
  cl_ulong start = 0, end = 0;
  cl_int status =
      clGetEventProfilingInfo (first, CL_PROFILING_COMMAND_START, sizeof (start), &start, NULL);

  if (status == CL_SUCCESS)
    status = clGetEventProfilingInfo (last, CL_PROFILING_COMMAND_END, sizeof (end), &end, NULL);
  *ns = status == CL_SUCCESS && end > start ? end - start : 0;
  return status;
}

gboolean
gemmcl_chain_add (GemmclChain *chain, cl_int status, cl_event done, const gchar *what,
                  GError **error)
{
  if (!gemmcl_cl_check (status, error, "%s", what))
    return FALSE;
  g_ptr_array_add (chain->events, done);
  chain->last = done;
  chain->n_wait = 1;
  chain->wait = &chain->last;
  return TRUE;
}

static gboolean
set_arguments (cl_kernel kernel, const gchar *name, va_list arguments, GError **error)
{
  cl_int status = CL_SUCCESS;
  cl_uint index = 0;
  gsize size;

  while (status == CL_SUCCESS && (size = va_arg (arguments, gsize)) > 0)
    status = clSetKernelArg (kernel, index++, size, va_arg (arguments, gconstpointer));
  return gemmcl_cl_check (status, error, "clSetKernelArg for %s", name);
}

/* Work-items along the first dimension in one launch. */
static gsize
get_step (const GemmclChain *chain, const gsize global[3], const gsize local[3])
{
  gsize step;

  if (chain->slice == 0 || global[2] > 1 || global[0] * global[1] <= chain->slice)
    return global[0];
  step = chain->slice / global[1] / local[0] * local[0];
  return MAX (step, local[0]);
}

/* Reduces @grid to the smallest one for which PoCL compiles the same. */
static void
cut_to_corner (gsize grid[3], const gsize local[3])
{
  for (guint i = 0; i < 3; i++)
    grid[i] = grid[i] < LARGE_GRID ? local[i] : ROUND_UP (LARGE_GRID, local[i]);
}

static gboolean
launch (GemmclChain *chain, cl_kernel kernel, const gsize offset[3], const gsize grid[3],
        const gsize local[3], const gchar *name, GError **error)
{
  cl_event done = NULL;

  if (!gemmcl_cl_check (clEnqueueNDRangeKernel (chain->queue, kernel, 3,
                                                offset[0] > 0 ? offset : NULL, grid, local,
                                                CHAIN_WAIT (chain), &done),
                        error, "clEnqueueNDRangeKernel for %s", name))
    return FALSE;
  if (chain->first == NULL)
    chain->first = done;
  chain->kernel = done;
  return gemmcl_chain_add (chain, CL_SUCCESS, done, name, error);
}

gboolean
gemmcl_chain_launch (GemmclChain *chain, cl_kernel kernel, const gchar *name, const gsize global[3],
                     const gsize local[3], GError **error, ...)
{
  const gsize step = get_step (chain, global, local);
  const gsize end = chain->warm_up ? MIN (global[0], step + 1) : global[0];
  va_list arguments;
  gboolean is_set;

  va_start (arguments, error);
  is_set = set_arguments (kernel, name, arguments, error);
  va_end (arguments);
  for (gsize start = 0; is_set && start < end; start += step) {
    const gsize offset[3] = {start, 0, 0};
    gsize grid[3] = {MIN (step, global[0] - start), global[1], global[2]};

    if (chain->warm_up)
      cut_to_corner (grid, local);
    if (!launch (chain, kernel, offset, grid, local, name, error) ||
        (step < global[0] && !gemmcl_cl_check (clFinish (chain->queue), error, "clFinish")))
      return FALSE;
  }
  return is_set;
}

static gboolean
warm_up (GemmclBody *self, GemmclChain *chain, GError **error)
{
  g_auto (cl_mem) a = gemmcl_body_create_copy (self, GEMMCL_OPERAND_A, error);
  g_auto (cl_mem) d = a ? gemmcl_body_create_copy (self, GEMMCL_OPERAND_D, error) : NULL;
  g_auto (cl_mem) row_outputs =
      d && self->problem.row_outputs
          ? gemmcl_body_create_copy (self, GEMMCL_OPERAND_ROW_OUTPUTS, error)
          : NULL;
  const GemmclOperands operands = {
      .m = self->gemm.m,
      .batch = self->gemm.batch,
      .a = a,
      .d = d,
      .row_outputs = row_outputs,
      .previous = d,
      .tight = TRUE,
      .alpha = 1,
  };

  return d != NULL && (!self->problem.row_outputs || row_outputs != NULL) &&
         gemmcl_body_warm_up_b (self, chain->queue, error) &&
         (self->gather == NULL || gemmcl_body_warm_up_gather (self, a, chain, error)) &&
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
    const gboolean enqueued = warm_up (self, &chain, &failure);

    gemmcl_cl_check (clFinish (queue), enqueued ? &failure : NULL, "clFinish after warming up");
  }
  gemmcl_held_clear (&self->operands[GEMMCL_PLAN_B]);
  if (failure != NULL)
    g_debug ("The first run compiles instead: %s", failure->message);
}
