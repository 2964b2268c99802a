/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "element/batch.h"
#include "element/input.h"
#include "element/results.h"
#include "element/operands.h"
#include "element/allocation.h"
#include "element/stats.h"
#include "memory/error.h"
#include "memory/sharing.h"

#define GST_CAT_DEFAULT gst_gemmcl_debug
#define GST_TYPE_GEMMCL (gst_gemmcl_get_type ())
G_DECLARE_FINAL_TYPE (GstGemmcl, gst_gemmcl, GST, GEMMCL, GstBaseTransform)

/**
 * GstGemmcl:
 *
 * Only the files that are named beside a field, or in its struct, write it.
 *
 * Locks, in the order in which they are taken: operands.change_lock; @lock, for fields that both
 * the streaming thread and the application use; the lock of sharing; the lock of the object.
 * While any lock but the first is held, do not post messages, call other elements, compile, pack or
 * wait. A thread may read a field without a lock if no other thread writes the field.
 */
struct _GstGemmcl {
  GstBaseTransform parent;

  GstGemmclProperties properties; /* properties.c; under the object's lock */
  GstGemmclSharing sharing;       /* memory/sharing.c; has its own lock */

  GMutex lock;
  GstGemmclCurrentOperands operands;               /* operands.c */
  GstGemmclDevice devices[GST_GEMMCL_MAX_DEVICES]; /* see the struct */
  guint n_devices;                                 /* devices.c; at least 1 */
  GstGemmclStream stream;                          /* see the struct */
  GstGemmclProblem problem;                        /* plans.c: the problem of all devices' plans */
  GstGemmclStats stats;                            /* stats.c */
  GstGemmclResults results;                        /* see the struct */

  /* For the streaming thread only. */
  gboolean needs_plan;          /* set with a new context (element.c), shape (input.c) or operand
                                 * (operands.c); cleared by plans.c */
  GstGemmclDescribed described; /* input.c */
  GstGemmclRuns *runs;          /* see the struct; NULL unless streaming */
  guint pool_size; /* allocation.c, element.c: bytes of a buffer of D's pool; 0: no pool */
};
