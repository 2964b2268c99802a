/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * tiled: a work-group owns a tile of D and loads A and B into local memory in steps of TILE_K. A
 * work-item keeps its outputs in registers. For any GPU.
 *
 *                               COLUMNS
 *                        +---+---+---+---+           ROWS = TILE_M * GROUP_M
 *                 TILE_K |   |   | B |   |           COLUMNS = TILE_N * GROUP_N = PANEL
 *                        +---+---+---+---+
 *       TILE_K             4 * GROUP_N               work-item (m, n) = (item / GROUP_N,
 *      +------+          +-------+-------+                               item % GROUP_N)
 *      |      |          | x     | x     |           owns the 4 x 4 blocks x: rows
 *      |      | 4 *      |       |       |             4 * (r * GROUP_M + m) + 0..3
 *      |  A   | GROUP_M  +-------+-------+           and columns
 *      |      |          | x     | x     | ROWS        4 * (c * GROUP_N + n) + 0..3
 *      |      |          |       |       |           of the tile, r < TILE_M / 4, c < TILE_N / 4:
 *      +------+          +-------+-------+           neighbours read neighbouring float4s
 *
 * Local memory is double-buffered: one side is filled while the other is read (one barrier a step):
 *
 *     tile_a[side][k][row / 4]       A transposed; rows of the tile are padded by a float4, which
 *                                    spreads the stores of a work-group over the banks
 *     tile_b[side][k][column / 4]    in the order of the panel
 *
 * The next step's elements are fetched into registers while the current step is computed.
 * Rows past M repeat the last row; elements with k past K are zeros.
 *
 * TILE_M, TILE_N     outputs of a work-item, multiples of 4, held in TILE_M * TILE_N registers;
 *                    larger: fewer reads of local memory per multiplication
 * GROUP_M, GROUP_N   work-items of a work-group; larger: fewer reads of global memory
 * TILE_K             depth of a step, a multiple of 4; larger: fewer barriers, more local memory
 *                    and registers. TILE_M * TILE_K must be a multiple of 4 * GROUP_N, and
 *                    TILE_N * TILE_K one of 4 * GROUP_M
 */
#include "shared/gemm.clh"
#include "shared/quads.clh"

#define A_PITCH (ROWS / 4 + 1)

#define A_PARTS (ROWS * TILE_K / A_WIDTH / GROUP)
#define B_PARTS (PANEL * TILE_K / 4 / GROUP)

/* Whole rows: GROUP_N neighbouring work-items share each row. They exchange their values in the
 * memory of tile_a, which is large enough since GROUP_N is at most 2 * TILE_K. */
#define ROW_I(r)    (top + 4 * ((r) / 4 * GROUP_M + m) + (r) % 4)
#define ROW_J(part) (left + 4 * ((part)*GROUP_N + n))
#define ROW_SHARE(step, x)                                                                         \
  share_found (step, x, TILE_M, (local float *)tile_a, GROUP, item, n, GROUP_N, 1);
#define ROW_STORES (n == 0)
#define ROW_UNROLL _Pragma ("unroll")

/* Elements of A with k >= rest are zeros here. They are scaled later, when the load has completed;
 * a_shift then makes them nonzero, which is harmless since they meet zeros of B. */
static inline void
fetch_a (a_part part[A_PARTS], global const A_MEM *A, const long index[A_PARTS], int item, int rest)
{
#pragma unroll
  for (int r = 0; r < A_PARTS; r++)
    part[r] = PART_K (item + r * GROUP) < rest ? LOAD_PART (A, index[r]) : (a_part)(0.0f);
}

static inline void
fetch_b (float4 part[B_PARTS], global const float4 *panel, int item, int rest)
{
#pragma unroll
  for (int r = 0; r < B_PARTS; r++)
    part[r] = (item + r * GROUP) / (PANEL / 4) < rest ? panel[item + r * GROUP] : (float4)(0.0f);
}

INLINE void
keep_a (local float *column, a_part x)
{
#ifdef A_FLOAT4
  column[0] = x.s0;
  column[4 * A_PITCH] = x.s1;
  column[8 * A_PITCH] = x.s2;
  column[12 * A_PITCH] = x.s3;
#else
  *column = x;
#endif
}

