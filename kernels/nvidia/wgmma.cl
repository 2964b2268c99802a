/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * wgmma: warp groups of four warps multiply by the matrix engines of NVIDIA's GPUs of compute
 * capability 9.0 (wgmma.clh): bf16, f16 or tf32 with f32 sums, or uint8 by int8 (quantized.h)
 * with int sums. mma_tile.clh has the kernel function.
 *
 *                      PANEL                 A warp group owns 64 rows of the work-group's tile;
 *                +---------------+           lane 4 g + t of its warp w owns the rows 16 w + 8 r +
 *       32 words |       B       |           g, r < 2, and the columns 16 q + 4 t + 0..3.
 *                +---------------+
 *      32 words                              Both operands lie in local memory as wgmma takes them,
 *       +----+   +---------------+           rows of 128 bytes. Column n of wgmma, n = 16 q + 8 j +
 *       | A  |   | warp group 0  | 64        2 t + e, is column 16 q + 4 t + 2 j + e of the tile,
 *       |    |   +---------------+           so that four columns of a lane, and of the lanes t,
 *       |    |   | warp group 1  | 64        follow each other; B is packed in this order
 *       +----+   +---------------+           (pack.cl).
 *
 * wgmma is asynchronous: at the barrier of a step the engines multiply the step before it and have
 * finished the step before that, whose place the next copies fill.
 *
 * The engines truncate tf32, so such an A passes through registers, where it is rounded.
 *
 * TILE_M, GROUP_N  2, 4
 * TILE_N           64 or 32, a quarter of PANEL; larger: fewer reads of local memory
 * GROUP_M          32 for each warp group; larger: fewer reads of global memory
 * STAGES           4 or more; larger: more steps under way, more local memory:
 *                  128 (ROWS + PANEL) bytes each
 */
#include "shared/gemm.clh"
#include "shared/quads.clh"
#define COLUMN_MAJOR /* for quantized.h */
#include "nvidia/mma.clh"
#include "nvidia/wgmma.clh"

#ifndef MMA_PTX
  #undef STAGES
  #define STAGES 4
#endif
#define STEP_WORDS WGMMA_STEP
#define LEAD       (STAGES - 2)

static inline int
a_at (int row, int chunk)
{
  return 8 * row + (chunk ^ WGMMA_SWAP (row));
}

static inline int
b_at (int i)
{
  return 8 * ROWS + i;
}

#define DECLARE()    MmaNumber sum[MMA_NUMBERS];
#define CLEAR_SUMS() MMA_UNROLL for (int i = 0; i < MMA_NUMBERS; i++) sum[i] = 0;
#define SUM_OF(r, c) sum[(c) / 2 * 4 + 2 * (r) + (c) % 2]
#define ARRIVE(place)                                                                              \
  wgmma_arrive ();                                                                                 \
  WGMMA_WAIT (place)
#define A_OF(place)     ((place)*STAGE + 8 * 64 * (warp / 4))
#define B_OF(place)     ((place)*STAGE + 8 * ROWS)
#define START(place)    WGMMA_FIRST (sum, stages, A_OF (place), B_OF (place));
#define MULTIPLY(place) WGMMA_REST (sum, stages, A_OF (place), B_OF (place));
#define FINISH_SUMS()   WGMMA_FINISH (sum);
#ifdef MMA_PTX
  /* A step of B is contiguous and copied as a whole; arrived[place] completes with the copy. */
  #define DECLARE_COPIES()                                                                         \
    local ulong arrived[STAGES];                                                                   \
    uint parity = 0;                                                                               \
    if (item < STAGES)                                                                             \
      wgmma_expect (&arrived[item]);                                                               \
    barrier (CLK_LOCAL_MEM_FENCE);
  #define COPY_B(next)                                                                             \
    if (item == 0 && rest > 0)                                                                     \
    wgmma_copy (stages + (next)*STAGE + 8 * ROWS, panel, 16 * STAGE_B, &arrived[next])
  #define WGMMA_WAIT(place)                                                                        \
    wgmma_wait (&arrived[place], parity >> (place)&1);                                             \
    parity ^= 1u << (place);
#else
  #define WGMMA_WAIT(place)
#endif

/* Whole rows: the four lanes of a warp with the same g share rows, through shared_rows. */
#define ROW_I(r)           (top + warp * 16 + 8 * (r) + g)
#define ROW_J(part)        (left + 16 * (part) + 4 * t)
#define ROW_SHARE(step, x) share_found (step, x, TILE_M, shared_rows, GROUP, item, t, 4, 1);
#define ROW_STORES         (t == 0)

#include "nvidia/mma_tile.clh"
