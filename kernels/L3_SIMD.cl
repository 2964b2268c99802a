/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * L3_SIMD: subgroups share A between their lanes' registers; A and B are read where they lie, by
 * ordinary loads through the cache. subgroup_tile.clh draws what it has in common with others.
 *
 *        a step of A, S = 8, DEPTH = 2                    a row k of B, TILE_N = 4
 *
 *        lane 0 lane 1  ..    lane 7                      lane 0  lane 1    ..   lane 7
 *       +------+------+- - -+--------+                   +-------+-------+- - -+--------+
 *     r | k k+1|  2  3|     | 14  15 |                   |0 1 2 3|4 5 6 7|     |28 .. 31|
 *       +------+------+- - -+--------+                   +-------+-------+- - -+--------+
 *
 *     A (r, k) is with lane k / DEPTH, its part k % DEPTH;      column j is lane j / TILE_N's
 *
 * In a row-major A a lane reads DEPTH neighbours of each row, in a column-major one TILE_M
 * neighbours of each of its columns; of a row of B TILE_N neighbours. B of another layout and the
 * columns at D's right edge are read one by one.
 *
 * TILE_M, TILE_N   outputs of a work-item: the larger, the fewer reads; TILE_M * TILE_N registers
 * GROUP_M          subgroups of a work-group, one below the other: the more, the better they share
 *                  the cache's B, and the coarser the grid
 * DEPTH            of A per lane and row: the larger, the wider the loads and the fewer of them,
 * and TILE_M * DEPTH more registers BARRIER          see subgroup_tile.clh
 */
#include "gemm.clh"

#define B_ROWS          1
#define HOLDER(k)       ((k) / DEPTH)
#define PART(k)         ((k) % DEPTH)
#define COLUMN(lane, c) ((lane)*TILE_N + (c))

#include "subgroup_tile.clh"

static inline void
read_a (float a[TILE_M * DEPTH], global const A_MEM *A, const GemmclProblem p, const Place *at)
{
  load_a (a, A, p, at, at->lane * DEPTH, 1);
}

static inline void
read_b (float *b, global const float *B, const GemmclProblem p, const Place *at, int k, int rows,
        bool whole)
{
  const long j = at->left + COLUMN (at->lane, 0);

  B += k * p.b.row;
  SG_UNROLL
  for (int c = 0; c < TILE_N * rows; c++)
    b[c] = whole ? B[j + c] : B[min (j + c, (long)p.N - 1) * p.b.col];
}
