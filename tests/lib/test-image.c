/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Frames: names, channels, shapes, planes, and what is refused. */

#include <math.h>
#include <string.h>

#include "gemmcl-image.h"

static const GemmclImage vga_rgb = {
    .format = GEMMCL_PIXEL_RGB,
    .width = 640,
    .height = 480,
};

/* The layout of a frame of 5 x 3 in each format. */
static const struct {
  GemmclPixelFormat format;
  const gchar *name;
  guint channels;
  guint n_planes;
  gsize bytes;
} formats[] = {
    {GEMMCL_PIXEL_GRAY8, "GRAY8", 1, 1, 15},
    {GEMMCL_PIXEL_GRAY16_LE, "GRAY16_LE", 1, 1, 30},
    {GEMMCL_PIXEL_RGB, "RGB", 3, 1, 45},
    {GEMMCL_PIXEL_BGR, "BGR", 3, 1, 45},
    {GEMMCL_PIXEL_RGBA, "RGBA", 4, 1, 60},
    {GEMMCL_PIXEL_BGRA, "BGRA", 4, 1, 60},
    {GEMMCL_PIXEL_RGBX, "RGBx", 3, 1, 60},
    {GEMMCL_PIXEL_BGRX, "BGRx", 3, 1, 60},
    {GEMMCL_PIXEL_XRGB, "xRGB", 3, 1, 60},
    {GEMMCL_PIXEL_XBGR, "xBGR", 3, 1, 60},
    {GEMMCL_PIXEL_NV12, "NV12", 3, 2, 15 + 12},
    {GEMMCL_PIXEL_I420, "I420", 3, 3, 15 + 6 + 6},
    {GEMMCL_PIXEL_P010_10LE, "P010_10LE", 3, 2, 2 * (15 + 12)},
};

static void
test_formats (void)
{
  g_assert_cmpuint (G_N_ELEMENTS (formats), ==, GEMMCL_N_PIXEL_FORMATS);
  for (guint i = 0; i < G_N_ELEMENTS (formats); i++) {
    const GemmclImage image = {
        .format = formats[i].format, .width = 5, .height = 3, .kr = 0.299, .kb = 0.114};
    GemmclPlane planes[GEMMCL_MAX_PLANES];
    g_autoptr (GError) error = NULL;
    gsize m, k;

    g_assert_cmpstr (gemmcl_pixel_format_get_name (image.format), ==, formats[i].name);
    g_assert_cmpuint (gemmcl_pixel_format_get_channels (image.format), ==, formats[i].channels);
    g_assert_cmpuint (gemmcl_pixel_format_get_n_planes (image.format), ==, formats[i].n_planes);
    g_assert_true (gemmcl_image_get_shape (&image, &m, &k, &error));
    g_assert_no_error (error);
    g_assert_cmpuint (m, ==, 15);
    g_assert_cmpuint (k, ==, formats[i].channels);
    g_assert_cmpuint (gemmcl_image_get_planes (&image, planes), ==, formats[i].bytes);
  }
}

static void
test_shapes (void)
{
  static const struct {
    GemmclFeatureMode features;
    gsize p, q, m, k, stride, padding, dilation;
  } shapes[] = {
      {GEMMCL_FEATURE_PIXEL, 0, 0, 640 * 480, 3},
      {GEMMCL_FEATURE_ROW, 0, 0, 480, 640 * 3},
      {GEMMCL_FEATURE_FRAME, 0, 0, 1, 640 * 480 * 3},
      {GEMMCL_FEATURE_PATCH, 16, 16, 40 * 30, 16 * 16 * 3},
      {GEMMCL_FEATURE_PATCH, 7, 100, 91 * 4, 7 * 100 * 3},
      {GEMMCL_FEATURE_PATCH, 640, 480, 1, 640 * 480 * 3},
      {GEMMCL_FEATURE_PATCH, 7, 7, 320 * 240, 7 * 7 * 3, 2, 3},
      {GEMMCL_FEATURE_PATCH, 3, 3, 640 * 480, 3 * 3 * 3, 1, 2, 2},
      {GEMMCL_FEATURE_PATCH, 5, 1, 157 * 120, 5 * 3, 4, 0, 3},
      {GEMMCL_FEATURE_PATCH, 642, 480, 1 * 3, 642 * 480 * 3, 1, 1, 1},
      /* Only patches have them. */
      {GEMMCL_FEATURE_ROW, 0, 0, 480, 640 * 3, 2, 3, 2},
  };

  for (guint i = 0; i < G_N_ELEMENTS (shapes); i++) {
    GemmclImage image = vga_rgb;
    g_autoptr (GError) error = NULL;
    gsize m, k;

    image.features = shapes[i].features;
    image.patch_width = shapes[i].p;
    image.patch_height = shapes[i].q;
    image.patch_stride = shapes[i].stride;
    image.patch_padding = shapes[i].padding;
    image.patch_dilation = shapes[i].dilation;
    g_assert_true (gemmcl_image_get_shape (&image, &m, &k, &error));
    g_assert_no_error (error);
    g_assert_cmpuint (m, ==, shapes[i].m);
    g_assert_cmpuint (k, ==, shapes[i].k);
  }
  g_assert_true (gemmcl_image_get_shape (&vga_rgb, NULL, NULL, NULL));
}

