/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "element/shapes.h"

#include "memory/fail.h"

#define N_MODES (GEMMCL_FEATURE_PATCH + 1)

const gchar *
gst_gemmcl_feature_mode_get_nick (GstGemmclFeatureMode mode)
{
  static const gchar *const nicks[] = {"auto", "pixel", "row", "frame", "patch"};

  g_return_val_if_fail (mode < G_N_ELEMENTS (nicks), NULL);
  return nicks[mode];
}

/* The user's names have "auto" in front. */
static const gchar *
mode_name (GemmclFeatureMode mode)
{
  return gst_gemmcl_feature_mode_get_nick ((GstGemmclFeatureMode)(mode + 1));
}

static gboolean
check_patch (const GstGemmclPicture *picture, GError **error)
{
  if (picture->patch_width == 0 || picture->patch_height == 0)
    return gst_gemmcl_fail (
        error, GEMMCL_ERROR_SHAPE,
        "feature-mode=patch needs both patch-width and patch-height, in pixels.");
  if (picture->patch_width > picture->width || picture->patch_height > picture->height)
    return gst_gemmcl_fail (error, GEMMCL_ERROR_SHAPE,
                            "A patch of %zux%zu pixels (patch-width x patch-height) does not fit "
                            "into the %zux%zu picture.",
                            picture->patch_width, picture->patch_height, picture->width,
                            picture->height);
  return TRUE;
}

gboolean
gst_gemmcl_shape_of_mode (const GstGemmclPicture *picture, GemmclFeatureMode mode,
                          GstGemmclShape *shape, GError **error)
{
  /* A row of A is a rectangle of pixels; this many such rectangles lie side by side. */
  gsize width = 1, height = 1, across, down, pixels;

  if (mode == GEMMCL_FEATURE_PATCH) {
    if (!check_patch (picture, error))
      return FALSE;
    width = picture->patch_width;
    height = picture->patch_height;
  } else if (mode != GEMMCL_FEATURE_PIXEL) {
    width = picture->width;
    if (mode == GEMMCL_FEATURE_FRAME)
      height = picture->height;
  }
  across = picture->width / width;
  down = picture->height / height;
  shape->mode = mode;
  if (!g_size_checked_mul (&shape->m, across, down) ||
      !g_size_checked_mul (&pixels, width, height) ||
      !g_size_checked_mul (&shape->k, pixels, picture->channels))
    return gst_gemmcl_fail (
        error, GEMMCL_ERROR_TOO_LARGE,
        "feature-mode=%s of a %zux%zu picture is more than this machine can count.",
        mode_name (mode), picture->width, picture->height);
  return TRUE;
}

/* "pixel: K = 3, row: K = 960, frame: K = 230400, patch: no patch-width and patch-height set" */
static gchar *
list_modes (const GstGemmclPicture *picture)
{
  GString *text = g_string_new (NULL);

  for (guint mode = 0; mode < N_MODES; mode++) {
    GstGemmclShape shape;

    g_string_append_printf (text, "%s%s: ", mode ? ", " : "", mode_name (mode));
    if (gst_gemmcl_shape_of_mode (picture, mode, &shape, NULL))
      g_string_append_printf (text, "K = %zu", shape.k);
    else if (picture->patch_width == 0 || picture->patch_height == 0)
      g_string_append (text, "needs patch-width and patch-height");
    else
      g_string_append (text, "the patch is larger than the picture");
  }
  return g_string_free (text, FALSE);
}

static gchar *
print_picture (const GstGemmclPicture *picture)
{
  return g_strdup_printf ("%zux%zu picture with %zu channel%s", picture->width, picture->height,
                          picture->channels, picture->channels == 1 ? "" : "s");
}

static gboolean
choose_auto (const GstGemmclPicture *picture, gsize weight_k, GstGemmclShape *shape, GError **error)
{
  g_autoptr (GString) fits = g_string_new (NULL);
  g_autofree gchar *text = NULL, *modes = NULL;
  guint n_fits = 0;

  for (guint mode = 0; mode < N_MODES; mode++) {
    GstGemmclShape candidate;

    if (!gst_gemmcl_shape_of_mode (picture, mode, &candidate, NULL) || candidate.k != weight_k)
      continue;
    g_string_append_printf (fits, "%s%s", n_fits ? ", " : "", mode_name (mode));
    *shape = candidate;
    n_fits++;
  }
  if (n_fits == 1)
    return TRUE;
  text = print_picture (picture);
  modes = list_modes (picture);
  if (n_fits > 1)
    return gst_gemmcl_fail (
        error, GEMMCL_ERROR_SHAPE,
        "The weight's K = %zu fits several feature modes (%s) of a %s (%s). Choose one of them "
        "with feature-mode.",
        weight_k, fits->str, text, modes);
  return gst_gemmcl_fail (
      error, GEMMCL_ERROR_SHAPE,
      "The weight's K = %zu fits no feature mode of a %s (%s). Use a weight with one of these "
      "numbers of rows (transpose-weight=true if they are its columns), or convert, scale or crop "
      "the picture.",
      weight_k, text, modes);
}

gboolean
gst_gemmcl_shape_choose (const GstGemmclPicture *picture, GstGemmclFeatureMode wanted,
                         gsize weight_k, GstGemmclShape *shape, GError **error)
{
  g_autofree gchar *text = NULL, *modes = NULL;

  if (wanted == GST_GEMMCL_FEATURE_MODE_AUTO)
    return choose_auto (picture, weight_k, shape, error);
  if (!gst_gemmcl_shape_of_mode (picture, (GemmclFeatureMode)(wanted - 1), shape, error))
    return FALSE;
  if (shape->k == weight_k)
    return TRUE;
  text = print_picture (picture);
  modes = list_modes (picture);
  return gst_gemmcl_fail (
      error, GEMMCL_ERROR_SHAPE,
      "feature-mode=%s of a %s needs a weight with K = %zu, but the weight has K = %zu (%s). Use "
      "another weight (transpose-weight=true if K is its columns), another feature-mode, or "
      "convert, scale or crop the picture.",
      gst_gemmcl_feature_mode_get_nick (wanted), text, shape->k, weight_k, modes);
}
