/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "gemmcl-opencl.h"
#include "gemmcl.h"

/*
 * A plan that is run all the time, and each result compared with a reference. The numbers are
 * integers so small that f32 is exact.
 */

#define FLOW_M 32
#define FLOW_N 64
#define FLOW_K 32

#define FLOW_DEPTH    3 /* in-flight runs */
#define FLOW_LIMIT_US (120 * G_USEC_PER_SEC)

/** FlowRun: A run; @index determines its A. */
typedef struct {
  guint index, seed, bias;
  gfloat a[FLOW_M * FLOW_K], d[FLOW_M * FLOW_N];
  cl_event done; /* NULL: free */
} FlowRun;

/**
 * Flow: numbered runs of a plan
 * @seed, @bias, @c: of the operands in use; a bias or a C of 0 is not set
 * @sums: (nullable): M x N, the previous result
 */
typedef struct {
  GemmclPlan *plan;
  gchar *first; /* the kernel at first */
  guint n, n_checked;
  guint seed, bias, c;
  gint *sums;
  FlowRun runs[FLOW_DEPTH];
} Flow;

/** flow_get_problem: Returns: the problem of all flows but for its C. */
GemmclGemm flow_get_problem (GemmclAddend addend);

/** flow_init: Sets B, for which @seed is 1. @kernel: as for gemmcl_plan_new() */
void flow_init (Flow *self, GemmclContext *context, const gchar *kernel, GemmclAutoTune mode,
                GemmclAddend addend);
void flow_clear (Flow *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Flow, flow_clear)

GemmclMatrix *flow_make_b (guint seed);

/** flow_make_c: Returns: C, or a bias of one row. */
GemmclMatrix *flow_make_c (gsize rows, guint seed);

void flow_set_b (Flow *self, guint seed);
void flow_set_bias (Flow *self, guint seed);
void flow_set_c (Flow *self, guint seed);
GemmclPrepared *flow_prepare (Flow *self, GemmclPlanOperand operand, GemmclMatrix *matrix);

/** flow_run_one: Submits a run. Waits for the oldest of FLOW_DEPTH runs, and checks it. */
void flow_run_one (Flow *self);

/** flow_run_some: Submits 40. */
void flow_run_some (Flow *self);

/** flow_run_until: Submits runs until @is_so. It must become so; other threads get their share of
 * the CPU. */
void flow_run_until (Flow *self, gboolean (*is_so) (Flow *self));

/** flow_check_all: Waits for all runs and checks them. */
void flow_check_all (Flow *self);

#define assert_state(self, state)                                                                  \
  g_assert_cmpstr (                                                                                \
      gemmcl_tuning_state_get_name (gemmcl_plan_get_tuning ((self)->plan, NULL, NULL)), ==, state)
