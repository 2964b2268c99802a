/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "gstgemmcl.h"

/**
 * gst_gemmcl_stats_new:
 *
 * Returns: (transfer full): what the property "stats" says, from any thread.
 */
GstStructure *gst_gemmcl_stats_new (GstGemmcl *self);

/** gst_gemmcl_stats_retire: Remembers what @plan did. With the lock held. */
void gst_gemmcl_stats_retire (GstGemmcl *self, GemmclPlan *plan);

/** gst_gemmcl_stats_reset: Begins anew. */
void gst_gemmcl_stats_reset (GstGemmcl *self);
