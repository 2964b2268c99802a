/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "element/problem.h"

static const GemmclImage frame = {.format = GEMMCL_PIXEL_RGB, .width = 10, .height = 6};
static const GemmclImage patched = {
    .format = GEMMCL_PIXEL_RGB, .width = 10, .height = 6, .patch_width = 4, .patch_height = 2};

static void
check (const GemmclImage *of, GstGemmclFeatureMode wanted, gsize k, GemmclFeatureMode mode, gsize m)
{
  g_autoptr (GError) error = NULL;
  GstGemmclShape shape;

  g_assert_true (gst_gemmcl_shape_choose (of, wanted, k, &shape, &error));
  g_assert_no_error (error);
  g_assert_cmpint (shape.image.features, ==, mode);
  g_assert_cmpuint (shape.m, ==, m);
  g_assert_cmpuint (shape.k, ==, k);
}

static void
test_modes (void)
{
  check (&frame, GST_GEMMCL_FEATURE_MODE_PIXEL, 3, GEMMCL_FEATURE_PIXEL, 60);
  check (&frame, GST_GEMMCL_FEATURE_MODE_ROW, 30, GEMMCL_FEATURE_ROW, 6);
  check (&frame, GST_GEMMCL_FEATURE_MODE_FRAME, 180, GEMMCL_FEATURE_FRAME, 1);
  /* Two of ten columns are left over. */
  check (&patched, GST_GEMMCL_FEATURE_MODE_PATCH, 24, GEMMCL_FEATURE_PATCH, 6);
}

/* As many patches as a convolution has positions. */
static void
test_convolution (void)
{
  GemmclImage image = patched;

  image.patch_stride = 2;
  check (&image, GST_GEMMCL_FEATURE_MODE_PATCH, 24, GEMMCL_FEATURE_PATCH, 4 * 3);
  image.patch_padding = 3;
  check (&image, GST_GEMMCL_FEATURE_MODE_PATCH, 24, GEMMCL_FEATURE_PATCH, 7 * 6);
  /* A patch as wide and high as frame and padding are. */
  image.patch_dilation = 5;
  check (&image, GST_GEMMCL_FEATURE_MODE_PATCH, 24, GEMMCL_FEATURE_PATCH, 1 * 4);
  check (&image, GST_GEMMCL_FEATURE_MODE_AUTO, 30, GEMMCL_FEATURE_ROW, 6);
}

static void
test_auto (void)
{
  check (&patched, GST_GEMMCL_FEATURE_MODE_AUTO, 3, GEMMCL_FEATURE_PIXEL, 60);
  check (&patched, GST_GEMMCL_FEATURE_MODE_AUTO, 30, GEMMCL_FEATURE_ROW, 6);
  check (&patched, GST_GEMMCL_FEATURE_MODE_AUTO, 180, GEMMCL_FEATURE_FRAME, 1);
  check (&patched, GST_GEMMCL_FEATURE_MODE_AUTO, 24, GEMMCL_FEATURE_PATCH, 6);
}

static void
check_error (const GemmclImage *of, GstGemmclFeatureMode wanted, gsize k, const gchar *const *words)
{
  g_autoptr (GError) error = NULL;
  GstGemmclShape shape;

  g_assert_false (gst_gemmcl_shape_choose (of, wanted, k, &shape, &error));
  g_assert_nonnull (error);
  g_test_message ("%s", error->message);
  for (; *words; words++)
    g_assert_nonnull (strstr (error->message, *words));
}

static void
test_none_fits (void)
{
  check_error (&frame, GST_GEMMCL_FEATURE_MODE_AUTO, 7,
               (const gchar *[]){"K = 7", "no feature mode", "pixel: K = 3", "row: K = 30",
                                 "frame: K = 180", "patch: needs patch-width", NULL});
  check_error (&patched, GST_GEMMCL_FEATURE_MODE_AUTO, 7, (const gchar *[]){"patch: K = 24", NULL});
  check_error (&frame, GST_GEMMCL_FEATURE_MODE_ROW, 3,
               (const gchar *[]){"feature-mode=row", "K = 30", "K = 3", "pixel: K = 3", NULL});
}

static void
test_several_fit (void)
{
  const GemmclImage column = {.format = GEMMCL_PIXEL_RGB, .width = 1, .height = 5};
  const GemmclImage dot = {.format = GEMMCL_PIXEL_GRAY8, .width = 1, .height = 1};

  check_error (&column, GST_GEMMCL_FEATURE_MODE_AUTO, 3,
               (const gchar *[]){"several", "(pixel, row)", "feature-mode", NULL});
  check_error (&dot, GST_GEMMCL_FEATURE_MODE_AUTO, 1,
               (const gchar *[]){"(pixel, row, frame)", NULL});
  check (&column, GST_GEMMCL_FEATURE_MODE_ROW, 3, GEMMCL_FEATURE_ROW, 5);
}

static void
test_patch_errors (void)
{
  const GemmclImage wide = {
      .format = GEMMCL_PIXEL_GRAY8, .width = 4, .height = 4, .patch_width = 5, .patch_height = 1};
  const GemmclImage apart = {.format = GEMMCL_PIXEL_GRAY8,
                             .width = 8,
                             .height = 5,
                             .patch_width = 3,
                             .patch_height = 2,
                             .patch_dilation = 4};

  check_error (&frame, GST_GEMMCL_FEATURE_MODE_PATCH, 3,
               (const gchar *[]){"patch-width and patch-height", NULL});
  check_error (&wide, GST_GEMMCL_FEATURE_MODE_PATCH, 5, (const gchar *[]){"5x1", "4x4", NULL});
  check_error (&apart, GST_GEMMCL_FEATURE_MODE_PATCH, 6,
               (const gchar *[]){"3x2", "patch-dilation=4", "8x5", "patch-padding=0", NULL});
  check_error (&wide, GST_GEMMCL_FEATURE_MODE_AUTO, 5,
               (const gchar *[]){"the patch is larger than the frame", NULL});
}

static void
test_too_large (void)
{
  const GemmclImage huge = {.format = GEMMCL_PIXEL_RGBA, .width = 65535, .height = 65535};
  g_autoptr (GError) error = NULL;
  GstGemmclShape shape;

  g_assert_false (
      gst_gemmcl_shape_choose (&huge, GST_GEMMCL_FEATURE_MODE_FRAME, 4, &shape, &error));
  g_assert_error (error, GEMMCL_ERROR, GEMMCL_ERROR_TOO_LARGE);
  check_error (&huge, GST_GEMMCL_FEATURE_MODE_AUTO, 4,
               (const gchar *[]){"pixel: too large", "row: K = 262140", NULL});
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/shapes/modes", test_modes);
  g_test_add_func ("/shapes/convolution", test_convolution);
  g_test_add_func ("/shapes/auto", test_auto);
  g_test_add_func ("/shapes/none-fits", test_none_fits);
  g_test_add_func ("/shapes/several-fit", test_several_fit);
  g_test_add_func ("/shapes/patch-errors", test_patch_errors);
  g_test_add_func ("/shapes/too-large", test_too_large);
  return g_test_run ();
}
