/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include "../next.h"
#include "gemmcl-opencl.h"

/* Part of a test's program, and so in front of OpenCL's loader: with GEMMCL_TEST_DISCRETE in the
 * environment the device has memory of its own. */
cl_int
clGetDeviceInfo (cl_device_id device, cl_device_info name, size_t room, void *value, size_t *size)
{
  const cl_int status = NEXT (clGetDeviceInfo) (device, name, room, value, size);

  if (name == CL_DEVICE_HOST_UNIFIED_MEMORY && value && g_getenv ("GEMMCL_TEST_DISCRETE"))
    *(cl_bool *)value = CL_FALSE;
  return status;
}