static void
assert_plane (const GemmclPlane *plane, gsize offset, gsize row_bytes, gsize rows)
{
  g_assert_cmpuint (plane->offset, ==, offset);
  g_assert_cmpuint (plane->row_bytes, ==, row_bytes);
  g_assert_cmpuint (plane->rows, ==, rows);
}

static void
test_planes (void)
{
  GemmclImage image = {.width = 1279, .height = 719, .kr = 0.2126, .kb = 0.0722};
  GemmclPlane planes[GEMMCL_MAX_PLANES];

  image.format = GEMMCL_PIXEL_NV12;
  g_assert_cmpuint (gemmcl_image_get_planes (&image, planes), ==, 1279 * 719 + 1280 * 360);
  assert_plane (&planes[0], 0, 1279, 719);
  assert_plane (&planes[1], 1279 * 719, 1280, 360);
  assert_plane (&planes[2], 0, 0, 0);

  image.format = GEMMCL_PIXEL_I420;
  g_assert_cmpuint (gemmcl_image_get_planes (&image, planes), ==, 1279 * 719 + 2 * 640 * 360);
  assert_plane (&planes[0], 0, 1279, 719);
  assert_plane (&planes[1], 1279 * 719, 640, 360);
  assert_plane (&planes[2], 1279 * 719 + 640 * 360, 640, 360);

  image.format = GEMMCL_PIXEL_GRAY16_LE;
  g_assert_cmpuint (gemmcl_image_get_planes (&image, planes), ==, 1279 * 719 * 2);
  assert_plane (&planes[0], 0, 1279 * 2, 719);
}

static void
assert_refused (const GemmclImage *image, gint code, const gchar *words)
{
  g_autoptr (GError) error = NULL;

  g_assert_false (gemmcl_image_get_shape (image, NULL, NULL, &error));
  g_assert_error (error, GEMMCL_ERROR, code);
  g_assert_nonnull (strstr (error->message, words));
}

static void
test_refused (void)
{
  GemmclImage image = vga_rgb;

  image.format = GEMMCL_N_PIXEL_FORMATS;
  assert_refused (&image, GEMMCL_ERROR_INVALID, "format");
  g_assert_null (gemmcl_pixel_format_get_name (image.format));

  image = vga_rgb;
  image.width = 0;
  assert_refused (&image, GEMMCL_ERROR_INVALID, "width");
  image.width = 65536;
  assert_refused (&image, GEMMCL_ERROR_INVALID, "65536");
  image = vga_rgb;
  image.height = G_MAXSIZE;
  assert_refused (&image, GEMMCL_ERROR_INVALID, "height");

  image = vga_rgb;
  image.features = GEMMCL_FEATURE_PATCH + 1;
  assert_refused (&image, GEMMCL_ERROR_INVALID, "feature mode");
  image.features = GEMMCL_FEATURE_PATCH;
  assert_refused (&image, GEMMCL_ERROR_INVALID, "patch width");
  image.patch_width = 640;
  image.patch_height = 481;
  assert_refused (&image, GEMMCL_ERROR_INVALID, "640 x 481 pixels with a dilation of 1");
  image.patch_height = 0;
  assert_refused (&image, GEMMCL_ERROR_INVALID, "patch height must be 1");
  image.patch_height = 161;
  image.patch_dilation = 3;
  assert_refused (&image, GEMMCL_ERROR_INVALID, "does not fit a frame of 640 x 480 with 0 pixels");
  image.patch_dilation = 65536;
  assert_refused (&image, GEMMCL_ERROR_INVALID, "patch dilation must be 0 to 65535, not 65536");
  image.patch_dilation = 0;
  image.patch_stride = G_MAXSIZE;
  assert_refused (&image, GEMMCL_ERROR_INVALID, "patch stride");
  image.patch_stride = 1;
  image.patch_padding = G_MAXSIZE;
  assert_refused (&image, GEMMCL_ERROR_INVALID, "patch padding");
  image.patch_padding = 65535;
  image.patch_width = image.patch_height = 65535;
  assert_refused (&image, GEMMCL_ERROR_TOO_LARGE, "Choose a larger stride");

  image = vga_rgb;
  image.features = GEMMCL_FEATURE_FRAME;
  image.width = image.height = 65535;
  assert_refused (&image, GEMMCL_ERROR_TOO_LARGE, "feature mode");
}

