/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "element/formats.h"

/* The rows of A in a frame, tensor or audio buffer: feature modes, M and K. Pure functions. */

/** GstGemmclShape: The rows and columns of A. */
typedef struct {
  GemmclFrame frame; /* all zero for audio, and for tensors in feature mode pixel */
  gsize m;
  gsize k;
} GstGemmclShape;

/** gst_gemmcl_feature_mode_get_nick: Returns: the name of @mode, such as "pixel"; static. */
const gchar *gst_gemmcl_feature_mode_get_nick (GstGemmclFeatureMode mode);

/** gst_gemmcl_tensor_check_k: @noun: the name of @tensor in the message. Returns: %FALSE with
 * #GEMMCL_ERROR_SHAPE if rows of @tensor do not have @weight_k elements. */
gboolean gst_gemmcl_tensor_check_k (const gchar *noun, const GstGemmclTensor *tensor,
                                    gsize weight_k, GError **error);

/** gst_gemmcl_shape_of_format: Gets the shape of A for @format. M of audio and of flexible tensors
 * is 0, since it differs between buffers; K of flexible tensors is @weight_k. Returns: %FALSE with
 * #GEMMCL_ERROR_SHAPE if K differs from the K of the weight, or if several feature modes have the K
 * of the weight; the message lists each mode with its K. %FALSE with #GEMMCL_ERROR_TOO_LARGE if M
 * or K is too large. */
gboolean gst_gemmcl_shape_of_format (const GstGemmclFormat *format,
                                     const GstGemmclSettings *settings, gsize weight_k,
                                     GstGemmclShape *shape, GError **error);

/**
 * gst_gemmcl_shape_get_result:
 * @frame: as in #GstGemmclShape
 * @a: A, if that is a tensor; its rank is 0 otherwise
 * @m: rows of A; only read if neither @frame nor @a has them
 * @result: (out): the shape of a result of A, in float32
 *
 * Replaces the rows of A by @n elements each. The result keeps the dimensions outside of them:
 * N:width:height for pixels, N:across:down for patches, N:height for rows, N:1 for frames, and N
 * and the outer dimensions of a tensor. It has at least two dimensions, N:M otherwise.
 */
void gst_gemmcl_shape_get_result (const GemmclFrame *frame, const GstGemmclTensor *a, gsize m,
                                  gsize n, GstGemmclTensor *result);

/** gst_gemmcl_rows_fit: Returns: %FALSE with #GEMMCL_ERROR_SHAPE if row outputs would be one tensor
 * too many for a buffer of @n tensors. */
gboolean gst_gemmcl_rows_fit (const GstGemmclSettings *settings, guint n, GError **error);
