/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * normalize: divides rows by their L2 norms, before a gemm those of A, after it those of D:
 *
 *     D (i, k) = x (i, k) / max (|x (i, :)|, 1e-12)          |x (i, :)| = sqrt (sum of x (i, k)^2)
 *
 * x is A, scaled. For rows of D, A and D are the result before and after this step.
 *
 *            K
 *     +--+--+--+--+--+-+   A work-group owns row i = group 0 of batch group 2. A work-item reads
 *     |0 |1 |0 |1 |0 |1| i  WIDTH neighbours at a time, GROUP * WIDTH further in each step (drawn:
 *     +--+--+--+--+--+-+   GROUP = 2), once for the norm and once to divide them.
 *
 * The grid is (M * GROUP, 1, batches) in work-groups of (GROUP, 1, 1). A work-item divides only the
 * elements that it read, so D may be the memory of A, with the same type and strides.
 *
 * The squares of numbers above 1e19 overflow. A second sum, of numbers scaled by DOWN, then has the
 * norm. Squares that underflow are too small to change a norm of 1e-12. A row with a NaN becomes
 * NaN; of a row with an infinity, infinities become NaN and numbers 0.
 *
 * GROUP: work-items per row; 1 on CPUs.
 * WIDTH: 4 or 16, elements of a vector, added in parallel on CPUs.
 * A_UNIT_COL, D_UNIT_COL: defined if the elements of a row of A or D are contiguous.
 */
#include "problem.h"
#include "row_load.clh"

#define LEAST_NORM 1e-12f
#define DOWN       0x1p-80f

static inline float
add_up (FLOATS x)
{
  float parts[WIDTH], sum = 0.0f;

  PASTE (vstore, WIDTH) (x, 0, parts);
  for (int e = 0; e < WIDTH; e++)
    sum += parts[e];
  return sum;
}

/* Elements past K are not written. */
static inline void
store_row (global D_MEM *row, long col, int k, int K, FLOATS x)
{
#if D_TYPE == F32 && defined(D_UNIT_COL)
  if (k + WIDTH <= K) {
    PASTE (vstore, WIDTH) (x, 0, row + k);
    return;
  }
#endif
  float parts[WIDTH];
  PASTE (vstore, WIDTH) (x, 0, parts);
  for (int e = 0; e < WIDTH && k + e < K; e++)
    STORE_D (row, (k + e) * col, parts[e]);
}

kernel __attribute__ ((reqd_work_group_size (GROUP, 1, 1))) void
normalize_rows (global const A_MEM *A, const GemmclStrides a, global D_MEM *D,
                const GemmclStrides d, const int K, const float a_scale, const float a_shift)
{
  local float sums[GROUP], down_sums[GROUP];

  const int lane = get_local_id (0);
  const long i = get_group_id (0);
  const long batch = get_group_id (2);
  A += a.offset + batch * a.batch + i * a.row;
  D += d.offset + batch * d.batch + i * d.row;

  FLOATS squares = 0.0f, down_squares = 0.0f;
  for (int k = lane * WIDTH; k < K; k += GROUP * WIDTH) {
    const FLOATS x = load_row (A, a.col, k, K, a_scale, a_shift), y = x * DOWN;
    squares += x * x;
    down_squares += y * y;
  }
  sums[lane] = add_up (squares);
  down_sums[lane] = add_up (down_squares);
  barrier (CLK_LOCAL_MEM_FENCE);
  float sum = 0.0f, down_sum = 0.0f;
  for (int other = 0; other < GROUP; other++) {
    sum += sums[other];
    down_sum += down_sums[other];
  }

  const bool overflows = isinf (sum);
  const float scale = overflows ? DOWN : 1.0f;
  const float norm = sqrt (overflows ? down_sum : sum);
  const float divisor = norm < LEAST_NORM ? LEAST_NORM : norm; /* NaN stays */
  for (int k = lane * WIDTH; k < K; k += GROUP * WIDTH)
    store_row (D, d.col, k, K, load_row (A, a.col, k, K, a_scale, a_shift) * scale / divisor);
}
