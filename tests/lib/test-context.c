/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Devices by number, name and type; contexts of our own and of others; no device at all. */

#include <string.h>

#include "files.h"
#include "gemmcl-opencl.h"
#include "gemmcl.h"

G_DEFINE_AUTO_CLEANUP_FREE_FUNC (cl_context, clReleaseContext, NULL)
G_DEFINE_AUTO_CLEANUP_FREE_FUNC (cl_device_id, clReleaseDevice, NULL)

/* Returns: all devices; %NULL, with the test skipped, where there are none. */
static GPtrArray *
list_all (void)
{
  g_autoptr (GError) error = NULL;
  GPtrArray *devices = gemmcl_list_devices (NULL, &error);

  if (devices == NULL) {
    g_assert_error (error, GEMMCL_ERROR, GEMMCL_ERROR_NO_DEVICE);
    g_test_skip (error->message);
  }
  return devices;
}

static void
assert_found (const GemmclDeviceQuery *query, const gchar *name)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) devices = gemmcl_list_devices (query, &error);

  g_assert_no_error (error);
  g_assert_cmpuint (devices->len, >, 0);
  g_assert_cmpstr (((GemmclDeviceInfo *)devices->pdata[0])->name, ==, name);
}

static void
assert_none (const GemmclDeviceQuery *query, const gchar *words)
{
  g_autoptr (GError) error = NULL;

  g_assert_null (gemmcl_list_devices (query, &error));
  files_assert_error (error, GEMMCL_ERROR_NO_DEVICE, words);
  g_assert_null (gemmcl_context_new (query, &error));
  files_assert_error (error, GEMMCL_ERROR_NO_DEVICE, words);
}

static void
test_info (void)
{
  g_autoptr (GPtrArray) devices = list_all ();

  for (guint i = 0; devices && i < devices->len; i++) {
    const GemmclDeviceInfo *info = devices->pdata[i];

    g_assert_cmpuint (strlen (info->name), >, 0);
    g_assert_cmpuint (strlen (info->platform), >, 0);
    g_assert_cmpuint (strlen (info->version), >, 0);
    g_assert_cmpuint (info->compute_units, >, 0);
    g_assert_cmpuint (info->max_work_group, >, 0);
    g_assert_cmpuint (info->max_alloc_bytes, >, 0);
    g_assert_cmpuint (info->max_alloc_bytes, <=, info->global_bytes);
    g_assert_nonnull (info->peak_source);
    g_assert_true (info->type == GEMMCL_DEVICE_TYPE_CPU || info->type == GEMMCL_DEVICE_TYPE_GPU ||
                   info->type == GEMMCL_DEVICE_TYPE_ACCELERATOR);
    g_assert_false (gemmcl_device_info_has_extension (info, "cl_khr"));
    g_assert_false (gemmcl_device_info_has_extension (info, ""));
    if (info->fp64)
      g_assert_true (gemmcl_device_info_has_extension (info, "cl_khr_fp64"));
  }
}

static void
test_queries (void)
{
  g_autoptr (GPtrArray) devices = list_all ();
  const GemmclDeviceInfo *first;
  g_autofree gchar *upper = NULL;
  g_autofree gchar *platform = NULL;

  if (devices == NULL)
    return;
  first = devices->pdata[0];
  upper = g_utf8_strup (first->name, -1);
  platform = g_utf8_strdown (first->platform, -1);
  assert_found (&(GemmclDeviceQuery){0}, first->name);
  assert_found (&(GemmclDeviceQuery){.platform = "auto", .device = "AUTO"}, first->name);
  assert_found (&(GemmclDeviceQuery){.platform = "", .device = ""}, first->name);
  assert_found (&(GemmclDeviceQuery){.device = "0"}, first->name);
  assert_found (&(GemmclDeviceQuery){.device = upper}, first->name);
  assert_found (&(GemmclDeviceQuery){.device = first->name + strlen (first->name) / 2},
                first->name);
  assert_found (&(GemmclDeviceQuery){.platform = platform}, first->name);
  assert_found (&(GemmclDeviceQuery){.platform = platform + 1, .type = first->type, .device = "0"},
                first->name);
}

static void
test_refused (void)
{
  g_autoptr (GPtrArray) devices = list_all ();
  const GemmclDeviceInfo *first;

  if (devices == NULL)
    return;
  first = devices->pdata[0];
  assert_none (&(GemmclDeviceQuery){.device = "no such device"}, "device no such device");
  assert_none (&(GemmclDeviceQuery){.device = "no such device"}, first->name);
  assert_none (&(GemmclDeviceQuery){.device = "4294967295"}, first->name);
  assert_none (&(GemmclDeviceQuery){.device = "-1"}, "device -1");
  assert_none (&(GemmclDeviceQuery){.device = "99999999999999999999"}, first->platform);
  assert_none (&(GemmclDeviceQuery){.device = "not UTF-8: \xf0"}, "device not UTF-8: \xef\xbf\xbd");
  assert_none (&(GemmclDeviceQuery){.platform = "99"}, "platform 99");
  assert_none (&(GemmclDeviceQuery){.platform = "no such platform"}, first->platform);
  assert_none (&(GemmclDeviceQuery){.type = GEMMCL_DEVICE_TYPE_ACCELERATOR, .device = "7"},
               "type accelerator, device 7");
}

