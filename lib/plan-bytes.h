/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A and B in bytes, for kernels of the precision I8; kernels/quantized.h says how they lie.
 */
#pragma once

#include "plan-private.h"

/** gemmcl_plan_takes_bytes: Returns: whether the plan's kernel multiplies bytes. */
gboolean gemmcl_plan_takes_bytes (GemmclPlan *self);

/** gemmcl_plan_build_quantize: the step that makes bytes of A, and memory for them. */
gboolean gemmcl_plan_build_quantize (GemmclPlan *self, GError **error);

/** gemmcl_plan_launch_quantize: A of @p, which lies in @from; then @p tells how its bytes lie. */
gboolean gemmcl_plan_launch_quantize (GemmclPlan *self, cl_mem from, GemmclProblem *p, gsize batch,
                                      GemmclChain *chain, GError **error);

/** gemmcl_plan_create_pack_bytes: Returns: (transfer full): a kernel for the function below. */
cl_kernel gemmcl_plan_create_pack_bytes (GemmclPlan *self, GError **error);

void gemmcl_byte_scales_clear (GemmclByteScales *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (GemmclByteScales, gemmcl_byte_scales_clear)

/** gemmcl_byte_scales_init: of @b, as the plan's B; copied in @queue. */
gboolean gemmcl_byte_scales_init (GemmclByteScales *self, GemmclPlan *plan, cl_command_queue queue,
                                  GemmclMatrix *b, GError **error);

/** gemmcl_check_finite: Returns: whether all of B are numbers; else %FALSE with
 * #GEMMCL_ERROR_INVALID. */
gboolean gemmcl_check_finite (const gfloat *b, gsize n, GError **error);

/** gemmcl_plan_describe_scales: Returns: (transfer full): of @b, what tells it from another B of
 * the same numbers. */
gchar *gemmcl_plan_describe_scales (GemmclPlan *self, GemmclMatrix *b);

/**
 * gemmcl_plan_launch_pack_bytes:
 * @columns: of B, with padding
 * @scales: of all batches
 *
 * Enqueues that @pack makes bytes of @b, laid out as @strides, in @packed.
 */
gboolean gemmcl_plan_launch_pack_bytes (GemmclPlan *self, cl_kernel pack, cl_mem b,
                                        const GemmclStrides *strides, cl_mem packed, gsize columns,
                                        gsize batch, const GemmclByteScales *scales,
                                        GemmclChain *chain, GError **error);
