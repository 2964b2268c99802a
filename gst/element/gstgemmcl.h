/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "element/operands.h"
#include "element/plan.h"
#include "element/properties.h"
#include "element/run.h"
#include "element/stream.h"
#include "memory/device.h"
#include "memory/error.h"

#define GST_TYPE_GEMMCL (gst_gemmcl_get_type ())
G_DECLARE_FINAL_TYPE (GstGemmcl, gst_gemmcl, GST, GEMMCL, GstBaseTransform)

/**
 * GstGemmcl:
 *
 * Each field belongs to the file that is named beside it. Other files may read it, but change it
 * only through the functions of its header.
 *
 * Locks, in the order in which they are taken: operands.change_lock; @lock, for fields that both
 * the streaming thread and the application use; the lock of the device; the lock of the object.
 * While any but the first is held, do not post messages, call other elements, compile, pack or
 * wait. A thread may read a field without a lock if it is the only one that writes it.
 */
struct _GstGemmcl {
  GstBaseTransform parent;

  GstGemmclProperties properties; /* properties.c; under the object's lock */
  GstGemmclDevice device;         /* memory/device.c; has its own lock */

  GMutex lock;
  GstGemmclOperandSlot operands; /* operands.c */
  GstGemmclStream stream;        /* negotiate.c */
  GstGemmclPlanSlot slot;        /* plan.c */
  GstGemmclStats stats;          /* stats.c */

  /* The streaming thread's own. */
  GstGemmclScalars next_scalars; /* of the next buffer */
  GstGemmclScalars scalars;      /* of the batch or run that is being prepared */
  GstGemmclRuns *runs;           /* run.c; NULL unless streaming */
  GstGemmclBatch *batch;         /* batch.c; NULL unless streaming */
};

/** gst_gemmcl_renew_context: Opens the device for the present VADisplay and drops the plan and all
 * imports; a new plan is due. For the streaming thread. */
gboolean gst_gemmcl_renew_context (GstGemmcl *self, GError **error);
