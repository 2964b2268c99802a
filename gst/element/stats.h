/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "element/devices.h"

/* The property stats: counts, times of runs, and the latency that follows from them. The log of
 * copies that a better negotiation would avoid. */

/* The bins of the histogram of run times; GST_GEMMCL_TIME_BINS of them for each power of two. */
#define GST_GEMMCL_TIME_BINS 16
#define GST_GEMMCL_N_BINS    (65 * GST_GEMMCL_TIME_BINS)

/** GstGemmclStats: The counts for the property stats that devices do not count. @lock guards them
 * and those of devices. Any thread, unless a function says otherwise. */
typedef struct {
  GstElement *element; /* for logs and messages; constant, as is @lock, that of the element */
  GMutex *lock;

  guint64 buffers;          /* multiplied */
  guint64 dropped;          /* skipped by QoS */
  guint64 flushed;          /* value of buffers at the last flush */
  guint64 bytes_out;        /* written to OpenCL memory that the host maps */
  guint64 copies;           /* made by the element itself, not by its plans */
  const gchar *read_memory; /* kind of memory of A in the last run, in a word; static */
  guint64 reported;         /* value of buffers at the last report */
  guint logged_copies;      /* bits of the kinds of copies that were logged since the last new caps
                             * (negotiate.c); for the streaming thread, without the lock */

  /* Times of runs, in ns; see gst_gemmcl_stats_add_time(). */
  GstClockTime latency; /* the reported latency */
  GstClockTime longest; /* longest time since latency was set, rounded */
  GstClockTime last;    /* time of the last run */
  guint n_times;        /* number of runs since latency was set */

  /* The times of all runs since the start, in ns. */
  guint64 n_timed;
  guint64 times[GST_GEMMCL_N_BINS];
  GstClockTime max;
} GstGemmclStats;

/** gst_gemmcl_stats_reset: Sets all counts to 0. Needs the lock, except at first. */
void gst_gemmcl_stats_reset (GstGemmcl *self);

/** gst_gemmcl_stats_add_plan: @plan: (nullable). Adds its counts to @sum. */
void gst_gemmcl_stats_add_plan (GemmclPlanStats *sum, GemmclPlan *plan);

/** gst_gemmcl_stats_add_run: Counts a run of @n buffers on @device. @bytes: the bytes that it
 * writes to OpenCL memory that the host maps. @memory: the kind of memory of A; a static word. */
void gst_gemmcl_stats_add_run (GstGemmclStats *self, GstGemmclDevice *device, guint n, gsize bytes,
                               const gchar *memory);

/** gst_gemmcl_stats_undo_run: Subtracts the @n buffers of a run of @device that failed. */
void gst_gemmcl_stats_undo_run (GstGemmclStats *self, GstGemmclDevice *device, guint n);

/** gst_gemmcl_stats_add_drop: Counts the buffer of @message, of type QOS, as dropped. Sets the
 * processed buffers in @message, since the base class does not count batches. */
void gst_gemmcl_stats_add_drop (GstGemmclStats *self, GstMessage *message);

/** gst_gemmcl_stats_flush: Makes QOS messages count processed buffers from now on. */
void gst_gemmcl_stats_flush (GstGemmclStats *self);

/**
 * gst_gemmcl_stats_add_time:
 * @time: the time of a run from its submission to its end, in ns
 *
 * Counts @time in the percentiles and the latency. For the latency, the shorter time of two
 * consecutive runs counts, so that a single slow run has no effect. Times below 1 ms count as 0;
 * longer times are rounded up to 1 ms times a power of 2. A longer time raises the latency at once.
 * After 128 runs the latency becomes the longest time of these runs. Posts a message if the latency
 * changed.
 */
void gst_gemmcl_stats_add_time (GstGemmclStats *self, GstClockTime time);

/** gst_gemmcl_stats_get_latency: Returns: the latency of a batch and its run, in ns. */
GstClockTime gst_gemmcl_stats_get_latency (GstGemmcl *self);

/** gst_gemmcl_stats_new: Returns: (transfer full): the value of the property stats. Any thread. */
GstStructure *gst_gemmcl_stats_new (GstGemmcl *self);

/** gst_gemmcl_stats_report: Logs the stats at INFO and posts them as an element message, unless no
 * buffer was multiplied since the last report. All runs must be finished. */
void gst_gemmcl_stats_report (GstGemmcl *self);

/* Copies that a better negotiation would avoid. Each kind is logged once after new caps, in
 * GStreamer's category GST_PERFORMANCE at INFO. */

/** GstGemmclCopy: Copies that the element or a map of a buffer makes before a run. */
typedef enum {
  GST_GEMMCL_COPY_ALIGNED, /* of A, to an address that suits its elements */
  GST_GEMMCL_COPY_MERGED,  /* of A from several memories to one */
  GST_GEMMCL_COPY_PASSED,  /* of a tensor that passes through, to OpenCL memory */
  GST_GEMMCL_COPY_FOREIGN, /* of A from OpenCL memory of another context, through the host */
} GstGemmclCopy;

/** gst_gemmcl_copies_init: Looks up the log category, when the plugin is loaded. */
void gst_gemmcl_copies_init (void);

/** gst_gemmcl_copies_add: Counts a copy of the element in the stats, and logs it. */
void gst_gemmcl_copies_add (GstGemmclStats *self, GstGemmclCopy copy);

/** gst_gemmcl_copies_log_run: Logs the copies of @run, submitted to @device, whose first input is
 * @input. */
void gst_gemmcl_copies_log_run (GstGemmclStats *self, const GstGemmclDevice *device,
                                const GemmclRun *run, GstBuffer *input);
