/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "gemmcl.h"

/*
 * A frame in host memory, read and written pixel by pixel, or a tensor, which is only read. Shares
 * no code with the library. Bytes outside of pixels are 0xa5.
 */
typedef struct {
  GemmclImage image;
  GemmclData host;
  guint8 *bytes;
  gsize n_bytes;
} Frame;

/* The layout of rows: without gaps, with gaps, or from the last to the first. */
typedef enum {
  FRAME_TIGHT,
  FRAME_PADDED,
  FRAME_UPSIDE_DOWN,
} FrameRows;

#define N_FRAME_ROWS (FRAME_UPSIDE_DOWN + 1)

void frame_init (Frame *frame, const GemmclImage *image, FrameRows rows, guint32 seed);
void frame_clear (Frame *frame);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Frame, frame_clear)

/* Returns: channel @c of pixel (@x, @y), 0 to 255, or to 65535; of a tensor -100 to 100. */
gdouble frame_get (const Frame *frame, gsize x, gsize y, gsize c);

/* Returns: element (@m, @k) of the matrix A that the frame is; NaN outside of the frame. */
gdouble frame_get_feature (const Frame *frame, gsize m, gsize k);

/* Returns: TRUE if bytes outside of pixels are unchanged, and samples without a channel are 255. */
gboolean frame_check_rest (const Frame *frame);
