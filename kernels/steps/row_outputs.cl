/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * row_outputs: R (i, :) = the requested row outputs of row i of D, in the order sum, max, arg-max,
 * top-k, as f32 without gaps. Top-k reads the row once for each of its elements.
 *
 * row_steps.clh draws the elements of a work-item. The first work-item also reads the elements
 * after the last whole vector. NaN is larger than any number, as in NumPy, so that max and arg-max
 * show it. The first one of equal elements counts.
 *
 * ROW_SUM, ROW_MAX, ROW_ARG_MAX, ROW_TOP_K, ROW_COUNT: see whole_rows.clh.
 */
#define A_TYPE D_TYPE
#include "shared/row_steps.clh"

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

typedef struct {
  float sum, largest;
  int column; /* column of the maximum; -1: none yet */
} Found;

/* Compares x, at column j, with the maximum so far; of equal values the lower column counts. */
static inline void
update (Found *found, float x, int j)
{
  const bool more = x > found->largest || (isnan (x) && !isnan (found->largest));
  const bool same = x == found->largest || (isnan (x) && isnan (found->largest));

  if (found->column < 0 || more || (same && j < found->column)) {
    found->largest = x;
    found->column = j;
  }
}

#define ROUNDS (ROW_TOP_K > 0 ? ROW_TOP_K : 1)

/* True if x, at column j, may be the next largest element of the row after value at column `at`:
 * equal elements follow by their columns. NaN at column -1 comes before all. */
static inline bool
is_next (const float x, const int j, const float value, const int at)
{
  if (ROW_TOP_K == 0)
    return true;
  return isnan (value) ? !isnan (x) || j > at : x < value || (x == value && j > at);
}

/* The same for WIDTH elements. */
static inline INDEX
are_next (const FLOATS x, const INDEX j, const float value, const int at)
{
  if (ROW_TOP_K == 0)
    return (INDEX)(-1);
  return isnan (value) ? ~isnan (x) | (j > at) : (x < value) | ((x == value) & (j > at));
}

/* Returns: j, j + 1 ... */
static inline INDEX
columns_from (const int j)
{
  int columns[WIDTH];
  for (int part = 0; part < WIDTH; part++)
    columns[part] = j + part;
  return PASTE (vload, WIDTH) (0, columns);
}

/* The sum of the work-item's columns, and their largest element after value at column `at`. */
static inline Found
find (global const D_MEM *D, const long col, const int N, const int lane, const float value,
      const int at)
{
  const int whole = N / WIDTH * WIDTH;
  FLOATS sum = 0.0f, largest = -INFINITY;
  INDEX column = -1;

  for (int j = lane * WIDTH; j < whole; j += GROUP * WIDTH) {
    const FLOATS x = read_vector (D + j * col, col);
    sum += x;
    const INDEX next = are_next (x, columns_from (j), value, at);
    const INDEX more = next & ((column < 0) | (x > largest) | (isnan (x) & ~isnan (largest)));
    largest = select (largest, x, more);
    column = select (column, (INDEX)j, more);
  }

  float sum_parts[WIDTH], largest_parts[WIDTH];
  int column_parts[WIDTH];
  PASTE (vstore, WIDTH) (sum, 0, sum_parts);
  PASTE (vstore, WIDTH) (largest, 0, largest_parts);
  PASTE (vstore, WIDTH) (column, 0, column_parts);
  Found found = {0.0f, 0.0f, -1};
  for (int part = 0; part < WIDTH; part++) {
    found.sum += sum_parts[part];
    if (column_parts[part] >= 0)
      update (&found, largest_parts[part], column_parts[part] + part);
  }
  for (int j = whole; lane == 0 && j < N; j++) {
    const float x = LOAD_D (D, j * col);
    found.sum += x;
    if (is_next (x, j, value, at))
      update (&found, x, j);
  }
  return found;
}

ROW_KERNEL
row_outputs (global const D_MEM *D, const GemmclStrides d, global float *R, const long r_batch,
             const int N)
{
  local float sums[GROUP], maxima[GROUP];
  local int columns[GROUP];

  const int lane = get_local_id (0);
  D = ROW_OF (D, d);
  R += get_group_id (2) * r_batch + get_group_id (0) * ROW_COUNT;

  Found row = {0.0f, NAN, -1};
  for (int k = 0; k < ROUNDS; k++) {
    Found found = find (D, d.col, N, lane, row.largest, row.column);
    sums[lane] = found.sum;
    maxima[lane] = found.largest;
    columns[lane] = found.column;
    barrier (CLK_LOCAL_MEM_FENCE);
    row = (Found){0.0f, 0.0f, -1};
    for (int other = 0; other < GROUP; other++) {
      row.sum += sums[other];
      if (columns[other] >= 0)
        update (&row, maxima[other], columns[other]);
    }
    barrier (CLK_LOCAL_MEM_FENCE);
    if (lane == 0) {
      if (ROW_SUM && k == 0)
        *R++ = row.sum;
      if (ROW_MAX && k == 0)
        *R++ = row.largest;
      if (ROW_ARG_MAX && k == 0)
        *R++ = row.column;
      if (ROW_TOP_K) {
        R[k] = row.largest;
        R[ROW_TOP_K + k] = row.column;
      }
    }
  }
}
