/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * mma: warps of 32 work-items multiply by NVIDIA's matrix engines (mma.clh): bf16, f16 or tf32 with
 * f32 sums, or uint8 by int8 (quantized.h) with int sums. mma_tile.clh has the kernel function.
 *
 *                     PANEL                   A warp owns 8 TILE_M x 4 TILE_N of the work-group's
 *               +-------+-------+             tile. GROUP_M / 8 warps lie below each other,
 *      16 words |       B       |             ACROSS = GROUP_N / 4 side by side.
 *               +-------+-------+
 *     16 words                                Lane 4 g + t of a warp owns, of its part of D,
 *      +----+   +-------+-------+               rows 8 r + g,  r < TILE_M
 *      |    |   | warp 0| warp 1|               columns 32 q + 8 t + 0..7,  q < TILE_N / 8
 *      | A  |   +-------+-------+ ROWS
 *      |    |   | warp 2| warp 3|
 *      +----+   +-------+-------+
 *
 * Each lane reads 16 bytes of local memory at once. Of A these are the words 4 t .. 4 t + 3 of one
 * of its rows: mma s, s < 2, takes two of them, 4 t + 2 s and 4 t + 2 s + 1. (mma.clh draws words t
 * and 4 + t; their order is free.) Of B these are the columns 32 q + 4 g + 0..3 of one of the same
 * four words: mma n = 4 q + c takes column 32 q + 4 g + c as its column g, so that a lane's columns
 * of D follow each other. The exclusive or in place_b () spreads the four rows of B that a quarter
 * of a warp reads at once over the banks.
 *
 * B is packed in panels of rows of PANEL words (pack.cl with S = PANEL), K padded by zeros to
 * whole steps; with int8, as quantized.h draws it.
 *
 * TILE_M, TILE_N   outputs of a work-item, multiples of 2 and 8; larger: fewer reads of local
 *                  memory for each mma. The sums take TILE_M * TILE_N registers, A and B
 *                  4 * TILE_M + 2 * TILE_N
 * GROUP_M, GROUP_N multiples of 8 and 4; larger: fewer reads of global memory
 * STAGES           2 or more; larger: more steps under way, more local memory:
 *                  64 (ROWS + PANEL) bytes each
 */
#include "shared/gemm.clh"
#include "shared/quads.clh"
#include "nvidia/mma.clh"

#ifndef MMA_PTX /* The emulation needs more local memory, so it has fewer stages. */
  #undef STAGES
  #define STAGES 3
#endif
#define ACROSS     (GROUP_N / 4)
#define STEP_WORDS MMA_STEP
#define LEAD       (STAGES - 1)
#define BLOCKS_N   (TILE_N / 2)

/* The row of warps, and the column. */
#define DOWN_ID   (warp / ACROSS)
#define ACROSS_ID (warp % ACROSS)

static inline int
a_at (int row, int chunk)
{
  return 4 * row + chunk;
}

/* 16 bytes of a row of words of B: columns 4 chunk .. 4 chunk + 3. */
static inline int
place_b (int word, int chunk)
{
  return 4 * ROWS + word * (PANEL / 4) + (chunk ^ (word / 4 * 2));
}

static inline int
b_at (int i)
{
  return place_b (i / (PANEL / 4), i % (PANEL / 4));
}

/* Reads the lane's words of a step. row: its first row; chunk: its first chunk of B. */
INLINE void
read_words (uint a[TILE_M][4], uint b[2][2][BLOCKS_N], local const uint4 *stage, int row, int chunk,
            int t)
{
  MMA_UNROLL
  for (int r = 0; r < TILE_M; r++) {
    const uint4 four = stage[a_at (row + 8 * r, t)];
    a[r][0] = mma_round (four.s0);
    a[r][1] = mma_round (four.s1);
    a[r][2] = mma_round (four.s2);
    a[r][3] = mma_round (four.s3);
  }
  MMA_UNROLL
  for (int w = 0; w < 4; w++)
    MMA_UNROLL
  for (int q = 0; q < TILE_N / 8; q++) {
    const uint4 four = stage[place_b (4 * t + w, chunk + 8 * q)];
    b[w / 2][w % 2][4 * q] = four.s0;
    b[w / 2][w % 2][4 * q + 1] = four.s1;
    b[w / 2][w % 2][4 * q + 2] = four.s2;
    b[w / 2][w % 2][4 * q + 3] = four.s3;
  }
}

#define DECLARE()                                                                                  \
  MMA_SHARED (shared);                                                                             \
  uint a[TILE_M][4], b[2][2][BLOCKS_N];                                                            \
  MmaNumber sum[TILE_M][TILE_N];
#define CLEAR_SUMS()                                                                               \
  MMA_UNROLL for (int i = 0; i < TILE_M * TILE_N; i++) sum[i / TILE_N][i % TILE_N] = 0;
#define SUM_OF(r, c) sum[r][c]
#define ARRIVE(place)
#define START(place)
#define MULTIPLY(place)                                                                            \
  read_words (a, b, stages + (place)*STAGE, DOWN_ID * 8 * TILE_M + g, ACROSS_ID * TILE_N + g, t);  \
  MMA_SHARE (shared, a, b);                                                                        \
  MMA_UNROLL for (int s = 0; s < 2; s++) MMA_UNROLL for (int m = 0; m < TILE_M / 2; m++)           \
      MMA_UNROLL for (int n = 0; n < BLOCKS_N; n++) MMA (sum, shared, a, b, m, n, s);
#define FINISH_SUMS()

/* Whole rows: the four lanes of a warp with the same g share rows, and warps side by side. They
 * exchange values in shared_rows. */
#define ROW_I(r)    (top + DOWN_ID * 8 * TILE_M + 8 * (r) + g)
#define ROW_J(part) (left + ACROSS_ID * 4 * TILE_N + (part) / 2 * 32 + 8 * t + (part) % 2 * 4)
#define ROW_SHARE(step, x)                                                                         \
  share_found (step, x, TILE_M, shared_rows, GROUP, item, t, 4, 1);                                \
  share_found (step, x, TILE_M, shared_rows, GROUP, item, ACROSS_ID, ACROSS, 32);
#define ROW_STORES (t == 0 && ACROSS_ID == 0)

#include "nvidia/mma_tile.clh"
