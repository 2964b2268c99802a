/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cl.h"

#include <string.h>

static const struct {
  cl_int status;
  const gchar *name;
  const gchar *hint;
} names[] = {
#define NAME(x, hint)                                                                              \
  {                                                                                                \
    x, #x, hint                                                                                    \
  }
    NAME (CL_SUCCESS, ""),
    NAME (CL_DEVICE_NOT_FOUND, ""),
    NAME (CL_DEVICE_NOT_AVAILABLE, ": the device is in use or gone"),
    NAME (CL_COMPILER_NOT_AVAILABLE, ": this driver cannot build kernels"),
    NAME (CL_MEM_OBJECT_ALLOCATION_FAILURE, ": the device has not enough memory for this problem"),
    NAME (CL_OUT_OF_RESOURCES, ": the device ran out of memory or was lost"),
    NAME (CL_OUT_OF_HOST_MEMORY, ""),
    NAME (CL_PROFILING_INFO_NOT_AVAILABLE, ""),
    NAME (CL_BUILD_PROGRAM_FAILURE, ""),
    NAME (CL_MISALIGNED_SUB_BUFFER_OFFSET, ""),
    NAME (CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, ": something it waited for failed"),
    NAME (CL_LINKER_NOT_AVAILABLE, ""),
    NAME (CL_INVALID_VALUE, ""),
    NAME (CL_INVALID_DEVICE_TYPE, ""),
    NAME (CL_INVALID_PLATFORM, ""),
    NAME (CL_INVALID_DEVICE, ""),
    NAME (CL_INVALID_CONTEXT, ""),
    NAME (CL_INVALID_QUEUE_PROPERTIES, ""),
    NAME (CL_INVALID_COMMAND_QUEUE, ""),
    NAME (CL_INVALID_HOST_PTR, ""),
    NAME (CL_INVALID_MEM_OBJECT, ""),
    NAME (CL_INVALID_BINARY, ""),
    NAME (CL_INVALID_BUILD_OPTIONS, ""),
    NAME (CL_INVALID_PROGRAM, ""),
    NAME (CL_INVALID_PROGRAM_EXECUTABLE, ""),
    NAME (CL_INVALID_KERNEL_NAME, ""),
    NAME (CL_INVALID_KERNEL, ""),
    NAME (CL_INVALID_ARG_INDEX, ""),
    NAME (CL_INVALID_ARG_VALUE, ""),
    NAME (CL_INVALID_ARG_SIZE, ""),
    NAME (CL_INVALID_KERNEL_ARGS, ""),
    NAME (CL_INVALID_WORK_DIMENSION, ""),
    NAME (CL_INVALID_WORK_GROUP_SIZE, ""),
    NAME (CL_INVALID_WORK_ITEM_SIZE, ""),
    NAME (CL_INVALID_GLOBAL_OFFSET, ""),
    NAME (CL_INVALID_EVENT_WAIT_LIST, ""),
    NAME (CL_INVALID_EVENT, ""),
    NAME (CL_INVALID_OPERATION, ""),
    NAME (CL_INVALID_BUFFER_SIZE, ": more than the device allows in one buffer"),
    NAME (CL_INVALID_GLOBAL_WORK_SIZE, ""),
    NAME (CL_INVALID_PROPERTY, ""),
    {-1001, "CL_PLATFORM_NOT_FOUND_KHR", ": no OpenCL driver is installed"},
#undef NAME
};

const gchar *
gemmcl_cl_error_name (cl_int status)
{
  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    if (names[i].status == status)
      return names[i].name;
  return "an unknown error";
}

static const gchar *
error_hint (cl_int status)
{
  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    if (names[i].status == status)
      return names[i].hint;
  return "";
}

gboolean
gemmcl_cl_check (cl_int status, GError **error, const gchar *call, ...)
{
  g_autofree gchar *what = NULL;
  va_list args;

  if (status == CL_SUCCESS)
    return TRUE;

  va_start (args, call);
  what = g_strdup_vprintf (call, args);
  va_end (args);
  g_set_error (error, GEMMCL_ERROR, GEMMCL_ERROR_OPENCL, "%s failed with %s (%d)%s.", what,
               gemmcl_cl_error_name (status), status, error_hint (status));
  return FALSE;
}

guint
gemmcl_cl_get_version (const gchar *version)
{
  const gsize prefix = strlen ("OpenCL ");

  return strlen (version) > prefix ? 10 * g_ascii_strtod (version + prefix, NULL) + 0.5 : 0;
}
