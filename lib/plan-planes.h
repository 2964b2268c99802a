/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "gemmcl-opencl.h"
#include "plan-private.h"

/**
 * gemmcl_plan_check_planes:
 *
 * Returns: whether pictures in images are what the plan can read; else %FALSE with
 *   #GEMMCL_ERROR_INVALID.
 */
gboolean gemmcl_plan_check_planes (GemmclPlan *self, const GemmclPlaneImages *pictures, gsize batch,
                                   GError **error);

/**
 * gemmcl_plan_gather:
 * @to: the plan's A: pictures one after another
 *
 * Enqueues that the pictures' planes are put there as bytes. The first time it builds the kernel.
 */
gboolean gemmcl_plan_gather (GemmclPlan *self, const GemmclPlaneImages *pictures, gsize batch,
                             cl_mem to, GemmclChain *chain, GError **error);
