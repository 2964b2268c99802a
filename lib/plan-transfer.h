/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "plan-private.h"

/**
 * GemmclTransfer:
 * @which: A, or D
 * @to_device: A, or the D that was before; otherwise D comes back
 * @m, @batch: rows and problems this time, which may be fewer than the device has room for
 * @host: (array length=batch): where they lie on the host, or
 * @device: (nullable) (array length=batch): in place of that, where the caller has them on the
 *   device
 * @queue, @buffer: where they go to or come from
 * @staged: (nullable): instead of these two, memory of the host that is laid out as the buffer
 * @done: (nullable): of the last command; released and replaced by each
 *
 * A or D of a run on its way between the caller's memory and the plan's on the device.
 */
typedef struct {
  GemmclPlan *plan;
  GemmclOperand which;
  gboolean to_device;
  gsize m, batch;
  const GemmclHostData *host;
  const GemmclDeviceData *device;
  cl_command_queue queue;
  cl_mem buffer;
  guchar *staged;
  cl_event *done;
} GemmclTransfer;

/**
 * gemmcl_transfer:
 *
 * Enqueues the copies, for which the host's memory is in use until the queue is done with them; or
 * copies to or from @staged at once.
 */
gboolean gemmcl_transfer (const GemmclTransfer *self, GError **error);

/**
 * gemmcl_transfer_share:
 *
 * Returns: (transfer full): a buffer that is the caller's memory itself, in place of a copy; %NULL
 *   where it cannot be one (the device has memory of its own and this is the host's, or the
 *   elements lie otherwise) or where copying is quicker.
 */
cl_mem gemmcl_transfer_share (const GemmclTransfer *self);

/** gemmcl_plan_get_operand_bytes: Returns: of A or D of one problem of @m rows, tight. */
gsize gemmcl_plan_get_operand_bytes (GemmclPlan *self, GemmclOperand which, gsize m);
