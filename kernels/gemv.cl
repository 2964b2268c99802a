/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gemv: up to TILE_M rows of A times a B that is read once, which limits the speed. A work-group
 * owns a panel of B. Its work-items split K between them and add up their sums at the end.
 *
 *             PANEL = 4 * GROUP_N
 *            +---+---+---+---+                work-item (slice, n) = (lane / GROUP_N,
 *            | 0 | 0 | 0 | 0 |  k = 0                                 lane % GROUP_N)
 *            | 1 | 1 | 1 | 1 |      1         reads the float4s n of the panel's rows
 *          K | 2 | 2 | 2 | 2 |      2           k = slice, slice + GROUP_M, slice + 2 GROUP_M ...
 *            | 0 | 0 | 0 | 0 |      3         so that the work-group reads GROUP_M contiguous rows
 *            | 1 | 1 | 1 | 1 |      4         at once (drawn: GROUP_M = 3)
 *            +---+---+---+---+
 *
 *     sums[i][slice][column]    a slice's sum of D (i, column) / alpha in local memory
 *
 * Work-item t then adds up and stores the outputs t, t + GROUP ... of the TILE_M x PANEL.
 *
 * TILE_M     the most rows: max_m in kernels.def allows one tile along M. Each row takes four
 *            registers of a work-item
 * TILE_N     4: a float4
 * GROUP_N    work-items along N; smaller: more work-groups for a small N. 8 read 128 bytes at once
 * GROUP_M    slices of K; larger: more loads in flight
 * AHEAD      rows of B that a work-item loads before it uses the first; larger: the same
 */
#include "gemm.clh"

#define GROUP (GROUP_M * GROUP_N)

kernel __attribute__ ((reqd_work_group_size (GROUP, 1, 1))) void
gemm (GEMM_ARGUMENTS)
{
  local float4 sums[TILE_M][GROUP];

  const int lane = get_local_id (0);
  const int slice = lane / GROUP_N;
  const long batch = get_group_id (2);
  const long left = (long)get_group_id (1) * PANEL;

  A += p.a.offset + batch * p.a.batch;
  global const float4 *panel =
      (global const float4 *)(B + p.b.offset + batch * p.b.batch + left * p.K) + lane;

  float4 sum[TILE_M];
  long a_index[TILE_M];
#pragma unroll
  for (int i = 0; i < TILE_M; i++) {
    sum[i] = 0.0f;
    a_index[i] = min (i, p.M - 1) * p.a.row + slice * p.a.col;
  }

  for (int rest = p.K - slice; rest > 0; rest -= AHEAD * GROUP_M) {
    float4 b[AHEAD];
#pragma unroll
    for (int s = 0; s < AHEAD; s++)
      b[s] = s * GROUP_M < rest ? panel[s * GROUP] : (float4)(0.0f);
#pragma unroll
    for (int s = 0; s < AHEAD; s++)
#pragma unroll
      for (int i = 0; i < TILE_M; i++) {
        const float a = s * GROUP_M < rest ? LOAD_A (A, a_index[i] + s * GROUP_M * p.a.col) : 0.0f;
        sum[i] = MAD ((float4)(SCALE_A (a, p.a_scale, p.a_shift)), b[s], sum[i]);
      }
    A += AHEAD * GROUP_M * p.a.col;
    panel += AHEAD * GROUP;
  }

#pragma unroll
  for (int i = 0; i < TILE_M; i++)
    sums[i][lane] = sum[i];
  barrier (CLK_LOCAL_MEM_FENCE);

  for (int t = lane; t < TILE_M * PANEL; t += GROUP) {
    const int i = t / PANEL;
    const long j = left + t % PANEL;
    if (i >= p.M || j >= p.N)
      continue;

    local const float *column = (local const float *)sums[i] + t % PANEL;
    float total = 0.0f;
    for (int s = 0; s < GROUP_M; s++)
      total += column[s * PANEL];
    finish_one (C, bias, D, p, batch, i, j, total);
  }
}
