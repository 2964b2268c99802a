/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "gemmcl-opencl.h"
#include "plan-private.h"

/**
 * gemmcl_plan_check_planes:
 *
 * Returns: whether a frame in images is what the plan can read; else %FALSE with
 *   #GEMMCL_ERROR_INVALID.
 */
gboolean gemmcl_plan_check_planes (GemmclPlan *self, const GemmclData *frame, GError **error);

/** gemmcl_plan_build_gather: the step, if the plan may be given frames in images. */
gboolean gemmcl_plan_build_gather (GemmclPlan *self, GError **error);

/** gemmcl_plan_warm_up_gather: likewise makes PoCL compile it; @to as for gemmcl_plan_gather(). */
gboolean gemmcl_plan_warm_up_gather (GemmclPlan *self, cl_mem to, GemmclChain *chain,
                                     GError **error);

/**
 * gemmcl_plan_gather:
 * @to: the plan's A: frames one after another, of which this one is @index
 *
 * Enqueues that the frame's planes are put there as bytes.
 */
gboolean gemmcl_plan_gather (GemmclPlan *self, const GemmclData *frame, gsize index, cl_mem to,
                             GemmclChain *chain, GError **error);
