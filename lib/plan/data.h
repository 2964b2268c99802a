/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The caller's data: the checks of a run, and the copies between the caller's memory and the
 * plan's.
 */
#pragma once

#include "plan/steps.h"

/** TRUE if the plan can do @run. */
gboolean gemmcl_data_check_run (GemmclKernelPlan *self, const GemmclRun *run, GError **error);

/** Builds gather, if A may be frames in images. */
gboolean gemmcl_data_build_gather (GemmclKernelPlan *self, GError **error);

/** A copy between the caller's memory and the plan's. */
typedef struct {
  GemmclKernelPlan *plan;
  GemmclKernelRun *run;   /* its chain receives the copies */
  GemmclOperand which;    /* A, D or the row outputs */
  gboolean to_device;     /* from the caller to the plan; FALSE: back */
  gsize index;            /* of the problem in @buffer */
  const GemmclData *data; /* the caller's place; images only for A */
  cl_mem buffer;          /* the plan's, with problems tight, one after another */
} GemmclTransfer;

/** Enqueues the copies. */
gboolean gemmcl_transfer (const GemmclTransfer *self, GError **error);

/** A buffer on the caller's memory itself, which needs no copy: the caller's own or, for memory of
 * the host, a new one (transfer full). %NULL if that is impossible (host memory of a device with
 * memory of its own, another layout or alignment), or if a copy is faster. @self: of a run of one
 * problem; needs no buffer */
cl_mem gemmcl_transfer_share (const GemmclTransfer *self);

/** A buffer for A, D or the row outputs of all problems. */
cl_mem gemmcl_data_create_copy (GemmclKernelPlan *self, GemmclOperand which, GError **error);

/** Bytes of A, D or the row outputs of one problem of @m rows, tight. */
gsize gemmcl_data_get_bytes (GemmclKernelPlan *self, GemmclOperand which, gsize m);

/** The reason why @run copies @which, A or D. @data: (nullable): of @run */
GemmclCopyReason gemmcl_data_explain_copy (GemmclKernelPlan *self, const GemmclRun *run,
                                           GemmclOperand which, const GemmclData *data);
