/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <glib.h>

#include "../next.h"

/* Part of a test's program, and so in front of the OpenCL loader: with GEMMCL_TEST_DISCRETE in the
 * environment the device says that it has memory of its own. */

cl_int
clGetDeviceInfo (cl_device_id device, cl_device_info name, size_t size, void *value,
                 size_t *written)
{
  const cl_int status = NEXT (clGetDeviceInfo) (device, name, size, value, written);

  if (name == CL_DEVICE_HOST_UNIFIED_MEMORY && value && g_getenv ("GEMMCL_TEST_DISCRETE"))
    *(cl_bool *)value = CL_FALSE;
  return status;
}
