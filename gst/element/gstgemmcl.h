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
 * Each part belongs to the file that is named beside it; other files read a part, and change it by
 * the functions of its header.
 *
 * Locks, in the order in which they are taken: that of changes of operands; @lock, for what both
 * the streaming thread and the application touch; those of the device and of the object. With any
 * but the first held nothing is posted on the bus, no other element is called, and nothing is
 * compiled, packed or waited for. A thread may read without a lock what it alone writes.
 */
struct _GstGemmcl {
  GstBaseTransform parent;

  GstGemmclProperties properties; /* properties.c; under the object's lock */
  GstGemmclDevice device;         /* memory/device.c; has a lock of its own */

  GMutex lock;
  GstGemmclOperandSlot operands; /* operands.c */
  GstGemmclStream stream;        /* negotiate.c */
  GstGemmclPlanSlot slot;        /* plan.c */
  GstGemmclStats stats;          /* stats.c */

  /* The streaming thread's own. */
  GstGemmclScalars next_scalars; /* of the buffer that comes */
  GstGemmclScalars scalars;      /* of the run that is collected or submitted */
  GstGemmclRuns *runs;           /* run.c; NULL unless streaming */
  GstGemmclBatch *batch;         /* batch.c; NULL unless streaming */
};

/** gst_gemmcl_renew_context: Opens the device that the properties ask for. For the streaming
 * thread: the plan and all imports go, and a new plan is due. */
gboolean gst_gemmcl_renew_context (GstGemmcl *self, GError **error);
