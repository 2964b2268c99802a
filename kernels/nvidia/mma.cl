/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
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
 * Each lane reads 16 bytes of local memory at once: of A chunk t of its rows, the words of two mma.
 * Mma s, s < 2, takes the words 4 t + 2 s and 4 t + 2 s + 1 of the step; their order is free.
 * The lane reads these rows of B in the columns 32 q + 4 g + 0..3. Column g of mma n, n = 4 q + c,
 * is thus column 32 q + 4 g + c of the warp, so that a lane's columns of D follow each other. The
 * exclusive or in place_b () spreads the four rows of B that a quarter of a warp reads at once over
 * the banks.
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

#ifndef MMA_PTX /* as few stages as possible */
  #undef STAGES
  #define STAGES 3
#endif
#define STEP_WORDS MMA_STEP
#define LEAD       (STAGES - 1)
#define ACROSS     (GROUP_N / 4)
#define SHARERS    4
#define APART      1
#define SUMS       (TILE_M * TILE_N)
typedef MmaNumber Sum;

#include "nvidia/mma_tile.clh"

static inline long
row_at (int lane, int r)
{
  return 8L * r + lane / 32 / ACROSS * 8 * TILE_M + lane % 32 / 4;
}

static inline long
column_at (int lane, int part)
{
  return 32L * (part / 2) + part % 2 * 4 + lane / 32 % ACROSS * 4 * TILE_N + lane % 4 * 8;
}

INLINE MmaFour
get_four (const MmaNumber sum[SUMS], int r, int part)
{
  const MmaNumber *four = sum + r * TILE_N + 4 * part;

  return (MmaFour)(four[0], four[1], four[2], four[3]);
}

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

/* Places of the words that a lane reads: its four of its row r of A, and those of the mma 4 q ..
 * 4 q + 3 in the row 4 t + w of B. */
static inline int
lane_a (int lane, int r)
{
  return a_at (row_at (lane, r), lane % 4);
}

static inline int
lane_b (int lane, int w, int q)
{
  return place_b (4 * (lane % 4) + w, lane / 32 % ACROSS * TILE_N + 8 * q + lane % 32 / 4);
}

#ifdef MMA_PTX
LOCAL_INLINE void
multiply (MmaNumber sum[SUMS], local const uint4 *stages, int place, int lane)
{
  local const uint4 *stage = stages + place * STAGE;
  uint a[TILE_M][4], b[4][TILE_N / 2];

  MMA_UNROLL
  for (int r = 0; r < TILE_M; r++) {
    const uint4 four = stage[lane_a (lane, r)];
    a[r][0] = mma_round (four.s0);
    a[r][1] = mma_round (four.s1);
    a[r][2] = mma_round (four.s2);
    a[r][3] = mma_round (four.s3);
  }
  MMA_UNROLL
  for (int i = 0; i < TILE_N / 2; i++) {
    const uint4 four = stage[lane_b (lane, i % 4, i / 4)];
    b[i % 4][i / 4 * 4] = four.s0;
    b[i % 4][i / 4 * 4 + 1] = four.s1;
    b[i % 4][i / 4 * 4 + 2] = four.s2;
    b[i % 4][i / 4 * 4 + 3] = four.s3;
  }
  MMA_UNROLL
  for (int s = 0; s < 4; s += 2)
    MMA_UNROLL
  for (int m = 0; m < TILE_M; m += 2)
    MMA_UNROLL
  for (int n = 0; n < TILE_N / 2; n++) {
    MmaNumber *c = sum + m * TILE_N + n / 4 * 8 + n % 4;
    mma (c, c + 4, c + TILE_N, c + TILE_N + 4, a[m][s], a[m + 1][s], a[m][s + 1], a[m + 1][s + 1],
         b[s][n], b[s + 1][n]);
  }
}
#else
/* Word t of the row and of the column come from lanes t of those that hold them. */
LOCAL_INLINE void
multiply (MmaNumber sum[SUMS], local const uint4 *stages, int place, int lane)
{
  local const uint *words = (local const uint *)(stages + place * STAGE);

  for (int i = 0; i < SUMS; i++) {
    const int r = i / TILE_N, c = i % TILE_N;
    const int of_row = lane / 4 * 4, of_column = lane / 32 * 32 + 4 * (lane % 4 * 2 + c / 4 % 2);
    for (int t = 0; t < 4; t++) {
      local const uint *a = words + 4 * lane_a (of_row + t, r);
      for (int w = 0; w < 4; w++)
        sum[i] =
            mma_dot (sum[i], mma_round (a[w]), words[4 * lane_b (of_column + t, w, c / 8) + c % 4]);
    }
  }
}
#endif
