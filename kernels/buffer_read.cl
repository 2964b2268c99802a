/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * buffer_read: subgroups share A between their lanes' registers, and read A and B by block reads of
 * buffers. subgroup_tile.clh draws what it has in common with others.
 *
 *        a step of A, S = 8, DEPTH = 2                    rows k and k + 1 of B, TILE_N = 2
 *
 *        0  1  2  ..  7   0  1  2  ..  7   lane           0  1  ..  7   0  1  ..  7   lane
 *       +----------------+----------------+              +-------------+-------------+
 *     r | 0  1  2  ..  7 | 8  9 10  .. 15 |            k | 0  1  ..  7 | 8  9  .. 15 |
 *       +----------------+----------------+          k+1 |16 17  .. 23 |24 25  .. 31 |
 *          one block read of 2 a row                     +-------------+-------------+
 *                                                           one block read of 4
 *
 *     A (r, k) is with lane k % S, its part k / S;       column j is lane j % S's
 *
 * B comes packed in panels of TILE_N * S columns (pack.cl), so that its rows follow one another: up
 * to eight floats per lane, 4 * TILE_N * S bytes of each row, come with one message, and there are
 * no edges along N. A is read in blocks where the host says that blocks can be (A_BLOCKS): f32 or
 * f16, and each row together; else, and in the last step, where that is not STEP long, lane by
 * lane.
 */
#include "gemm.clh"
#include "subgroup.clh"

/* Where a message reads rows of B of 16 columns, as many as registers are free for. */
#if defined(SG_ROWS) && B_TYPE == F32 && TILE_M * TILE_N * TILE_N <= 128
  #define B_IN_ROWS
  #define B_ROWS (TILE_M * TILE_N * TILE_N > 64 ? SG_ROWS / 2 : SG_ROWS)
#else
  #define B_ROWS (8 / TILE_N)
#endif

#define A_ROWS           TILE_M
#define HOLDER(k)        ((k) % SUBGROUP_SIZE)
#define PART(k)          ((k) / SUBGROUP_SIZE)
#define K_OF(lane, part) ((part)*SUBGROUP_SIZE + (lane))
#define COLUMN(lane, c)  ((c)*SUBGROUP_SIZE + (lane))

#include "subgroup_loop.clh"

#if A_TYPE == F16
  #define READ_A sg_read_half
#else
  #define READ_A sg_read
#endif
#if B_TYPE == F16
  #define READ_B sg_read_half
#else
  #define READ_B sg_read
#endif

static inline void
read_a (float a[A_HELD], global const A_MEM *A, const GemmclProblem p, const Place *at,
        bool whole)
{
#ifdef A_BLOCKS
  if (whole) {
    SG_UNROLL
    for (int r = 0; r < TILE_M; r++)
      READ_A (a + r * DEPTH, 1, A + at->row[r] + at->a_k, (int2)(0), DEPTH);
    return;
  }
#endif
  load_a (a, A, p, at, at->lane, SUBGROUP_SIZE, whole);
}

static inline void
read_b (float *b, global const B_MEM *B, const GemmclProblem p, const Place *at, int k, int rows,
        bool whole)
{
#ifdef B_IN_ROWS
  if (rows == B_ROWS) {
    SG_UNROLL
    for (int c = 0; c < TILE_N; c++)
      sg_read_rows (b + c, TILE_N, B, PANEL, p.K, (int2)(c * SUBGROUP_SIZE, at->b_k + k), B_ROWS);
    return;
  }
#endif
  READ_B (b, 1, B + (at->b_k + k) * B_ROW, (int2)(0), rows * TILE_N);
}
