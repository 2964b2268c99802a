/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "element/problem.h"

/* Weight, bias and addend: loading them, and changing them while data flows. */

/**
 * GstGemmclOperandSlot:
 *
 * The operands of the element. @change_lock keeps changes apart from each other and is taken before
 * any other lock; the rest is under the lock of the element.
 */
typedef struct {
  GMutex change_lock;
  GstGemmclOperands current;
  GstGemmclOperands next; /* taken over by the streaming thread before its next buffer */
  gboolean has_next;
  gboolean next_replans;                           /* next needs another plan */
  GemmclPrepared *prepared[GST_GEMMCL_N_OPERANDS]; /* otherwise, what the plan has to use of it */
  gboolean held;                                   /* see gst_gemmcl_operands_hold() */
} GstGemmclOperandSlot;

void gst_gemmcl_operands_init (GstGemmcl *self);
void gst_gemmcl_operands_finalize (GstGemmcl *self);

/** gst_gemmcl_operands_open: Loads all that the properties name. From NULL to READY. */
gboolean gst_gemmcl_operands_open (GstGemmcl *self, GError **error);

/** gst_gemmcl_operands_close: Drops what was loaded; the properties stay. */
void gst_gemmcl_operands_close (GstGemmcl *self);

/**
 * gst_gemmcl_operand_set:
 * @where: (nullable): what gemmcl_matrix_load() takes; %NULL or "" for nothing
 *
 * The property's setter, from any thread. In NULL it only notes @where. Otherwise it loads, packs
 * and uploads the matrix here, with no lock that a buffer or a query takes; the streaming thread
 * exchanges it before the next buffer. A matrix that cannot be loaded, does not fit the caps, or
 * makes a result that downstream does not take is refused with a warning on the bus, and the old
 * one stays. One of another shape makes the streaming thread negotiate before the next buffer.
 */
void gst_gemmcl_operand_set (GstGemmcl *self, GstGemmclOperand operand, const gchar *where);

/** gst_gemmcl_operands_forget_prepared: The plan is another one: operands that wait need a new
 * plan. With the lock of the element held. */
void gst_gemmcl_operands_forget_prepared (GstGemmcl *self);

/** gst_gemmcl_operands_have_next: Returns: whether some wait for the next buffer. Any thread. */
gboolean gst_gemmcl_operands_have_next (GstGemmcl *self);

/**
 * gst_gemmcl_operands_hold:
 *
 * For the streaming thread, before caps or a buffer: takes over operands that wait, and keeps them
 * as they are until gst_gemmcl_operands_release(): what is set meanwhile waits, so that caps and
 * the plan are made of the same operands.
 *
 * Returns: whether a new plan is due for them.
 */
gboolean gst_gemmcl_operands_hold (GstGemmcl *self);

/** gst_gemmcl_operands_release: Ends gst_gemmcl_operands_hold(). */
void gst_gemmcl_operands_release (GstGemmcl *self);
