/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "element/gstgemmcl.h"

/* The plan for the caps and operands as they are. For the streaming thread, unless a function says
 * otherwise. */

/**
 * gst_gemmcl_make_plan:
 * @audio_m: samples to make room for; 0 for a first guess
 *
 * Makes a plan for the formats and operands as they are now and puts it in the old one's place. The
 * library compiles and packs in a thread, no lock is held meanwhile, and progress messages tell the
 * application when that takes long. The previous output stays, if the new plan can take it over.
 *
 * Returns: %FALSE with @error, also when gst_gemmcl_plan_stop_waiting() was called and the compiler
 *   does not return; then there is no plan.
 */
gboolean gst_gemmcl_make_plan (GstGemmcl *self, gsize audio_m, GError **error);

/** gst_gemmcl_plan_set_operands: Gives @plan its matrices. Any thread. */
gboolean gst_gemmcl_plan_set_operands (GemmclPlan *plan, const GstGemmclOperands *operands,
                                       GError **error);

/** gst_gemmcl_use_faster_plan: Between two runs: puts the plan that auto-tune found, if there is
 * one now, in the old one's place. Runs in flight are waited for. */
void gst_gemmcl_use_faster_plan (GstGemmcl *self);

/** gst_gemmcl_drop_plan: Waits for all runs; there is no plan afterwards. */
void gst_gemmcl_drop_plan (GstGemmcl *self);

/** gst_gemmcl_plan_stop_waiting: Lets gst_gemmcl_make_plan() give up a compiler that does not
 * return soon: %TRUE before streaming stops, %FALSE before it starts. Any thread. */
void gst_gemmcl_plan_stop_waiting (GstGemmcl *self, gboolean stop);

/** gst_gemmcl_stats_new: Returns: (transfer full): the property "stats". Any thread. */
GstStructure *gst_gemmcl_stats_new (GstGemmcl *self);

/** gst_gemmcl_report_stats: Logs the stats at INFO and posts them as an element message, unless no
 * buffer was multiplied since the last report. All runs must be finished. Streaming thread, or with
 * its stream lock held. */
void gst_gemmcl_report_stats (GstGemmcl *self);
