/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gemmcl.h>

/* How pictures become rows of A: arithmetic only, no GStreamer. */

/** GstGemmclFeatureMode: The property feature-mode: AUTO, which is the mode whose K is the
 * weight's, then those of #GemmclFeatureMode. */
typedef enum {
  GST_GEMMCL_FEATURE_MODE_AUTO,
  GST_GEMMCL_FEATURE_MODE_PIXEL,
  GST_GEMMCL_FEATURE_MODE_ROW,
  GST_GEMMCL_FEATURE_MODE_FRAME,
  GST_GEMMCL_FEATURE_MODE_PATCH,
} GstGemmclFeatureMode;

typedef struct {
  gsize width; /* in pixels */
  gsize height;
  gsize channels;    /* what the kernel sees of a pixel */
  gsize patch_width; /* 0 where the user set none; then there is no patch mode */
  gsize patch_height;
} GstGemmclPicture;

/** GstGemmclShape: Rows and columns of A, and the mode that gives them; PIXEL for no picture. */
typedef struct {
  GemmclFeatureMode mode;
  gsize m;
  gsize k;
} GstGemmclShape;

/** gst_gemmcl_feature_mode_get_nick: Returns: "pixel" and so on, as users type it; static. */
const gchar *gst_gemmcl_feature_mode_get_nick (GstGemmclFeatureMode mode);

/** gst_gemmcl_shape_of_mode: What @mode makes of @picture. Returns: %FALSE with #GEMMCL_ERROR_SHAPE
 * for patches that are not set or larger than the picture, #GEMMCL_ERROR_TOO_LARGE where a product
 * overflows. */
gboolean gst_gemmcl_shape_of_mode (const GstGemmclPicture *picture, GemmclFeatureMode mode,
                                   GstGemmclShape *shape, GError **error);

/** gst_gemmcl_shape_choose: The shape whose K is @weight_k, by the mode that the user @wanted.
 * Returns: %FALSE with #GEMMCL_ERROR_SHAPE, whose message lists each mode with its K, when that has
 * another K, or AUTO finds no mode or several. */
gboolean gst_gemmcl_shape_choose (const GstGemmclPicture *picture, GstGemmclFeatureMode wanted,
                                  gsize weight_k, GstGemmclShape *shape, GError **error);
