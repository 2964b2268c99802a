/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include "gemmcl-context.h"

#include "../next.h"

/*
 * A preloaded library with which the tool sees a device that shares VA surfaces.
 */
gboolean
gemmcl_device_info_has_extension (const GemmclDeviceInfo *info, const gchar *extension)
{
  return g_str_equal (extension, "cl_intel_va_api_media_sharing") ||
         NEXT (gemmcl_device_info_has_extension) (info, extension);
}
