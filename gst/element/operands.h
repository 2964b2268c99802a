/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "element/problem.h"

/* Loads weight, bias and addend, and changes them while playing. */

/**
 * GstGemmclOperandSlot:
 *
 * The operands of the element. @change_lock serializes changes and is taken before any other lock.
 * The lock of the element guards the other fields.
 */
typedef struct {
  GMutex change_lock;
  GstGemmclOperands current;
  GstGemmclOperands next; /* replace current before the streaming thread's next buffer */
  gboolean has_next;
  gboolean next_replans;                           /* next needs a new plan */
  GemmclPrepared *prepared[GST_GEMMCL_N_OPERANDS]; /* otherwise, those of next that changed */
  gboolean held;                                   /* see gst_gemmcl_operands_hold() */
} GstGemmclOperandSlot;

void gst_gemmcl_operands_init (GstGemmcl *self);
void gst_gemmcl_operands_finalize (GstGemmcl *self);

/** gst_gemmcl_operands_open: Loads the operands that the properties name, for NULL to READY. */
gboolean gst_gemmcl_operands_open (GstGemmcl *self, GError **error);

/** gst_gemmcl_operands_close: Releases all operands; the properties stay. */
void gst_gemmcl_operands_close (GstGemmcl *self);

/**
 * gst_gemmcl_operand_set:
 * @where: (nullable): as for gemmcl_matrix_load(); %NULL or "" for none
 *
 * Sets an operand's property. Any thread. In the state NULL it only stores @where. Otherwise it
 * loads, packs and uploads the matrix, without holding a lock that a buffer or a query takes. The
 * streaming thread uses the matrix from the next buffer on, after negotiation if its shape differs.
 * A matrix is refused if it cannot be loaded, does not fit the caps, or leads to an output that
 * downstream does not accept; a warning is posted and the old one stays.
 */
void gst_gemmcl_operand_set (GstGemmcl *self, GstGemmclOperand operand, const gchar *where);

/** gst_gemmcl_operands_forget_prepared: Drops the operands that were prepared for a replaced plan;
 * waiting operands then need a new plan. Needs the lock of the element. */
void gst_gemmcl_operands_forget_prepared (GstGemmcl *self);

/** gst_gemmcl_operands_have_next: Returns: %TRUE if new operands wait for the next buffer. Any
 * thread. */
gboolean gst_gemmcl_operands_have_next (GstGemmcl *self);

/**
 * gst_gemmcl_operands_hold:
 *
 * Makes waiting operands the current ones, which then stay until gst_gemmcl_operands_release().
 * Operands that are set meanwhile wait, so that caps and plan are made from the same operands. For
 * the streaming thread, before caps or a buffer.
 *
 * Returns: %TRUE if the operands need a new plan
 */
gboolean gst_gemmcl_operands_hold (GstGemmcl *self);

/** gst_gemmcl_operands_release: Ends gst_gemmcl_operands_hold(). */
void gst_gemmcl_operands_release (GstGemmcl *self);