/* Every type finds only its own; every number the device of that number. */
static void
test_types (void)
{
  g_autoptr (GPtrArray) all = list_all ();

  if (all == NULL)
    return;
  for (guint type = GEMMCL_DEVICE_TYPE_CPU; type <= GEMMCL_DEVICE_TYPE_ACCELERATOR; type++) {
    const GemmclDeviceQuery query = {.type = type};
    g_autoptr (GPtrArray) found = gemmcl_list_devices (&query, NULL);
    guint expected = 0;

    for (guint i = 0; i < all->len; i++)
      expected += ((GemmclDeviceInfo *)all->pdata[i])->type == type;
    g_assert_cmpuint (found ? found->len : 0, ==, expected);
    for (guint i = 0; found && i < found->len; i++)
      g_assert_cmpint (((GemmclDeviceInfo *)found->pdata[i])->type, ==, type);
  }
}

static void
test_default (void)
{
  const GemmclDeviceQuery query = {.type = GEMMCL_DEVICE_TYPE_DEFAULT};
  g_autoptr (GPtrArray) all = list_all ();
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) found = NULL;

  if (all == NULL)
    return;
  found = gemmcl_list_devices (&query, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (found->len, >=, 1);
  g_assert_cmpuint (found->len, <=, all->len);
}

static void
test_none (void)
{
  g_autoptr (GError) error = NULL;

  if (g_test_subprocess ()) {
    g_assert_null (gemmcl_list_devices (NULL, &error));
    files_assert_error (error, GEMMCL_ERROR_NO_DEVICE, "No OpenCL device was found. Install");
    g_assert_null (gemmcl_context_new (NULL, &error));
    files_assert_error (error, GEMMCL_ERROR_NO_DEVICE, "pocl-opencl-icd");
    return;
  }
  g_setenv ("OCL_ICD_VENDORS", "/nonexistent/", TRUE);
  g_test_trap_subprocess (NULL, 0, 0);
  g_unsetenv ("OCL_ICD_VENDORS");
  g_test_trap_assert_passed ();
}

static void
test_wrapped (void)
{
  g_autoptr (GPtrArray) devices = list_all ();
  g_autoptr (GError) error = NULL;
  g_autoptr (GemmclContext) own = NULL;
  g_autoptr (GemmclContext) first = NULL;
  g_autoptr (GemmclContext) named = NULL;
  g_auto (cl_context) context = NULL;
  cl_device_id id;
  cl_int status;

  if (devices == NULL)
    return;
  own = gemmcl_context_new (NULL, &error);
  g_assert_no_error (error);
  id = gemmcl_context_get_cl_device (own);
  context = clCreateContext (NULL, 1, &id, NULL, NULL, &status);
  g_assert_cmpint (status, ==, CL_SUCCESS);
  first = gemmcl_context_new_wrapped (context, NULL, &error);
  g_assert_no_error (error);
  named = gemmcl_context_new_wrapped (context, id, &error);
  g_assert_no_error (error);
  g_assert_true (gemmcl_context_get_cl_context (first) == context);
  g_assert_true (gemmcl_context_get_cl_device (first) == id);
  g_assert_cmpstr (gemmcl_context_get_device_info (named)->name, ==,
                   gemmcl_context_get_device_info (own)->name);
  g_assert_true (gemmcl_context_get_cl_queue (first) != gemmcl_context_get_cl_queue (named));
}

/* A wrapped context outlives its maker's reference and works. */
static void
test_wrapped_runs (void)
{
  g_autoptr (GPtrArray) devices = list_all ();
  g_autoptr (GError) error = NULL;
  g_autoptr (GemmclContext) own = NULL;
  g_autoptr (GemmclContext) wrapped = NULL;
  GemmclGemm gemm = GEMMCL_GEMM_INIT;
  const gfloat a = 3, b = 5;
  gfloat d = 0;

  if (devices == NULL)
    return;
  own = gemmcl_context_new (NULL, &error);
  g_assert_no_error (error);
  wrapped = gemmcl_context_new_wrapped (gemmcl_context_get_cl_context (own), NULL, &error);
  g_assert_no_error (error);
  g_clear_object (&own);
  gemm.m = gemm.n = gemm.k = 1;
  g_assert_true (gemmcl_gemm_run (wrapped, &gemm, "gemm_naive", &a, &b, NULL, NULL, &d, &error));
  g_assert_no_error (error);
  g_assert_cmpfloat (d, ==, 15);
}

