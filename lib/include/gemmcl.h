/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/**
 * gemmcl multiplies matrices on an OpenCL device:
 *
 *     D = act (alpha * op(A) * op(B) + beta * C + bias)
 *
 * with A of M x K (what flows), B of K x N (weights), C of M x N or 1 x N, bias of N, D of M x N.
 * Make a #GemmclContext on a device, describe the problem in a #GemmclGemm, make a #GemmclPlan of
 * it once and run that as often as you like; or call gemmcl_gemm_run() once.
 *
 * Only gemmcl-opencl.h, which this header does not include, includes OpenCL's headers.
 */

#include "gemmcl-error.h"
#include "gemmcl-context.h"
#include "gemmcl-matrix.h"
#include "gemmcl-image.h"
#include "gemmcl-gemm.h"
#include "gemmcl-verify.h"
#include "gemmcl-kernels.h"
#include "gemmcl-plan.h"
#include "gemmcl-tuning.h"
