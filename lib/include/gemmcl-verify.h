/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The reference implementation on the host. Any thread.
 */
#pragma once

#include "gemmcl-gemm.h"

GEMMCL_BEGIN_DECLS

/**
 * gemmcl_gemm_verify:
 * @gemm: a valid problem of matrices, not frames, with an f32 D
 * @a: as for gemmcl_gemm_run()
 * @b: (type gpointer): as for gemmcl_gemm_run()
 * @c: (type gpointer) (nullable): as for gemmcl_gemm_run(); with GEMMCL_ADDEND_OUTPUT D before the
 *   run, with GEMMCL_ADDEND_PREVIOUS the previous result in the layout of D. %NULL: zeros, with any
 *   addend
 * @bias: (type gpointer) (nullable): as for gemmcl_gemm_run()
 * @d: (type gpointer): the result to check
 * @max_error: (out) (optional): the largest |D - Dref|
 * @error_bound: (out) (optional): the bound of the element with the largest |D - Dref| / bound
 *
 * Computes the problem on the host in double precision, which is slow, and compares each element of
 * @d with the reference Dref:
 *
 *     |D - Dref| <= g(K) * (|alpha| |A||B| + |beta||C| + |bias|)
 *     g(K) = (K + 4) u / (1 - (K + 4) u),  u = 2^-24
 *
 * (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section 3.1). The activation
 * multiplies the bound by its Lipschitz constant and adds the error of its own evaluation. For each
 * product a b, a precision with unit roundoff v and smallest normal number w adds the first line,
 * I8 the second, and normalizing A the third:
 *
 *     (2 v + v^2) |a b| + v w (|a| + |b|)
 *     ea |b| + |a| eb + ea eb,  ea = (max (A, 0) - min (A, 0)) / 510 of a row of A, or the
 *                               rounding of a_scale and a_shift if A is used unchanged,
 *                               eb = max |B| / 254 of a column; undivided if that is subnormal
 *     (K / 2 + 13) u |a b|
 *
 * With normalized rows of D, let x be such a row of N elements, n its norm and r the bounds of its
 * elements before normalization. Its bounds are (r + |x| |r|) / (n - |r|) + (N / 2 + 13) u |x|.
 *
 * Returns: %TRUE if every element is within its bound. NaN and infinities must be where the
 *   reference has them. With I8, an element of D may also be NaN if its row of A or column of B has
 *   NaN or an infinity.
 */
gboolean gemmcl_gemm_verify (const GemmclGemm *gemm, gconstpointer a, const gfloat *b,
                             const gfloat *c, const gfloat *bias, const gfloat *d,
                             gdouble *max_error, gdouble *error_bound);

GEMMCL_END_DECLS
