/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <string.h>

#include "../next.h"

/*
 * A preloaded library that acts like a driver that does not know its device's clock, so that the
 * peak is unknown.
 */
cl_int
clGetDeviceInfo (cl_device_id device, cl_device_info name, size_t size, void *value,
                 size_t *size_ret)
{
  const cl_int status = NEXT (clGetDeviceInfo) (device, name, size, value, size_ret);

  if (status == CL_SUCCESS && name == CL_DEVICE_MAX_CLOCK_FREQUENCY && value != NULL)
    memset (value, 0, size);
  return status;
}
