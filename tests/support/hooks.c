/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include "next.h"
#include "gemmcl-opencl.h"
#include "cl-parameters.h"

/* These functions replace those of OpenCL's loader and of the library, since this file is preloaded
 * or part of a test's program. A script may set hook_NAME (gemmcl.py), which all callers, also the
 * library, then call in place of the function NAME. With GEMMCL_TEST_DISCRETE in the environment
 * devices report memory of their own. */
#define CALL(name, ...) ((hook_##name ? hook_##name : NEXT (name)) (__VA_ARGS__))
#define HOOK(Result, name, parameters, ...)                                                        \
  __typeof__ (name) *hook_##name;                                                                  \
  Result name parameters                                                                           \
  {                                                                                                \
    return CALL (name, __VA_ARGS__);                                                               \
  }

__typeof__ (clGetDeviceInfo) *hook_clGetDeviceInfo;

cl_int
clGetDeviceInfo (cl_device_id device, cl_device_info name, size_t room, void *value, size_t *size)
{
  const cl_int status = CALL (clGetDeviceInfo, device, name, room, value, size);

  if (name == CL_DEVICE_HOST_UNIFIED_MEMORY && value && g_getenv ("GEMMCL_TEST_DISCRETE"))
    *(cl_bool *)value = CL_FALSE;
  return status;
}

HOOK (cl_int, clGetPlatformIDs, (cl_uint n, cl_platform_id *platforms, cl_uint *n_platforms), n,
      platforms, n_platforms)
HOOK (cl_int, clGetDeviceIDs,
      (cl_platform_id platform, cl_device_type type, cl_uint n, cl_device_id *devices,
       cl_uint *n_devices),
      platform, type, n, devices, n_devices)
HOOK (cl_context, clCreateContext,
      (const cl_context_properties *properties, cl_uint n, const cl_device_id *devices,
       void (CL_CALLBACK *notify) (const char *, const void *, size_t, void *), void *data,
       cl_int *status),
      properties, n, devices, notify, data, status)
HOOK (cl_int, clGetPlatformInfo,
      (cl_platform_id platform, cl_platform_info name, size_t room, void *value, size_t *size),
      platform, name, room, value, size)
HOOK (cl_int, clGetSupportedImageFormats,
      (cl_context context, cl_mem_flags flags, cl_mem_object_type type, cl_uint n,
       cl_image_format *formats, cl_uint *n_formats),
      context, flags, type, n, formats, n_formats)
HOOK (cl_mem, clCreateBuffer,
      (cl_context context, cl_mem_flags flags, size_t size, void *data, cl_int *status), context,
      flags, size, data, status)
HOOK (cl_mem, clCreateImage,
      (cl_context context, cl_mem_flags flags, const cl_image_format *format,
       const cl_image_desc *desc, void *data, cl_int *status),
      context, flags, format, desc, data, status)
HOOK (cl_program, clCreateProgramWithSource,
      (cl_context context, cl_uint n, const char **texts, const size_t *lengths, cl_int *status),
      context, n, texts, lengths, status)
HOOK (cl_int, clBuildProgram,
      (cl_program program, cl_uint n, const cl_device_id *devices, const char *options,
       void (CL_CALLBACK *notify) (cl_program, void *), void *data),
      program, n, devices, options, notify, data)
HOOK (cl_int, clGetEventProfilingInfo,
      (cl_event event, cl_profiling_info name, size_t room, void *value, size_t *size), event, name,
      room, value, size)
HOOK (gboolean, gemmcl_plan_submit,
      (GemmclPlan * plan, const GemmclRun *run, cl_event *first, cl_event *done, GError **error),
      plan, run, first, done, error)

/* The number of commands, by the kinds of cl-commands.def (read by cl_memory.py). */
gint count_reads, count_writes, count_copies, count_fills, count_others;

#define COMMAND(function, parameters, arguments, is_blocking, kind, is_valid)                      \
  __typeof__ (function) *hook_##function;                                                          \
  cl_int function parameters                                                                       \
  {                                                                                                \
    g_atomic_int_inc (&count_##kind);                                                              \
    return (hook_##function ? hook_##function : NEXT (function))arguments;                         \
  }
#include "cl-commands.def"
