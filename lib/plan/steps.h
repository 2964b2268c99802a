/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The steps of a run: a table with a row for each.
 */
#pragma once

#include "plan/kernel-plan.h"

/** A run as the kernels see it. gemmcl_kernel_run_init() makes it from the caller's #GemmclRun, and
 * runs.c adds the memory. Steps replace an operand that they convert. */
struct _GemmclKernelRun {
  GemmclChain chain; /* receives the commands; do not move it once it has one */
  gsize m, batch;
  gboolean tight;           /* a, d and previous have no gaps if m is the plan's */
  cl_mem a, d, row_outputs; /* d: NULL if the problem omits it */
  cl_mem b, c;              /* NULL: the plan's own */
  cl_mem previous;          /* replaces the plan's previous result, laid out as d; NULL: keep it */

  /* The gemm: its arguments, of which only alpha, beta and progressive are set at first, its output
   * and its batch, 1 if all problems together are one tall problem. */
  GemmclArguments p;
  cl_mem sums;
  gsize gemm_batch;

  cl_mem found; /* the row outputs, or what each part of a row collected */
};

/** The kernels' form of @run, without its memory. An m or batch of 0 is the plan's. */
static inline GemmclKernelRun
gemmcl_kernel_run_init (GemmclKernelPlan *self, const GemmclRun *run)
{
  return (GemmclKernelRun){
      .chain = {.n_wait = run->n_wait, .wait = run->wait},
      .m = run->m ? run->m : self->problem.m,
      .batch = run->batch ? run->batch : self->problem.batch,
      .tight = !run->strided,
      .b = run->b,
      .c = run->c,
      .p = {.alpha = run->alpha, .beta = run->beta, .progressive = run->progressive != FALSE},
  };
}

/** Builds the steps that the plan needs, and allocates their memory. */
gboolean gemmcl_steps_build (GemmclKernelPlan *self, GError **error);

/** Enqueues the steps of a run. Needs the plan's lock. */
gboolean gemmcl_steps_enqueue (GemmclKernelPlan *self, GemmclKernelRun *run, GError **error);
