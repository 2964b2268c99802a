/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * normalize: divides rows by their L2 norms: rows of A before a gemm, rows of D after it.
 *
 *     D (i, k) = x (i, k) / max (|x (i, :)|, 1e-12)          |x (i, :)| = sqrt (sum of x (i, k)^2)
 *
 * x is A, scaled. For rows of D, A and D are the result before and after this step.
 *
 * A work-item reads its elements of the row (row_steps.clh) for the norm, and again to divide them.
 * It writes only these elements, so D may be the memory of A, with the same type and strides.
 *
 * The squares of numbers above 1e19 overflow. A second sum, of numbers scaled by DOWN, then gives
 * the norm. Squares that underflow are too small to change a norm of 1e-12. A row with a NaN
 * becomes NaN; of a row with an infinity, infinities become NaN and numbers 0.
 *
 * D_UNIT_COL: defined if the elements of a row of D are contiguous.
 */
#include "shared/row_steps.clh"

#define LEAST_NORM 1e-12f
#define DOWN       0x1p-80f

DEFINE_COMBINE (add_up, float, SUM)

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

ROW_KERNEL
normalize_rows (global const A_MEM *A, const GemmclStrides a, global D_MEM *D,
                const GemmclStrides d, const int K, const float a_scale, const float a_shift)
{
  const int first = get_local_id (0) * WIDTH;
  A = ROW_OF (A, a);
  D = ROW_OF (D, d);

  FLOATS squares = 0.0f, down_squares = 0.0f;
  for (int k = first; k < K; k += GROUP * WIDTH) {
    const FLOATS x = load_row (A, a.col, k, K, a_scale, a_shift), y = x * DOWN;
    squares += x * x;
    down_squares += y * y;
  }
  SHARE (float, sum, SUM, add_up (squares))
  SHARE (float, down_sum, SUM, add_up (down_squares))

  const bool overflows = isinf (sum);
  const float scale = overflows ? DOWN : 1.0f;
  const float norm = sqrt (overflows ? down_sum : sum);
  const float divisor = norm < LEAST_NORM ? LEAST_NORM : norm; /* NaN stays */
  for (int k = first; k < K; k += GROUP * WIDTH)
    store_row (D, d.col, k, K, load_row (A, a.col, k, K, a_scale, a_shift) * scale / divisor);
}
