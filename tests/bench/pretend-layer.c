/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "../doubles/cl-layer-entry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * An OpenCL layer that changes devices for benchmarks. Environment variables:
 *
 * PEERS_FLOATS     the floats in a vector of the devices. PoCL and Intel's runtime can compile for
 *                  a lesser CPU, but still report the vector width of this one
 * CLBLAST_DEVICE   the name of an Intel GPU that the devices report, for which CLBlast chooses its
 *                  parameters and extensions
 * CLBLAST_CAPTURE  the folder for program.cl and build-options, which CLBlast would build. They are
 *                  not built, since they are for another device
 */

#define VENDOR     "Intel(R) Corporation"
#define EXTENSIONS "cl_khr_fp16 cl_intel_subgroups cl_intel_required_subgroup_size"

static cl_int CL_API_CALL
get_device_info (cl_device_id device, cl_device_info name, size_t room, void *value, size_t *n)
{
  static const cl_device_type type = CL_DEVICE_TYPE_GPU;
  const char *gpu = getenv ("CLBLAST_DEVICE"), *floats = getenv ("PEERS_FLOATS");
  const cl_uint width = floats ? (cl_uint)atoi (floats) : 0;

  if (gpu && name == CL_DEVICE_NAME)
    return cl_answer (gpu, strlen (gpu) + 1, room, value, n);
  if (gpu && name == CL_DEVICE_VENDOR)
    return cl_answer (VENDOR, sizeof VENDOR, room, value, n);
  if (gpu && name == CL_DEVICE_EXTENSIONS)
    return cl_answer (EXTENSIONS, sizeof EXTENSIONS, room, value, n);
  if (gpu && name == CL_DEVICE_TYPE)
    return cl_answer (&type, sizeof type, room, value, n);
  if (floats && (name == CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT ||
                 name == CL_DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT))
    return cl_answer (&width, sizeof width, room, value, n);
  return cl_next->clGetDeviceInfo (device, name, room, value, n);
}

static FILE *
open_file (const char *name)
{
  char path[4096];

  snprintf (path, sizeof path, "%s/%s", getenv ("CLBLAST_CAPTURE"), name);
  return fopen (path, "w");
}

static cl_program CL_API_CALL
create_program (cl_context context, cl_uint n, const char **strings, const size_t *lengths,
                cl_int *status)
{
  FILE *file = open_file ("program.cl");

  for (cl_uint i = 0; file && i < n; i++)
    fwrite (strings[i], 1, lengths && lengths[i] ? lengths[i] : strlen (strings[i]), file);
  if (file)
    fclose (file);
  return cl_next->clCreateProgramWithSource (context, n, strings, lengths, status);
}

static cl_int CL_API_CALL
build_program (cl_program program, cl_uint n, const cl_device_id *devices, const char *options,
               void (CL_CALLBACK *notify) (cl_program, void *), void *data)
{
  FILE *file = open_file ("build-options");

  (void)program, (void)n, (void)devices, (void)notify, (void)data;
  if (file) {
    fputs (options ? options : "", file);
    fclose (file);
  }
  return CL_BUILD_PROGRAM_FAILURE;
}

void
cl_layer_install (cl_icd_dispatch *table)
{
  table->clGetDeviceInfo = get_device_info;
  if (getenv ("CLBLAST_CAPTURE")) {
    table->clCreateProgramWithSource = create_program;
    table->clBuildProgram = build_program;
  }
}
