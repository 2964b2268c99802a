/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "element/settings.h"

/* The formats and sizes of video whose rows of A have K elements: the reverse of shape.h. Pure
 * functions. */

/** gst_gemmcl_add_input_formats: Adds the formats of video with @channels to @values, as
 * gst_gemmcl_values_add() does. @channels: 0: any number. */
void gst_gemmcl_add_input_formats (GValue *values, gsize channels);

/**
 * gst_gemmcl_new_fitting_video:
 * @filter: (nullable): the caps that upstream can use
 * @output: a structure of tensors that downstream takes; its dimensions, if any, limit the sizes
 * @k: K of the weight; 0: without a weight all formats and sizes fit
 *
 * Finds the formats and sizes of frames that have rows of @k elements in a feature mode that
 * @settings allow. The modes pixel and patch leave the size open. In the mode row K fixes the
 * width, and frames have each pair of a width and a height. If @filter allows several pairs, the
 * best one is first, a square or the one nearest to 4:3, and a list of widths and one of heights
 * stand for all.
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