/* A part of a device is a device that no context of the whole one has. */
static void
test_wrong_device (void)
{
  const cl_device_partition_property halves[] = {CL_DEVICE_PARTITION_BY_COUNTS, 1, 0, 0};
  g_autoptr (GPtrArray) devices = list_all ();
  g_autoptr (GError) error = NULL;
  g_autoptr (GemmclContext) own = NULL;
  g_auto (cl_device_id) part = NULL;
  cl_int status;

  if (devices == NULL)
    return;
  own = gemmcl_context_new (NULL, &error);
  g_assert_no_error (error);
  status = clCreateSubDevices (gemmcl_context_get_cl_device (own), halves, 1, &part, NULL);
  if (status != CL_SUCCESS) {
    g_test_skip ("the device cannot be partitioned, and there is no other one to mistake it for");
    return;
  }
  g_assert_null (gemmcl_context_new_wrapped (gemmcl_context_get_cl_context (own), part, &error));
  files_assert_error (error, GEMMCL_ERROR_INVALID, "not one of the OpenCL context's");
}

/* Returns: TRUE if a context with CL_CONTEXT_INTEROP_USER_SYNC can be made and reports it. Some
 * drivers lack it where there is nothing to share with. */
static gboolean
has_user_sync (cl_device_id device)
{
  cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, 0, CL_CONTEXT_INTEROP_USER_SYNC,
                                        CL_TRUE, 0};
  cl_context_properties found[G_N_ELEMENTS (properties)] = {0};
  cl_platform_id platform = NULL;
  g_auto (cl_context) context = NULL;

  clGetDeviceInfo (device, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL);
  properties[1] = (cl_context_properties)platform;
  context = clCreateContext (properties, 1, &device, NULL, NULL, NULL);
  if (context != NULL)
    clGetContextInfo (context, CL_CONTEXT_PROPERTIES, sizeof found, found, NULL);
  return memcmp (found, properties, sizeof found) == 0;
}

/* Callers that ask for the same properties share a context with them; callers that ask for none get
 * any context. */
static void
test_properties (void)
{
  const cl_context_properties wanted[] = {CL_CONTEXT_INTEROP_USER_SYNC, CL_TRUE, 0};
  g_autoptr (GemmclContext) plain = NULL, first = NULL, second = NULL, any = NULL;
  g_autoptr (GError) error = NULL;

  plain = gemmcl_context_get_shared (NULL, &error);
  if (!plain) {
    g_test_skip (error->message);
    return;
  }
  g_assert_true (gemmcl_context_has_properties (plain, NULL));
  g_assert_false (gemmcl_context_has_properties (plain, wanted));
  if (!has_user_sync (gemmcl_context_get_cl_device (plain))) {
    g_test_skip ("the driver has no CL_CONTEXT_INTEROP_USER_SYNC, or does not report it");
    return;
  }
  first = gemmcl_context_get_shared_with (NULL, wanted, &error);
  g_assert_no_error (error);
  second = gemmcl_context_get_shared_with (NULL, wanted, &error);
  g_assert_true (first != plain && first == second);
  g_assert_true (gemmcl_context_has_properties (first, wanted));
  g_assert_false (gemmcl_context_is_wrapped (first));
  g_clear_object (&plain);
  any = gemmcl_context_get_shared (NULL, &error);
  g_assert_true (any == first);
}

/* Each device has one shared context, which is the same however it is asked for. */
static void
test_list (void)
{
  const GemmclDeviceQuery none = {.device = "no such device"};
  g_autoptr (GPtrArray) devices = gemmcl_list_devices (NULL, NULL), contexts = NULL, missing = NULL;
  g_autoptr (GError) error = NULL;

  if (!devices) {
    g_test_skip ("there is no OpenCL device");
    return;
  }
  contexts = gemmcl_context_list_shared (NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (contexts->len, ==, devices->len);
  for (guint i = 0; i < contexts->len; i++) {
    g_autofree gchar *number = g_strdup_printf ("%u", i);
    const GemmclDeviceQuery query = {.device = number};
    g_autoptr (GemmclContext) one = gemmcl_context_get_shared (&query, &error);

    g_assert_true (one == contexts->pdata[i]);
    g_assert_true (i == 0 || contexts->pdata[i] != contexts->pdata[i - 1]);
  }
  missing = gemmcl_context_list_shared (&none, &error);
  g_assert_null (missing);
  g_assert_error (error, GEMMCL_ERROR, GEMMCL_ERROR_NO_DEVICE);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/context/info", test_info);
  g_test_add_func ("/context/queries", test_queries);
  g_test_add_func ("/context/refused", test_refused);
  g_test_add_func ("/context/types", test_types);
  g_test_add_func ("/context/default", test_default);
  g_test_add_func ("/context/none", test_none);
  g_test_add_func ("/context/wrapped", test_wrapped);
  g_test_add_func ("/context/wrapped-runs", test_wrapped_runs);
  g_test_add_func ("/context/wrong-device", test_wrong_device);
  g_test_add_func ("/context/properties", test_properties);
  g_test_add_func ("/context/list", test_list);
  return g_test_run ();
}
