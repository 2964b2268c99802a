/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * buffer_read: the lanes of a subgroup share A from their registers; block reads bring A and B from
 * buffers. subgroup_tile.clh has the tile, the tunables and the multiplication.
 *
 *        a step of A, S = 8, DEPTH = 2                    rows k and k + 1 of B, TILE_N = 2
 *
 *        0  1  2  ..  7   0  1  2  ..  7   lane           0  1  ..  7   0  1  ..  7   lane
 *       +----------------+----------------+              +-------------+-------------+
 *     r | 0  1  2  ..  7 | 8  9 10  .. 15 |            k | 0  1  ..  7 | 8  9  .. 15 |
 *       +----------------+----------------+          k+1 |16 17  .. 23 |24 25  .. 31 |
 *          one block read of 2 per row                   +-------------+-------------+
 *                                                           one block read of 4
 *
 *     lane k % S holds A (r, k) as its part k / S;       lane j % S holds column j
 *
 * B is packed in panels of TILE_N * S columns (pack.cl), so that its rows are contiguous and N has
 * no edges: one message reads up to eight floats per lane, 4 * TILE_N * S bytes of each row. With
 * A_BLOCKS, from the host, A is f32 or f16 with contiguous rows, and is read in blocks. Otherwise,
 * and in a last step shorter than STEP, each lane loads its elements.
 */
#include "shared/gemm.clh"
#include "shared/subgroup.clh"

/* 2D block reads take B_ROWS rows of 16 columns per message: SG_ROWS, or half if registers lack. */
#if defined(SG_ROWS) && B_TYPE == F32 && TILE_M * TILE_N * TILE_N <= 128
  #define B_IN_ROWS
  #define B_ROWS (TILE_M * TILE_N * TILE_N > 64 ? SG_ROWS / 2 : SG_ROWS)
#else
  #define B_ROWS (8 / TILE_N)
#endif

#define A_ROWS          TILE_M
#define HOLDER(k)       ((k) % SUBGROUP_SIZE)
#define PART(k)         ((k) / SUBGROUP_SIZE)
#define COLUMN(lane, c) ((c)*SUBGROUP_SIZE + (lane))

#include "shared/subgroup_loop.clh"

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
read_a (float a[A_HELD], global const A_MEM *A, const GemmclArguments p, const Place *at,
        bool whole)
{
#ifdef A_BLOCKS
  if (whole) {
    SG_UNROLL
    for (int r = 0; r < TILE_M; r++)
      READ_A (a + r * DEPTH, A + at->row[r] + at->a_k, DEPTH);
    return;
  }
#endif
  load_a (a, A, p, at, at->lane, SUBGROUP_SIZE, whole);
}

static inline void
read_b (float *b, global const B_MEM *B, const GemmclArguments p, const Place *at, int k, int rows,
        bool whole)
{
#ifdef B_IN_ROWS
  if (rows == B_ROWS) {
    SG_UNROLL
    for (int c = 0; c < TILE_N; c++) {
      uint bits[B_ROWS];
      sg_read_2d_32 (bits, B, 4 * PANEL, p.K, 4 * PANEL, (int2)(c * SUBGROUP_SIZE, at->b_k + k),
                     B_ROWS);
      SG_UNROLL
      for (int e = 0; e < B_ROWS; e++)
        b[e * TILE_N + c] = as_float (bits[e]);
    }
    return;
  }
#endif
  READ_B (b, B + (at->b_k + k) * B_ROW, rows * TILE_N);
}
