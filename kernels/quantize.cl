/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * quantize: A as uint8, for int8 kernels; quantized.h has the layout. The range of each row,
 * extended to include 0, is divided into 255 steps:
 *
 *     low = min (0, a_0, a_1 ..)      scale = (high - low) / 255      byte = a / scale + zero
 *     high = max (0, a_0, a_1 ..)     zero = -low / scale             both rounded to nearest
 *
 * Stored bytes stay as they are if 0 is one of them (A_BYTES, from the host): then scale is a_scale
 * for all rows, and 0 is byte `zero`. int8 becomes uint8 by adding 128.
 *
 * So 0 is exact, and the error of an element is at most half a step. A NaN or an infinity makes the
 * row's scale NaN, and with it the row of D. If scale would be subnormal, the row becomes 0.
 *
 * A work-group owns a row: work-item 0 takes its first WIDTH elements, work-item 1 the next, and so
 * on in turn. The grid is (M * GROUP, 1, batches) in work-groups of (GROUP, 1, 1).
 *
 * GROUP: work-items per row, a power of two; several let a GPU coalesce its loads; 1 on CPUs.
 * WIDTH: elements that a work-item loads at once, 4 or more.
 */
#include "problem.h"
#include "row_load.clh"
#include "quantized.h"

#define UINTS PASTE (uint, WIDTH)
#define BYTES PASTE (uchar, WIDTH)

/* Adding ONES rounds to nearest: a float of this size has a resolution of 1, and the integer is in
 * its lowest bits. PoCL compiles rint () to twenty instructions. */
#define ONES 0x1.8p23f

#if GROUP > 1 /* several loads are under way */
  #define UNROLL _Pragma ("unroll 4")
#else
  #define UNROLL
#endif

kernel __attribute__ ((reqd_work_group_size (GROUP, 1, 1))) void
quantize (global const A_MEM *restrict A, const GemmclStrides a, global uchar *restrict bytes,
          const int K, const float a_scale, const float a_shift)
{
  local int sums[GROUP];

  const int lane = get_local_id (0);
  const long i = get_group_id (0);
  const long batch = get_group_id (2);
  A += a.offset + batch * a.batch + i * a.row;
  bytes += (batch * get_num_groups (0) + i) * BYTES_ROW (K);

#ifdef A_BYTES
  const float least = a_shift - (A_TYPE == I8 ? 128.0f * a_scale : 0.0f), step = a_scale;
  const float spoilt = 0.0f;
#else
  local float lows[GROUP], highs[GROUP], invalids[GROUP];

  /* x * 0 is 0 for a finite x, and NaN otherwise. */
  FLOATS low = 0.0f, high = 0.0f, invalid = 0.0f;
  UNROLL
  for (int k = lane * WIDTH; k < K; k += GROUP * WIDTH) {
    const FLOATS x = load_row (A, a.col, k, K, a_scale, a_shift);
    low = min (low, x);
    high = max (high, x);
    invalid += x * 0.0f;
  }
  float found[3][WIDTH];
  PASTE (vstore, WIDTH) (low, 0, found[0]);
  PASTE (vstore, WIDTH) (high, 0, found[1]);
  PASTE (vstore, WIDTH) (invalid, 0, found[2]);
  for (int e = 1; e < WIDTH; e++) {
    found[0][0] = min (found[0][0], found[0][e]);
    found[1][0] = max (found[1][0], found[1][e]);
    found[2][0] += found[2][e];
  }
  lows[lane] = found[0][0];
  highs[lane] = found[1][0];
  invalids[lane] = found[2][0];
  barrier (CLK_LOCAL_MEM_FENCE);
  for (int half_group = GROUP / 2; half_group > 0; half_group /= 2) {
    if (lane < half_group) {
      lows[lane] = min (lows[lane], lows[lane + half_group]);
      highs[lane] = max (highs[lane], highs[lane + half_group]);
      invalids[lane] += invalids[lane + half_group];
    }
    barrier (CLK_LOCAL_MEM_FENCE);
  }

  /* Divided before the subtraction: high - low may overflow. */
  const float least = lows[0], step = highs[0] / 255.0f - least / 255.0f, spoilt = invalids[0];
#endif
  const float inverse = step >= BYTES_LEAST ? 1.0f / step : 0.0f;
  const int zero = rint (-least * inverse);
  /* Bytes past K are `zero`. */
  const uint below = as_uint (ONES) - zero;
  UINTS sum = 0;
  UNROLL
  for (int k = lane * WIDTH; k < BYTES_K (K); k += GROUP * WIDTH) {
    const FLOATS x = load_row (A, a.col, k, K, a_scale, a_shift);
    const UINTS byte = min (PASTE (as_uint, WIDTH) (x * inverse + ONES) - below, (UINTS)(255));
    sum += byte;
    *(global BYTES *)(bytes + k) = PASTE (convert_uchar, WIDTH) (byte);
  }
  uint each[WIDTH];
  PASTE (vstore, WIDTH) (sum, 0, each);
  for (int e = 1; e < WIDTH; e++)
    each[0] += each[e];
  sums[lane] = each[0];
  barrier (CLK_LOCAL_MEM_FENCE);
  for (int half_group = GROUP / 2; half_group > 0; half_group /= 2) {
    if (lane < half_group)
      sums[lane] += sums[lane + half_group];
    barrier (CLK_LOCAL_MEM_FENCE);
  }
  if (lane > 0)
    return;
  global int *end = (global int *)(bytes + BYTES_K (K));
  end[BYTES_SCALE] = as_int (spoilt == 0.0f ? inverse > 0.0f ? step : 0.0f : NAN);
  end[BYTES_ZERO] = zero;
  end[BYTES_SUM] = sums[0] - BYTES_K (K) * zero;
}
