/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "element/problem.h"

/* Weight, bias and addend: loading them, and changing them while playing. */

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

/** gst_gemmcl_operands_open: Loads the operands that the properties name. For NULL to READY. */
gboolean gst_gemmcl_operands_open (GstGemmcl *self, GError **error);

/** gst_gemmcl_operands_close: Releases all operands; the properties stay. */
void gst_gemmcl_operands_close (GstGemmcl *self);

/**
 * gst_gemmcl_operand_set:
 * @where: (nullable): as for gemmcl_matrix_load(); %NULL or "" for none
 *
 * Sets an operand's property. Any thread. In NULL it only notes @where. Otherwise it loads, packs
 * and uploads the matrix, without any lock that a buffer or a query takes; the streaming thread
 * uses it from the next buffer on, after negotiation if its shape is another one. A matrix that
 * cannot be loaded, does not fit the caps, or makes an output that downstream does not take is
 * refused with a warning on the bus, and the old one stays.
 */
void gst_gemmcl_operand_set (GstGemmcl *self, GstGemmclOperand operand, const gchar *where);

/** gst_gemmcl_operands_forget_prepared: The plan is another one: operands that wait need a new
 * plan. With the lock of the element held. */
void gst_gemmcl_operands_forget_prepared (GstGemmcl *self);

/** gst_gemmcl_operands_have_next: Returns: whether new operands wait for the next buffer. Any
 * thread. */
gboolean gst_gemmcl_operands_have_next (GstGemmcl *self);

/**
 * gst_gemmcl_operands_hold:
 *
 * For the streaming thread, before caps or a buffer: takes over operands that wait. The operands
 * then stay until gst_gemmcl_operands_release(), and what is set meanwhile waits, so that caps and
 * the plan are made of the same operands.
 *
 * Returns: whether they need a new plan.
 */
gboolean gst_gemmcl_operands_hold (GstGemmcl *self);

/** gst_gemmcl_operands_release: Ends gst_gemmcl_operands_hold(). */
void gst_gemmcl_operands_release (GstGemmcl *self);
