/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cl-layer-entry.h"

#include <string.h>

/*
 * An OpenCL layer that refuses calls that another driver refuses and PoCL accepts.
 *
 * NVIDIA: a rectangle of a buffer must end inside the buffer with the gap after its last row. By
 * the specification only its last byte must be inside. And an argument that is an image must not be
 * NULL, as the specification says; a buffer may be.
 */

/* Returns: 1 if the rectangle of @region at @origin ends inside @mem. */
static int
fits (cl_mem mem, const size_t *origin, const size_t *region, size_t row, size_t slice)
{
  size_t size = 0;

  if (!origin || !region ||
      cl_next->clGetMemObjectInfo (mem, CL_MEM_SIZE, sizeof size, &size, NULL) != CL_SUCCESS)
    return 1; /* the driver refuses it */
  row = row ? row : region[0];
  slice = slice ? slice : region[1] * row;
  return origin[0] + (origin[1] + region[1]) * row + (origin[2] + region[2] - 1) * slice <= size;
}

static cl_int CL_API_CALL
read_buffer_rect (cl_command_queue queue, cl_mem mem, cl_bool blocking, RECT_PARAMETERS, void *data,
                  WAIT_PARAMETERS)
{
  return fits (mem, origin, region, row, slice)
             ? cl_next->clEnqueueReadBufferRect (queue, mem, blocking, RECT_ARGUMENTS, data,
                                                 WAIT_ARGUMENTS)
             : CL_INVALID_VALUE;
}

static cl_int CL_API_CALL
write_buffer_rect (cl_command_queue queue, cl_mem mem, cl_bool blocking, RECT_PARAMETERS,
                   const void *data, WAIT_PARAMETERS)
{
  return fits (mem, origin, region, row, slice)
             ? cl_next->clEnqueueWriteBufferRect (queue, mem, blocking, RECT_ARGUMENTS, data,
                                                  WAIT_ARGUMENTS)
             : CL_INVALID_VALUE;
}

/* The rectangle of @to is called that of the host in RECT_PARAMETERS. */
static cl_int CL_API_CALL
copy_buffer_rect (cl_command_queue queue, cl_mem from, cl_mem to, RECT_PARAMETERS, WAIT_PARAMETERS)
{
  return fits (from, origin, region, row, slice) &&
                 fits (to, host_origin, region, host_row, host_slice)
             ? cl_next->clEnqueueCopyBufferRect (queue, from, to, RECT_ARGUMENTS, WAIT_ARGUMENTS)
             : CL_INVALID_VALUE;
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
