/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * softmax: D (i, j) = exp (x (i, j) - max) / sum exp (x (i, j) - max), with max and sum over the
 * N columns of a row. It follows those gemm kernels that store their logits x as f32, since their
 * work-groups do not own entire rows.
 *
 *            N
 *     +-+-+-+-+-+-+       A work-group owns row i = group 0 of batch group 2, a work-item the
 *     |0|1|2|0|1|2| i     columns lane, lane + GROUP, lane + 2 GROUP ... (drawn: GROUP = 3).
 *     +-+-+-+-+-+-+
 *
 * The grid is (M * GROUP, 1, batches) in work-groups of (GROUP, 1, 1). A work-item reads only the
 * elements that it writes, so D may be the memory of the logits, with the same strides. A row with
 * a NaN or +infinity becomes NaN, and so does a row of -infinity only, since x - max is NaN.
 *
 * GROUP: work-items per row. Each adds up all partial results, so 64 suit long rows; 1 on CPUs.
 */
#include "problem.h"
#include "types.clh"

kernel __attribute__ ((reqd_work_group_size (GROUP, 1, 1))) void
softmax (global const float *logits, const GemmclStrides s, global D_MEM *D, const GemmclStrides d,
         const int N)
{
  local float found[GROUP];

  const int lane = get_local_id (0);
  const long i = get_group_id (0);
  const long batch = get_group_id (2);
  logits += s.offset + batch * s.batch + i * s.row;
  D += d.offset + batch * d.batch + i * d.row;

  float highest = -INFINITY;
  for (long j = lane; j < N; j += GROUP)
    highest = fmax (highest, logits[j * s.col]);
  found[lane] = highest;
  barrier (CLK_LOCAL_MEM_FENCE);
  for (int other = 0; other < GROUP; other++)
    highest = fmax (highest, found[other]);
  barrier (CLK_LOCAL_MEM_FENCE);

  float sum = 0.0f;
  for (long j = lane; j < N; j += GROUP)
    sum += exp (logits[j * s.col] - highest);
  found[lane] = sum;
  barrier (CLK_LOCAL_MEM_FENCE);
  sum = 0.0f;
  for (int other = 0; other < GROUP; other++)
    sum += found[other];

  for (long j = lane; j < N; j += GROUP)
    STORE_D (D, j * d.col, exp (logits[j * s.col] - highest) / sum);
}
