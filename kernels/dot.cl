/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * dot: products of bytes on GPUs that add up four of them in one instruction (DP4A). A work-item
 * owns TILE_M rows and TILE_N columns of D, straight from memory: A and B are a quarter of what
 * they are as floats, and neighbours find in the cache what they share.
 *
 *               16 k                PANEL = TILE_N * GROUP_N
 *         +------------+        +---+---+---+---+---+---+      per step: of each row an int4, of
 *  TILE_M | x  y  z  w |        | 0 | 1 | 2 | 0 | 1 | 2 |      each column four ints, one below the
 *         | x  y  z  w |   x    | 0 | 1 | 2 | 0 | 1 | 2 |      other; neighbours read neighbouring
 *         +------------+        +---+---+---+---+---+---+      columns (drawn: GROUP_N = 3)
 *
 *     i = (group 0 * GROUP_M + lane / GROUP_N) * TILE_M + m
 *     j = group 1 * PANEL + n * GROUP_N + lane % GROUP_N
 *
 * quantized.h says how A and B lie. A row past M is the last one once more.
 *
 * TILE_M, TILE_N: the larger, the fewer loads for each product, and the more registers: their
 *   product, 4 TILE_M and TILE_N.
 * GROUP_M, GROUP_N: what shares a row, or a column, in the cache of a core.
 */
#include "gemm.clh"
#include "dot.clh"

kernel __attribute__ ((reqd_work_group_size (GROUP_M * GROUP_N, 1, 1))) void
gemm (GEMM_ARGUMENTS)
{
  const uint lane = get_local_id (0);
  const int top = ((uint)get_group_id (0) * GROUP_M + lane / GROUP_N) * TILE_M;
  const long left = (long)get_group_id (1) * PANEL + lane % GROUP_N;
  const long batch = get_group_id (2);
  const int words = p.K ? BYTES_K (p.K) / 4 : 0;

  A += p.a.offset + batch * p.a.batch;
  global const int *panel = (global const int *)(B + p.b.offset + batch * p.b.batch) +
                            get_group_id (1) * BYTES_PANEL (p.K) + lane % GROUP_N;

  /* In ints. */
  long row[TILE_M];
  int sum[TILE_M][TILE_N];
#pragma unroll
  for (int m = 0; m < TILE_M; m++) {
    row[m] = min (top + m, p.M - 1) * (p.a.row / 4);
#pragma unroll
    for (int n = 0; n < TILE_N; n++)
      sum[m][n] = 0;
  }

  global const int *a_words = (global const int *)A;
  for (int k = 0; k < words; k += 4) {
    int a[TILE_M][4];
    /* Intel's compiler makes one load of four by itself, and PoCL 6 gets a vector wrong. */
#pragma unroll
    for (int m = 0; m < TILE_M; m++)
#ifdef DOT_PTX
      vstore4 (*(global const int4 *)(a_words + row[m] + k), 0, a[m]);
#else
  #pragma unroll
      for (int w = 0; w < 4; w++)
        a[m][w] = a_words[row[m] + k + w];
#endif
#pragma unroll
    for (int w = 0; w < 4; w++)
#pragma unroll
      for (int n = 0; n < TILE_N; n++) {
        const int b = panel[(k + w) * PANEL + n * GROUP_N];
#pragma unroll
        for (int m = 0; m < TILE_M; m++)
          sum[m][n] = DOT (int, sum[m][n], a[m][w], b);
      }
  }

  panel += words * PANEL;
#pragma unroll
  for (int n = 0; n < TILE_N; n++) {
    const long j = left + n * GROUP_N;
    global const int *column = panel + n * GROUP_N;
#pragma unroll
    for (int m = 0; m < TILE_M; m++) {
      if (top + m >= p.M || j >= p.N)
        continue;
      finish_one (C, bias, D, p, batch, top + m, j,
                  p.K ? scale_byte (sum[m][n], a_words + row[m] + words, column, PANEL) : 0.0f);
    }
  }
}
