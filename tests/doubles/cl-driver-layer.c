/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl_layer.h>
#include <CL/cl_va_api_media_sharing_intel.h>
#include <string.h>

/*
 * An OpenCL layer for Intel's own driver without a GPU (tools/intel-driver.sh) and a VADisplay of
 * the fake libva driver: that display has no device in the kernel, by which the driver could tell
 * which GPU it belongs to, and so it aborts when it is asked. Here all devices share with all
 * displays; every other call reaches the driver.
 */

static const cl_icd_dispatch *next;

static cl_int CL_API_CALL
get_devices (cl_platform_id platform, cl_va_api_device_source_intel source __attribute__ ((unused)),
             void *display __attribute__ ((unused)),
             cl_va_api_device_set_intel set __attribute__ ((unused)), cl_uint n,
             cl_device_id *devices, cl_uint *n_ret)
{
  return next->clGetDeviceIDs (platform, CL_DEVICE_TYPE_ALL, n, devices, n_ret);
}

static void *CL_API_CALL
get_address (cl_platform_id platform, const char *name)
{
  if (strcmp (name, "clGetDeviceIDsFromVA_APIMediaAdapterINTEL") == 0)
    return (void *)get_devices;
  return next->clGetExtensionFunctionAddressForPlatform (platform, name);
}

CL_API_ENTRY __attribute__ ((visibility ("default"))) cl_int CL_API_CALL
clGetLayerInfo (cl_layer_info name, size_t room, void *value, size_t *n)
{
  const cl_layer_api_version version = CL_LAYER_API_VERSION_100;

  if (name != CL_LAYER_API_VERSION || (value && room < sizeof version))
    return CL_INVALID_VALUE;
  if (value)
    memcpy (value, &version, sizeof version);
  if (n)
    *n = sizeof version;
  return CL_SUCCESS;
}

CL_API_ENTRY __attribute__ ((visibility ("default"))) cl_int CL_API_CALL
clInitLayer (cl_uint n, const cl_icd_dispatch *below, cl_uint *n_ret,
             const cl_icd_dispatch **result)
{
  static cl_icd_dispatch own;

  if (n < sizeof own / sizeof (void *))
    return CL_INVALID_VALUE;
  next = below;
  memcpy (&own, below, sizeof own);
  own.clGetExtensionFunctionAddressForPlatform = get_address;
  *result = &own;
  *n_ret = sizeof own / sizeof (void *);
  return CL_SUCCESS;
}
