/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "bench.h"

/**
 * TuneCheck:
 *
 * Tells whether a result D of a problem is right in a fraction of the time that
 * gemmcl_gemm_verify() takes for all of it. There are two looks, with g(K) as
 * explained there:
 *
 * All of D, coarsely, by Freivalds' check (R. Freivalds, Probabilistic machines can use less
 * running time, IFIP Congress 1977): with signs x_j of -1 or 1, drawn once, and for each row i and
 * each block J of neighbouring columns,
 *
 *     |sum_J D_ij x_j - sum_k A_ik (sum_J B_kj x_j)|  <=  sum_J bound_ij
 *                                                      =  g(K) sum_k |A_ik| (sum_J |B_kj|)
 *
 * and for a precision that rounds what gemmcl_gemm_verify() adds, summed alike. The sums are in
 * double precision, whose own errors are nothing beside g(K). A D that is out of its bounds passes
 * a block with a chance of 1/2 at most where it is off by much; a kernel that does a tile wrong
 * does so in many rows. The narrower the blocks, the smaller an error shows; they are as narrow as
 * LEAST_WIDTH for small problems, and so wide for large ones that making the check takes less than
 * a second. NaN and what was never written do not pass anywhere.
 *
 * A few rows, the first and the last among them, by gemmcl_gemm_verify() itself.
 */
typedef struct _TuneCheck TuneCheck;

/**
 * tune_check_new:
 * @problem: f32, without C, with alpha 1 and nothing transposed; borrowed
 *
 * Returns: (transfer full): what is right for @problem, or %NULL with #GEMMCL_ERROR_TOO_LARGE.
 */
TuneCheck *tune_check_new (const BenchProblem *problem, GError **error);

void tune_check_free (TuneCheck *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TuneCheck, tune_check_free)

/**
 * tune_check_output:
 *
 * Returns: whether the host's D of the problem is right; else %FALSE with %TOOL_ERROR_FAILED, which
 *   says where it is not.
 */
gboolean tune_check_output (const TuneCheck *self, GError **error);
