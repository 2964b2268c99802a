/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "element/stream.h"

/* The plans for the current caps and operands. For the streaming thread. */

/**
 * gst_gemmcl_plan_make:
 * @min_m: the rows of A that fit the plan, if they differ between buffers; 0: 1024
 *
 * Makes a plan for the present formats and operands on each device, in place of the old plan. The
 * old plan's previous output is kept if it fits. The library compiles and packs in a thread.
 * Meanwhile no lock is held; progress messages are posted after 50 ms. A device on which no plan
 * can be made is dropped if another device has a plan.
 *
 * Returns: %FALSE with @error; then there is no plan. Once the sink pad is not active any more, the
 *   compiler gets one second to return.
 */
gboolean gst_gemmcl_plan_make (GstGemmcl *self, gsize min_m, GError **error);

/** gst_gemmcl_plan_fit: Makes a new plan for the next buffer, unless the present one can run it. A
 * plan cannot if a new one was requested, if it reads another A or has fewer rows than @m, or if
 * beta needs the previous output and the plan has no C. Audio and flexible tensors get more rows
 * than they need. For a buffer whose caps are negotiated. Returns: %FALSE with @error, also if
 * @factors cannot be used. */
gboolean gst_gemmcl_plan_fit (GstGemmcl *self, gsize m, const GstGemmclFactors *factors,
                              GError **error);

/** gst_gemmcl_plan_drop: Waits for all runs and releases the plans. */
void gst_gemmcl_plan_drop (GstGemmcl *self);
