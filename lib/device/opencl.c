/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "device/opencl.h"

typedef struct {
  cl_int status;
  const gchar *name;
  const gchar *hint;
} Status;

/* clang-format off */
static const Status statuses[] = {
#define STATUS(x, hint) {x, #x, hint}
#define PLAIN(x)        {x, #x, ""}
    STATUS (CL_DEVICE_NOT_AVAILABLE, ": the device is in use or gone"),
    STATUS (CL_COMPILER_NOT_AVAILABLE, ": this driver cannot build kernels"),
    STATUS (CL_MEM_OBJECT_ALLOCATION_FAILURE,
            ": the device has not enough memory for this problem"),
    STATUS (CL_OUT_OF_RESOURCES, ": the device ran out of memory or was lost"),
    STATUS (CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, ": something it waited for failed"),
    STATUS (CL_INVALID_BUFFER_SIZE, ": more than the device allows in one buffer"),
    {-1001, "CL_PLATFORM_NOT_FOUND_KHR", ": no OpenCL driver is installed"},
    PLAIN (CL_SUCCESS), PLAIN (CL_DEVICE_NOT_FOUND), PLAIN (CL_OUT_OF_HOST_MEMORY),
    PLAIN (CL_PROFILING_INFO_NOT_AVAILABLE), PLAIN (CL_BUILD_PROGRAM_FAILURE),
    PLAIN (CL_MISALIGNED_SUB_BUFFER_OFFSET), PLAIN (CL_LINKER_NOT_AVAILABLE),
    PLAIN (CL_INVALID_VALUE), PLAIN (CL_INVALID_DEVICE_TYPE), PLAIN (CL_INVALID_PLATFORM),
    PLAIN (CL_INVALID_DEVICE), PLAIN (CL_INVALID_CONTEXT), PLAIN (CL_INVALID_QUEUE_PROPERTIES),
    PLAIN (CL_INVALID_COMMAND_QUEUE), PLAIN (CL_INVALID_HOST_PTR), PLAIN (CL_INVALID_MEM_OBJECT),
    PLAIN (CL_INVALID_BINARY), PLAIN (CL_INVALID_BUILD_OPTIONS), PLAIN (CL_INVALID_PROGRAM),
    PLAIN (CL_INVALID_PROGRAM_EXECUTABLE), PLAIN (CL_INVALID_KERNEL_NAME),
    PLAIN (CL_INVALID_KERNEL), PLAIN (CL_INVALID_ARG_INDEX), PLAIN (CL_INVALID_ARG_VALUE),
    PLAIN (CL_INVALID_ARG_SIZE), PLAIN (CL_INVALID_KERNEL_ARGS), PLAIN (CL_INVALID_WORK_DIMENSION),
    PLAIN (CL_INVALID_WORK_GROUP_SIZE), PLAIN (CL_INVALID_WORK_ITEM_SIZE),
    PLAIN (CL_INVALID_GLOBAL_OFFSET), PLAIN (CL_INVALID_EVENT_WAIT_LIST), PLAIN (CL_INVALID_EVENT),
    PLAIN (CL_INVALID_OPERATION), PLAIN (CL_INVALID_GLOBAL_WORK_SIZE), PLAIN (CL_INVALID_PROPERTY)
#undef PLAIN
#undef STATUS
};
/* clang-format on */

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
