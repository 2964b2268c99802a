/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The operands that a plan keeps on the device between runs: B, C and bias.
 */
#pragma once

#include "plan/kernel-plan.h"

/** Converts, packs and uploads @matrix. @kept: replaced; not in use */
gboolean gemmcl_kept_prepare (GemmclKernelPlan *self, GemmclPlanOperand operand,
                              GemmclMatrix *matrix, GemmclKept *kept, GError **error);

/** Zeros, with room for a panel's padding. */
cl_mem gemmcl_kept_create_zeros (GemmclKernelPlan *self, GError **error);

/** Makes PoCL compile the packing, and allocates B, so that a run that warms up can start. The
 * values of B are undefined. */
gboolean gemmcl_kept_warm_up_b (GemmclKernelPlan *self, cl_command_queue queue, GError **error);
