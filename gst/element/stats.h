/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "element/gstgemmcl.h"

/* Counts for the property stats (stats.c). */

/** gst_gemmcl_stats_reset: Sets all counts to 0. Needs the lock of the element. */
void gst_gemmcl_stats_reset (GstGemmcl *self);

/** gst_gemmcl_stats_add_plan: Adds the counts of @plan to @sum. */
void gst_gemmcl_stats_add_plan (GemmclPlanStats *sum, GemmclPlan *plan);

/** gst_gemmcl_stats_add_run: Counts a run of @n buffers on the current device, which wrote @bytes
 * to OpenCL memory that the host maps; A was in @memory, a static word. */
void gst_gemmcl_stats_add_run (GstGemmcl *self, guint n, gsize bytes, const gchar *memory);

/** gst_gemmcl_stats_undo_run: Discounts the @n buffers of a run of @lane, which failed. */
void gst_gemmcl_stats_undo_run (GstGemmcl *self, GstGemmclLane *lane, guint n);

/** gst_gemmcl_stats_add_drop: Counts the buffer of @message, of QoS, as dropped. Sets the number of
 * processed buffers in @message: the base class does not count those of a batch. */
void gst_gemmcl_stats_add_drop (GstGemmcl *self, GstMessage *message);

/** gst_gemmcl_stats_flush: Messages of QoS count processed buffers from now on. */
void gst_gemmcl_stats_flush (GstGemmcl *self);

/**
 * gst_gemmcl_stats_add_time:
 * @time: of a run, from its submission to its end, in ns
 *
 * Takes @time for the percentiles and the latency. Of two runs in a row the shorter one counts for
 * the latency, so that one slow run does not matter, and times are rounded up to powers of two of 1
 * ms; shorter ones count as 0. A longer run raises the latency at once. After 128 runs it falls to
 * the longest of them.
 *
 * Returns: %TRUE if the latency changed
 */
gboolean gst_gemmcl_stats_add_time (GstGemmcl *self, GstClockTime time);

/** gst_gemmcl_stats_new: Returns: (transfer full): the value of the property stats. Any thread. */
GstStructure *gst_gemmcl_stats_new (GstGemmcl *self);

/** gst_gemmcl_stats_report: Logs the stats at INFO and posts them as an element message, unless no
 * buffer was multiplied since the last report. All runs must be finished. */
void gst_gemmcl_stats_report (GstGemmcl *self);

/* Copies that a better negotiation would save (copies.c). Each kind has a line in GStreamer's
 * category GST_PERFORMANCE, at INFO, once after each caps. */

/** GstGemmclCopy: Copies that the element or a map of a buffer makes before a run. */
typedef enum {
  GST_GEMMCL_COPY_ALIGNED, /* of A, to an address that suits its elements */
  GST_GEMMCL_COPY_MERGED,  /* of A in several memories, to one */
  GST_GEMMCL_COPY_PASSED,  /* of a tensor that passes, to OpenCL memory */
  GST_GEMMCL_COPY_FOREIGN, /* of A in OpenCL memory of another context, by way of the host */
} GstGemmclCopy;

/** gst_gemmcl_copies_init: Finds the category. For the start of the plugin. */
void gst_gemmcl_copies_init (void);

/** gst_gemmcl_copies_add: Counts a copy of the element in the stats, and logs it. */
void gst_gemmcl_copies_add (GstGemmcl *self, GstGemmclCopy copy);

/** gst_gemmcl_copies_note_run: Logs the copies of @run, which was submitted. @input: its first. */
void gst_gemmcl_copies_note_run (GstGemmcl *self, const GemmclRun *run, GstBuffer *input);
