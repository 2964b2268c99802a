/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "doubles.h"

#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <dlfcn.h>

const DoublesRecord *
doubles_record (void)
{
  static const DoublesRecord *record;
  const gchar *path = g_getenv ("GEMMCL_DOUBLES");
  gpointer module = record || !path ? NULL : dlopen (path, RTLD_NOW);

  if (module)
    record = dlsym (module, "gemmcl_doubles");
  return record;
}

const gchar *
doubles_missing (void)
{
  cl_platform_id platform;
  cl_device_id device;
  cl_bool shared = CL_FALSE;

  if (!doubles_record ())
    return "it does not run under tests/doubles/run.sh";
  if (clGetPlatformIDs (1, &platform, NULL) != CL_SUCCESS ||
      clGetDeviceIDs (platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != CL_SUCCESS)
    return "there is no OpenCL device to put the layer over";
  clGetDeviceInfo (device, CL_DEVICE_HOST_UNIFIED_MEMORY, sizeof shared, &shared, NULL);
  return shared ? NULL : "the device has memory of its own, which what the layer imports is not in";
}

gboolean
doubles_wait_for (const gchar *name, gint64 n)
{
  const gint64 end = g_get_monotonic_time () + 5 * G_TIME_SPAN_SECOND;

  while (doubles_count (name) != n && g_get_monotonic_time () < end)
    g_usleep (1000);
  return doubles_count (name) == n;
}

void
doubles_assert_right (void)
{
  if (doubles_misused (NULL) > 0)
    g_error ("The doubles saw misuse: see the standard error");
}
