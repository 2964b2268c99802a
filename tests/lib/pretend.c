/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <glib.h>
#include <string.h>

#include "../next.h"

/* Part of a test's program, or preloaded, and so in front of the OpenCL loader: the device is as a
 * test wants it. With GEMMCL_TEST_DISCRETE in the environment it has memory of its own. */

/* Its images have four channels. */
gboolean pretend_rgba;

/* Its answers to queries of devices and platforms, up to the first name of 0. */
struct {
  cl_uint name, size;
  guint8 bytes[512];
} pretend_answers[32];

static gboolean
answer (cl_uint name, gsize room, gpointer value, gsize *size)
{
  for (guint i = 0; pretend_answers[i].name != 0; i++)
    if (pretend_answers[i].name == name) {
      if (size)
        *size = pretend_answers[i].size;
      if (value && room >= pretend_answers[i].size)
        memcpy (value, pretend_answers[i].bytes, pretend_answers[i].size);
      return TRUE;
    }
  return FALSE;
}

cl_int
clGetPlatformInfo (cl_platform_id platform, cl_platform_info name, size_t room, void *value,
                   size_t *size)
{
  return answer (name, room, value, size)
             ? CL_SUCCESS
             : NEXT (clGetPlatformInfo) (platform, name, room, value, size);
}

cl_int
clGetDeviceInfo (cl_device_id device, cl_device_info name, size_t room, void *value, size_t *size)
{
  cl_int status;

  if (answer (name, room, value, size))
    return CL_SUCCESS;
  status = NEXT (clGetDeviceInfo) (device, name, room, value, size);
  if (name == CL_DEVICE_HOST_UNIFIED_MEMORY && value && g_getenv ("GEMMCL_TEST_DISCRETE"))
    *(cl_bool *)value = CL_FALSE;
  return status;
}

cl_int
clGetSupportedImageFormats (cl_context context, cl_mem_flags flags, cl_mem_object_type type,
                            cl_uint n, cl_image_format *formats, cl_uint *n_formats)
{
  if (!pretend_rgba)
    return NEXT (clGetSupportedImageFormats) (context, flags, type, n, formats, n_formats);
  if (n_formats)
    *n_formats = 1;
  if (formats && n)
    formats[0] = (cl_image_format){CL_RGBA, CL_UNSIGNED_INT32};
  return CL_SUCCESS;
}
