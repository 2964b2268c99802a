/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <dlfcn.h>
#include <glib.h>

/*
 * Part of a test's program, and so in front of the OpenCL loader: rectangles of buffers are refused
 * whose last row's gap is not in the buffer, as NVIDIA's driver does, and with
 * GEMMCL_TEST_DISCRETE in the environment the device says that it has memory of its own.
 */

#define NEXT(name) ((__typeof__ (&name))dlsym (RTLD_NEXT, #name))

cl_int
clGetDeviceInfo (cl_device_id device, cl_device_info name, size_t size, void *value,
                 size_t *written)
{
  const cl_int status = NEXT (clGetDeviceInfo) (device, name, size, value, written);

  if (name == CL_DEVICE_HOST_UNIFIED_MEMORY && value && g_getenv ("GEMMCL_TEST_DISCRETE"))
    *(cl_bool *)value = CL_FALSE;
  return status;
}

static gboolean
holds (cl_mem buffer, const size_t *origin, const size_t *region, size_t row)
{
  size_t size = 0;

  clGetMemObjectInfo (buffer, CL_MEM_SIZE, sizeof size, &size, NULL);
  return origin[0] + (origin[1] + region[1]) * MAX (row, region[0]) <= size;
}

cl_int
clEnqueueWriteBufferRect (cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                          const size_t *origin, const size_t *host_origin, const size_t *region,
                          size_t row, size_t slice, size_t host_row, size_t host_slice,
                          const void *data, cl_uint n, const cl_event *wait, cl_event *event)
{
  return !holds (buffer, origin, region, row)
             ? CL_INVALID_VALUE
             : NEXT (clEnqueueWriteBufferRect) (queue, buffer, blocking, origin, host_origin,
                                                region, row, slice, host_row, host_slice, data, n,
                                                wait, event);
}

cl_int
clEnqueueReadBufferRect (cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                         const size_t *origin, const size_t *host_origin, const size_t *region,
                         size_t row, size_t slice, size_t host_row, size_t host_slice, void *data,
                         cl_uint n, const cl_event *wait, cl_event *event)
{
  return !holds (buffer, origin, region, row)
             ? CL_INVALID_VALUE
             : NEXT (clEnqueueReadBufferRect) (queue, buffer, blocking, origin, host_origin, region,
                                               row, slice, host_row, host_slice, data, n, wait,
                                               event);
}

cl_int
clEnqueueCopyBufferRect (cl_command_queue queue, cl_mem from, cl_mem to, const size_t *from_origin,
                         const size_t *to_origin, const size_t *region, size_t from_row,
                         size_t from_slice, size_t to_row, size_t to_slice, cl_uint n,
                         const cl_event *wait, cl_event *event)
{
  return !holds (from, from_origin, region, from_row) || !holds (to, to_origin, region, to_row)
             ? CL_INVALID_VALUE
             : NEXT (clEnqueueCopyBufferRect) (queue, from, to, from_origin, to_origin, region,
                                               from_row, from_slice, to_row, to_slice, n, wait,
                                               event);
}
