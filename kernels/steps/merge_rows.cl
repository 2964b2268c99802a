/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * merge_rows: R (i, :) = the row outputs of row i of D, in the order sum, max, arg-max, top-k, from
 * what PARTS work-groups collected of its columns (collected_rows.clh):
 *
 *     collected[(problem * M + i) * parts + part]    a work-item owns row i; grid: (M, 1, batch)
 *
 * Parts are in the order of columns. ROW_SUM, ROW_MAX, ROW_ARG_MAX, ROW_TOP_K, ROW_COUNT: see
 * whole_rows.clh.
 */
#include "shared/collected_rows.clh"

kernel void
merge_rows (global const CollectedRow *collected, const int parts, global float *R,
            const long r_batch)
{
  const long i = get_global_id (0), M = get_global_size (0), problem = get_global_id (2);
  CollectedRow row;

  clear_row (&row);
  for (int part = 0; part < parts; part++) {
    global const CollectedRow *from = collected + (problem * M + i) * parts + part;
    row.sum += from->sum;
    for (int k = 0; k < COLLECTED && from->column[k] >= 0; k++)
      insert_element (&row, from->value[k], from->column[k]);
  }
  R += problem * r_batch + i * ROW_COUNT;
  if (ROW_SUM)
    *R++ = row.sum;
  if (ROW_MAX)
    *R++ = row.value[0];
  if (ROW_ARG_MAX)
    *R++ = row.column[0];
  for (int k = 0; k < ROW_TOP_K; k++) {
    R[k] = row.value[k];
    R[ROW_TOP_K + k] = row.column[k];
  }
}
