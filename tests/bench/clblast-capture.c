/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A library to preload: it tells CLBlast that the OpenCL device is an Intel GPU, so that CLBlast
 * chooses its parameters and extensions for that, and keeps the program that CLBlast then has
 * built.
 *
 * CLBLAST_DEVICE   the name that the device is given
 * CLBLAST_CAPTURE  the folder for program.cl, and build-options, in which the options stand
 */
#define _GNU_SOURCE

#include <CL/cl.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VENDOR     "Intel(R) Corporation"
#define EXTENSIONS "cl_khr_fp16 cl_intel_subgroups cl_intel_required_subgroup_size"

static FILE *
open_file (const char *name)
{
  const char *folder = getenv ("CLBLAST_CAPTURE");
  char path[4096];

  if (folder == NULL || snprintf (path, sizeof (path), "%s/%s", folder, name) >= (int)sizeof (path))
    return NULL;
  return fopen (path, "w");
}

static cl_int
give (const void *value, size_t size, size_t room, void *to, size_t *size_ret)
{
  if (size_ret != NULL)
    *size_ret = size;
  if (to == NULL)
    return CL_SUCCESS;
  if (room < size)
    return CL_INVALID_VALUE;
  memcpy (to, value, size);
  return CL_SUCCESS;
}

cl_int
clGetDeviceInfo (cl_device_id device, cl_device_info what, size_t room, void *to, size_t *size_ret)
{
  static const cl_device_type type = CL_DEVICE_TYPE_GPU;
  const char *name = getenv ("CLBLAST_DEVICE");
  cl_int (*real) (cl_device_id, cl_device_info, size_t, void *, size_t *) =
      dlsym (RTLD_NEXT, "clGetDeviceInfo");

  if (name == NULL)
    return real (device, what, room, to, size_ret);
  switch (what) {
  case CL_DEVICE_NAME:
    return give (name, strlen (name) + 1, room, to, size_ret);
  case CL_DEVICE_VENDOR:
    return give (VENDOR, sizeof (VENDOR), room, to, size_ret);
  case CL_DEVICE_EXTENSIONS:
    return give (EXTENSIONS, sizeof (EXTENSIONS), room, to, size_ret);
  case CL_DEVICE_TYPE:
    return give (&type, sizeof (type), room, to, size_ret);
  default:
    return real (device, what, room, to, size_ret);
  }
}

cl_program
clCreateProgramWithSource (cl_context context, cl_uint n, const char **strings,
                           const size_t *lengths, cl_int *status)
{
  cl_program (*real) (cl_context, cl_uint, const char **, const size_t *, cl_int *) =
      dlsym (RTLD_NEXT, "clCreateProgramWithSource");
  FILE *file = open_file ("program.cl");

  if (file != NULL) {
    for (cl_uint i = 0; i < n; i++)
      fwrite (strings[i], 1, lengths != NULL && lengths[i] != 0 ? lengths[i] : strlen (strings[i]),
              file);
    fclose (file);
  }
  return real (context, n, strings, lengths, status);
}

/* Nothing is built: what would be is for another device. */
cl_int
clBuildProgram (cl_program program, cl_uint n, const cl_device_id *devices, const char *options,
                void (*notify) (cl_program, void *), void *user_data)
{
  FILE *file = open_file ("build-options");

  (void)program, (void)n, (void)devices, (void)notify, (void)user_data;
  if (file != NULL) {
    fputs (options != NULL ? options : "", file);
    fclose (file);
  }
  return CL_BUILD_PROGRAM_FAILURE;
}
