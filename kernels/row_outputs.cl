/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What is asked of each row of D besides D: R (i, :) = sum, max and arg-max of D (i, :), in this
 * order, those of them that are asked for; f32, tight.
 *
 *            N
 *     +--+--+--+--+--+-+   a work-group owns row i = group 0 of batch group 2, a work-item of it
 *     |0 |1 |0 |1 |0 |t| i  WIDTH neighbours at a time, GROUP * WIDTH further on each step (drawn:
 *     +--+--+--+--+--+-+   GROUP = 2); the first one also what is left over, t
 *
 * The grid is (M * GROUP, 1, batches) in groups of (GROUP, 1, 1). NaN is larger than any number, as
 * NumPy has it, so that max and arg-max show it; of equal ones the first column counts.
 *
 * GROUP: work-items to a row: 1 on CPUs.
 * WIDTH: 4 or 16, floats of a vector: what a CPU adds up at a time.
 * ROW_SUM, ROW_MAX, ROW_ARG_MAX: defined for what is asked for; ROW_COUNT: how many of them.
 */
#include "problem.h"
#include "types.clh"

#define VALUE PASTE (float, WIDTH)
#define INDEX PASTE (int, WIDTH)

/* As a vector where elements lie as one, or one by one; a vector's parts have no addresses. */
#if D_TYPE == F32 && defined(D_UNIT_COL)
  #define READ(x, p, col) x = PASTE (vload, WIDTH) (0, p)
#else
  #define READ(x, p, col)                                                                          \
    float x##_parts[WIDTH];                                                                        \
    for (int part = 0; part < WIDTH; part++)                                                       \
      x##_parts[part] = LOAD_D (p, part * (col));                                                  \
    x = PASTE (vload, WIDTH) (0, x##_parts)
#endif

typedef struct {
  float sum, most;
  int at; /* of most; -1: of nothing yet */
} Found;

/* @x at column @j, which comes after all those before in @found but where @j says otherwise. */
static inline void
take (Found *found, float x, int j)
{
  const bool more = x > found->most || (isnan (x) && !isnan (found->most));
  const bool same = x == found->most || (isnan (x) && isnan (found->most));

  if (found->at < 0 || more || (same && j < found->at)) {
    found->most = x;
    found->at = j;
  }
}

kernel __attribute__ ((reqd_work_group_size (GROUP, 1, 1))) void
row_outputs (global const D_MEM *D, const GemmclStrides d, global float *R, const long r_batch,
             const int N)
{
  local float sums[GROUP], mosts[GROUP];
  local int ats[GROUP];

  const int lane = get_local_id (0);
  const long i = get_group_id (0);
  const long batch = get_group_id (2);
  D += d.offset + batch * d.batch + i * d.row;
  R += batch * r_batch + i * ROW_COUNT;

  VALUE sum = 0.0f, most = -INFINITY;
  INDEX at = -1;
  const int whole = N / WIDTH * WIDTH;
  for (int j = lane * WIDTH; j < whole; j += GROUP * WIDTH) {
    VALUE x;
    READ (x, D + j * d.col, d.col);
    sum += x;
    const INDEX more = at<0 | x> most | (isnan (x) & ~isnan (most));
    most = select (most, x, more);
    at = select (at, (INDEX)j, more);
  }

  float sum_parts[WIDTH], most_parts[WIDTH];
  int at_parts[WIDTH];
  PASTE (vstore, WIDTH) (sum, 0, sum_parts);
  PASTE (vstore, WIDTH) (most, 0, most_parts);
  PASTE (vstore, WIDTH) (at, 0, at_parts);
  Found found = {0.0f, 0.0f, -1};
  for (int part = 0; part < WIDTH; part++) {
    found.sum += sum_parts[part];
    if (at_parts[part] >= 0)
      take (&found, most_parts[part], at_parts[part] + part);
  }
  for (int j = whole; lane == 0 && j < N; j++) {
    const float x = LOAD_D (D, j * d.col);
    found.sum += x;
    take (&found, x, j);
  }

  sums[lane] = found.sum;
  mosts[lane] = found.most;
  ats[lane] = found.at;
  barrier (CLK_LOCAL_MEM_FENCE);
  if (lane > 0)
    return;
  for (int other = 1; other < GROUP; other++) {
    found.sum += sums[other];
    if (ats[other] >= 0)
      take (&found, mosts[other], ats[other]);
  }
#ifdef ROW_SUM
  *R++ = found.sum;
#endif
#ifdef ROW_MAX
  *R++ = found.most;
#endif
#ifdef ROW_ARG_MAX
  *R++ = found.at;
#endif
}
