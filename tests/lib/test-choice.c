/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The kernel that the rules choose on a GPU, which the test makes of whatever device there is:
 * where K may be cut into parts, and where it may not; and on CPUs with vectors of some width.
 * Nothing is run. */

#ifndef _GNU_SOURCE
  #define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <string.h>

#include "gemmcl-opencl.h"
#include "gemmcl.h"

#define UNITS 64

/* 0: the device is a GPU, else a CPU with vectors of so many floats. */
static cl_uint cpu_width;

typedef cl_int (CL_API_CALL *GetInfo) (cl_device_id, cl_device_info, size_t, void *, size_t *);

/* Stands before OpenCL's: the library takes it for that. */
cl_int CL_API_CALL
clGetDeviceInfo (cl_device_id id, cl_device_info name, size_t size, void *value, size_t *size_ret)
{
  static GetInfo next;
  cl_int status;

  if (next == NULL)
    next = (GetInfo)dlsym (RTLD_NEXT, "clGetDeviceInfo");
  status = next (id, name, size, value, size_ret);
  if (status == CL_SUCCESS && value != NULL && name == CL_DEVICE_TYPE)
    *(cl_device_type *)value = cpu_width ? CL_DEVICE_TYPE_CPU : CL_DEVICE_TYPE_GPU;
  else if (cpu_width && value != NULL && name == CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT)
    *(cl_uint *)value = cpu_width;
  else if (status == CL_SUCCESS && value != NULL && name == CL_DEVICE_MAX_COMPUTE_UNITS)
    *(cl_uint *)value = UNITS;
  return status;
}

static GemmclContext *context;

static const gchar *
choose (gsize m, gsize n, gsize k, gsize batch)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GemmclPlan) plan = NULL;
  GemmclGemm gemm = GEMMCL_GEMM_INIT;

  gemm.m = m;
  gemm.n = n;
  gemm.k = k;
  gemm.batch = batch;
  plan = gemmcl_plan_new (context, &gemm, "rules", &error);
  g_assert_no_error (error);
  return gemmcl_plan_get_kernel (plan);
}

/* Batches run as one tall problem, but cannot have K cut; the tall problem can, and of a K that is
 * 16 more it cannot, since no part would be a multiple of 16. So that is what batches should get.
 */
static void
test_batches (void)
{
  static const gsize sizes[][3] = {{16, 256, 2048}, {32, 128, 4096}, {64, 256, 1024}};
  guint better_cut = 0;

  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++) {
    const gsize m = sizes[i][0], n = sizes[i][1], k = sizes[i][2];
    const gchar *batches = choose (m, n, k, 4);
    const gchar *tall = choose (4 * m, n, k, 1);
    const gchar *whole = choose (4 * m, n, k + 16, 1);
    const gchar *slash = strchr (tall, '/');

    g_test_message ("%zu x %zu x %zu: tall %s, whole %s, in batches %s", m, n, k, tall, whole,
                    batches);
    g_assert_null (strchr (whole, '/'));
    g_assert_cmpstr (batches, ==, whole);
    better_cut += slash != NULL && strncmp (tall, whole, slash - tall) != 0;
  }
  if (better_cut == 0)
    g_test_skip ("no kernel of this device would be better for one of these if K were cut");
}

/* Kernels have vectors as wide as the device's, and no wider ones. */
static void
test_width (void)
{
  GemmclGemm gemm = GEMMCL_GEMM_INIT;

  gemm.m = gemm.n = gemm.k = 512;
  for (cpu_width = 4; cpu_width <= 16; cpu_width *= 2) {
    g_autoptr (GemmclContext) cpu = gemmcl_context_new (NULL, NULL);
    g_auto (GStrv) names = gemmcl_tuning_list_candidates (cpu, &gemm);
    g_autofree gchar *options = NULL, *width = g_strdup_printf ("-DWIDTH=%u ", cpu_width);

    g_assert_nonnull (gemmcl_kernel_get_source (names[0], &gemm, &options, NULL));
    g_test_message ("%u floats: %s", cpu_width, names[0]);
    g_assert_nonnull (strstr (options, width));
  }
  cpu_width = 0;
}

int
main (int argc, char **argv)
{
  g_autoptr (GError) error = NULL;
  gint status;

  g_test_init (&argc, &argv, NULL);
  context = gemmcl_context_new (NULL, &error);
  if (context == NULL) {
    g_print ("1..0 # SKIP %s\n", error->message);
    return 0;
  }
  g_assert_cmpint (gemmcl_context_get_device_info (context)->type, ==, GEMMCL_DEVICE_TYPE_GPU);
  g_test_add_func ("/choice/batches", test_batches);
  g_test_add_func ("/choice/width", test_width);
  status = g_test_run ();
  g_clear_object (&context);
  return status;
}
