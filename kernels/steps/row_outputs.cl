/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * row_outputs: R (i, :) = the requested row outputs of row i of D, in the order sum, max, arg-max,
 * top-k, as f32 without gaps. NaN is larger than any number, as in NumPy, so that max and arg-max
 * show it.
 *
 *           part 0      part 1
 *     +--+--+--+--+--+--+--+--+--+    A work-group owns a part of row i: (i, part, problem) is its
 *   i |0 |1 |0 |1 |0 |1 |0 |1 | 0|    number, and a part has `length` columns, the last one fewer
 *     +--+--+--+--+--+--+--+--+--+    or none (drawn: GROUP = 2).
 *
 * Wide rows have several parts, so that few rows fill a GPU. Each work-group then stores what it
 * collected, and merge_rows makes R of it. The first work-item also reads the elements after the
 * last whole vector.
 *
 * A part is read twice. First the maxima of MAXIMA disjoint sets of its columns are found: those of
 * a work-item, or of an element of a CPU's vectors. At least k elements reach the k-th largest
 * maximum. It is the bound of the elements that are collected then, which are few. Narrow parts
 * have no bound.
 *
 * With TILED_ROWS, D has the largest elements of the tiles of each row, N of them, and behind these
 * their columns (whole_rows.clh). Such a row has one part.
 *
 * ROW_SUM, ROW_MAX, ROW_ARG_MAX, ROW_TOP_K, ROW_COUNT: see whole_rows.clh.
 */
#define A_TYPE D_TYPE
#include "shared/row_steps.clh"

enum { COLLECTED = ROW_TOP_K > 0 ? ROW_TOP_K : 1 };

/* The state of a row of D after some of its columns. Of equal elements the one in the lower column
 * comes first. */
typedef struct {
  float sum;
  float value[COLLECTED]; /* the largest elements, in descending order */
  int column[COLLECTED];  /* their columns; -1: there are fewer elements */
} CollectedRow;

static inline void
clear_row (CollectedRow *row)
{
  row->sum = 0.0f;
  for (int k = 0; k < COLLECTED; k++) {
    row->value[k] = -INFINITY;
    row->column[k] = -1;
  }
}

/* True if element x, in its column, comes before the k-th one. */
static inline bool
comes_before (const CollectedRow *row, const int k, const float x, const int column)
{
  const float value = row->value[k];
  const bool more = x > value || (isnan (x) && !isnan (value));
  const bool same = x == value || (isnan (x) && isnan (value));

  return row->column[k] < 0 || more || (same && column < row->column[k]);
}

/* Puts x at its place among the largest elements, if it is one. */
static inline void
insert_element (CollectedRow *row, const float x, const int column)
{
  int k = COLLECTED;

  for (; k > 0 && comes_before (row, k - 1, x, column); k--)
    if (k < COLLECTED) {
      row->value[k] = row->value[k - 1];
      row->column[k] = row->column[k - 1];
    }
  if (k < COLLECTED) {
    row->value[k] = x;
    row->column[k] = column;
  }
}

/* Adds other columns of the row. */
static inline void
add_collected (CollectedRow *row, const CollectedRow other)
{
  row->sum += other.sum;
  for (int k = 0; k < COLLECTED && other.column[k] >= 0; k++)
    insert_element (row, other.value[k], other.column[k]);
}

/* Adds what all work-items collected to the first one's row. merged: GROUP places. GROUP is a power
 * of two. */
INLINE void
merge_collected (CollectedRow *row, local CollectedRow *merged, const int item)
{
  for (int apart = GROUP / 2; apart > 0; apart /= 2) {
    if (item < 2 * apart)
      merged[item] = *row;
    barrier (CLK_LOCAL_MEM_FENCE);
    if (item < apart)
      add_collected (row, merged[item + apart]);
  }
}

#ifdef TILED_ROWS
  #define COLUMN_OF(place) columns[place]
#else
  #define COLUMN_OF(place) (place)
#endif

/* R: the row's outputs, in the order sum, max, arg-max, top-k. columns: those of a row of tiles. */
static inline void
store_collected (global float *R, const CollectedRow *row, global const float *columns)
{
  if (ROW_SUM)
    *R++ = row->sum;
  if (ROW_MAX)
    *R++ = row->value[0];
  if (ROW_ARG_MAX)
    *R++ = COLUMN_OF (row->column[0]);
  for (int k = 0; k < ROW_TOP_K; k++) {
    R[k] = row->value[k];
    R[ROW_TOP_K + k] = COLUMN_OF (row->column[k]);
  }
}

#define FINDS_ELEMENTS (ROW_MAX || ROW_ARG_MAX || ROW_TOP_K)
#define MAXIMA         (GROUP > 1 || COLLECTED == 1 ? GROUP : WIDTH)
#define CAN_BE_BOUND   (FINDS_ELEMENTS && COLLECTED <= MAXIMA)
#define BOUND_COLUMNS  (16 * MAXIMA) /* of a part that has a bound, at least */

