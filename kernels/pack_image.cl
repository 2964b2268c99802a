/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * pack_image: A or B as an image for block reads. A panel is the part of it that one tile of D
 * needs: TILE_M rows of A, or COLUMNS columns of B, with all of K. The size of images is limited:
 * so a panel is cut into blocks of up to CHUNK of K, and blocks lie in rows of p.a.col or p.b.col
 * blocks side by side:
 *
 *      K of A, CHUNK to a block          block t = (batch * panels + panel) * blocks of a panel
 *     +-------+-------+---+                        + K / CHUNK
 *     | t = 0 | t = 1 | 2 | TILE_M       lies at x = t % side * the width of a block
 *     +-------+-------+---+                      y = t / side * the height of a block
 *     | t = 3 | ..        | TILE_M
 *                                        side: number of blocks side by side. A block of A is
 *                                        CHUNK x TILE_M, one of B COLUMNS x CHUNK.
 *
 * Elements past M, N or K are zeros, so that tiles have no edges.
 *
 * A texel has 32 bits: a float, or two halfs of neighbouring columns, the first in the low bits.
 * A work-item writes one texel: (texels of a block's width * blocks, a block's height).
 *
 * OF_A               if defined, X is A, and K runs along x; else X is B, and K runs along y
 * TEXEL_F16       if defined, texels hold halfs
 * A_TYPE             stored type of X: that of A, or F32 for B
 */
#include "problem.h"
#include "texels.clh"
#include "types.clh"

#ifdef TEXEL_F16
  #define PER_TEXEL 2
#else
  #define PER_TEXEL 1
#endif

/* Size and strides of X. */
typedef struct {
  int rows, cols;
  GemmclStrides strides;
} Matrix;

static inline float
element (global const A_MEM *restrict X, const Matrix x, long batch, long i, long j)
{
  if (i >= x.rows || j >= x.cols)
    return 0.0f;
  return LOAD_A (X, x.strides.offset + batch * x.strides.batch + i * x.strides.row +
                        j * x.strides.col);
}

kernel void
pack_image (global const A_MEM *restrict X, IMAGE_OUT image, const GemmclStrides strides,
            const int rows, const int cols, const int width, const int panels, const int per_panel,
            const int side)
{
  const Matrix x = {rows, cols, strides};
  const int t = get_global_id (0) / width;
  const int panel = t / per_panel % panels, part = t % per_panel;
  const long u = get_global_id (0) % width;
  const long v = get_global_id (1);
#ifdef OF_A
  const long i = (long)panel * get_global_size (1) + v;
  const long j = ((long)part * width + u) * PER_TEXEL;
#else
  const long i = (long)part * get_global_size (1) + v;
  const long j = ((long)panel * width + u) * PER_TEXEL;
#endif
  const long batch = t / per_panel / panels;
  const int2 at = (int2)(t % side * width + u, t / side * get_global_size (1) + v);

#ifdef TEXEL_F16
  const uint low = half_from_float (element (X, x, batch, i, j));
  const uint high = half_from_float (element (X, x, batch, i, j + 1));
  const uint texel = high << 16 | low;
#else
  const uint texel = as_uint (element (X, x, batch, i, j));
#endif
  write_texel (image, side * width, at, texel);
}
