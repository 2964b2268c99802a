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
 *   {"do": "row", "kernel": NAME}                 small exact problems: see check_exact_row()
 *   {"do": "build", "kernels": [NAME ...]}        compiles them, so that another process need not
 *   {"do": "shape", "m": M, "n": N, "k": K}       the problem of the next requests
 *   {"do": "prepare", "precision": P, "kernel": NAME}    see check_time_prepare()
 *   {"do": "time", "seconds": S}
 */

/** CHECK_N_SHAPES: the number of shapes of a whole check. */
#define CHECK_N_SHAPES 8

/** check_serve: Answers requests until the end of the input. Returns: %FALSE with an error if the
 * device cannot be opened. */
gboolean check_serve (GError **error);

/**
 * check_exact_row:
 * @info: a row of the table
 *
 * Runs the row on problems of small integers. Their products and sums are exact in every precision,
 * so that any difference is an error. Each problem has a whole work-group and parts of one.
 *
 * Returns: (transfer full): an object with "result": "ok", "wrong", "failed" or "unfit" (the row
 *   fits none of the problems), "why", the members of check_exact_add_build(), and "lost" if an
 *   OpenCL call failed, so that the device may be lost.
 */
json_t *check_exact_row (GemmclContext *context, const GemmclKernelInfo *info);

/** check_exact_build: Compiles the programs of check_exact_row() into the caches on the disk. */
void check_exact_build (GemmclContext *context, const GemmclKernelInfo *info);

/**
 * check_exact_add_build:
 *
 * Adds the driver's figures of the plan's kernel to @object: "subgroup_size", and "private_bytes"
 * and "spill_bytes" unless @object has larger ones.
 *
 * Returns: %TRUE if the kernel was built natively.
 */
gboolean check_exact_add_build (GemmclPlan *plan, json_t *object);

/**
 * CheckTime:
 *
 * Times kernels on one problem in turns, so that disturbances and changes of the device's clock
 * affect all of them alike.
 */
typedef struct _CheckTime CheckTime;

/** check_time_new: Returns: (transfer full): a problem of random matrices without kernels, or %NULL
 * with the errors of bench_problem_new(). */
CheckTime *check_time_new (GemmclContext *context, gsize m, gsize n, gsize k, GError **error);

void check_time_free (CheckTime *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (CheckTime, check_time_free)

/**
 * check_time_prepare:
 * @precision: the precision of the problem
 *
 * Builds @kernel, runs it three times and checks the first and the last row of D by
 * gemmcl_gemm_verify(). A kernel with a right result takes part in the turns.
 *
 * Returns: (transfer full): an object with "kernel", "result": "ok", "wrong" or "failed", "why",
 *   "ms" of the faster of the last two runs, the members of check_exact_add_build(), and "lost" if
 *   an OpenCL call failed.
 */
json_t *check_time_prepare (CheckTime *self, GemmclPrecision precision, const gchar *kernel);

/**
 * check_time_run:
 * @seconds: the limit for all turns
 *
 * Times the prepared kernels, then drops them. A kernel that was much slower than the fastest when
 * it was prepared gets no turns, unless it was prepared first.
 *
 * Returns: (transfer full): "times": for each kernel with turns "kernel", "ms" (the median),
 * "min_ms" and "runs"; or "lost" and "why".
 */
json_t *check_time_run (CheckTime *self, gdouble seconds);
