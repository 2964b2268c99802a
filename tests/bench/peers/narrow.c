/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A library to preload: OpenCL devices have vectors of PEERS_FLOATS floats. PoCL and Intel's
 * runtime can be told to compile for a lesser CPU, but go on telling the width of this one's
 * vectors.
 */
#define _GNU_SOURCE

#include <CL/cl.h>
#include <dlfcn.h>
#include <stdlib.h>

cl_int
clGetDeviceInfo (cl_device_id device, cl_device_info what, size_t room, void *to, size_t *size_ret)
{
  const char *floats = getenv ("PEERS_FLOATS");
  cl_int (*real) (cl_device_id, cl_device_info, size_t, void *, size_t *) =
      dlsym (RTLD_NEXT, "clGetDeviceInfo");
  const cl_int status = real (device, what, room, to, size_ret);

  if (floats != NULL && status == CL_SUCCESS && to != NULL &&
      (what == CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT ||
       what == CL_DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT))
    *(cl_uint *)to = (cl_uint)atoi (floats);
  return status;
}
