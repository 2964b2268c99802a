/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * pack_bytes: B as int8 in panels; quantized.h has the layout. For each column
 *
 *     scale = max |b| / 127,  zero = 0,  byte = b / scale + zero, rounded to nearest
 *
 * If scales is not NULL, it holds N scales followed by N zero points. B is then an int8 matrix that
 * was dequantized with them, and packing restores its elements. A NaN or an infinity makes the
 * column's scale NaN. Columns from N to the next multiple of PANEL are zeros.
 *
 * COLUMN_MAJOR: in the order of column_major.clh.
 *
 * A work-item owns a column: (columns with padding, 1, batches).
 */
#include "problem.h"
#include "types.clh"
#ifdef COLUMN_MAJOR
  #include "column_major.clh"
#else
  #define word_at(line, column) ((long)(line)*PANEL + (column))
#endif
#include "quantized.h"

kernel void
pack (global const float *restrict B, global int *restrict packed, const GemmclStrides b,
            const int N, const int K, global const float *restrict scales)
{
  const long j = get_global_id (0);
  const long batch = get_global_id (2);
  const int rows = BYTES_B_K (K) / 4, column = j % PANEL;
  const int real = j < N ? K : 0;
  B += b.offset + batch * b.batch + j * b.col;
  packed += (batch * get_global_size (0) + j) / PANEL * BYTES_PANEL (K);

  float highest = 0.0f, invalid = 0.0f;
  for (int k = 0; k < real; k++) {
    const float x = B[k * b.row];
    highest = fabs (x) > highest ? fabs (x) : highest;
    invalid += x - x;
  }
  const float scale = scales && real ? scales[j] : highest / 127.0f;
  const bool tiny = !(scale >= BYTES_LEAST);
  const int zero = scales && real ? (int)scales[N + j] : 0;

  int sum = 0;
  for (int row = 0; row < rows; row++) {
    uint four = 0;
    for (int e = 0; e < 4; e++) {
      const int k = row * 4 + e;
      const float x = k < real && !tiny ? rint (B[k * b.row] / scale) : 0.0f;
      const int byte = clamp ((int)x + (k < real ? zero : 0), -128, 127);
      sum += byte;
      four |= (uint)(byte & 0xff) << 8 * e;
    }
    packed[word_at (row, column)] = four;
  }
  packed += (long)rows * PANEL + column;
  packed[BYTES_SCALE * PANEL] = as_int (invalid == 0.0f ? tiny ? 0.0f : scale : NAN);
  packed[BYTES_ZERO * PANEL] = zero;
  packed[BYTES_SUM * PANEL] = sum;
}