/* Tensors have the feature modes of frames. */
static void
test_tensors (void)
{
  GemmclImage image = {.width = 9,
                       .height = 7,
                       .channels = 5,
                       .type = GEMMCL_TYPE_F16,
                       .features = GEMMCL_FEATURE_PATCH,
                       .patch_width = 2,
                       .patch_height = 3,
                       .patch_stride = 2};
  GemmclPlane planes[GEMMCL_MAX_PLANES];
  gsize m, k, across, down;

  g_assert_cmpuint (gemmcl_image_get_channels (&vga_rgb), ==, 3);
  g_assert_cmpuint (gemmcl_image_get_channels (&image), ==, 5);
  g_assert_true (gemmcl_image_get_shape (&image, &m, &k, NULL));
  g_assert_cmpuint (m, ==, 4 * 3);
  g_assert_cmpuint (k, ==, 3 * 2 * 5);
  gemmcl_image_get_grid (&image, &across, &down);
  g_assert_cmpuint (across, ==, 4);
  g_assert_cmpuint (down, ==, 3);
  g_assert_cmpuint (gemmcl_image_get_planes (&image, planes), ==, 9 * 7 * 5 * 2);
  assert_plane (&planes[0], 0, 9 * 7 * 5 * 2, 1);
  assert_plane (&planes[1], 0, 0, 0);

  image.type = GEMMCL_N_TYPES;
  assert_refused (&image, GEMMCL_ERROR_INVALID, "a tensor's type, 0 to 11");
  image.type = GEMMCL_TYPE_F64;
  image.format = GEMMCL_PIXEL_NV12;
  assert_refused (&image, GEMMCL_ERROR_INVALID, "no pixel format");
  image.format = 0;
  image.channels = 65536;
  assert_refused (&image, GEMMCL_ERROR_INVALID, "number of channels must be 0 to 65535");
  image.channels = 65535;
  image.width = 16384;
  image.patch_padding = 16384;
  image.patch_stride = 1;
  assert_refused (&image, GEMMCL_ERROR_TOO_LARGE, "elements of a tensor");
}

static void
test_colours (void)
{
  GemmclImage image = vga_rgb;

  g_assert_true (gemmcl_image_get_shape (&image, NULL, NULL, NULL));
  image.format = GEMMCL_PIXEL_NV12;
  assert_refused (&image, GEMMCL_ERROR_INVALID, "luma");
  image.kr = 0.5;
  image.kb = 0.5;
  assert_refused (&image, GEMMCL_ERROR_INVALID, "0.5 and 0.5");
  image.kb = NAN;
  assert_refused (&image, GEMMCL_ERROR_INVALID, "luma");
  image.kb = 0.25;
  g_assert_true (gemmcl_image_get_shape (&image, NULL, NULL, NULL));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/image/formats", test_formats);
  g_test_add_func ("/image/shapes", test_shapes);
  g_test_add_func ("/image/planes", test_planes);
  g_test_add_func ("/image/refused", test_refused);
  g_test_add_func ("/image/tensors", test_tensors);
  g_test_add_func ("/image/colours", test_colours);
  return g_test_run ();
}
