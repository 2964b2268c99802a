/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gemm_naive: the fallback for every device and problem, and the reference for the other kernels.
 *
 *            K                     N                    A work-item computes one element of D
 *        +-------+            +----+----+               from a row of A and a column of B.
 *      M |=======| i   x    K |    |    |   ->  D(i,j)
 *        +-------+            +----+----+               i = group 0 * GROUP_M + item / GROUP_N
 *                                  j                    j = group 1 * GROUP_N + item % GROUP_N
 *
 * GROUP_M, GROUP_N: work-items of a work-group along M and N. Neighbours share a row of A and read
 * neighbouring columns of B.
 */
#include "shared/gemm.clh"

kernel __attribute__ ((reqd_work_group_size (GROUP, 1, 1))) void
gemm (GEMM_PARAMETERS)
{
  const int item = get_local_id (0);
  const int i = get_group_id (0) * GROUP_M + item / GROUP_N;
  const int j = get_group_id (1) * GROUP_N + item % GROUP_N;
  if (i >= p.M || j >= p.N)
    return;

  const long batch = get_group_id (2);
  A += p.a.offset + batch * p.a.batch + i * p.a.row;
  B += p.b.offset + batch * p.b.batch + j * p.b.col;

  float sum = 0.0f;
  for (long k = 0; k < p.K; k++) {
    const float a = SCALE_A (LOAD_A (A, k * p.a.col), p.a_scale, p.a_shift);
    sum = MAD (a, B[k * p.b.row], sum);
  }

  finish_one (C, bias, D, p, batch, i, j, sum);
}
