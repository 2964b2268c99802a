/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "gemmcl-gemm.h"

GEMMCL_BEGIN_DECLS

/**
 * gemmcl_gemm_verify:
 * @gemm: the problem, of matrices, with an f32 D
 * @a, @b, @c, @bias: as for gemmcl_gemm_run(); with GEMMCL_ADDEND_OUTPUT @c is the D before the run
 * @d: the result to check
 * @max_error: (out) (optional): the largest |D - Dref|
 * @error_bound: (out) (optional): the bound of the element with the largest |D - Dref| / bound
 *
 * Computes the problem in double precision on the host, slowly, and compares each element of @d:
 *
 *     |D - Dref| <= g(K) * (|alpha| |A||B| + |beta||C| + |bias|)
 *     g(K) = (K + 4) u / (1 - (K + 4) u),  u = 2^-24
 *
 * (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section 3.1). The bound is
 * carried through the activation by its Lipschitz constant, plus the error of the activation's own
 * evaluation. A precision with unit roundoff v and smallest normal number w adds, for each product,
 * 2 v + v^2 times its size and v w (|A| + |B|). I8 adds half a quantization step of A and of B to
 * each product:
 *
 *     ea |B| + |A| eb + ea eb,  ea = (max (A, 0) - min (A, 0)) / 510 of a row of A,
 *                               eb = max |B| / 254 of a column of B
 *
 * A range whose step is not a normal number may become 0.
 *
 * Returns: %TRUE if every element is within its bound. NaN and infinities must be where the
 *   reference has them; with I8, every element of D that depends on a row of A or a column of B
 *   with one of them may also be NaN.
 */
gboolean gemmcl_gemm_verify (const GemmclGemm *gemm, gconstpointer a, const gfloat *b,
                             const gfloat *c, const gfloat *bias, const gfloat *d,
                             gdouble *max_error, gdouble *error_bound);

GEMMCL_END_DECLS
