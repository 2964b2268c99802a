/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "element/gstgemmcl.h"

/* The lanes of an element: one device, or the devices of the property devices, which take runs in
 * turn (lanes.c). */

/** gst_gemmcl_lanes_open: Opens the devices that the properties name. Fails if one of them cannot
 * run the kernel that the properties name. For NULL to READY, and for the streaming thread while
 * there is no plan. */
gboolean gst_gemmcl_lanes_open (GstGemmcl *self, GError **error);

/** gst_gemmcl_lanes_close: Releases the devices; their counts stay. */
void gst_gemmcl_lanes_close (GstGemmcl *self);

/** gst_gemmcl_lane_get_allocator: Returns: (transfer full) (nullable): the allocator of OpenCL
 * memory of the device; %NULL in the state NULL, or with @error. Any thread. */
GstAllocator *gst_gemmcl_lane_get_allocator (GstGemmcl *self, GstGemmclLane *lane, GError **error);

/* The following functions are for the streaming thread. */

/** gst_gemmcl_lanes_set_pools: @pool: (nullable): the pool of the first device. Gives each other
 * device a pool with the same configuration; %NULL: none. */
gboolean gst_gemmcl_lanes_set_pools (GstGemmcl *self, GstBufferPool *pool, GError **error);

/** gst_gemmcl_lane_fail: Drops the device of @lane, where a run or a plan failed with @error: posts
 * a warning, clears @error and makes another device the current one. Returns: %FALSE, and does
 * nothing, if no other device is left. */
gboolean gst_gemmcl_lane_fail (GstGemmcl *self, GstGemmclLane *lane, GError **error);

/* Weight, bias and addend, and their changes while playing (operands.c). */

/** gst_gemmcl_get_properties: Returns: the present values. Do not use the field source: another
 * thread may free it at any time. Any thread. */
GstGemmclProperties gst_gemmcl_get_properties (GstGemmcl *self);

/** gst_gemmcl_get_terms: Returns: the settings in use, or the properties if nothing is streaming,
 * and the shape of the present weight. Any thread. */
GstGemmclTerms gst_gemmcl_get_terms (GstGemmcl *self);

/** gst_gemmcl_operands_open: Loads the operands that the properties name, for NULL to READY. */
gboolean gst_gemmcl_operands_open (GstGemmcl *self, GError **error);

/** gst_gemmcl_operands_close: Releases all operands; the properties stay. */
void gst_gemmcl_operands_close (GstGemmcl *self);

/** gst_gemmcl_operand_get: Sets @value to the operand as a string, array or GemmclMatrix, by the
 * type of @value. Any thread. */
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
 * downstream does not accept is refused with a warning; the old matrix stays.
 */
void gst_gemmcl_operand_set (GstGemmcl *self, GemmclPlanOperand operand, const GValue *value);

/** gst_gemmcl_operands_have_next: Returns: %TRUE if new operands wait for the next buffer. Any
 * thread. */
gboolean gst_gemmcl_operands_have_next (GstGemmcl *self);

/** gst_gemmcl_operands_hold: Makes waiting operands the current ones. These stay until
 * gst_gemmcl_operands_release(), so that caps and plan are made from the same operands. If they
 * need a new plan, the plan and a negotiation are due. For the streaming thread, before caps or a
 * buffer. */
void gst_gemmcl_operands_hold (GstGemmcl *self);
void gst_gemmcl_operands_release (GstGemmcl *self);
