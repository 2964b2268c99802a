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
 * columns at D's right edge are read one by one, unless B comes in panels (PANEL), as halves do.
 */
#include "gemm.clh"

#define A_ROWS           TILE_M
#define B_ROWS           (TILE_M * TILE_N < 64 ? 2 : 1)
#define HOLDER(k)        ((k) / DEPTH)
#define PART(k)          ((k) % DEPTH)
#define K_OF(lane, part) ((lane)*DEPTH + (part))
#define COLUMN(lane, c)  ((lane)*TILE_N + (c))

#include "subgroup_loop.clh"

static inline void
read_a (float a[A_HELD], global const A_MEM *A, const GemmclProblem p, const Place *at,
        bool whole)
{
  load_a (a, A, p, at, at->lane * DEPTH, 1, whole);
}

static inline void
read_b (float *b, global const B_MEM *B, const GemmclProblem p, const Place *at, int k, int rows,
        bool whole)
{
  SG_UNROLL
  for (int e = 0; e < rows; e++) {
    global const B_MEM *row = B + (at->b_k + k + e) * B_ROW;
#ifdef PANEL
    SG_UNROLL
    for (int c = 0; c < TILE_N; c++)
      b[e * TILE_N + c] = LOAD_B (row, COLUMN (at->lane, c));
#else
    const long j = at->left + COLUMN (at->lane, 0);
    SG_UNROLL
    for (int c = 0; c < TILE_N; c++)
      b[e * TILE_N + c] = LOAD_B (row, whole ? j + c : min (j + c, (long)p.N - 1) * p.b.col);
#endif
  }
}
