/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "doubles.h"

#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <dlfcn.h>
#include <string.h>

const DoublesCounts *
doubles_get_counts (void)
{
  static const DoublesCounts *counts;
  const gchar *path = g_getenv ("GEMMCL_DOUBLES");
  gpointer module = counts || !path ? NULL : dlopen (path, RTLD_NOW);

  if (module)
    counts = dlsym (module, "doubles_counts");
  return counts;
}

const gchar *
doubles_missing (void)
{
  cl_platform_id platform;
  cl_device_id device;
  cl_device_exec_capabilities runs = 0;
  char extensions[8192] = "";

  if (!doubles_get_counts ())
    return "it does not run under tests/doubles/run.sh";
  if (clGetPlatformIDs (1, &platform, NULL) != CL_SUCCESS ||
      clGetDeviceIDs (platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != CL_SUCCESS)
    return "there is no OpenCL device to put the layer over";
  clGetDeviceInfo (device, CL_DEVICE_EXTENSIONS, sizeof extensions, extensions, NULL);
  if (!strstr (extensions, "cl_intel_va_api_media_sharing"))
    return "OpenCL's loader does not load the layer";
  clGetDeviceInfo (device, CL_DEVICE_EXECUTION_CAPABILITIES, sizeof runs, &runs, NULL);
  return runs & CL_EXEC_NATIVE_KERNEL ? NULL : "the device does not run native kernels";
}

void
doubles_assert_clean (void)
{
  const gint64 end = g_get_monotonic_time () + 5 * G_TIME_SPAN_SECOND;

  while (doubles_count (live_objects) + doubles_count (live_contexts) > 0 &&
         g_get_monotonic_time () < end)
    g_usleep (1000);
  g_assert_cmpint (doubles_count (live_objects), ==, 0);
  g_assert_cmpint (doubles_count (live_contexts), ==, 0);
}
