/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "element/formats.h"

/* The rows of A in a frame, tensor or audio buffer: feature modes, M and K; and the reverse, the
 * formats and sizes of video whose rows of A have K elements. Pure functions. */

/** GstGemmclShape: The rows and columns of A. */
typedef struct {
  GemmclFrame frame; /* all zero for audio, and for tensors in feature mode pixel */
  gsize m;
  gsize k;
  GemmclGemm gemm; /* that of the settings, with M and, if D is pooled, the grid and its windows */
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
 * of the weight; the message lists each mode with its K. %FALSE, too, if D is to be pooled and has
 * no grid or no window, and with #GEMMCL_ERROR_TOO_LARGE if M or K is too large. */
gboolean gst_gemmcl_shape_of_format (const GstGemmclFormat *format,
                                     const GstGemmclSettings *settings, gsize weight_k,
                                     GstGemmclShape *shape, GError **error);

/** gst_gemmcl_count_results: Returns: the rows of D if A has @m rows. @gemm: as in #GstGemmclShape
 */
gsize gst_gemmcl_count_results (const GemmclGemm *gemm, gsize m);

/**
 * gst_gemmcl_shape_get_result:
 * @gemm: as in #GstGemmclShape
 * @frame: as in #GstGemmclShape
 * @a: A, if that is a tensor; its rank is 0 otherwise
 * @m: rows of A; only read if neither @frame nor @a has them
 * @result: (out): the shape of a result of A, in float32
 *
 * Replaces the rows of A by @n elements each. The result keeps the dimensions outside of them:
 * N:width:height for pixels, N:across:down for patches, N:height for rows, N:1 for frames, and N
 * and the outer dimensions of a tensor. It has at least two dimensions, N:M otherwise. Pooling
 * replaces the second dimension and the third by the numbers of windows.
 */
void gst_gemmcl_shape_get_result (const GemmclGemm *gemm, const GemmclFrame *frame,
                                  const GstGemmclTensor *a, gsize m, gsize n,
                                  GstGemmclTensor *result);

/** gst_gemmcl_rows_fit: Returns: %FALSE with #GEMMCL_ERROR_SHAPE if row outputs would be one tensor
 * too many for a buffer of @n tensors. */
gboolean gst_gemmcl_rows_fit (const GstGemmclSettings *settings, guint n, GError **error);

/** gst_gemmcl_add_input_formats: Adds the formats of video with @channels to @values, as
 * gst_gemmcl_values_add() does. @channels: 0: any number. */
void gst_gemmcl_add_input_formats (GValue *values, gsize channels);

/**
 * gst_gemmcl_new_fitting_video:
 * @filter: (nullable): the caps that upstream can use
 * @output: a structure of tensors or pictures that downstream takes; dimensions, or a width and a
 *   height, limit the sizes
 * @k: K of the weight; 0: without a weight all formats and sizes fit
 *
 * Finds the formats and sizes of frames that have rows of @k elements in a feature mode that
 * @settings allow. The modes pixel and patch leave the size open, unless @output states it. In the
 * mode row K fixes the width, and frames have each pair of a width and a height. If @filter allows
 * several pairs, the best one is first, a square or the one nearest to 4:3, and a list of widths
 * and one of heights stand for all.
 *
 * Without @filter the result has at least all that gst_gemmcl_shape_of_format() accepts. It
 * has more with feature-mode=auto, and where two lists stand for pairs. With @filter and
 * feature-mode=auto the modes row and frame are left out if @filter and @output allow pixels or
 * patches: hardly anybody wants a size such as a width of 3 in GRAY8.
 *
 * Returns: (transfer full): caps with formats, and widths and heights where K limits them; EMPTY if
 *   none fit
 */
GstCaps *gst_gemmcl_new_fitting_video (const GstCaps *filter, const GstStructure *output,
                                       const GstGemmclSettings *settings, gsize k);
