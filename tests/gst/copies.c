/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "copies.h"

#include <gmodule.h>

#include <CL/cl.h>

#include "../next.h"

static gint writes, reads, copies, fills, timed, untimed, pretend_discrete;

void
copies_reset (void)
{
  g_atomic_int_set (&writes, 0);
  g_atomic_int_set (&reads, 0);
  g_atomic_int_set (&copies, 0);
  g_atomic_int_set (&timed, 0);
  g_atomic_int_set (&untimed, 0);
}

Copies
copies_get (void)
{
  return (Copies){g_atomic_int_get (&writes), g_atomic_int_get (&reads), g_atomic_int_get (&copies),
                  g_atomic_int_get (&timed), g_atomic_int_get (&untimed)};
}

void
copies_pretend_discrete (gboolean discrete)
{
  g_atomic_int_set (&pretend_discrete, discrete);
}

G_MODULE_EXPORT cl_int
clGetDeviceInfo (cl_device_id device, cl_device_info name, size_t size, void *value,
                 size_t *written)
{
  const cl_int status = NEXT (clGetDeviceInfo) (device, name, size, value, written);

  if (name == CL_DEVICE_HOST_UNIFIED_MEMORY && value && g_atomic_int_get (&pretend_discrete))
    *(cl_bool *)value = CL_FALSE;
  return status;
}

G_MODULE_EXPORT cl_int
clEnqueueNDRangeKernel (cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                        const size_t *offset, const size_t *global, const size_t *local, cl_uint n,
                        const cl_event *wait, cl_event *event)
{
  cl_command_queue_properties properties = 0;

  clGetCommandQueueInfo (queue, CL_QUEUE_PROPERTIES, sizeof properties, &properties, NULL);
  g_atomic_int_inc (properties & CL_QUEUE_PROFILING_ENABLE ? &timed : &untimed);
  return NEXT (clEnqueueNDRangeKernel) (queue, kernel, dimensions, offset, global, local, n, wait,
                                        event);
}

#define WAIT_PARAMETERS cl_uint n_waits, const cl_event *waits, cl_event *event
#define WAIT_ARGUMENTS  n_waits, waits, event
#define RECT_PARAMETERS                                                                            \
  const size_t *origin, const size_t *host_origin, const size_t *region, size_t row, size_t slice, \
      size_t host_row, size_t host_slice
#define RECT_ARGUMENTS origin, host_origin, region, row, slice, host_row, host_slice
#define TRANSFER(function, parameters, arguments, is_blocking, kind)                               \
  G_MODULE_EXPORT cl_int function parameters                                                       \
  {                                                                                                \
    g_atomic_int_inc (&kind);                                                                      \
    return NEXT (function) arguments;                                                              \
  }
#include "../doubles/cl-transfers.def"
