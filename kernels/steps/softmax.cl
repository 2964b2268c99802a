/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * softmax: D (i, j) = exp (x (i, j) - max) / sum exp (x (i, j) - max), with max and sum over the
 * N columns of a row. It follows those gemm kernels that store their logits x as f32, since their
 * work-groups do not own entire rows.
 *
 *            N
 *     +-+-+-+-+-+-+       A work-group owns a row (row_steps.clh), a work-item the columns item,
 *     |0|1|2|0|1|2| i     item + GROUP, item + 2 GROUP ... (drawn: GROUP = 3).
 *     +-+-+-+-+-+-+
 *
 * A work-item reads only the elements that it writes, so D may be the memory of the logits, with
 * the same strides. A row with a NaN or +infinity becomes NaN, and so does a row of -infinity only,
 * since x - max is NaN.
 */
#include "shared/row_steps.clh"

ROW_KERNEL
softmax (global const float *logits, const GemmclStrides s, global D_MEM *D, const GemmclStrides d,
         const int N)
{
  const int item = get_local_id (0);
  logits = ROW_OF (logits, s);
  D = ROW_OF (D, d);

  float own_highest = -INFINITY, own_sum = 0.0f;
  for (long j = item; j < N; j += GROUP)
    own_highest = fmax (own_highest, logits[j * s.col]);
  SHARE (float, highest, fmax, own_highest)

  for (long j = item; j < N; j += GROUP)
    own_sum += exp (logits[j * s.col] - highest);
  SHARE (float, sum, SUM, own_sum)

  for (long j = item; j < N; j += GROUP)
    STORE_D (D, j * d.col, exp (logits[j * s.col] - highest) / sum);
}
