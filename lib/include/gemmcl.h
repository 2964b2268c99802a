/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * gemmcl multiplies matrices on an OpenCL device:
 *
 *     D = act (alpha * op(A) * op(B) + beta * C + bias)
 *
 * A is M x K, the data; B is K x N, the weights; C is M x N or 1 x N; bias has N elements; D is
 * M x N. Create a #GemmclContext on a device, describe the problem in a #GemmclGemm, create a
 * #GemmclPlan for it once and run the plan any number of times. gemmcl_gemm_run() does all of this
 * in one call.
 *
 * Later versions may add fields to structs. A struct that the caller allocates has reserved room at
 * its end for them, or carries its size. The reserved room must be zero, as an initializer leaves
 * it, and a new field that is zero changes nothing. A struct that the library allocates may grow:
 * use it through the pointer only.
 *
 * gemmcl-opencl.h has the functions with OpenCL's types. This header does not include it.
 * Declarations without Since: are as old as the library.
 */

#include "gemmcl-error.h"
#include "gemmcl-context.h"
#include "gemmcl-matrix.h"
#include "gemmcl-frame.h"
#include "gemmcl-gemm.h"
#include "gemmcl-kernels.h"
#include "gemmcl-tuning.h"
#include "gemmcl-plan.h"
#include "gemmcl-search.h"
