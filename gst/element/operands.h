/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "element/caps.h"
#include "element/stream.h"

/* Weight, bias and addend, and their changes while playing. */

/** GstGemmclChange: New operands, packed and uploaded for the plans of that time. */
typedef struct _GstGemmclChange GstGemmclChange;

/** GstGemmclCurrentOperands: The operands in use, and those that wait for the next buffer.
 * @change_lock serializes changes and is taken before any other lock. The lock of the element
 * guards the other fields. */
typedef struct {
  GMutex change_lock;
  GstGemmclOperands current;
  GstGemmclChange *next; /* (nullable): for the streaming thread's next buffer */
  gboolean pinned;       /* see gst_gemmcl_operands_pin() */
} GstGemmclCurrentOperands;

/** gst_gemmcl_get_properties: Returns: the present values. Do not use the field source: another
 * thread may free it at any time. Any thread. */
GstGemmclProperties gst_gemmcl_get_properties (GstGemmcl *self);

/** gst_gemmcl_get_terms: Returns: the settings in use, or the properties if nothing is streaming,
 * and the shape of the present weight. Any thread. */
GstGemmclTerms gst_gemmcl_get_terms (GstGemmcl *self);

/** gst_gemmcl_operands_get_next_n: Returns: N of the weight that the next buffer uses; 0 without a
 * weight. Needs the lock. */
gsize gst_gemmcl_operands_get_next_n (GstGemmcl *self);

/** gst_gemmcl_operands_open: Loads the operands that the properties name, for NULL to READY. */
gboolean gst_gemmcl_operands_open (GstGemmcl *self, GError **error);

/** gst_gemmcl_operands_close: Releases all operands; the properties stay. */
void gst_gemmcl_operands_close (GstGemmcl *self);

/** gst_gemmcl_operand_get: Gets the operand as a string, array or GemmclMatrix. Any thread. */
void gst_gemmcl_operand_get (GstGemmcl *self, GemmclPlanOperand operand, GValue *value);

/**
 * gst_gemmcl_operand_set:
 * @value: a string for gemmcl_matrix_load(), a GemmclMatrix, or a GstValueArray: of doubles for the
 *   bias, of rows for other operands. %NULL or empty: no operand
 *
 * Sets the properties of an operand. Any thread. In the state NULL it only stores @value. In other
 * states it loads, packs and uploads the matrix, and holds no lock that a buffer or a query takes.
 * The streaming thread uses the matrix from the next buffer on, after negotiation if its shape
 * differs. A matrix that cannot be loaded, does not fit the caps, or leads to an output that
 * downstream does not accept is refused with a warning; the old matrix stays. Downstream is not
 * asked while the first caps are negotiated.
 */
void gst_gemmcl_operand_set (GstGemmcl *self, GemmclPlanOperand operand, const GValue *value);

/** gst_gemmcl_operands_have_next: Returns: %TRUE if operands wait for a buffer. Any thread. */
gboolean gst_gemmcl_operands_have_next (GstGemmcl *self);

/** gst_gemmcl_operands_pin: With @exchange, installs operands set since the last buffer. Pins the
 * present ones until gst_gemmcl_operands_unpin(), so that caps and plan see the same ones. Requests
 * a new plan and renegotiation if they need one. For the streaming thread, before caps or a buffer;
 * no batch that began with other operands may be open. */
void gst_gemmcl_operands_pin (GstGemmcl *self, gboolean exchange);
void gst_gemmcl_operands_unpin (GstGemmcl *self);
