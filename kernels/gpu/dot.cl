/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * dot: for GPUs that add four products of int8 elements in one instruction (DP4A). A work-item owns
 * TILE_M rows and TILE_N columns of D and reads A and B from memory: they are a quarter the size of
 * f32, and neighbouring work-items share what they read through the cache.
 *
 *               16 k                PANEL = TILE_N * GROUP_N
 *         +------------+        +---+---+---+---+---+---+      A step of 16 k reads an int4 of each
 *  TILE_M | x  y  z  w |        | 0 | 1 | 2 | 0 | 1 | 2 |      row, and of each column four ints
 *         | x  y  z  w |   x    | 0 | 1 | 2 | 0 | 1 | 2 |      below each other; neighbours read
 *         +------------+        +---+---+---+---+---+---+      neighbouring columns (GROUP_N = 3).
 *
 *     i = (group 0 * GROUP_M + item / GROUP_N) * TILE_M + m
 *     j = group 1 * PANEL + n * GROUP_N + item % GROUP_N
 *
 * quantized.h defines the layouts of A and B. Rows past M repeat the last row.
 *
 * TILE_M, TILE_N: outputs of a work-item; larger: fewer loads per product, and more registers,
 *   TILE_M * TILE_N + 4 * TILE_M + TILE_N.
 * GROUP_M, GROUP_N: work-items that share a column of B, or a row of A, through the cache.
 */
#include "shared/gemm.clh"
#include "shared/dot.clh"

kernel __attribute__ ((reqd_work_group_size (GROUP, 1, 1))) void
gemm (GEMM_PARAMETERS)
{
  const uint item = get_local_id (0);
  const int top = ((uint)get_group_id (0) * GROUP_M + item / GROUP_N) * TILE_M;
  const long left = (long)get_group_id (1) * PANEL + item % GROUP_N;
  const long batch = get_group_id (2);
  const int words = p.K ? INT8_K (p.K) / 4 : 0;

  A += p.a.offset + batch * p.a.batch;
  global const int *panel = (global const int *)(B + p.b.offset + batch * p.b.batch) +
                            get_group_id (1) * INT8_PANEL (p.K) + item % GROUP_N;

  /* Offsets of rows, in ints. */
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
    /* Only PTX needs the int4: Intel's compiler merges the loads itself, PoCL 6 miscompiles it. */
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
                  p.K ? scale_int8 (sum[m][n], a_words + row[m] + words, column, PANEL) : 0.0f);
    }
  }
}
