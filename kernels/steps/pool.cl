/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * pool: each element of D is the maximum or the average of a window of the f32 result. The rows of
 * the result are grids of DOWN x ACROSS, the rows of D grids of TO_DOWN x TO_ACROSS.
 *
 *          ACROSS
 *     +-+-+-+-+-+-+-+     window (x, y) begins at (x STRIDE_X, y STRIDE_Y); drawn: WIDTH = HEIGHT =
 *     |0 0|1 1|2 2| |     STRIDE_X = STRIDE_Y = 2. What fills no window is left out.
 *     |0 0|1 1|2 2| |
 *     +-+-+-+-+-+-+-+
 *
 * A work-item makes one element, or one pixel of a frame, for which N is 1; grid: (N or rows of D,
 * in whole work-groups; the other; batch).
 *
 * POOL_MAX: 1: the maximum, NaN if the window has one; 0: the average.
 * D_BY_ROW: 1: the elements of a row of D are next to one another; dimension 0 is along them.
 * D_FRAME and other D_ options: the frame's format; see pixels.clh.
 */
#include "shared/types.clh"
#include "shared/pixels.clh"

/* @row: elements from a row of the result to the next one. An average adds the sums of lines: the
 * rounding errors grow with WIDTH + HEIGHT, not with WIDTH * HEIGHT. */
static inline float
pool_window (global const float *window, const long row)
{
  float result = POOL_MAX ? window[0] : 0.0f;

  for (long h = 0; h < HEIGHT; h++) {
    float line = 0.0f;

    for (long w = 0; w < WIDTH; w++) {
      const float x = window[(h * ACROSS + w) * row];

      if (POOL_MAX)
        result = x > result || isnan (x) ? x : result;
      else
        line += x;
    }
    if (!POOL_MAX)
      result += line;
  }
  return POOL_MAX ? result : result / (float)(WIDTH * HEIGHT);
}

kernel void
pool (global const float *restrict state, const GemmclStrides s, global D_MEM *restrict D,
      const GemmclStrides d, const long rows, const long n)
{
  const long i = get_global_id (D_BY_ROW), j = get_global_id (!D_BY_ROW);
  if (i >= rows || j >= n)
    return;

  const long y = i / TO_ACROSS;
  const long top = y / TO_DOWN * DOWN + y % TO_DOWN * STRIDE_Y, left = i % TO_ACROSS * STRIDE_X;
  state += s.offset + get_global_id (2) * s.batch + (top * ACROSS + left) * s.row + j * s.col;
  D += d.offset + get_global_id (2) * d.batch + i * d.row + j * d.col;
#ifdef D_FRAME
  float channel[4], sample[4];

  for (int c = 0; c < D_CHANNELS; c++)
    channel[c] = pool_window (state + c * s.col, s.row);
  samples_from_channels (D_ORDER, D_CHANNELS, D_X, channel, sample);
  for (int k = 0; k < D_SAMPLES; k++)
    STORE_D (D, k, sample[k]);
#else
  STORE_D (D, 0, pool_window (state, s.row));
#endif
}
