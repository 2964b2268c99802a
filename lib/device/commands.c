/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "device/commands.h"

#include "device/context.h"

/* PoCL compiles a kernel at its first launch with each local size: once for grids with fewer
 * work-items than this in each dimension, once for larger ones, and once more for grids with an
 * offset. */
#define LARGE_GRID 65535

/* A shorter time is wrong: Rusticl of Mesa 22.3 reports 1 ns for each command. */
#define LEAST_NS 100

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
gemmcl_event_get_status (cl_event event)
{
  cl_int status = CL_QUEUED;
  const cl_int asked =
      clGetEventInfo (event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof (status), &status, NULL);

  return asked == CL_SUCCESS ? status : asked;
}

cl_int
gemmcl_events_get_duration (cl_event first, cl_event last, guint64 *ns)
{
  cl_ulong start = 0, end = 0;
  cl_int status =
      clGetEventProfilingInfo (first, CL_PROFILING_COMMAND_START, sizeof (start), &start, NULL);

  if (status == CL_SUCCESS)
    status = clGetEventProfilingInfo (last, CL_PROFILING_COMMAND_END, sizeof (end), &end, NULL);
  *ns = status == CL_SUCCESS && end > start + LEAST_NS ? end - start : 0;
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

/* The number of work-items along the first dimension in a launch. */
static gsize
get_step (const GemmclChain *chain, const gsize global[3], const gsize local[3])
{
  gsize step;

  if (chain->slice == 0 || global[2] > 1 || global[0] * global[1] <= chain->slice)
    return global[0];
  step = chain->slice / global[1] / local[0] * local[0];
  return MAX (step, local[0]);
}

/* Reduces @grid to the smallest one that selects the same of PoCL's variants. */
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
                     const gsize local[3], const GemmclArgument *arguments, GError **error)
{
  const gsize step = get_step (chain, global, local);
  const gsize end = chain->warm_up ? MIN (global[0], step + 1) : global[0];
  cl_int status = CL_SUCCESS;

  for (cl_uint i = 0; status == CL_SUCCESS && arguments[i].size > 0; i++)
    status = clSetKernelArg (kernel, i, arguments[i].size, arguments[i].value);
  if (!gemmcl_cl_check (status, error, "clSetKernelArg for %s", name))
    return FALSE;
  for (gsize start = 0; start < end; start += step) {
    const gsize offset[3] = {start, 0, 0};
    gsize grid[3] = {MIN (step, global[0] - start), global[1], global[2]};

    if (chain->warm_up)
      cut_to_corner (grid, local);
    if (!launch (chain, kernel, offset, grid, local, name, error) ||
        (step < global[0] && !gemmcl_cl_check (clFinish (chain->queue), error, "clFinish")))
      return FALSE;
  }
  return TRUE;
}

gboolean
gemmcl_chain_fill (GemmclChain *chain, cl_mem memory, gsize n, const gchar *what, GError **error)
{
  const gfloat zero = 0.0f;
  cl_event done = NULL;
  const cl_int status = clEnqueueFillBuffer (chain->queue, memory, &zero, sizeof (zero), 0,
                                             n * sizeof (zero), CHAIN_WAIT (chain), &done);

  return gemmcl_chain_add (chain, status, done, what, error);
}

gint
gemmcl_context_wait (GemmclContext *self, cl_event event)
{
  cl_command_queue queue = NULL;
  cl_int waited, status;

  g_return_val_if_fail (GEMMCL_IS_CONTEXT (self), CL_INVALID_CONTEXT);
  g_return_val_if_fail (event != NULL, CL_INVALID_EVENT);

  waited = clWaitForEvents (1, &event);
  if (waited == CL_SUCCESS)
    return CL_SUCCESS;
  clGetEventInfo (event, CL_EVENT_COMMAND_QUEUE, sizeof (queue), &queue, NULL);
  /* Otherwise the command may still run. */
  if (waited != CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST && queue != NULL)
    clFinish (queue);
  gemmcl_context_replace_queue (self, queue);
  status = gemmcl_event_get_status (event);
  return status < CL_COMPLETE ? status : waited;
}

gboolean
gemmcl_context_finish (GemmclContext *self, cl_int status, cl_event done, const gchar *what,
                       GError **error)
{
  if (!gemmcl_cl_check (status, error, "%s", what))
    return FALSE;
  status = gemmcl_context_wait (self, done);
  clReleaseEvent (done);
  return gemmcl_cl_check (status, error, "%s", what);
}
