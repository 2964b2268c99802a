/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "gemmcl.h"

/*
 * A frame in host memory, read and written pixel by pixel. Shares no code with the library. Bytes
 * outside of pixels are 0xa5.
 */
typedef struct {
  GemmclImage image;
  GemmclData host;
  guint8 *bytes;
  gsize n_bytes;
} Picture;

/* The layout of rows: without gaps, with gaps, or from the last to the first. */
typedef enum {
  PICTURE_TIGHT,
  PICTURE_PADDED,
  PICTURE_UPSIDE_DOWN,
} PictureRows;

#define N_PICTURE_ROWS (PICTURE_UPSIDE_DOWN + 1)

void picture_init (Picture *picture, const GemmclImage *image, PictureRows rows, guint32 seed);
void picture_clear (Picture *picture);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Picture, picture_clear)

/* Returns: channel @c of pixel (@x, @y), 0 to 255, or to 65535. */
gdouble picture_get (const Picture *picture, gsize x, gsize y, gsize c);

/* Returns: element (@m, @k) of the matrix A that the frame is. */
gdouble picture_get_feature (const Picture *picture, gsize m, gsize k);

/* Returns: TRUE if bytes outside of pixels are unchanged, and samples without a channel are 255. */
gboolean picture_check_rest (const Picture *picture);
