/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gemmcl.h>

/* How pictures become rows of A: arithmetic only, no GStreamer. */

/**
 * GstGemmclFeatureMode:
 * @GST_GEMMCL_FEATURE_MODE_AUTO: the one mode whose K is the weight's
 *
 * What of a picture makes a row of A, as the element's property says it; the others are those of
 * #GemmclFeatureMode.
 */
typedef enum {
  GST_GEMMCL_FEATURE_MODE_AUTO,
  GST_GEMMCL_FEATURE_MODE_PIXEL,
  GST_GEMMCL_FEATURE_MODE_ROW,
  GST_GEMMCL_FEATURE_MODE_FRAME,
  GST_GEMMCL_FEATURE_MODE_PATCH,
} GstGemmclFeatureMode;

/**
 * GstGemmclPicture:
 * @width, @height: in pixels
 * @channels: what the kernel sees of a pixel
 * @patch_width, @patch_height: 0 where the user set none; then there is no patch mode
 */
typedef struct {
  gsize width;
  gsize height;
  gsize channels;
  gsize patch_width;
  gsize patch_height;
} GstGemmclPicture;

/**
 * GstGemmclShape:
 * @mode: the feature mode that gives it; PIXEL for what is no picture
 * @m, @k: rows and columns of A
 */
typedef struct {
  GemmclFeatureMode mode;
  gsize m;
  gsize k;
} GstGemmclShape;

/** gst_gemmcl_feature_mode_get_nick: Returns: "pixel" and so on, as users type it; static. */
const gchar *gst_gemmcl_feature_mode_get_nick (GstGemmclFeatureMode mode);

/**
 * gst_gemmcl_shape_of_mode:
 * @shape: (out): what @mode makes of @picture
 *
 * Returns: %FALSE with #GEMMCL_ERROR_SHAPE for patches that are not set or larger than the picture,
 *   #GEMMCL_ERROR_TOO_LARGE where a product overflows.
 */
gboolean gst_gemmcl_shape_of_mode (const GstGemmclPicture *picture, GemmclFeatureMode mode,
                                   GstGemmclShape *shape, GError **error);

/**
 * gst_gemmcl_shape_choose:
 * @wanted: the user's choice
 * @weight_k: K of the weight, at least 1
 * @shape: (out): the mode, and the shape it gives; its K is @weight_k
 *
 * Returns: %FALSE with #GEMMCL_ERROR_SHAPE, whose message lists each mode with its K, when @wanted
 *   has another K, or AUTO finds no mode or several.
 */
gboolean gst_gemmcl_shape_choose (const GstGemmclPicture *picture, GstGemmclFeatureMode wanted,
                                  gsize weight_k, GstGemmclShape *shape, GError **error);
