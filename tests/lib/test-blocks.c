/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A and B in images, or in buffers on devices without images of one channel. */

#define _GNU_SOURCE
#include <math.h>
#include <string.h>

#include "../kernels/problem.h"
#include "../next.h"

#define ROW      "block_read_4x1_1x8"
#define F16_ROW  "block_read_f16_4x1_1x16"
#define MAX_SIDE 16384 /* of an image in a buffer */

static gboolean rgba_only; /* the next context has only images of four channels */
static GemmclContext *without_images;

/* The library calls this one, in front of libOpenCL's. */
cl_int
clGetSupportedImageFormats (cl_context context, cl_mem_flags flags, cl_mem_object_type type,
                            cl_uint n, cl_image_format *formats, cl_uint *n_formats)
{
  if (!rgba_only)
    return NEXT (clGetSupportedImageFormats) (context, flags, type, n, formats, n_formats);
  if (n_formats)
    *n_formats = 1;
  if (formats && n)
    formats[0] = (cl_image_format){CL_RGBA, CL_UNSIGNED_INT32};
  return CL_SUCCESS;
}

/* The context that images are looked for in; %NULL, with the test skipped, without what it takes.
 */
static GemmclContext *
get_context (gconstpointer in_buffers)
{
  GemmclContext *context = test_get_context ();

  if (context == NULL)
    return NULL;
  if (in_buffers) {
    if (without_images == NULL) {
      g_autoptr (GError) error = NULL;
      rgba_only = TRUE;
      without_images = gemmcl_context_new_wrapped (gemmcl_context_get_cl_context (context),
                                                   gemmcl_context_get_cl_device (context), &error);
      rgba_only = FALSE;
      g_assert_no_error (error);
    }
    g_assert_cmpuint (gemmcl_context_get_device_info (without_images)->max_image_width, ==, 0);
    return without_images;
  }
  if (gemmcl_context_get_device_info (context)->max_image_width == 0) {
    g_test_skip ("the device has no images of one channel");
    return NULL;
  }
  return context;
}

static void
check (GemmclContext *context, const GemmclGemm *gemm, const gchar *kernel, guint seed)
{
  g_auto (Problem) problem = {0};
  g_autoptr (GError) error = NULL;

  problem_init (&problem, gemm, seed);
  g_assert_true (problem_run_device (&problem, context, kernel, &error));
  g_assert_no_error (error);
  problem_check (&problem, kernel);
}

/* A longer than an image is wide, and more tiles of it than lie side by side. */
static void
test_large (gconstpointer in_buffers)
{
  GemmclContext *context = get_context (in_buffers);
  const GemmclDeviceInfo *info;
  GemmclGemm gemm = GEMMCL_GEMM_INIT;

  if (context == NULL)
    return;
  info = gemmcl_context_get_device_info (context);
  gemm.m = 5;
  gemm.n = 9;
  gemm.k = MAX (MAX (info->max_image_width, info->max_image_height), MAX_SIDE) + 100;
  check (context, &gemm, ROW, 0);
  gemm.m = 4 * (MAX (info->max_image_width, MAX_SIDE) / 8) + 50;
  gemm.n = 3;
  gemm.k = 8;
  check (context, &gemm, ROW, 1);
}

/* Tiles side by side and edges, texels of two halves, batches and both layouts. */
static void
test_rows (gconstpointer in_buffers)
{
  GemmclContext *context = get_context (in_buffers);
  GemmclGemm gemm = GEMMCL_GEMM_INIT;

  if (context == NULL)
    return;
  gemm.m = 13;
  gemm.n = 37;
  gemm.k = 21;
  gemm.batch = 3;
  gemm.a_stride = gemm.m * gemm.k + 5;
  gemm.b_stride = gemm.k * gemm.n + 3;
  check (context, &gemm, ROW, 2);
  gemm.precision = GEMMCL_PRECISION_F16;
  check (context, &gemm, F16_ROW, 3);
  gemm.layout = GEMMCL_LAYOUT_COLUMN_MAJOR;
  gemm.a_type = GEMMCL_TYPE_F16;
  check (context, &gemm, F16_ROW, 4);
}

/* With alpha 0 there need be no B, nor A. */
static void
test_without_b (gconstpointer in_buffers)
{
  GemmclContext *context = get_context (in_buffers);
  GemmclGemm gemm = GEMMCL_GEMM_INIT;
  g_autoptr (GemmclPlan) plan = NULL;
  g_autoptr (GError) error = NULL;
  gfloat a[4] = {NAN, NAN, NAN, NAN}, d[4] = {1, 1, 1, 1};
  const GemmclData host_a = {.host = {a}}, host_d = {.host = {d}};
  const GemmclRun run = {.size = sizeof run, .a = &host_a, .d = &host_d};

  if (context == NULL)
    return;
  gemm.m = gemm.n = gemm.k = 2;
  gemm.alpha = 0;
  plan = gemmcl_plan_new (context, &gemm, ROW, &error);
  g_assert_no_error (error);
  g_assert_true (gemmcl_plan_run (plan, &run, &error));
  g_assert_no_error (error);
  for (guint i = 0; i < 4; i++)
    g_assert_cmpfloat (d[i], ==, 0);
}

/* A problem larger than any image is refused. */
static void
test_too_large (gconstpointer in_buffers)
{
  GemmclContext *context = get_context (in_buffers);
  GemmclGemm gemm = GEMMCL_GEMM_INIT;
  g_autoptr (GError) error = NULL;

  if (context == NULL)
    return;
  gemm.m = gemm.k = 1 << 20;
  gemm.n = 8;
  g_assert_false (gemmcl_kernel_fits (context, ROW, &gemm, &error));
  g_assert_error (error, GEMMCL_ERROR, GEMMCL_ERROR_KERNEL);
  g_assert_nonnull (strstr (error->message, " x "));
}

/* Rows that read images are native only where there are any. */
static void
test_level (gconstpointer in_buffers)
{
  GemmclContext *context = get_context (in_buffers);
  g_autoptr (GError) error = NULL;
  GemmclKernelLevel level;

  if (context == NULL)
    return;
  g_assert_true (gemmcl_kernel_get_level (context, ROW, &level, &error));
  g_assert_no_error (error);
  if (in_buffers)
    g_assert_cmpint (level, !=, GEMMCL_KERNEL_LEVEL_NATIVE);
}

int
main (int argc, char **argv)
{
  static const struct {
    const gchar *name;
    GTestDataFunc function;
  } tests[] = {
      {"large", test_large},         {"rows", test_rows},   {"without-b", test_without_b},
      {"too-large", test_too_large}, {"level", test_level},
  };
  static const gchar *const places[] = {"images", "buffers"};
  int status;

  test_init_device (&argc, &argv);
  for (guint in_buffers = 0; in_buffers < G_N_ELEMENTS (places); in_buffers++)
    for (guint i = 0; i < G_N_ELEMENTS (tests); i++) {
      g_autofree gchar *path = g_strdup_printf ("/blocks/%s/%s", places[in_buffers], tests[i].name);
      g_test_add_data_func (path, GUINT_TO_POINTER (in_buffers), tests[i].function);
    }
  status = g_test_run ();
  g_clear_object (&without_images);
  return status;
}
