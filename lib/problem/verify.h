/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The errors that the reference allows. Any thread.
 */
#pragma once

#include "gemmcl-gemm.h"

#define UNIT_ROUNDOFF 0x1p-24 /* of f32 */

/** The error that gemmcl_gemm_verify() allows for a sum of K products of @a and @b, above 0. */
gdouble gemmcl_gemm_get_sum_error (const GemmclGemm *gemm, gdouble a, gdouble b);

/** The relative error that gemmcl_gemm_verify() allows for an activation of an exact @x. @slope:
 * (out): the factor by which the activation amplifies an absolute error of @x, at most */
gdouble gemmcl_activation_get_error (GemmclActivation activation, gdouble x, gdouble *slope);
