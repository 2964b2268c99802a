/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>

/*
 * A preloaded library that acts like a driver whose commands take no time, as Intel's does without
 * a GPU.
 */
cl_int
clGetEventProfilingInfo (cl_event event, cl_profiling_info name, size_t size, void *value,
                         size_t *size_ret)
{
  (void)event;
  (void)name;
  (void)size;
  if (size_ret != NULL)
    *size_ret = sizeof (cl_ulong);
  *(cl_ulong *)value = 7;
  return CL_SUCCESS;
}
