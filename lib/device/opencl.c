/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * OpenCL's errors, and chains of commands.
 */
#include "device/device.h"

/* PoCL compiles a kernel at its first launch with each local size: once for grids with fewer
 * work-items than this in each dimension, once for larger ones, and once more for grids with an
 * offset. */
#define LARGE_GRID 65535

/* No command is as short: Rusticl of Mesa 22.3 reports 1 ns for each. */
#define LEAST_NS 100

typedef struct {
  cl_int status;
  const gchar *name;
  const gchar *hint;
} Status;

static const Status statuses[] = {
#define STATUS(x, hint)                                                                            \
  {                                                                                                \
    x, #x, hint                                                                                    \
  }
    STATUS (CL_SUCCESS, ""),
    STATUS (CL_DEVICE_NOT_FOUND, ""),
    STATUS (CL_DEVICE_NOT_AVAILABLE, ": the device is in use or gone"),
    STATUS (CL_COMPILER_NOT_AVAILABLE, ": this driver cannot build kernels"),
    STATUS (CL_MEM_OBJECT_ALLOCATION_FAILURE,
            ": the device has not enough memory for this problem"),
    STATUS (CL_OUT_OF_RESOURCES, ": the device ran out of memory or was lost"),
    STATUS (CL_OUT_OF_HOST_MEMORY, ""),
    STATUS (CL_PROFILING_INFO_NOT_AVAILABLE, ""),
    STATUS (CL_BUILD_PROGRAM_FAILURE, ""),
    STATUS (CL_MISALIGNED_SUB_BUFFER_OFFSET, ""),
    STATUS (CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, ": something it waited for failed"),
    STATUS (CL_LINKER_NOT_AVAILABLE, ""),
    STATUS (CL_INVALID_VALUE, ""),
    STATUS (CL_INVALID_DEVICE_TYPE, ""),
    STATUS (CL_INVALID_PLATFORM, ""),
    STATUS (CL_INVALID_DEVICE, ""),
    STATUS (CL_INVALID_CONTEXT, ""),
    STATUS (CL_INVALID_QUEUE_PROPERTIES, ""),
    STATUS (CL_INVALID_COMMAND_QUEUE, ""),
    STATUS (CL_INVALID_HOST_PTR, ""),
    STATUS (CL_INVALID_MEM_OBJECT, ""),
    STATUS (CL_INVALID_BINARY, ""),
    STATUS (CL_INVALID_BUILD_OPTIONS, ""),
    STATUS (CL_INVALID_PROGRAM, ""),
    STATUS (CL_INVALID_PROGRAM_EXECUTABLE, ""),
    STATUS (CL_INVALID_KERNEL_NAME, ""),
    STATUS (CL_INVALID_KERNEL, ""),
    STATUS (CL_INVALID_ARG_INDEX, ""),
    STATUS (CL_INVALID_ARG_VALUE, ""),
    STATUS (CL_INVALID_ARG_SIZE, ""),
    STATUS (CL_INVALID_KERNEL_ARGS, ""),
    STATUS (CL_INVALID_WORK_DIMENSION, ""),
    STATUS (CL_INVALID_WORK_GROUP_SIZE, ""),
    STATUS (CL_INVALID_WORK_ITEM_SIZE, ""),
    STATUS (CL_INVALID_GLOBAL_OFFSET, ""),
    STATUS (CL_INVALID_EVENT_WAIT_LIST, ""),
    STATUS (CL_INVALID_EVENT, ""),
    STATUS (CL_INVALID_OPERATION, ""),
    STATUS (CL_INVALID_BUFFER_SIZE, ": more than the device allows in one buffer"),
    STATUS (CL_INVALID_GLOBAL_WORK_SIZE, ""),
    STATUS (CL_INVALID_PROPERTY, ""),
    {-1001, "CL_PLATFORM_NOT_FOUND_KHR", ": no OpenCL driver is installed"},
#undef STATUS
};

static const Status *
find_status (cl_int status)
{
  static const Status unknown = {0, "an unknown error", ""};

  for (gsize i = 0; i < G_N_ELEMENTS (statuses); i++)
    if (statuses[i].status == status)
      return &statuses[i];
  return &unknown;
}

const gchar *
gemmcl_cl_error_name (cl_int status)
{
  return find_status (status)->name;
}

gboolean
gemmcl_cl_check (cl_int status, GError **error, const gchar *call, ...)
{
  g_autofree gchar *what = NULL;
  va_list args;

  if (status == CL_SUCCESS)
    return TRUE;

  va_start (args, call);
  what = g_strdup_vprintf (call, args);
  va_end (args);
  return gemmcl_fail (error, GEMMCL_ERROR_OPENCL, "%s failed with %s (%d)%s.", what,
                      find_status (status)->name, status, find_status (status)->hint);
}

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

/* Reduces @grid to the smallest one for which PoCL compiles the same code. */
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
