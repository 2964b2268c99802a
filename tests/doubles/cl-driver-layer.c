/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cl-layer-entry.h"

#include <CL/cl_va_api_media_sharing_intel.h>
#include <string.h>

/*
 * An OpenCL layer for Intel's driver without a GPU (tools/intel-driver.sh) and a VADisplay of the
 * fake libva driver. The driver finds the GPU of a display by its device in the kernel. The fake
 * display has none, so that the driver would abort. With the layer all devices share with all
 * displays; every other call reaches the driver.
 */

static cl_int CL_API_CALL
get_devices (cl_platform_id platform, cl_va_api_device_source_intel source __attribute__ ((unused)),
             void *display __attribute__ ((unused)),
             cl_va_api_device_set_intel set __attribute__ ((unused)), cl_uint n,
             cl_device_id *devices, cl_uint *n_ret)
{
  return cl_next->clGetDeviceIDs (platform, CL_DEVICE_TYPE_ALL, n, devices, n_ret);
}

static void *CL_API_CALL
get_address (cl_platform_id platform, const char *name)
{
  if (strcmp (name, "clGetDeviceIDsFromVA_APIMediaAdapterINTEL") == 0)
    return (void *)get_devices;
  return cl_next->clGetExtensionFunctionAddressForPlatform (platform, name);
}

void
cl_layer_install (cl_icd_dispatch *table)
{
  table->clGetExtensionFunctionAddressForPlatform = get_address;
}
