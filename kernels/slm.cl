/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * slm: a work-group copies tiles of A and B to local memory, step by step, and its work-items
 * multiply from there. Options avoid bank conflicts (PAD), read float4s (WIDTH), and fill a second
 * pair of tiles while the first is used (SIDES); without them it is the textbook method.
 *
 *                             COLUMNS
 *                       +----+----+----+----+         ROWS    = TILE_M * GROUP_M
 *                TILE_K |    |    | B  |    |         COLUMNS = TILE_N * GROUP_N
 *                       +----+----+----+----+
 *       TILE_K            n=0  n=1  n=2  n=3
 *      +------+         +----+----+----+----+         work-item (m, n) = (lane / GROUP_N,
 *      |      |         |    |    |    |    | m=0                         lane % GROUP_N)
 *      |  A   | ROWS    +----+----+----+----+         owns the block at
 *      |      |         |    |    |xxxx|    | m=1       i = top  + m * TILE_M + r
 *      +------+         +----+----+----+----+           j = left + n * TILE_N + c
 *
 *     tile_a[side][row * A_PITCH + k]               A_PITCH = TILE_K + PAD
 *     tile_b[side][k * B_PITCH + PADDED (column)]   PADDED (j) = j + j / BANKS * PAD
 *
 * Work-items (m, 0), (m, 1) ... read elements of B's tile that are TILE_N apart at the same time;
 * (0, n), (1, n) ... elements of A's tile that are TILE_M * A_PITCH apart. Without PAD these are
 * multiples of a power of two, and map to few of the BANKS that local memory serves in parallel.
 * PAD moves the elements of the same bank to different banks.
 *
 *     SIDES = 1   fill | barrier | multiply | barrier | fill ...
 *     SIDES = 2   fill 0 | barrier | fill 1, multiply 0 | barrier | fill 0, multiply 1 ...
 *
 * Rows past M and columns past N repeat the last one; elements with k past K are zeros.
 *
 * TILE_M, TILE_N     outputs of a work-item, in TILE_M * TILE_N registers; larger: fewer reads of
 *                    local memory per multiplication
 * GROUP_M, GROUP_N   work-items of a work-group; larger: fewer reads of global memory
 * TILE_K             depth of a step; larger: fewer barriers and more local memory,
 *                    SIDES * (ROWS * A_PITCH + TILE_K * B_PITCH) floats. TILE_M * TILE_K must be a
 *                    multiple of WIDTH * GROUP_N, TILE_N * TILE_K one of WIDTH * GROUP_M
 * WIDTH              1 or 4: floats per read of local memory, and of A and B where their layout
 *                    allows; TILE_N and TILE_K are multiples of it
 * PAD                padding in floats, 0 or WIDTH
 * UNROLL             unroll factor of the loop over a step, in steps of WIDTH
 * SIDES              pairs of tiles: 1, or 2 for double buffering
 */
#include "gemm.clh"
#include "slm.clh"

#define BANKS     32
#define PADDED(j) ((j) + (j) / BANKS * PAD)
#define B_PITCH   PADDED (COLUMNS)
#define STRIPS    (COLUMNS / WIDTH)

/* Copies columns left to left + COLUMNS - 1 of B. Neighbouring work-items read neighbouring memory,
 * in either layout of B. */
LOCAL_INLINE void
copy_b (local float *tile, global const float *B, const GemmclProblem p, long left, int lane,
        int rest)
{
  const bool by_row = p.b.col == 1;
#pragma unroll
  for (int r = 0; r < TILE_K * STRIPS / GROUP; r++) {
    const int t = lane + r * GROUP;
    const int k = by_row ? t / STRIPS : t % TILE_K;
    const int j = (by_row ? t % STRIPS : t / TILE_K) * WIDTH;
    strip x = 0.0f;
    if (k < rest)
      x = load_strip (B + k * p.b.row, p, left + j);
    *(local strip *)(tile + k * B_PITCH + PADDED (j)) = x;
  }
}

/* Adds the products of a step. a, b: the work-item's first row and column in the tiles. */
LOCAL_INLINE void
multiply (strip sum[TILE_M][TILE_N / WIDTH], local const float *a, local const float *b)
{
#pragma unroll UNROLL
  for (int k = 0; k < TILE_K; k += WIDTH) {
    strip a_k[TILE_M];
#pragma unroll
    for (int r = 0; r < TILE_M; r++)
      a_k[r] = *(local const strip *)(a + r * A_PITCH + k);
#pragma unroll
    for (int e = 0; e < WIDTH; e++)
#pragma unroll
      for (int c = 0; c < TILE_N / WIDTH; c++) {
        const strip b_k = *(local const strip *)(b + (k + e) * B_PITCH + c * WIDTH);
#pragma unroll
        for (int r = 0; r < TILE_M; r++)
          sum[r][c] = MAD ((strip)(ELEMENT (a_k[r], e)), b_k, sum[r][c]);
      }
  }
}

kernel __attribute__ ((reqd_work_group_size (GROUP, 1, 1))) void
gemm (GEMM_ARGUMENTS)
{
  local float tile_a[SIDES][ROWS * A_PITCH] __attribute__ ((aligned (16)));
  local float tile_b[SIDES][TILE_K * B_PITCH] __attribute__ ((aligned (16)));

  const int lane = get_local_id (0);
  const int m = lane / GROUP_N * TILE_M;
  const int n = lane % GROUP_N * TILE_N;
  const long batch = get_group_id (2);
  const long top = (long)get_group_id (0) * ROWS;
  const long left = (long)get_group_id (1) * COLUMNS;

  A += p.a.offset + batch * p.a.batch;
  B += p.b.offset + batch * p.b.batch;

  strip sum[TILE_M][TILE_N / WIDTH];
#pragma unroll
  for (int r = 0; r < TILE_M; r++)
#pragma unroll
    for (int c = 0; c < TILE_N / WIDTH; c++)
      sum[r][c] = 0.0f;

  if (SIDES == 2) {
    copy_a (tile_a[0], A, p, top, lane, p.K);
    copy_b (tile_b[0], B, p, left, lane, p.K);
  }
  for (int rest = p.K, side = 0; rest > 0; rest -= TILE_K, side = (side + 1) % SIDES) {
    const int ahead = (SIDES - 1) * TILE_K;
    const int filled = (side + SIDES - 1) % SIDES;

    if (SIDES == 2)
      barrier (CLK_LOCAL_MEM_FENCE);
    copy_a (tile_a[filled], A + ahead * A_COL, p, top, lane, rest - ahead);
    copy_b (tile_b[filled], B + ahead * p.b.row, p, left, lane, rest - ahead);
    if (SIDES == 1)
      barrier (CLK_LOCAL_MEM_FENCE);
    multiply (sum, tile_a[side] + m * A_PITCH, tile_b[side] + PADDED (n));
    if (SIDES == 1)
      barrier (CLK_LOCAL_MEM_FENCE);
    A += TILE_K * A_COL;
    B += TILE_K * p.b.row;
  }

#pragma unroll
  for (int r = 0; r < TILE_M; r++)
#pragma unroll
    for (int c = 0; c < TILE_N / WIDTH; c++)
      finish_strip (C, bias, D, p, batch, top + m + r, left + n + c * WIDTH, sum[r][c]);
}
