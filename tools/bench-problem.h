/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "gemmcl-opencl.h"

/**
 * BenchProblem:
 * @context: where it runs; a reference
 * @gemm: what is computed
 * @a, @b, @c: the random inputs on the host, laid out as @gemm says; @c is %NULL where there is
 * none
 * @d: room for the result on the host
 * @size_d: elements of D
 * @weights: B for gemmcl_plan_set_b()
 * @device_a, @device_c, @device_d: the same on the device
 *
 * One multiplication, which all kernels in turn are given.
 */
typedef struct {
  GemmclContext *context;
  GemmclGemm gemm;
  gfloat *a, *b, *c, *d;
  gsize size_d;
  GemmclMatrix *weights;
  cl_mem device_a, device_c, device_d;
} BenchProblem;

/** bench_problem_check: Returns: %FALSE with an error unless @gemm fits the memory of the device.
 */
gboolean bench_problem_check (GemmclContext *context, const GemmclGemm *gemm, GError **error);

/**
 * bench_problem_new:
 * @gemm: valid; its batch is 1 and nothing lies between rows
 *
 * Makes the same numbers in each run of the program, between -1 and 1.
 *
 * Returns: (transfer full): the problem, or %NULL when it does not fit the memory of the device or
 *   the host.
 */
BenchProblem *bench_problem_new (GemmclContext *context, const GemmclGemm *gemm, GError **error);

void bench_problem_free (BenchProblem *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (BenchProblem, bench_problem_free)
