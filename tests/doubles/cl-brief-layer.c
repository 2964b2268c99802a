/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cl-layer-entry.h"

#include <stdio.h>
#include <stdlib.h>

/*
 * An OpenCL layer that cuts PoCL's compile time to a quarter if GEMMCL_TEST_BRIEF is set. PoCL
 * compiles without optimisation, which changes results only by rounding. Programs report no
 * binaries, for which PoCL would compile each kernel once more, for work-groups of any size. The
 * library therefore stores no unoptimised binaries in its cache.
 */

/* PoCL 6.0 and 7.1 compute wrong numbers without optimisation; 3.1 does not. */
#define LAST_POCL 3

/* TRUE if @device is PoCL's and tests are brief. */
static cl_bool
is_for_brief (cl_device_id device)
{
  char version[128] = "";
  cl_platform_id platform;
  unsigned pocl;

  return getenv ("GEMMCL_TEST_BRIEF") != NULL &&
         cl_next->clGetDeviceInfo (device, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL) ==
             CL_SUCCESS &&
         cl_next->clGetPlatformInfo (platform, CL_PLATFORM_VERSION, sizeof version, version,
                                     NULL) == CL_SUCCESS &&
         sscanf (version, "OpenCL %*s PoCL %u", &pocl) == 1 && pocl <= LAST_POCL;
}

static cl_int CL_API_CALL
build_program (cl_program program, cl_uint n, const cl_device_id *devices, const char *options,
               void (CL_CALLBACK *notify) (cl_program, void *), void *data)
{
  char all[4096];
  const int length = snprintf (all, sizeof all, "%s -cl-opt-disable", options ? options : "");

  if (n > 0 && length < (int)sizeof all && is_for_brief (devices[0]))
    options = all;
  return cl_next->clBuildProgram (program, n, devices, options, notify, data);
}

/* Returns 0 as the size of each binary of a program, which means that there is none. */
static cl_int CL_API_CALL
get_program_info (cl_program program, cl_program_info what, size_t room, void *value, size_t *n)
{
  cl_device_id device;

  if (what != CL_PROGRAM_BINARY_SIZES || value == NULL || room < sizeof (size_t) ||
      cl_next->clGetProgramInfo (program, CL_PROGRAM_DEVICES, sizeof device, &device, NULL) !=
          CL_SUCCESS ||
      !is_for_brief (device))
    return cl_next->clGetProgramInfo (program, what, room, value, n);
  return cl_answer (&(size_t){0}, sizeof (size_t), room, value, n);
}

void
cl_layer_install (cl_icd_dispatch *table)
{
  table->clBuildProgram = build_program;
  table->clGetProgramInfo = get_program_info;
}
