/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * merge_rows: R (i, :) = the row outputs of row i of D, from what work-groups collected of its
 * parts (collected_rows.clh):
 *
 *     collected[(problem * M + i) * parts + part]     grid: (M * GROUP, 1, batch)
 *
 * A work-group owns row i, and work-item l its parts l, l + GROUP, l + 2 GROUP ...
 */
#include "shared/collected_rows.clh"

kernel __attribute__ ((reqd_work_group_size (GROUP, 1, 1))) void
merge_rows (global const CollectedRow *collected, const int parts, global float *R,
            const long r_batch)
{
  local CollectedRow merged[GROUP];
  const int item = get_local_id (0);
  const long i = get_group_id (0), problem = get_group_id (2);
  CollectedRow row;

  collected += (problem * get_num_groups (0) + i) * parts;
  clear_row (&row);
  for (int part = item; part < parts; part += GROUP)
    add_collected (&row, collected[part]);
  merge_collected (&row, merged, item);
  if (item == 0)
    store_collected (R + problem * r_batch + i * ROW_COUNT, &row);
}
