/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * L3_SLM: a work-group copies a tile of A to local memory, since every work-item needs all of its
 * columns. B is read directly, one row at a time, through the cache.
 *
 *                           COLUMNS
 *                 +----+----+- - - -+----+----+         ROWS    = TILE_M * GROUP_M
 *                 | n=0| n=1|  B    | n=0| n=1|  k      COLUMNS = TILE_N * GROUP_N
 *                 +----+----+- - - -+----+----+
 *     TILE_K
 *    +------+     +----+----+- - - -+----+----+         work-item (m, n) = (lane / GROUP_N,
 *    |      |     | xx |    |       | xx |    | m=0                         lane % GROUP_N)
 *    |  A   |ROWS +----+----+- - - -+----+----+         owns TILE_M rows of TILE_N / 4 float4s,
 *    |      |     |    |    |       |    |    | m=1       i = top  + m * TILE_M + r
 *    +------+     +----+----+- - - -+----+----+           j = left + 4 * (c * GROUP_N + n) + 0..3
 *
 *     tile[row * TILE_K + k]     A in row-major order: a work-item reads four elements of each of
 *                                its rows, then multiplies them by four rows of B
 *
 *     fill | barrier | multiply | barrier | fill ...
 *
 * Rows past M and columns past N repeat the last one; the loop ends at K.
 *
 * TILE_M, TILE_N     outputs of a work-item, TILE_N a multiple of 4: TILE_M * TILE_N registers of
 *                    sums, TILE_M float4s of A and TILE_N / 4 of B
 * GROUP_M            work-items that share the same columns of B; larger: more reads of B hit the
 *                    cache
 * GROUP_N            work-items that share the same rows of the tile
 * TILE_K             depth of a step, a multiple of 4; larger: fewer barriers, more local memory,
 *                    ROWS * TILE_K floats. TILE_M * TILE_K must be a multiple of 4 * GROUP_N; with
 *                    TILE_K = 4 * GROUP_N a work-item copies TILE_M float4s
 * WIDTH, PAD         4 and 0: see slm.clh
 */
#include "gemm.clh"
#include "slm.clh"

/* Loads the work-item's columns of the row at B. whole: they are contiguous and within N. */
static inline void
load_row (strip b[TILE_N / 4], global const float *B, const GemmclProblem p, long j, bool whole)
{
#pragma unroll
  for (int c = 0; c < TILE_N / 4; c++)
    b[c] = whole ? vload4 (0, B + j + c * 4 * GROUP_N) : load_strip (B, p, j + c * 4 * GROUP_N);
}

static inline void
add (strip sum[TILE_M][TILE_N / 4], int r, float a, const strip b[TILE_N / 4])
{
#pragma unroll
  for (int c = 0; c < TILE_N / 4; c++)
    sum[r][c] = MAD ((strip)(a), b[c], sum[r][c]);
}

#define LOAD_ROW(e) load_row (b[e], B + (k + (e)) * p.b.row, p, j, whole);
#define MULTIPLY_ROW(r)                                                                            \
  const strip a_k = *(local const strip *)(a + (r)*A_PITCH + k);                                   \
  add (sum, r, a_k.s0, b[0]);                                                                      \
  add (sum, r, a_k.s1, b[1]);                                                                      \
  add (sum, r, a_k.s2, b[2]);                                                                      \
  add (sum, r, a_k.s3, b[3]);

/* Adds up to TILE_K products to each sum. a: the work-item's first row of the tile; j: its column;
 * whole: rows of B are contiguous, and all columns lie within N. */
LOCAL_INLINE void
multiply (strip sum[TILE_M][TILE_N / 4], local const float *a, global const float *B,
          const GemmclProblem p, long j, int steps, bool whole)
{
  strip b[4][TILE_N / 4];
  int k = 0;

#pragma unroll 1
  for (; k + 4 <= steps; k += 4) {
    REPEAT (4, LOAD_ROW)
    REPEAT (TILE_M, MULTIPLY_ROW)
  }
#pragma unroll 1
  for (; k < steps; k++) {
    LOAD_ROW (0)
#pragma unroll
    for (int r = 0; r < TILE_M; r++)
      add (sum, r, a[r * A_PITCH + k], b[0]);
  }
}

#define FINISH_ROW(r)                                                                              \
  _Pragma ("unroll") for (int c = 0; c < TILE_N / 4; c++)                                          \
      finish_strip (C, bias, D, p, batch, top + m + (r), j + c * 4 * GROUP_N, sum[r][c]);

kernel __attribute__ ((reqd_work_group_size (GROUP, 1, 1))) void
gemm (GEMM_ARGUMENTS)
{
  local float tile[ROWS * A_PITCH] __attribute__ ((aligned (16)));

  const int lane = get_local_id (0);
  const int m = lane / GROUP_N * TILE_M;
  const long batch = get_group_id (2);
  const long top = (long)get_group_id (0) * ROWS;
  const long left = (long)get_group_id (1) * COLUMNS;
  const long j = left + lane % GROUP_N * 4;
  const bool whole = p.b.col == 1 && left + COLUMNS <= p.N;

  A += p.a.offset + batch * p.a.batch;
  B += p.b.offset + batch * p.b.batch;

  strip sum[TILE_M][TILE_N / 4];
#pragma unroll
  for (int r = 0; r < TILE_M; r++)
#pragma unroll
    for (int c = 0; c < TILE_N / 4; c++)
      sum[r][c] = 0.0f;

  long a_at = 0, b_at = 0;
  for (int rest = p.K; rest > 0; rest -= TILE_K) {
    copy_a (tile, A + a_at, p, top, lane, rest);
    barrier (CLK_LOCAL_MEM_FENCE);
    if (whole)
      multiply (sum, tile + m * A_PITCH, B + b_at, p, j, min (rest, TILE_K), true);
    else
      multiply (sum, tile + m * A_PITCH, B + b_at, p, j, min (rest, TILE_K), false);
    barrier (CLK_LOCAL_MEM_FENCE);
    a_at += TILE_K * A_COL;
    b_at += TILE_K * p.b.row;
  }

  REPEAT (TILE_M, FINISH_ROW)
}
