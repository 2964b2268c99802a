/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "element/problem.h"

/* The plan for the caps and operands as they are (plan.c), the search for a faster one (tuner.c)
 * and the statistics (stats.c). For the streaming thread, unless a function says otherwise. */

typedef struct _GstGemmclPlanJob GstGemmclPlanJob;
typedef struct _GstGemmclTuner GstGemmclTuner;

/** GstGemmclPlanSlot: The plan of the element. Under the lock of the element; the streaming thread,
 * which alone writes @plan and @problem, may read them without. */
typedef struct {
  GemmclPlan *plan;         /* NULL after a failed creation */
  GstGemmclProblem problem; /* of the plan */
  GstGemmclPlanJob *job;    /* a plan that is being made */
  gboolean stopping;        /* no plan is waited for */

  /* The streaming thread's own, without the lock. */
  gboolean is_due; /* operands were taken over that need another plan */
} GstGemmclPlanSlot;

/** GstGemmclStats: The counts behind the property stats. Under the lock of the element; only
 * stats.c writes it. */
typedef struct {
  GemmclPlanStats past; /* of plans that are gone */
  guint64 buffers;
  guint64 bytes_out;        /* written to OpenCL memory that the host maps */
  const gchar *read_memory; /* the memory of A in the last run, in a word; static */
  guint64 reported;         /* buffers at the last report */
} GstGemmclStats;

/**
 * gst_gemmcl_make_plan:
 * @audio_m: samples to make room for; 0 for a first guess
 *
 * Makes a plan for the present formats and operands and replaces the old one. The library compiles
 * and packs in a thread; no lock is held meanwhile, and progress messages are posted if that takes
 * long. The previous output stays if the new plan can adopt it.
 *
 * Returns: %FALSE with @error, also if gst_gemmcl_plan_stop_waiting() was called and the compiler
 *   does not return; then there is no plan.
 */
gboolean gst_gemmcl_make_plan (GstGemmcl *self, gsize audio_m, GError **error);

/** gst_gemmcl_plan_set_operands: Sets B, bias and C of @plan. Any thread. */
gboolean gst_gemmcl_plan_set_operands (GemmclPlan *plan, const GstGemmclOperands *operands,
                                       GError **error);

/** gst_gemmcl_use_faster_plan: Replaces the plan by a faster one of the search, if there is one.
 * Waits for all runs then. */
void gst_gemmcl_use_faster_plan (GstGemmcl *self);

/** gst_gemmcl_drop_plan: Waits for all runs and releases the plan. */
void gst_gemmcl_drop_plan (GstGemmcl *self);

/** gst_gemmcl_plan_stop_waiting: @stop: %TRUE before streaming stops: gst_gemmcl_make_plan() gives
 * up a compiler that does not return soon; %FALSE before streaming starts. Any thread. */
void gst_gemmcl_plan_stop_waiting (GstGemmcl *self, gboolean stop);

/** gst_gemmcl_stats_reset: Starts to count anew. */
void gst_gemmcl_stats_reset (GstGemmcl *self);

/** gst_gemmcl_stats_add_plan: Adds what @plan, which goes, has counted. With the lock of the
 * element held. */
void gst_gemmcl_stats_add_plan (GstGemmcl *self, GemmclPlan *plan);

/** gst_gemmcl_stats_add_run: Counts a run of @n buffers, which wrote @bytes to OpenCL memory that
 * the host maps; A was in @memory, a static word. */
void gst_gemmcl_stats_add_run (GstGemmcl *self, guint n, gsize bytes, const gchar *memory);

/** gst_gemmcl_stats_new: Returns: (transfer full): the value of the property stats. Any thread. */
GstStructure *gst_gemmcl_stats_new (GstGemmcl *self);

/** gst_gemmcl_stats_report: Logs the stats at INFO and posts them as an element message, unless no
 * buffer was multiplied since the last report. All runs must be finished. */
void gst_gemmcl_stats_report (GstGemmcl *self);

/*
 * auto-tune: while a plan is used whose kernel the rules chose, a thread of low priority searches
 * for a faster kernel (gemmcl_tuning_search()) and makes a plan with it, which the streaming thread
 * takes over between two runs.
 */

/** gst_gemmcl_tuner_start: Starts a search, if auto-tune allows it and the rules chose the kernel
 * of the plan. */
void gst_gemmcl_tuner_start (GstGemmcl *self);

/**
 * gst_gemmcl_tuner_take:
 *
 * Returns: (transfer full) (nullable): a faster plan for the present problem and operands, if there
 *   is one. The caller replaces the element's plan by it and then calls gst_gemmcl_tuner_leave().
 *   If operands have changed, the thread of the search prepares them first.
 */
GemmclPlan *gst_gemmcl_tuner_take (GstGemmcl *self);

/** gst_gemmcl_tuner_leave: @old: (transfer full): the replaced plan, which the thread of the search
 * frees. */
void gst_gemmcl_tuner_leave (GstGemmcl *self, GemmclPlan *old);

/** gst_gemmcl_tuner_cancel: Ends the search, without waiting for it. */
void gst_gemmcl_tuner_cancel (GstGemmcl *self);

/** gst_gemmcl_tuner_stop: Ends the search and waits for its thread, for a second at most: a
 * compiler that does not return is left running. */
void gst_gemmcl_tuner_stop (GstGemmcl *self);

/**
 * gst_gemmcl_tuner_describe:
 * @swapped: (out): whether the plan is the one that was found
 *
 * Any thread, with the lock of the element held.
 *
 * Returns: (transfer full): the state of the search, for the field auto-tune of stats.
 */
gchar *gst_gemmcl_tuner_describe (GstGemmcl *self, gboolean *swapped);
