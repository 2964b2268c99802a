/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * L3_SIMD: the lanes of a subgroup share A from their registers; A and B are read unpacked, by
 * ordinary loads through the cache. subgroup_tile.clh has the tile, tunables and multiplication.
 *
 *        a step of A, S = 8, DEPTH = 2                    a row k of B, TILE_N = 4
 *
 *        lane 0 lane 1  ..    lane 7                      lane 0  lane 1    ..   lane 7
 *       +------+------+- - -+--------+                   +-------+-------+- - -+--------+
 *     r | k k+1|  2  3|     | 14  15 |                   |0 1 2 3|4 5 6 7|     |28 .. 31|
 *       +------+------+- - -+--------+                   +-------+-------+- - -+--------+
 *
 *     lane k / DEPTH holds A (r, k) as its part k % DEPTH;      lane j / TILE_N holds column j
 *
 * A lane reads DEPTH neighbours of each row of a row-major A, TILE_M neighbours of each column of a
 * column-major A, and TILE_N neighbours of a row of B. A B of another layout, and the columns at
 * D's right edge, are read one by one.
 */
#include "shared/gemm.clh"

#define A_ROWS          TILE_M
#define B_ROWS          (TILE_M * TILE_N < 64 ? 2 : 1)
#define HOLDER(k)       ((k) / DEPTH)
#define PART(k)         ((k) % DEPTH)
#define COLUMN(lane, c) ((lane)*TILE_N + (c))

#include "shared/subgroup_loop.clh"

static inline void
read_a (float a[A_HELD], global const A_MEM *A, const GemmclArguments p, const Place *at,
        bool whole)
{
  load_a (a, A, p, at, at->lane * DEPTH, 1, whole);
}

static inline void
read_b (float *b, global const B_MEM *B, const GemmclArguments p, const Place *at, int k, int rows,
        bool whole)
{
  SG_UNROLL
  for (int e = 0; e < rows; e++) {
    global const B_MEM *row = B + (at->b_k + k + e) * B_ROW;
    const long j = at->left + COLUMN (at->lane, 0);
    SG_UNROLL
    for (int c = 0; c < TILE_N; c++)
      b[e * TILE_N + c] = LOAD_B (row, whole ? j + c : min (j + c, (long)p.N - 1) * p.b.col);
  }
}
