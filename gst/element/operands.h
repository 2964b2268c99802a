/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "element/gstgemmcl.h"

/* Weight, bias and addend: loading them, and changing them while data flows. */

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