/* Adds the products of one step to the sums of work-item (m, n). */
INLINE void
multiply (float4 sum[TILE_M][TILE_N / 4], local const float4 *a, local const float4 *b)
{
#pragma unroll
  for (int k = 0; k < TILE_K; k++) {
    float4 b_k[TILE_N / 4];
#pragma unroll
    for (int c = 0; c < TILE_N / 4; c++)
      b_k[c] = b[k * (PANEL / 4) + c * GROUP_N];
#pragma unroll
    for (int r = 0; r < TILE_M / 4; r++) {
      const float4 a_k = a[k * A_PITCH + r * GROUP_M];
#pragma unroll
      for (int c = 0; c < TILE_N / 4; c++) {
        sum[4 * r][c] = MAD ((float4)(a_k.s0), b_k[c], sum[4 * r][c]);
        sum[4 * r + 1][c] = MAD ((float4)(a_k.s1), b_k[c], sum[4 * r + 1][c]);
        sum[4 * r + 2][c] = MAD ((float4)(a_k.s2), b_k[c], sum[4 * r + 2][c]);
        sum[4 * r + 3][c] = MAD ((float4)(a_k.s3), b_k[c], sum[4 * r + 3][c]);
      }
    }
  }
}

kernel __attribute__ ((reqd_work_group_size (GROUP, 1, 1))) void
gemm (GEMM_PARAMETERS)
{
  local float4 tile_a[2][TILE_K * A_PITCH];
  local float4 tile_b[2][TILE_K * (PANEL / 4)];

  const int item = get_local_id (0);
  const int m = item / GROUP_N;
  const int n = item % GROUP_N;
  const long batch = get_group_id (2);
  const long top = (long)get_group_id (0) * ROWS;
  const long left = (long)get_group_id (1) * PANEL;

  A += p.a.offset + batch * p.a.batch;
  global const float4 *panel =
      (global const float4 *)(B + p.b.offset + batch * p.b.batch + left * p.K);

  a_part a[A_PARTS];
  float4 b[B_PARTS];
  long a_index[A_PARTS];
#pragma unroll
  for (int r = 0; r < A_PARTS; r++)
    a_index[r] = min (top + PART_ROW (item + r * GROUP), (long)p.M - 1) * p.a.row +
                 PART_K (item + r * GROUP) * A_COL;

  float4 sum[TILE_M][TILE_N / 4];
#pragma unroll
  for (int r = 0; r < TILE_M; r++)
#pragma unroll
    for (int c = 0; c < TILE_N / 4; c++)
      sum[r][c] = 0.0f;

  fetch_a (a, A, a_index, item, p.K);
  fetch_b (b, panel, item, p.K);
  for (int rest = p.K, side = 0; rest > 0; rest -= TILE_K, side ^= 1) {
#pragma unroll
    for (int r = 0; r < A_PARTS; r++)
      keep_a ((local float *)tile_a[side] + PART_K (item + r * GROUP) * 4 * A_PITCH +
                  PART_ROW (item + r * GROUP),
              SCALE_A (a[r], (a_part)(p.a_scale), (a_part)(p.a_shift)));
#pragma unroll
    for (int r = 0; r < B_PARTS; r++)
      tile_b[side][item + r * GROUP] = b[r];
    barrier (CLK_LOCAL_MEM_FENCE);

    A += TILE_K * A_COL;
    panel += TILE_K * (PANEL / 4);
    fetch_a (a, A, a_index, item, rest - TILE_K);
    fetch_b (b, panel, item, rest - TILE_K);
    multiply (sum, tile_a[side] + m, tile_b[side] + n);
  }

  /* Results are stored at once to save registers; only whole rows need all of them first. */
#ifdef WHOLE_ROWS
  float4 x[TILE_M * ROW_PARTS];
#endif
#pragma unroll
  for (int r = 0; r < TILE_M; r++)
#pragma unroll
    for (int c = 0; c < TILE_N / 4; c++) {
      const long i = ROW_I (r), j = ROW_J (c);
#ifdef WHOLE_ROWS
      x[r * ROW_PARTS + c] = 0.0f;
#endif
      if (i < p.M && j < p.N)
        FINISH_PART (x[r * ROW_PARTS + c], sum[r][c]);
    }
  FINISH_PARTS (x)
}
