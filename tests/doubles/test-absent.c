/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "rig.h"

#include <string.h>

/* The absence of extensions: each test runs in an environment of its own, which meson.build sets.
 */

static cl_platform_id platform;
static cl_device_id device;

static gboolean
has_extension (const gchar *name)
{
  gchar text[8192] = "";
  g_auto (GStrv) words = NULL;

  ASSERT_GOOD (clGetDeviceInfo (device, CL_DEVICE_EXTENSIONS, sizeof text - 1, text, NULL));
  words = g_strsplit (text, " ", 0);
  return g_strv_contains ((const gchar *const *)words, name);
}

static gboolean
imports_dmabufs (void)
{
  cl_uint types[8];
  size_t n = 0;

  return clGetDeviceInfo (device, CL_DEVICE_EXTERNAL_MEMORY_IMPORT_HANDLE_TYPES_KHR, sizeof types,
                          types, &n) == CL_SUCCESS &&
         n == sizeof *types && types[0] == CL_EXTERNAL_MEMORY_HANDLE_DMA_BUF_KHR;
}

static gpointer
find_function (const gchar *name)
{
  return clGetExtensionFunctionAddressForPlatform (platform, name);
}

static void
check (gboolean va, gboolean dmabuf)
{
  g_assert_cmpint (has_extension ("cl_intel_va_api_media_sharing"), ==, va);
  g_assert_cmpint (find_function ("clCreateFromVA_APIMediaSurfaceINTEL") != NULL, ==, va);
  g_assert_cmpint (has_extension ("cl_khr_external_memory"), ==, dmabuf);
  g_assert_cmpint (find_function ("clEnqueueAcquireExternalMemObjectsKHR") != NULL, ==, dmabuf);
  g_assert_cmpint (imports_dmabufs (), ==, dmabuf);
}

static void
test_no_layer (void)
{
  g_assert_nonnull (doubles_missing ());
  if (has_extension ("cl_intel_va_api_media_sharing"))
    g_test_skip ("this device has the extension by itself");
  else
    check (FALSE, FALSE);
}

static void
test_layer (void)
{
  check (TRUE, TRUE);
}

static void
test_without_va (void)
{
  check (FALSE, TRUE);
}

static void
test_without_both (void)
{
  check (FALSE, FALSE);
}

/* To ask for the devices of another vendor's display is misuse, since Intel's driver can abort. */
static void
test_vendor (void)
{
  clGetDeviceIDsFromVA_APIMediaAdapterINTEL_fn get_devices;
  gpointer found = find_function ("clGetDeviceIDsFromVA_APIMediaAdapterINTEL");
  VADisplay display = va_display_new ();
  cl_uint n;

  memcpy (&get_devices, &found, sizeof found);
  g_assert_cmpstr (vaQueryVendorString (display), ==, g_getenv ("GEMMCL_DOUBLES_VENDOR"));
  ASSERT_REFUSED (get_devices (platform, CL_VA_API_DISPLAY_INTEL, display,
                               CL_ALL_DEVICES_FOR_VA_API_INTEL, 0, NULL, &n),
                  CL_INVALID_VA_API_MEDIA_ADAPTER_INTEL, "foreign-display");
  vaTerminate (display);
}

static void
skip (void)
{
  g_test_skip ("there is no OpenCL device");
}

int
main (int argc, char **argv)
{
  const gboolean any =
      clGetPlatformIDs (1, &platform, NULL) == CL_SUCCESS &&
      clGetDeviceIDs (platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) == CL_SUCCESS;

  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/doubles/absent/no-layer", any ? test_no_layer : skip);
  g_test_add_func ("/doubles/absent/layer", any ? test_layer : skip);
  g_test_add_func ("/doubles/absent/without-va", any ? test_without_va : skip);
  g_test_add_func ("/doubles/absent/without-both", any ? test_without_both : skip);
  rig_add_test ("/doubles/absent/vendor", test_vendor);
  return g_test_run ();
}
