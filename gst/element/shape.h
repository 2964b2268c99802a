/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "element/formats.h"
#include "element/properties.h"

/* M and K of an input. Pure functions. */

/** GstGemmclShape: The rows and columns of A. */
typedef struct {
  GemmclImage image; /* of video, and of tensors in feature mode row, frame or patch; else zero */
  gsize m;
  gsize k;
} GstGemmclShape;

/** gst_gemmcl_feature_mode_get_nick: Returns: the nick, such as "pixel"; static. */
const gchar *gst_gemmcl_feature_mode_get_nick (GstGemmclFeatureMode mode);

/**
 * gst_gemmcl_shape_choose:
 * @frame: a frame or tensor, with the patch of the properties; its size is 0 if it is not set
 *
 * Gets the shape of the mode @wanted, whose K must be @weight_k.
 *
 * Returns: %FALSE with #GEMMCL_ERROR_SHAPE if K differs, the patch is not set or larger than the
 *   frame, or AUTO finds no mode or several; the message lists each mode with its K.
 *   #GEMMCL_ERROR_TOO_LARGE if M or K is
 */
gboolean gst_gemmcl_shape_choose (const GemmclImage *frame, GstGemmclFeatureMode wanted,
                                  gsize weight_k, GstGemmclShape *shape, GError **error);

/** gst_gemmcl_get_output_index: Returns: the index of D among the tensors of an output. */
guint gst_gemmcl_get_output_index (const GstGemmclFormat *input, const GstGemmclSettings *settings);

/** gst_gemmcl_shape_of_format: Gets the shape of A for @format. M of audio and of flexible tensors
 * is 0, since it differs between buffers; K of flexible tensors is @weight_k. Returns: %FALSE with
 * #GEMMCL_ERROR_SHAPE if K is not @weight_k; the message names the K that fits. */
gboolean gst_gemmcl_shape_of_format (const GstGemmclFormat *format,
                                     const GstGemmclSettings *settings, gsize weight_k,
                                     GstGemmclShape *shape, GError **error);

/** gst_gemmcl_get_tensor_index: Returns: the index of A among the tensors of @format. */
guint gst_gemmcl_get_tensor_index (const GstGemmclFormat *format,
                                   const GstGemmclSettings *settings);
