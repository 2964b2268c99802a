/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * im2col: frames as matrices of f32, for kernels that do not read frames themselves.
 *
 *     A(m, k) = A[(frame * M + m) * K + k]          pixel (x, y) of WIDTH x HEIGHT, channel c of C
 *
 *     A_FEATURES        M                K          m                   k
 *     PIXEL   0    WIDTH * HEIGHT        C     y * WIDTH + x            c
 *     ROW     1    HEIGHT            WIDTH * C       y              x * C + c
 *     FRAME   2    1        HEIGHT * WIDTH * C       0         (y * WIDTH + x) * C + c
 *     PATCH   3    patches           q * p * C  y / q * (WIDTH / p) + x / p
 *                                                          ((y % q) * p + x % p) * C + c
 *
 * The first three store the same elements in the same order. Patches are p x q pixels; the pixels
 * left over at the right and at the bottom are dropped.
 *
 * A work-item converts one pixel: (WIDTH in whole work-groups, HEIGHT, frames).
 */
#include "numbers.h"
#include "pixels.clh"

#ifdef A_IMAGE /* empty if the options describe no frame */
kernel void
im2col (global const uchar *restrict frames, global float *restrict A, const ulong frame_bytes)
{
  const int x = get_global_id (0);
  const int y = get_global_id (1);
  const long frame = get_global_id (2);
  if (x >= A_WIDTH)
    return;

#if A_FEATURES == FEATURE_PATCH
  const int across = A_WIDTH / A_PATCH_WIDTH;
  const int down = A_HEIGHT / A_PATCH_HEIGHT;
  const int column = x / A_PATCH_WIDTH;
  const int row = y / A_PATCH_HEIGHT;
  if (column >= across || row >= down)
    return;
  const long m = row * across + column;
  const long in_patch = y % A_PATCH_HEIGHT * A_PATCH_WIDTH + x % A_PATCH_WIDTH;
  const long pixels = (long) across * down * A_PATCH_WIDTH * A_PATCH_HEIGHT;
  const long pixel = m * (A_PATCH_WIDTH * A_PATCH_HEIGHT) + in_patch;
#else
  const long pixels = (long) A_WIDTH * A_HEIGHT;
  const long pixel = (long) y * A_WIDTH + x;
#endif

  float channel[4];
  load_a_pixel (frames + frame * frame_bytes, x, y, channel);
  for (int c = 0; c < A_CHANNELS; c++)
    A[(frame * pixels + pixel) * A_CHANNELS + c] = channel[c];
}
#endif
