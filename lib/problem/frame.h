/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Frames and tensors as the rows of a matrix. Any thread.
 */
#pragma once

#include "gemmcl-frame.h"

/** The type of the frame's samples, U8 or U16, or of the tensor's elements. */
GemmclType gemmcl_frame_get_sample_type (const GemmclFrame *frame);

/** TRUE if the frame or tensor without gaps is its rows of A, row-major, as its feature mode makes
 * them. FALSE for pixels of video, which some kernels read themselves. */
gboolean gemmcl_frame_is_matrix (const GemmclFrame *frame);

/** The samples, of all planes, of a valid frame without gaps. */
gsize gemmcl_frame_count_samples (const GemmclFrame *frame);

/** The parts of a frame that make the rows of A, as patches of width x height pixels; see
 * #GEMMCL_FEATURE_PATCH. Another feature mode has patches of a pixel, a row or the frame. */
typedef struct {
  gsize width, height, stride_x, stride_y, padding, dilation;
  gsize across, down; /* the number of patches in each direction; 0 if none fits */
} GemmclPatches;

/** The patches of @frame, whose sizes have at most 16 bits. */
GemmclPatches gemmcl_frame_get_patches (const GemmclFrame *frame);

/** (transfer full): the compiler options that pixels.clh and frames.cl need for a valid
 * @frame: " -DA_WIDTH=1280 ... -DA_FRAME". @prefix: "A_" or "D_" */
gchar *gemmcl_frame_get_defines (const GemmclFrame *frame, const gchar *prefix);
