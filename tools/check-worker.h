/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

#include "bench.h"
#include "child.h"

/**
 * The child of `gemmcl check`, see child.h. Its requests:
 *
 *   {"do": "facts", "shapes": [[M, N, K] ...]}    the device, each row's level, and for each shape
 *                                                 the candidates of each precision; without shapes
 *                                                 those of a whole check
 *   {"do": "row", "kernel": NAME}                 small exact problems: see check-exact.h
 *   {"do": "build", "kernels": [NAME ...]}        compiles them, so that another process need not
 *   {"do": "shape", "m": M, "n": N, "k": K}       the problem of the requests that follow
 *   {"do": "prepare", "precision": P, "kernel": NAME}    see check-time.h
 *   {"do": "time", "seconds": S}
 */

/** CHECK_N_SHAPES: how many shapes a whole check has. */
#define CHECK_N_SHAPES 8

/** check_serve: Answers requests until there are no more. Returns: %FALSE if it cannot write. */
gboolean check_serve (GError **error);

/**
 * check_exact_row:
 * @info: a row of the table
 *
 * Runs the row on problems of small integers, of which every product and sum is exact in every
 * precision: any difference is an error. Each has a whole work-group and parts of one.
 *
 * Returns: (transfer full): an object with "result": "ok", "wrong", "failed" or "unfit" (the row
 *   takes none of the problems), "why", what the driver made of it, and "lost" if OpenCL failed
 *   it, so that the device may be lost.
 */
json_t *check_exact_row (GemmclContext *context, const GemmclKernelInfo *info);

/** check_exact_build: Compiles what check_exact_row() will want of the caches on the disk. */
void check_exact_build (GemmclContext *context, const GemmclKernelInfo *info);

/**
 * check_exact_add_build:
 *
 * Adds to @object what the driver made of the plan's kernel: "subgroup_size", and "private_bytes"
 * and "spill_bytes" unless there are larger ones.
 *
 * Returns: whether the kernel was built natively.
 */
gboolean check_exact_add_build (GemmclPlan *plan, json_t *object);

/**
 * CheckTime:
 *
 * Kernels that are timed side by side on one problem, in turns, so that what disturbs the device or
 * changes its clock hits all alike.
 */
typedef struct _CheckTime CheckTime;

/** check_time_new: Returns: (transfer full): no kernels yet, of random matrices, or %NULL with the
 * errors of bench_problem_new(). */
CheckTime *check_time_new (GemmclContext *context, gsize m, gsize n, gsize k, GError **error);

void check_time_free (CheckTime *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (CheckTime, check_time_free)

/**
 * check_time_prepare:
 * @precision: that of the problem
 *
 * Builds @kernel, runs it three times and checks the first and the last row of D by
 * gemmcl_gemm_verify(). A kernel that is right takes part in the turns.
 *
 * Returns: (transfer full): an object with "kernel", "result": "ok", "wrong" or "failed", "why",
 *   "ms" of the faster one of the later runs, what the driver made of it, and "lost" if OpenCL
 * failed a run.
 */
json_t *check_time_prepare (CheckTime *self, GemmclPrecision precision, const gchar *kernel);

/**
 * check_time_run:
 * @seconds: for all turns
 *
 * Times the kernels that were prepared, and drops them. One that took much longer than the fastest
 * when it was prepared has no turns, unless it was prepared first.
 *
 * Returns: (transfer full): "times": for each kernel with turns "kernel", "ms" (the median),
 * "min_ms" and "runs"; or "lost" and "why".
 */
json_t *check_time_run (CheckTime *self, gdouble seconds);
