/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "element/properties.h"

/* A = sample * input-scale + input-offset, where each of both is a number or a list: a number for
 * each of the K elements of a row, or for each channel of its pixels. The kernels take a number of
 * each. Lists become a part of the operands: with factors s and offsets o,
 *
 *     sum over k of (s(k) x(k) + o(k)) B(k, j) = sum over k of scale x(k) B'(k, j) + b(j)
 *     B'(k, j) = s(k) / scale B(k, j)
 *     b(j)     = sum over k of o(k) B(k, j), added to the bias
 *
 * where scale is the largest |s(k)|, so that A and B' keep the range of A and B. Pure functions. */

/** GstGemmclScaling: The numbers of the kernels, and the lists that become a part of operands. */
typedef struct {
  gdouble scale;         /* of all elements of A */
  gdouble offset;        /* of all elements of A */
  gboolean folds_scale;  /* rows of the weight are scaled */
  gboolean folds_offset; /* offsets are in the bias; @offset is 0 */
} GstGemmclScaling;

/**
 * gst_gemmcl_scaling_init:
 * @channels: the channels of a pixel; 0: there are no pixels
 *
 * Reads input-scale and input-offset. A list of equal numbers counts as a number.
 *
 * Returns: %FALSE with #GEMMCL_ERROR_FORMAT if one of them is no number and no list of numbers, or
 *   with #GEMMCL_ERROR_SHAPE if a list has neither K nor @channels numbers
 */
gboolean gst_gemmcl_scaling_init (GstGemmclScaling *self, const GstGemmclSettings *settings,
                                  gsize k, guint channels, GError **error);

/**
 * gst_gemmcl_scaling_fold:
 * @settings: those of gst_gemmcl_scaling_init()
 * @weight: (inout): replaced by B' if @self folds the scale
 * @bias: (inout) (nullable): replaced by its sum with b if @self folds the offset
 *
 * Returns: %FALSE with #GEMMCL_ERROR_TOO_LARGE if there is not enough memory
 */
gboolean gst_gemmcl_scaling_fold (const GstGemmclScaling *self, const GstGemmclSettings *settings,
                                  GemmclMatrix **weight, GemmclMatrix **bias, GError **error);
