/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "plan-private.h"

/**
 * GemmclTransfer:
 * @which: A or D
 * @to_device: from the caller to the plan, not back
 * @m: rows of this run
 * @index: of the problem, in @buffer
 * @data: where the caller has it: memory of the host, or a buffer
 * @buffer: the plan's, where problems lie tight, one after another
 * @chain: where the copies are enqueued
 *
 * A, D or the row outputs of one problem on the way between the caller's memory and the plan's.
 */
typedef struct {
  GemmclPlan *plan;
  GemmclOperand which;
  gboolean to_device;
  gsize m, index;
  const GemmclData *data;
  cl_mem buffer;
  GemmclChain *chain;
} GemmclTransfer;

/** gemmcl_transfer: enqueues the copies of A or D. */
gboolean gemmcl_transfer (const GemmclTransfer *self, GError **error);

/** gemmcl_transfer_rows: likewise of row outputs. */
gboolean gemmcl_transfer_rows (const GemmclTransfer *self, GError **error);

/**
 * gemmcl_transfer_share:
 * @self: of a run of one problem, without buffer and chain
 *
 * Returns: (transfer full): a buffer that is the caller's memory itself, in place of a copy; %NULL
 *   where it cannot be one (the device has memory of its own and this is the host's, or the
 *   elements lie otherwise) or where copying is quicker.
 */
cl_mem gemmcl_transfer_share (const GemmclTransfer *self);

/** gemmcl_plan_get_operand_bytes: Returns: of A or D of one problem of @m rows, tight. */
gsize gemmcl_plan_get_operand_bytes (GemmclPlan *self, GemmclOperand which, gsize m);
