/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "gemmcl-opencl.h"
#include "results.h"

/** BenchMatrices: The matrices of a problem, or of a batch that shares B and C, on the host and on
 * the device, which one kernel after another multiplies. A has the type in @gemm. Without an addend
 * C is %NULL. @size_d: elements of D. @weights: B for gemmcl_plan_set(). */
typedef struct {
  GemmclContext *context;
  GemmclGemm gemm;
  gpointer a;
  gfloat *b, *c, *d;
  gsize size_d;
  GemmclMatrix *weights;
  cl_mem device_a, device_c, device_d;
} BenchMatrices;

/** bench_add_problems: Appends @gemm with the sizes of @part, a number or range of a sweep, in the
 * place of those that are 0, until @problems has more than %BENCH_MOST_SIZES. Returns: %FALSE if
 * @part is neither. */
#define BENCH_MOST_SIZES 256
gboolean bench_add_problems (GArray *problems, const GemmclGemm *gemm, const gchar *part);

/** bench_can_store: Returns: %TRUE for the types of bench_store(): f32, f16, bf16 and u8. */
gboolean bench_can_store (GemmclType type);

/** bench_store: Stores @value as element @index of @stored, truncated to @type. A value below the
 * normal range of f16 becomes 0. */
void bench_store (gpointer stored, GemmclType type, gsize index, gfloat value);

/** bench_matrices_check: Returns: %FALSE with an error if @gemm exceeds the memory of the device.
 * Checked before bench_matrices_new(): hosts overcommit memory, and fail when it is used. */
gboolean bench_matrices_check (GemmclContext *context, const GemmclGemm *gemm, GError **error);

/** bench_matrices_new: Makes the matrices of @gemm, without gaps, from random numbers between -1
 * and 1, the same in each run of the program. Returns: (transfer full): %NULL with an error if the
 * memory of the device or the host does not suffice. */
BenchMatrices *bench_matrices_new (GemmclContext *context, const GemmclGemm *gemm, GError **error);

void bench_matrices_free (BenchMatrices *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (BenchMatrices, bench_matrices_free)

/** bench_run_once: Runs @plan, whose B is set. @ms: (out): milliseconds by the device's clock,
 * from the start of the run to its end, with all steps, such as the copy of A to an OpenCL image;
 * NaN if the device measured no time, as with drivers without a GPU. */
gboolean bench_run_once (const BenchMatrices *self, GemmclPlan *plan, gdouble *ms, GError **error);

/* A GPU that was idle raises its clock in the first milliseconds of work, an NVIDIA H200 within 4.
 * After 50 ms of products of f16 it lowers it again. */
#define BENCH_WARM_UP_MS 10

/** bench_warm_up: Runs @plan for BENCH_WARM_UP_MS, at least once, if the device is a GPU. */
gboolean bench_warm_up (const BenchMatrices *self, GemmclPlan *plan, GError **error);

/** bench_make_times: Sorts @times, milliseconds of runs. Returns: their "min", "median", "max", and
 * "spread", which is the distance between the quartiles as a share of the median; nulls if there
 * are no times. */
json_t *bench_make_times (GArray *times);

/** bench_spoil_output: Fills D on the device with NaN. Elements that a kernel does not write are
 * then wrong, even if an earlier run wrote them. */
gboolean bench_spoil_output (const BenchMatrices *self, GError **error);

/** bench_read_output: Copies D from the device to the host's copy of @self. */
gboolean bench_read_output (BenchMatrices *self, GError **error);

/** bench_measure_bandwidth: @gbs: (out): 10^9 bytes a second, read and written, in the fastest of
 * several copies between buffers of the device, which take BENCH_WARM_UP_MS or longer. The buffers
 * are larger than its caches if its memory allows.
 * @source: (out) (transfer full): a description of the measurement. */
gboolean bench_measure_bandwidth (GemmclContext *context, gdouble *gbs, gchar **source,
                                  GError **error);
