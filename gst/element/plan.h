/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "element/lanes.h"
#include "element/problem.h"

/* Weight, bias and addend, and their changes while playing (operands.c). */

/** GstGemmclChange: Other operands, and what is prepared of them for the plans of their time. */
typedef struct _GstGemmclChange GstGemmclChange;

/** GstGemmclOperandSlot: The operands of the element. @change_lock serializes changes and is taken
 * before any other lock. The lock of the element guards the other fields. */
typedef struct {
  GMutex change_lock;
  GstGemmclOperands current;
  GstGemmclChange *next; /* (nullable): for the streaming thread's next buffer */
  gboolean held;         /* see gst_gemmcl_operands_hold() */
} GstGemmclOperandSlot;

/** gst_gemmcl_operands_open: Loads the operands that the properties name, for NULL to READY. */
gboolean gst_gemmcl_operands_open (GstGemmcl *self, GError **error);

/** gst_gemmcl_operands_close: Releases all operands; the properties stay. */
void gst_gemmcl_operands_close (GstGemmcl *self);

/**
 * gst_gemmcl_operand_set:
 * @source: copied; none if both fields are %NULL or the text is ""
 *
 * Sets an operand's properties. Any thread. In the state NULL it only stores @source. Otherwise it
 * loads, packs and uploads the matrix, without a lock that a buffer or a query takes. The streaming
 * thread uses the matrix from the next buffer on, after negotiation if its shape differs. A matrix
 * is refused, with a warning, if it cannot be loaded, does not fit the caps, or leads to an output
 * that downstream does not accept; the old one stays.
 */
void gst_gemmcl_operand_set (GstGemmcl *self, GemmclPlanOperand operand,
                             const GstGemmclSource *source);

/** gst_gemmcl_operands_have_next: Returns: %TRUE if new operands wait for the next buffer. Any
 * thread. */
gboolean gst_gemmcl_operands_have_next (GstGemmcl *self);

/** gst_gemmcl_operands_hold: Makes waiting operands the current ones, which then stay until
 * gst_gemmcl_operands_release(), so that caps and plan are made from the same. If they need a new
 * plan, that and negotiation are due. For the streaming thread, before caps or a buffer. */
void gst_gemmcl_operands_hold (GstGemmcl *self);
void gst_gemmcl_operands_release (GstGemmcl *self);

/* The plans for the current caps and operands (plan.c). The functions are for the streaming thread,
 * unless they say otherwise. */

/** GstGemmclPlanSlot: What the plans of the lanes have in common, guarded by the lock of the
 * element. Only the streaming thread writes @problem, and may read it without the lock. */
typedef struct {
  GstGemmclProblem problem; /* of the plans */
  gboolean is_due;          /* the streaming thread's own: new operands or contexts need plans */
} GstGemmclPlanSlot;

/**
 * gst_gemmcl_make_plan:
 * @audio_m: the most samples of an audio buffer; 0: 1024
 *
 * Makes a plan for the present formats and operands on each device and replaces the old one, whose
 * previous output stays if possible. The library compiles and packs in a thread. Meanwhile no lock
 * is held; progress messages are posted after 50 ms. A device without a plan is dropped if another
 * one has a plan.
 *
 * Returns: %FALSE with @error; then there is no plan. Once the sink pad is not active any more, the
 *   compiler gets one second to return.
 */
gboolean gst_gemmcl_make_plan (GstGemmcl *self, gsize audio_m, GError **error);

/** gst_gemmcl_fit_plan: Makes a plan for the next buffer, which is negotiated, if one is due, if
 * there is none, or if the present one has another type of A, too few rows, or no C where beta
 * needs the previous output. Audio and flexible tensors get room to spare. Returns: %FALSE with
 * @error, also if alpha or beta cannot be used. */
gboolean gst_gemmcl_fit_plan (GstGemmcl *self, GError **error);

/** gst_gemmcl_drop_plan: Waits for all runs and releases the plans. */
void gst_gemmcl_drop_plan (GstGemmcl *self);

/* The statistics (stats.c). */

/* Bins of a histogram of times: as many for each power of two. */
#define GST_GEMMCL_TIME_BINS 16
#define GST_GEMMCL_N_BINS    (65 * GST_GEMMCL_TIME_BINS)

/** GstGemmclStats: The counts of the property stats besides those of the lanes, guarded by the lock
 * of the element. */
typedef struct {
  guint64 buffers;
  guint64 dropped;          /* skipped by QoS */
  guint64 flushed;          /* buffers at the last flush */
  guint64 bytes_out;        /* written to OpenCL memory that the host maps */
  guint64 copies;           /* made by the element itself, not by its plans */
  const gchar *read_memory; /* kind of memory of A in the last run, in a word; static */
  guint64 reported;         /* buffers at the last report */

  /* Times of runs, in ns; see gst_gemmcl_stats_add_time(). */
  GstClockTime latency; /* that is reported */
  GstClockTime longest; /* of the runs since latency was set, rounded */
  GstClockTime last;
  guint n_times; /* number of runs since latency was set */

  /* All times of runs, in ns. */
  guint64 n_timed;
  guint64 times[GST_GEMMCL_N_BINS];
  GstClockTime max;
} GstGemmclStats;

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
