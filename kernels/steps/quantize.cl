/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * quantize: A as uint8, for int8 kernels; quantized.h has the layout. The range of each row,
 * extended to include 0, is divided into 255 steps:
 *
 *     low = min (0, a_0, a_1 ..)      scale = (high - low) / 255      uint8 = a / scale + zero
 *     high = max (0, a_0, a_1 ..)     zero = -low / scale              both rounded to nearest
 *
 * So 0 is exact, and the error of an element is at most half a step. A NaN or an infinity makes the
 * row's scale NaN, and with it the row of D. If scale would be subnormal, the row becomes 0.
 *
 * With A_INT8, which the host defines if a stored int8 or uint8 stands for 0, elements stay as they
 * are: scale is a_scale for all rows, and `zero` stands for 0. int8 becomes uint8 by adding 128.
 *
 * row_steps.clh draws the elements of a work-item.
 */
#include "shared/row_steps.clh"
#include "shared/quantized.h"

#define INTS   PASTE (int, WIDTH)
#define UCHARS PASTE (uchar, WIDTH)

/* Adding ONES rounds to nearest: a float of this size has a resolution of 1, and the integer is in
 * its lowest bits. PoCL compiles rint () to twenty instructions. */
#define ONES 0x1.8p23f

#if GROUP > 1 /* a GPU: several loads in flight */
  #define UNROLL _Pragma ("unroll 4")
#else
  #define UNROLL
#endif

DEFINE_COMBINE (get_low, float, min)
DEFINE_COMBINE (get_high, float, max)
DEFINE_COMBINE (add_ints, int, SUM)

/* The least element, the greatest one, and the sum of `invalid`. */
static inline float4
join (float4 a, float4 b)
{
  return (float4)(min (a.s0, b.s0), max (a.s1, b.s1), a.s2 + b.s2, 0);
}

ROW_KERNEL
quantize (global const A_MEM *restrict A, const GemmclStrides a, global uchar *restrict bytes,
          const int K, const float a_scale, const float a_shift)
{
  const int first = get_local_id (0) * WIDTH;
  A = ROW_OF (A, a);
  bytes += (get_group_id (2) * get_num_groups (0) + get_group_id (0)) * INT8_ROW (K);

#ifdef A_INT8
  const float least = a_shift - (A_TYPE == I8 ? 128.0f * a_scale : 0.0f), step = a_scale;
  const float spoilt = 0.0f;
#else
  FLOATS low = 0.0f, high = 0.0f;
  INTS invalid = 0;
  UNROLL
  for (int k = first; k < K; k += GROUP * WIDTH) {
    const FLOATS x = load_row (A, a.col, k, K, a_scale, a_shift);
    low = min (low, x);
    high = max (high, x);
    /* Not by x * 0: Mesa's Rusticl 25.0 takes that for 0. */
    invalid |= !(fabs (x) < INFINITY);
  }
  SHARE (float4, range, join, ((float4)(get_low (low), get_high (high), add_ints (invalid), 0)))
  /* Divided before the subtraction: high - low may overflow. */
  const float least = range.s0, step = range.s1 / 255.0f - least / 255.0f, spoilt = range.s2;
#endif
  const float inverse = step >= INT8_LEAST ? 1.0f / step : 0.0f;
  const int zero = rint (-least * inverse);
  /* Elements past K are `zero`. */
  const int below = as_int (ONES) - zero;
  INTS counts = 0;
  UNROLL
  for (int k = first; k < INT8_K (K); k += GROUP * WIDTH) {
    const FLOATS x = load_row (A, a.col, k, K, a_scale, a_shift);
    /* From -1 to 256: rounding may differ where `zero` lies between two integers. */
    const INTS element =
        min (max (PASTE (as_int, WIDTH) (x * inverse + ONES) - below, (INTS)(0)), (INTS)(255));
    counts += element;
    *(global UCHARS *)(bytes + k) = PASTE (convert_uchar, WIDTH) (element);
  }
  SHARE (int, sum, SUM, add_ints (counts))
  if (first > 0)
    return;
  global int *end = (global int *)(bytes + INT8_K (K));
  end[INT8_SCALE] = as_int (spoilt == 0.0f ? inverse > 0.0f ? step : 0.0f : NAN);
  end[INT8_ZERO] = zero;
  end[INT8_SUM] = sum - INT8_K (K) * zero;
}
