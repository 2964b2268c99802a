/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "gemmcl.h"

/*
 * A picture in host memory for tests, read and written pixel by pixel apart from the library's own
 * code. Bytes that belong to no pixel are 0xa5.
 */
typedef struct {
  GemmclImage image;
  GemmclData host;
  guint8 *bytes;
  gsize n_bytes;
} Picture;

/* How its rows lie: one after the other, with a gap between, or from the last to the first. */
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

/* Returns: A(@m, @k) of the matrix that the picture stands for. */
gdouble picture_get_feature (const Picture *picture, gsize m, gsize k);

/* Whether what is no pixel is as it was, and the samples that are no channels are 255. */
gboolean picture_check_rest (const Picture *picture);
