/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cl-layer-entry.h"

#include <string.h>

/*
 * An OpenCL layer that refuses what some driver refuses and PoCL takes, so that it shows where
 * there is no such driver.
 *
 * NVIDIA's: a rectangle of a buffer takes whole rows, the last one too. The specification wants
 * its last byte inside the buffer; this driver also wants the gap behind the last row there. And an
 * argument that is an image is one, as the specification says; a buffer may be NULL.
 */

static cl_int
check_rect (cl_mem mem, const size_t *origin, const size_t *region, size_t row, size_t slice)
{
  size_t size = 0, end;

  if (!origin || !region ||
      cl_next->clGetMemObjectInfo (mem, CL_MEM_SIZE, sizeof size, &size, NULL) != CL_SUCCESS)
    return CL_SUCCESS; /* for the driver to refuse */
  row = row ? row : region[0];
  slice = slice ? slice : region[1] * row;
  end = origin[0] + (origin[1] + region[1]) * row + (origin[2] + region[2] - 1) * slice;
  return end > size ? CL_INVALID_VALUE : CL_SUCCESS;
}

static cl_int CL_API_CALL
read_buffer_rect (cl_command_queue queue, cl_mem mem, cl_bool blocking, const size_t *origin,
                  const size_t *host_origin, const size_t *region, size_t row, size_t slice,
                  size_t host_row, size_t host_slice, void *data, cl_uint n_waits,
                  const cl_event *waits, cl_event *event)
{
  const cl_int status = check_rect (mem, origin, region, row, slice);

  return status != CL_SUCCESS
             ? status
             : cl_next->clEnqueueReadBufferRect (queue, mem, blocking, origin, host_origin, region,
                                                 row, slice, host_row, host_slice, data, n_waits,
                                                 waits, event);
}

static cl_int CL_API_CALL
write_buffer_rect (cl_command_queue queue, cl_mem mem, cl_bool blocking, const size_t *origin,
                   const size_t *host_origin, const size_t *region, size_t row, size_t slice,
                   size_t host_row, size_t host_slice, const void *data, cl_uint n_waits,
                   const cl_event *waits, cl_event *event)
{
  const cl_int status = check_rect (mem, origin, region, row, slice);

  return status != CL_SUCCESS
             ? status
             : cl_next->clEnqueueWriteBufferRect (queue, mem, blocking, origin, host_origin, region,
                                                  row, slice, host_row, host_slice, data, n_waits,
                                                  waits, event);
}

static cl_int CL_API_CALL
copy_buffer_rect (cl_command_queue queue, cl_mem from, cl_mem to, const size_t *from_origin,
                  const size_t *to_origin, const size_t *region, size_t from_row, size_t from_slice,
                  size_t to_row, size_t to_slice, cl_uint n_waits, const cl_event *waits,
                  cl_event *event)
{
  cl_int status = check_rect (from, from_origin, region, from_row, from_slice);

  if (status == CL_SUCCESS)
    status = check_rect (to, to_origin, region, to_row, to_slice);
  return status != CL_SUCCESS
             ? status
             : cl_next->clEnqueueCopyBufferRect (queue, from, to, from_origin, to_origin, region,
                                                 from_row, from_slice, to_row, to_slice, n_waits,
                                                 waits, event);
}

static cl_int CL_API_CALL
set_kernel_arg (cl_kernel kernel, cl_uint index, size_t size, const void *value)
{
  char type[32] = "";

  if (size == sizeof (cl_mem) && value && *(const cl_mem *)value == NULL &&
      cl_next->clGetKernelArgInfo (kernel, index, CL_KERNEL_ARG_TYPE_NAME, sizeof type, type,
                                   NULL) == CL_SUCCESS &&
      strncmp (type, "image", strlen ("image")) == 0)
    return CL_INVALID_ARG_VALUE;
  return cl_next->clSetKernelArg (kernel, index, size, value);
}

void
cl_layer_install (cl_icd_dispatch *table)
{
  table->clEnqueueReadBufferRect = read_buffer_rect;
  table->clEnqueueWriteBufferRect = write_buffer_rect;
  table->clEnqueueCopyBufferRect = copy_buffer_rect;
  table->clSetKernelArg = set_kernel_arg;
}
