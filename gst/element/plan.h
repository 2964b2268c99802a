/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "element/gstgemmcl.h"

/* The plans for the current caps and operands (plan.c). The functions are for the streaming thread,
 * unless they say otherwise. */

/**
 * gst_gemmcl_make_plan:
 * @audio_m: the rows of A that fit the plan, if they differ between buffers; 0: 1024
 *
 * Makes a plan for the present formats and operands on each device, in place of the old plan. The
 * old plan's previous output is kept if it fits. The library compiles and packs in a thread.
 * Meanwhile no lock is held; progress messages are posted after 50 ms. A device on which no plan
 * can be made is dropped if another device has a plan.
 *
 * Returns: %FALSE with @error; then there is no plan. Once the sink pad is not active any more, the
 *   compiler gets one second to return.
 */
gboolean gst_gemmcl_make_plan (GstGemmcl *self, gsize audio_m, GError **error);

/** gst_gemmcl_fit_plan: Makes a plan for the next buffer, whose caps are negotiated, if a new plan
 * is due or if the present one, if any, has another type of A, too few rows, or no C where beta
 * needs the previous output. Audio and flexible tensors get more rows than they need. Returns:
 * %FALSE with @error, also if alpha or beta cannot be used. */
gboolean gst_gemmcl_fit_plan (GstGemmcl *self, GError **error);

/** gst_gemmcl_drop_plan: Waits for all runs and releases the plans. */
void gst_gemmcl_drop_plan (GstGemmcl *self);
