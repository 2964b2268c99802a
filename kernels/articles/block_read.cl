/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * block_read: the lanes of a subgroup share A from their registers, and read A and B by block reads
 * of images. subgroup_tile.clh has the tile, the tunables and the multiplication.
 *
 *        a step of A, S = 8, DEPTH = 1                    8 rows of B, TILE_N = 2
 *
 *        0  1  2  ..  7   lane                            0  1  ..  7   0  1  ..  7   lane
 *       +----------------+                               +-------------+-------------+
 *     0 | 0  1  2  ..  7 |                             k | 0  1  ..  7 | 8  9  .. 15 |
 *     1 | 0  1  2  ..  7 |  rows of A: one block      k+1| 0  1  ..  7 | 8  9  .. 15 |
 *     : |                |  read of up to 8              |             |             |
 *       +----------------+                               +-------------+-------------+
 *                                                         a block read of B_ROWS each
 *
 *     lane k % S holds A (r, k) as its part k / S;       lane j % S holds column j
 *
 * Images are padded with zeros to whole tiles (pack.cl), so that only D has edges. A message
 * reads 8 rows at any pitch, with no address arithmetic.
 *
 * A step is as long as a read of B. B is read first; A follows in parts of 8 rows, each of which is
 * multiplied at once. This takes TILE_M * TILE_N + 8 * TILE_N + 8 registers.
 */
#include "shared/gemm.clh"

#define B_ROWS          STEP
#define A_ROWS          (TILE_M < 8 ? TILE_M : 8)
#define HOLDER(k)       ((k) % SUBGROUP_SIZE)
#define PART(k)         ((k) / SUBGROUP_SIZE)
#define COLUMN(lane, c) ((c)*SUBGROUP_SIZE + (lane))

#include "shared/subgroup_tile.clh"

/* Each image is as wide as its blocks side by side. */
#define A_IMAGE IMAGE (A, block_k *(int)p.a.col)
#define B_IMAGE IMAGE (B, COLUMNS *(int)p.b.col)

/* The texel at which block t begins; all blocks are width x height. */
static inline int2
block_at (const GemmclStrides s, uint t, int width, int height)
{
  return (int2)(t % (uint)s.col * width, t / (uint)s.col * height);
}

/* Reads a step of B. */
static inline void
read_b (float b[B_ROWS * TILE_N], IMAGE_TYPE B, int2 at)
{
  SG_UNROLL
  for (int c = 0; c < TILE_N; c++)
    sg_read_image (b + c, TILE_N, B, at + (int2)(c * SUBGROUP_SIZE, 0), B_ROWS);
}

/* Reads A_ROWS rows of a step of A. */
static inline void
read_a (float a[A_HELD], IMAGE_TYPE A, const GemmclArguments p, int2 at)
{
  SG_UNROLL
  for (int d = 0; d < DEPTH; d++)
    sg_read_image (a + d, DEPTH, A, at + (int2)(d * SUBGROUP_SIZE, 0), A_ROWS);
  scale_a (a, p);
}

/* Reads and shares A_ROWS rows of a step of A, and adds their products. */
#define MULTIPLY_ROWS(i)                                                                           \
  float a[A_HELD];                                                                                 \
  read_a (a, A_IMAGE, p, a_at + (int2)(0, (i)*A_ROWS));                                            \
  SG_SHARE (shared, a, A_HELD);                                                                    \
  multiply_rows (sum + (i)*A_ROWS * TILE_N, shared, a, b, 0);

kernel SG_KERNEL void
gemm (GEMM_PARAMETERS)
{
  SG_SHARED (shared, A_HELD);

  const int block_k = p.block_k;
  const int2 tile = group_tile ();
  uint a_block = get_group_id (2) * p.a.batch + (tile.x * GROUP_M + sg_id ()) * p.a.row;
  uint b_block = get_group_id (2) * p.b.batch + tile.y * p.b.row;

  float b[B_ROWS * TILE_N];
  float sum[TILE_M * TILE_N];
  SG_UNROLL
  for (int i = 0; i < TILE_M * TILE_N; i++)
    sum[i] = 0.0f;

  for (int rest = p.K; rest > 0; rest -= block_k) {
    int2 a_at = block_at (p.a, a_block++, block_k, TILE_M);
    int2 b_at = block_at (p.b, b_block++, COLUMNS, block_k);

    for (int left = min (rest, block_k); left > 0; left -= STEP) {
      read_b (b, B_IMAGE, b_at);
      REPEAT (TILE_M / A_ROWS, MULTIPLY_ROWS)
      a_at.x += STEP;
      b_at.y += STEP;
    }
  }
  const long top = TOP_OF (tile), left = LEFT_OF (tile);
  STORE_TILE ()
}
