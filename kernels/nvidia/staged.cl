/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * staged: f32 through local memory that NVIDIA's asynchronous copies fill (mma.clh). Unlike in
 * tiled.cl, an operand that needs no conversion passes through no registers. mma_tile.clh has the
 * kernel function.
 *
 *                     PANEL                   A warp owns 4 x 8 of the tile's GROUP_M x GROUP_N
 *               +---------------+             places; lane 4 g + t has its place (t, g). The
 *      16 words |       B       |             work-item at place (m, n) owns
 *               +---------------+               rows GROUP_M * r + m,  r < TILE_M
 *     16 words                                  columns 4 * (GROUP_N * part + n) + 0..3
 *      +----+   +---------------+
 *      | A  |   |       D       | ROWS        Both operands keep their order in local memory:
 *      +----+   +---------------+             rows of 16 words of A, of PANEL words of B.
 *
 * A work-item reads two rows of B at a time, and the two matching words of each of its rows of
 * A. The lanes of a warp read four rows of A and 128 contiguous bytes of B. Rows of A lie 64
 * bytes apart; every other pair of rows swaps neighbouring chunks of four words, so that the four
 * rows are in different banks.
 *
 * B is packed in panels of rows of PANEL words (pack.cl with S = PANEL and UNROUNDED), K
 * padded by zeros to whole steps.
 *
 * TILE_M, TILE_N   outputs of a work-item, TILE_N a multiple of 4; larger: fewer reads of local
 *                  memory for each multiplication. Sums take TILE_M * TILE_N registers
 * GROUP_M, GROUP_N multiples of 4 and 8; larger: fewer reads of global memory
 * STAGES           3 or more; larger: more steps under way, more local memory:
 *                  64 (ROWS + PANEL) bytes each
 * UNROLL           unroll factor in pairs of words, up to 8, a whole step. An H200 is fastest with
 *                  512 to 1024 unrolled multiply-adds per work-item
 */
#include "shared/gemm.clh"
#include "shared/quads.clh"
#include "nvidia/mma.clh"

#define ACROSS     (GROUP_N / 8)
#define STEP_WORDS MMA_STEP
#define LEAD       (STAGES - 1)

#define PLACE_M (warp / ACROSS * 4 + t)
#define PLACE_N (warp % ACROSS * 8 + g)

#define SWAP_OF(row) ((row) / 2 % 2)

static inline int
a_at (int row, int chunk)
{
  return 4 * row + (chunk ^ SWAP_OF (row));
}

static inline int
b_at (int i)
{
  return 4 * ROWS + i;
}

/* Adds the products of a step. a: the first chunk of the work-item's first row; swap: that row's;
 * b: its first four columns of the first row of B. */
INLINE void
multiply (float4 sum[TILE_M][TILE_N / 4], local const float4 *a, int swap, local const float4 *b)
{
  UNROLL_BY (UNROLL)
  for (int word = 0; word < STEP_WORDS; word += 2) {
    float4 rows[2][TILE_N / 4];
    MMA_UNROLL
    for (int c = 0; c < TILE_N / 4; c++) {
      rows[0][c] = b[word * (PANEL / 4) + c * GROUP_N];
      rows[1][c] = b[(word + 1) * (PANEL / 4) + c * GROUP_N];
    }
    MMA_UNROLL
    for (int r = 0; r < TILE_M; r++) {
      local const float4 *chunk = a + 4 * GROUP_M * r + (word / 4 ^ swap);
      const float2 x = ((local const float2 *)chunk)[word / 2 % 2];
      MMA_UNROLL
      for (int c = 0; c < TILE_N / 4; c++) {
        sum[r][c] = MAD ((float4)(x.s0), rows[0][c], sum[r][c]);
        sum[r][c] = MAD ((float4)(x.s1), rows[1][c], sum[r][c]);
      }
    }
  }
}

#define DECLARE() float4 sum[TILE_M][TILE_N / 4];
#define CLEAR_SUMS()                                                                               \
  MMA_UNROLL for (int i = 0; i < TILE_M * TILE_N / 4; i++) sum[i % TILE_M][i / TILE_M] = 0.0f;
#define SUMS_OF(r, part) sum[r][part]
#define ARRIVE(place)
#define START(place)
#define MULTIPLY(place)                                                                            \
  multiply (sum, (local const float4 *)stages + (place)*STAGE + 4 * PLACE_M, SWAP_OF (PLACE_M),    \
            (local const float4 *)stages + (place)*STAGE + b_at (PLACE_N));
#define FINISH_SUMS()

/* Whole rows: the eight lanes of a warp with the same t share rows, and warps side by side. */
#define ROW_I(r)    (top + GROUP_M * (r) + PLACE_M)
#define ROW_J(part) (left + 4 * (GROUP_N * (part) + PLACE_N))
#define ROW_SHARE(step, x)                                                                         \
  share_found (step, x, TILE_M, shared_rows, GROUP, item, g, 8, 4);                                \
  share_found (step, x, TILE_M, shared_rows, GROUP, item, warp % ACROSS, ACROSS, 32);
#define ROW_STORES (PLACE_N == 0)

#include "nvidia/mma_tile.clh"