#define INDEX PASTE (int, WIDTH)

/* WIDTH elements at p, col apart. */
static inline FLOATS
read_vector (global const D_MEM *p, const long col)
{
#if D_TYPE == F32 && defined(D_UNIT_COL)
  return PASTE (vload, WIDTH) (0, p);
#else
  float parts[WIDTH];
  for (int part = 0; part < WIDTH; part++)
    parts[part] = LOAD_D (p, part * col);
  return PASTE (vload, WIDTH) (0, parts);
#endif
}

DEFINE_COMBINE (get_largest, float, fmax)
DEFINE_COMBINE (add_up, float, SUM)

/* The maxima of the elements of the work-item's whole vectors of columns up to end, without NaN. */
static inline FLOATS
find_maxima (global const D_MEM *D, const long col, const int first, const int end)
{
  FLOATS largest = -INFINITY;

  for (int j = first; j + WIDTH <= end; j += GROUP * WIDTH)
    largest = fmax (largest, read_vector (D + j * col, col));
  return largest;
}

/* The number of maxima that come before the i-th. */
INLINE int
count_before (local const float *maxima, const int i)
{
  int count = 0;

  for (int other = 0; other < MAXIMA; other++)
    count += maxima[other] > maxima[i] || (maxima[other] == maxima[i] && other < i);
  return count;
}

/* Adds the work-item's whole vectors of columns up to end, except for elements less than bound. */
static inline void
collect (CollectedRow *row, global const D_MEM *D, const long col, const int first, const int end,
         const float bound)
{
  FLOATS sum = 0.0f;

  for (int j = first; j + WIDTH <= end; j += GROUP * WIDTH) {
    const FLOATS x = read_vector (D + j * col, col), least = row->value[COLLECTED - 1];
    const INDEX unfilled = row->column[COLLECTED - 1] < 0 ? -1 : 0;

    sum += x;
    if (!FINDS_ELEMENTS || !any ((unfilled | (x > least) | isnan (x)) & ~(x < (FLOATS)bound)))
      continue;
    float elements[WIDTH];
    PASTE (vstore, WIDTH) (x, 0, elements);
    for (int e = 0; e < WIDTH; e++)
      if (!(elements[e] < bound))
        insert_element (row, elements[e], j + e);
  }
  row->sum = add_up (sum);
}

ROW_KERNEL
row_outputs (global const D_MEM *D, const GemmclStrides d, global float *R, const long r_batch,
             const int N, const int length)
{
  local CollectedRow merged[GROUP];
  const int item = get_local_id (0);
  const long i = get_group_id (0), problem = get_group_id (2);
  const int left = min ((long)get_group_id (1) * length, (long)N);
  const int end = left + min (length, N - left);
  const int first = left + item * WIDTH;
  float bound = -INFINITY;
  CollectedRow row;

  D = ROW_OF (D, d);
#if CAN_BE_BOUND
  local float maxima[MAXIMA], shared_bound;
  const bool is_bound = end - left >= BOUND_COLUMNS;
  const FLOATS own = find_maxima (D, d.col, first, is_bound ? end : 0);
  if (MAXIMA == GROUP)
    maxima[item] = get_largest (own);
  else
    PASTE (vstore, WIDTH) (own, 0, maxima);
  barrier (CLK_LOCAL_MEM_FENCE);
  for (int i = item; is_bound && i < MAXIMA; i += GROUP)
    if (count_before (maxima, i) == COLLECTED - 1)
      shared_bound = maxima[i];
  barrier (CLK_LOCAL_MEM_FENCE);
  bound = is_bound ? shared_bound : bound;
#endif

  clear_row (&row);
  collect (&row, D, d.col, first, end, bound);
  for (int j = left + (end - left) / WIDTH * WIDTH; item == 0 && j < end; j++) {
    const float x = LOAD_D (D, j * d.col);
    row.sum += x;
    insert_element (&row, x, j);
  }
  merge_collected (&row, merged, item);
  if (item == 0 && get_num_groups (1) == 1)
    store_collected (R + problem * r_batch + i * ROW_COUNT, &row, (global const float *)D + N);
  else if (item == 0)
    ((global CollectedRow *)
         R)[(problem * get_num_groups (0) + i) * get_num_groups (1) + get_group_id (1)] = row;
}

/* R (i, :) from what work-groups collected of parts of row i:
 *
 *     collected[(problem * M + i) * parts + part]     grid: (M * GROUP, 1, batch)
 *
 * A work-group owns row i, and work-item l its parts l, l + GROUP, l + 2 GROUP ... */
ROW_KERNEL
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
    store_collected (R + problem * r_batch + i * ROW_COUNT, &row, NULL);
}
