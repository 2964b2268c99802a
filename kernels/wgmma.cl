/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * wgmma: warp groups of four warps multiply by the matrix engines of NVIDIA's GPUs of compute
 * capability 9.0 (wgmma.clh): bf16, fp16 or tf32 with f32 sums. mma_tile.clh has the frame.
 *
 *                      PANEL                 A warp group owns 64 rows of the work-group's tile;
 *                +---------------+           lane 4 g + t of its warp w owns the rows 16 w + 8 r +
 *       32 words |       B       |           g, r < 2, and the columns 16 q + 4 t + 0..3.
 *                +---------------+
 *      32 words                              Both operands lie in local memory as wgmma takes them,
 *       +----+   +---------------+           rows of 128 bytes. Column n of wgmma, n = 16 q + 8 j +
 *       | A  |   | warp group 0  | 64        2 t + e, is column 16 q + 4 t + 2 j + e of the tile,
 *       |    |   +---------------+           so that four columns of a lane, and of the lanes t,
 *       |    |   | warp group 1  | 64        follow each other; pack_dpas.cl stores B in this
 *       +----+   +---------------+           order (COLUMN_MAJOR).
 *
 * wgmma runs while the warps go on: at the barrier of a step the one before it is multiplied, and
 * the one before that is done. The next copies take its place.
 *
 * The engines truncate tf32. Therefore the work-item that copied 16 bytes of such an A rounds them
 * before the barrier.
 *
 * TILE_M, GROUP_N  2, 4
 * TILE_N           64 or 32, a quarter of PANEL; larger: fewer reads of local memory
 * GROUP_M          32 for each warp group; larger: fewer reads of global memory
 * STAGES           3 or more; larger: more steps under way, more local memory:
 *                  128 (ROWS + PANEL) bytes each
 */
#include "gemm.clh"
#include "quads.clh"

#define GROUP (GROUP_M * GROUP_N)

#include "mma.clh"
#include "wgmma.clh"

#ifndef MMA_PTX
  #undef STAGES
  #define STAGES 3
#endif
#define ROWS       (TILE_M * GROUP_M)
#define STEP_WORDS WGMMA_STEP
#define LEAD       (STAGES - 2)

static inline int
a_at (int row, int chunk)
{
  return 8 * row + (chunk ^ (row % 8));
}

static inline int
b_at (int i)
{
  return 8 * ROWS + i;
}

#define DECLARE()                                                                                  \
  MmaNumber sum[MMA_NUMBERS];                                                                      \
  _Pragma ("unroll") for (int i = 0; i < MMA_NUMBERS; i++) sum[i] = 0;
#define SUM_OF(r, c) sum[(c) / 2 * 4 + 2 * (r) + (c) % 2]
#define ARRIVE(place)                                                                              \
  ROUND_A (place)                                                                                  \
  wgmma_arrive ();
#define MULTIPLY(place)                                                                            \
  WGMMA (sum, stages, (place)*STAGE + 8 * 64 * (warp / 4), (place)*STAGE + 8 * ROWS);
#define FINISH_SUMS() WGMMA_FINISH (sum);
#if B_TYPE == F32
  #define ROUND_A(place) round_a (stages + (place)*STAGE, lane);
#else
  #define ROUND_A(place)
#endif

/* Whole rows: the four lanes of a warp with the same g share rows. They exchange their values where
 * the stages were. */
#define ROW_I(r)    (top + warp * 16 + 8 * (r) + g)
#define ROW_J(part) (left + 16 * (part) + 4 * t)
#define ROW_SHARE(OP, own)                                                                         \
  SHARE_FOUND (OP, own, TILE_M, (local float *)stages, GROUP, lane, t, 4, 1)
#define ROW_STORES (t == 0)

#include "mma_tile.clh"
