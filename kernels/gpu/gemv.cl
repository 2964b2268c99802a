/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gemv: up to TILE_M rows of A times a B that is read once, which limits the speed. A work-group
 * owns a panel of B. Its work-items split K between them and add up their sums at the end.
 *
 *          PANEL = TILE_N * GROUP_N
 *            +---+---+---+---+                work-item (slice, n) = (lane / GROUP_N,
 *            | 0 | 0 | 0 | 0 |  k = 0                                 lane % GROUP_N)
 *            | 1 | 1 | 1 | 1 |      1         reads the n-th 16 bytes of the panel's rows
 *          K | 2 | 2 | 2 | 2 |      2           k = slice, slice + GROUP_M, slice + 2 GROUP_M ...
 *            | 0 | 0 | 0 | 0 |      3         so that the work-group reads GROUP_M contiguous rows
 *            | 1 | 1 | 1 | 1 |      4         at once (drawn: GROUP_M = 3)
 *            +---+---+---+---+
 *
 *     sums[i][slice][column]    a slice's sum of D (i, column) / alpha in local memory
 *
 * The slices' sums are added in two steps: MEET work-items for each of the TILE_M x PANEL outputs
 * add GROUP_M / MEET slices each, then one work-item adds those and stores the output.
 *
 * TILE_M     the most rows: max_m in kernels.def allows one tile along M. Each row takes TILE_N
 *            registers of a work-item
 * TILE_N     the elements of B (B_TYPE) in 16 bytes: 4 of f32, 8 of f16 and bf16
 * GROUP_N    work-items along N; smaller: more work-groups, which keep more of B under way
 * GROUP_M    slices of K, a multiple of MEET; larger: more loads in flight
 * AHEAD      rows of B that a work-item loads before it uses the first; larger: more loads in
 *            flight
 */
#include "shared/gemm.clh"

#define MEET 16

typedef PASTE (float, TILE_N) Columns;

/* The elements of B in 16 bytes. */
#if B_TYPE == F32
typedef float4 Stored;
  #define COLUMNS(x) (x)
#else
typedef uint4 Stored;
  #define COLUMNS(x) columns_of (x)

static inline Columns
columns_of (const Stored x)
{
  return (Columns)(LOW (x.s0), HIGH (x.s0), LOW (x.s1), HIGH (x.s1), LOW (x.s2), HIGH (x.s2),
                   LOW (x.s3), HIGH (x.s3));
}
#endif

/* Adds the products of `rows` rows of the panel, GROUP_M apart. */
static inline void
add_rows (Columns sum[TILE_M], global const A_MEM *A, const long a_index[TILE_M],
          global const Stored *panel, const GemmclArguments p, const int rows)
{
  Stored b[AHEAD];
  float a[AHEAD][TILE_M];
#pragma unroll
  for (int s = 0; s < rows; s++)
    b[s] = panel[s * GROUP];
#pragma unroll
  for (int s = 0; s < rows; s++)
#pragma unroll
    for (int i = 0; i < TILE_M; i++)
      a[s][i] = LOAD_A (A, a_index[i] + s * GROUP_M * A_COL);
#pragma unroll
  for (int s = 0; s < rows; s++) {
    const Columns b_k = COLUMNS (b[s]);
#pragma unroll
    for (int i = 0; i < TILE_M; i++)
      sum[i] = MAD ((Columns)(SCALE_A (a[s][i], p.a_scale, p.a_shift)), b_k, sum[i]);
  }
}

kernel __attribute__ ((reqd_work_group_size (GROUP, 1, 1))) void
gemm (GEMM_PARAMETERS)
{
  local Columns sums[TILE_M][GROUP];

  const int lane = get_local_id (0);
  const int slice = lane / GROUP_N;
  const long batch = get_group_id (2);
  const long left = (long)get_group_id (1) * PANEL;

  A += p.a.offset + batch * p.a.batch;
  global const Stored *panel =
      (global const Stored *)(B + p.b.offset + batch * p.b.batch + left * p.K) + lane;

  Columns sum[TILE_M];
  long a_index[TILE_M];
#pragma unroll
  for (int i = 0; i < TILE_M; i++) {
    sum[i] = 0.0f;
    a_index[i] = min (i, p.M - 1) * p.a.row + slice * A_COL;
  }

  int rest = p.K - slice;
  for (; rest > (AHEAD - 1) * GROUP_M; rest -= AHEAD * GROUP_M) {
    add_rows (sum, A, a_index, panel, p, AHEAD);
    A += AHEAD * GROUP_M * A_COL;
    panel += AHEAD * GROUP;
  }
  for (; rest > 0; rest -= GROUP_M) {
    add_rows (sum, A, a_index, panel, p, 1);
    A += GROUP_M * A_COL;
    panel += GROUP;
  }

#pragma unroll
  for (int i = 0; i < TILE_M; i++)
    sums[i][lane] = sum[i];
  barrier (CLK_LOCAL_MEM_FENCE);

  /* In place: only this work-item reads the value that it overwrites. */
  for (int t = lane; t < TILE_M * MEET * PANEL; t += GROUP) {
    local float *column = (local float *)sums[t / (MEET * PANEL)] + t % (MEET * PANEL);
    float total = 0.0f;
    for (int s = 0; s < GROUP_M; s += MEET)
      total += column[s * PANEL];
    *column = total;
  }
  barrier (CLK_LOCAL_MEM_FENCE);

  for (int t = lane; t < TILE_M * PANEL; t += GROUP) {
    const int i = t / PANEL;
    const long j = left + t % PANEL;
    if (i >= p.M || j >= p.N)
      continue;

    local const float *column = (local const float *)sums[i] + t % PANEL;
    float total = 0.0f;
    for (int s = 0; s < MEET; s++)
      total += column[s * PANEL];
    finish_one (C, bias, D, p, batch, i, j, total);
  }
}
