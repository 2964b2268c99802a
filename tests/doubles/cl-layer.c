/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cl-layer.h"

#include <stdio.h>
#include <string.h>

/* PoCL 6.0 and 7.1 compute wrong numbers without optimisation; 3.1 does not. */
#define LAST_POCL 3

gboolean
layer_has (const gchar *part)
{
  const gchar *without = g_getenv ("GEMMCL_DOUBLES_WITHOUT");
  g_auto (GStrv) words = g_strsplit (without ? without : "", ",", 0);

  return !g_strv_contains ((const gchar *const *)words, part);
}

/** The call that fails on request: when @left, the number of calls until then, becomes 0. */
extern struct Fault {
  const gchar *function;
  gint left;
  cl_int error;
} doubles_fault __attribute__ ((visibility ("default")));
struct Fault doubles_fault = {"", 0, CL_SUCCESS};

cl_int
layer_fault (const gchar *function)
{
  return g_atomic_int_get (&doubles_fault.left) > 0 &&
                 g_str_equal (doubles_fault.function, function) &&
                 g_atomic_int_dec_and_test (&doubles_fault.left)
             ? doubles_fault.error
             : CL_SUCCESS;
}

/* TRUE if @device is PoCL's and tests are brief. */
static gboolean
is_for_brief (cl_device_id device)
{
  char version[128] = "";
  cl_platform_id platform;
  unsigned pocl;

  return g_getenv ("GEMMCL_TEST_BRIEF") && layer_has ("brief") &&
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
  g_autofree gchar *all = g_strconcat (options ? options : "", " -cl-opt-disable", NULL);

  return cl_next->clBuildProgram (program, n, devices,
                                  n > 0 && is_for_brief (devices[0]) ? all : options, notify, data);
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
  strict_install (table);
#ifdef HAVE_LIBVA
  if (g_getenv ("GEMMCL_DOUBLES"))
    sharing_install (table);
#endif
}
