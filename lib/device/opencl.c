/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * OpenCL's errors.
 */
#include "device/opencl.h"

typedef struct {
  cl_int status;
  const gchar *name;
  const gchar *hint;
} Status;

static const Status statuses[] = {
#define STATUS(x, hint)                                                                            \
  {                                                                                                \
    x, #x, hint                                                                                    \
  }
    STATUS (CL_SUCCESS, ""),
    STATUS (CL_DEVICE_NOT_FOUND, ""),
    STATUS (CL_DEVICE_NOT_AVAILABLE, ": the device is in use or gone"),
    STATUS (CL_COMPILER_NOT_AVAILABLE, ": this driver cannot build kernels"),
    STATUS (CL_MEM_OBJECT_ALLOCATION_FAILURE,
            ": the device has not enough memory for this problem"),
    STATUS (CL_OUT_OF_RESOURCES, ": the device ran out of memory or was lost"),
    STATUS (CL_OUT_OF_HOST_MEMORY, ""),
    STATUS (CL_PROFILING_INFO_NOT_AVAILABLE, ""),
    STATUS (CL_BUILD_PROGRAM_FAILURE, ""),
    STATUS (CL_MISALIGNED_SUB_BUFFER_OFFSET, ""),
    STATUS (CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, ": something it waited for failed"),
    STATUS (CL_LINKER_NOT_AVAILABLE, ""),
    STATUS (CL_INVALID_VALUE, ""),
    STATUS (CL_INVALID_DEVICE_TYPE, ""),
    STATUS (CL_INVALID_PLATFORM, ""),
    STATUS (CL_INVALID_DEVICE, ""),
    STATUS (CL_INVALID_CONTEXT, ""),
    STATUS (CL_INVALID_QUEUE_PROPERTIES, ""),
    STATUS (CL_INVALID_COMMAND_QUEUE, ""),
    STATUS (CL_INVALID_HOST_PTR, ""),
    STATUS (CL_INVALID_MEM_OBJECT, ""),
    STATUS (CL_INVALID_BINARY, ""),
    STATUS (CL_INVALID_BUILD_OPTIONS, ""),
    STATUS (CL_INVALID_PROGRAM, ""),
    STATUS (CL_INVALID_PROGRAM_EXECUTABLE, ""),
    STATUS (CL_INVALID_KERNEL_NAME, ""),
    STATUS (CL_INVALID_KERNEL, ""),
    STATUS (CL_INVALID_ARG_INDEX, ""),
    STATUS (CL_INVALID_ARG_VALUE, ""),
    STATUS (CL_INVALID_ARG_SIZE, ""),
    STATUS (CL_INVALID_KERNEL_ARGS, ""),
    STATUS (CL_INVALID_WORK_DIMENSION, ""),
    STATUS (CL_INVALID_WORK_GROUP_SIZE, ""),
    STATUS (CL_INVALID_WORK_ITEM_SIZE, ""),
    STATUS (CL_INVALID_GLOBAL_OFFSET, ""),
    STATUS (CL_INVALID_EVENT_WAIT_LIST, ""),
    STATUS (CL_INVALID_EVENT, ""),
    STATUS (CL_INVALID_OPERATION, ""),
    STATUS (CL_INVALID_BUFFER_SIZE, ": more than the device allows in one buffer"),
    STATUS (CL_INVALID_GLOBAL_WORK_SIZE, ""),
    STATUS (CL_INVALID_PROPERTY, ""),
    {-1001, "CL_PLATFORM_NOT_FOUND_KHR", ": no OpenCL driver is installed"},
#undef STATUS
};

static const Status *
find_status (cl_int status)
{
  static const Status unknown = {0, "an unknown error", ""};

  for (gsize i = 0; i < G_N_ELEMENTS (statuses); i++)
    if (statuses[i].status == status)
      return &statuses[i];
  return &unknown;
}

const gchar *
gemmcl_cl_error_name (cl_int status)
{
  return find_status (status)->name;
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
  return gemmcl_fail (error, GEMMCL_ERROR_OPENCL, "%s failed with %s (%d)%s.", what,
                      find_status (status)->name, status, find_status (status)->hint);
}
