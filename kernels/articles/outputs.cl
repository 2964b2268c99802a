/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * outputs: several outputs per work-item, straight from global memory. The speed depends on the
 * order of the loops, which PERMUTED selects.
 *
 *     STEP 1: a block TILE_N wide            STEP GROUP_N: columns that are as far apart
 *     +----+----+----+----+                  +----+----+----+----+
 *     |0000|1111|2222|3333|                  |0123|0123|0123|0123|    n of the work-item that owns
 *     |0000|1111|2222|3333| TILE_M           |0123|0123|0123|0123|    each column; GROUP_N = 4,
 *     +----+----+----+----+                  +----+----+----+----+    TILE_N = 4
 *
 *     i = top  + m * TILE_M + r              work-item (m, n) = (item / GROUP_N, item % GROUP_N)
 *     j = left + n * TILE_N + c              j = left + n + c * GROUP_N
 *
 * The plain order finishes one output after the other. It reads a row of A TILE_N times and a
 * column of B TILE_M times, as one output per work-item does, with fewer work-items to hide the
 * latency. PERMUTED has the loop over K outermost: each step reads TILE_M elements of A and TILE_N
 * of B, and uses each for all outputs of its row or column:
 *
 *     reads per multiply-add    plain: 2     PERMUTED: 1 / TILE_M + 1 / TILE_N
 *
 * TILE_M, TILE_N     rows and columns of a work-item; PERMUTED keeps their sums in TILE_M * TILE_N
 *                    registers
 * GROUP_M, GROUP_N   work-items of a work-group along M and N
 * PERMUTED           if defined, the loop over K is the outermost
 * STEP               columns from one of a work-item to its next, 1 or GROUP_N: with GROUP_N
 *                    neighbouring work-items read neighbouring elements of B and write neighbouring
 *                    elements of D
 */
#include "shared/gemm.clh"

static inline float
scaled_a (global const A_MEM *A, const GemmclArguments p, long index)
{
  return SCALE_A (LOAD_A (A, index), p.a_scale, p.a_shift);
}

kernel __attribute__ ((reqd_work_group_size (GROUP, 1, 1))) void
gemm (GEMM_PARAMETERS)
{
  const int item = get_local_id (0);
  const long batch = get_group_id (2);
  const long top = ((long)get_group_id (0) * GROUP_M + item / GROUP_N) * TILE_M;
  const long left =
      (long)get_group_id (1) * GROUP_N * TILE_N + item % GROUP_N * (STEP == 1 ? TILE_N : 1);
  if (top >= p.M || left >= p.N)
    return;

  A += p.a.offset + batch * p.a.batch;
  B += p.b.offset + batch * p.b.batch;

#ifdef PERMUTED
  /* Rows past M and columns past N repeat the last one and are not stored. */
  long row[TILE_M], column[TILE_N];
  float sum[TILE_M][TILE_N];
  #pragma unroll
  for (int r = 0; r < TILE_M; r++)
    row[r] = min (top + r, (long)p.M - 1) * p.a.row;
  #pragma unroll
  for (int c = 0; c < TILE_N; c++)
    column[c] = min (left + c * STEP, (long)p.N - 1) * p.b.col;
  #pragma unroll
  for (int r = 0; r < TILE_M; r++)
  #pragma unroll
    for (int c = 0; c < TILE_N; c++)
      sum[r][c] = 0.0f;

  #pragma unroll 1
  for (int k = 0; k < p.K; k++) {
    float b[TILE_N];
  #pragma unroll
    for (int c = 0; c < TILE_N; c++)
      b[c] = B[column[c]];
  #pragma unroll
    for (int r = 0; r < TILE_M; r++) {
      const float a = scaled_a (A, p, row[r]);
  #pragma unroll
      for (int c = 0; c < TILE_N; c++)
        sum[r][c] = MAD (a, b[c], sum[r][c]);
    }
    A += p.a.col;
    B += p.b.row;
  }

  #pragma unroll
  for (int r = 0; r < TILE_M; r++)
  #pragma unroll
    for (int c = 0; c < TILE_N; c++)
      if (top + r < p.M && left + c * STEP < p.N)
        finish_one (C, bias, D, p, batch, top + r, left + c * STEP, sum[r][c]);
#else
  for (long i = top; i < min (top + TILE_M, (long)p.M); i++)
    for (long j = left; j < min (left + TILE_N * STEP, (long)p.N); j += STEP) {
      float sum = 0.0f;
  #pragma unroll 1
      for (long k = 0; k < p.K; k++)
        sum = MAD (scaled_a (A, p, i * p.a.row + k * p.a.col), B[k * p.b.row + j * p.b.col], sum);
      finish_one (C, bias, D, p, batch, i, j, sum);
    }
#endif
}
