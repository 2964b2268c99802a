/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * reduce: the sum of the split-K workspace, an M x N of f32 for each of SPLIT parts of K, and the
 * epilogue: D = act (alpha sum + beta C + bias).
 *
 *     workspace[(part * M + i) * N + j]    a work-item owns D (i, j); grid: (N in whole groups, M)
 */
#include "shared/gemm.clh"

kernel void
reduce (global const float *restrict workspace, global const C_MEM *C,
        global const float *restrict bias, global D_MEM *D, const GemmclArguments p)
{
  const long i = get_global_id (1);
  const long j = get_global_id (0);
  if (j >= p.N)
    return;

  float sum = 0.0f;
  for (long part = 0; part < SPLIT; part++)
    sum += workspace[(part * p.M + i) * p.N + j];
  finish_one (C, bias, D, p, 0, i, j, sum);
}
