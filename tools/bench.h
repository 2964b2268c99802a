/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>
#include <stdio.h>

#include "gemmcl-opencl.h"
#include "gemmcl-tuning.h"
#include "gemmcl.h"
#include "output.h"

/** BenchProblem: One multiplication with its matrices on the host and on the device, on which each
 * kernel runs in turn. A has the type of @gemm; there is no C without an addend. @size_d: elements
 * of D. @weights: B for gemmcl_plan_set_b(). */
typedef struct {
  GemmclContext *context;
  GemmclGemm gemm;
  gpointer a;
  gfloat *b, *c, *d;
  gsize size_d;
  GemmclMatrix *weights;
  cl_mem device_a, device_c, device_d;
} BenchProblem;

/** bench_can_store: Returns: %TRUE if bench_store() takes @type: f32, f16, bf16 or u8. */
gboolean bench_can_store (GemmclType type);

/** bench_store: Stores @value as element @index of @stored. Digits that @type lacks are dropped; a
 * value below the normal ones of f16 is 0. */
void bench_store (gpointer stored, GemmclType type, gsize index, gfloat value);

/** bench_problem_check: Returns: %FALSE with an error if @gemm exceeds the memory of the device. */
gboolean bench_problem_check (GemmclContext *context, const GemmclGemm *gemm, GError **error);

/** bench_problem_new: Returns: (transfer full): @gemm, which has no batch, with random numbers from
 * -1 to 1, the same ones in each run of the program; %NULL if it exceeds the memory of the device
 * or the host. */
BenchProblem *bench_problem_new (GemmclContext *context, const GemmclGemm *gemm, GError **error);

void bench_problem_free (BenchProblem *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (BenchProblem, bench_problem_free)

/** bench_run_once: Runs @plan, which has its B. @ms: (out): milliseconds by the device's clock,
 * from the start of the run to its end, with all steps, such as the copy of A to an OpenCL image;
 * NaN if the device measured no time, as with drivers without a GPU. */
gboolean bench_run_once (const BenchProblem *problem, GemmclPlan *plan, gdouble *ms,
                         GError **error);

/** bench_check_cl: Returns: %FALSE with #GEMMCL_ERROR_OPENCL unless @status, the result of @call,
 * is CL_SUCCESS. */
gboolean bench_check_cl (cl_int status, const gchar *call, GError **error);

/** bench_get_duration: Waits for @last. @ms: (out): milliseconds by the device's clock from the
 * start of @first to the end of @last; NaN if the device measured no time. */
gboolean bench_get_duration (cl_event first, cl_event last, gdouble *ms, GError **error);

/** bench_spoil_output: Fills D on the device with NaN, so that elements that a kernel does not
 * write are wrong, not right from an earlier run. */
gboolean bench_spoil_output (const BenchProblem *problem, GError **error);

/** bench_read_output: Copies D from the device to the host's copy of @problem. */
gboolean bench_read_output (BenchProblem *problem, GError **error);

/**
 * BenchResult:
 * @kernel: the kernel that ran; static
 * @choice: the origin of its choice
 * @times: (element-type gdouble): milliseconds of each run, in the order of the runs; NaN if the
 *   device measured no time
 * @min, @median, @max: of @times; NaN without runs, or if a run has no time
 * @gflops: from @median; NaN like that
 * @verified: the result was checked
 * @right: the checked result is within its error bound
 * @max_error, @error_bound: from gemmcl_gemm_verify(); NaN if the result was not checked
 */
typedef struct {
  const gchar *kernel;
  GemmclChoiceSource choice;
  GArray *times;
  gdouble min, median, max;
  gdouble gflops;
  gboolean verified;
  gboolean right;
  gdouble max_error, error_bound;
} BenchResult;

void bench_result_free (BenchResult *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (BenchResult, bench_result_free)

/** bench_gflops: Returns: 10^9 operations a second for a run of @gemm in @ms. */
gdouble bench_gflops (const GemmclGemm *gemm, gdouble ms);

/**
 * bench_measure:
 * @kernel: a kernel's name, "auto" or "rules"
 * @iterations: the number of timed runs, after one that is not timed; 0: only make the plan
 * @verify: check the result of the untimed run
 *
 * Returns: (transfer full): the times of bench_run_once(); %NULL with %TOOL_ERROR_INTERRUPTED after
 *   a Ctrl-C, or with an error of the library.
 */
BenchResult *bench_measure (BenchProblem *problem, const gchar *kernel, guint iterations,
                            gboolean verify, GError **error);

/** tool_quantile: Returns: the least of @numbers (element-type gdouble) for a @share of 0, the
 * median for 0.5, the largest for 1, interpolated linearly; NaN without numbers. */
gdouble tool_quantile (const GArray *numbers, gdouble share);

/** bench_measure_bandwidth: @gbs: (out): 10^9 bytes a second, read and written, by the fastest of a
 * few copies between buffers of the device, which are larger than the caches, if the memory allows.
 * @source: (out) (transfer full): a description of the measurement. */
gboolean bench_measure_bandwidth (GemmclContext *context, gdouble *gbs, gchar **source,
                                  GError **error);

/** BENCH_SIZE_UNSTATED: the value of an absent -M, -N or -K. */
#define BENCH_SIZE_UNSTATED G_MININT

#define BENCH_SIZE_DEFAULT 1024

#define BENCH_N_SIZES 3

/**
 * bench_list_problems:
 * @stated: M, N and K as the options state them
 * @sweep: (nullable): the sizes of the others, numbers and ranges, separated by commas:
 *   "64,256:4096,5000:6000:250"; %NULL: the default
 * @shape: (out) (transfer full): "64 x s x s" for several sizes; one size is a number
 *
 * Returns: (transfer full) (element-type GemmclGemm): @gemm with each of the sizes, ascending, or
 *   %NULL with %TOOL_ERROR_USAGE.
 */
GArray *bench_list_problems (const gint stated[BENCH_N_SIZES], const gchar *sweep,
                             const GemmclGemm *gemm, gchar **shape, GError **error);

#define BENCH_N_COLUMNS 10

/**
 * Bench:
 * @info: the device
 * @problems: (element-type GemmclGemm): one for each size
 * @shape: describes their sizes; @sweep: (nullable): those that the user gave
 * @names: (element-type utf8): the kernels, as the user named them
 * @iterations: timed runs of each kernel
 * @verify: results are checked
 * @peak: 10^9 operations a second, in f32 for kernels of all precisions; 0: unknown
 * @peak_source: the origin of @peak, or the reason why it is unknown
 * @peak_stated: the user stated @peak, in any precision
 * @bandwidth: 10^9 bytes a second of the device's memory; 0: unknown
 * @bandwidth_source: (nullable): the origin of @bandwidth
 * @wrong: for each of @names: a result exceeded its error bound
 * @out: the stream for the text
 * @columns: of the table
 * @each_run: the table has a row for each run, not only for the median
 * @json: a list with an object for each result
 *
 * A call of bench, and its output, which is written as results arrive: a head, a row for each
 * kernel and size, and the same as JSON.
 */
typedef struct {
  GemmclContext *context;
  const GemmclDeviceInfo *info;
  GArray *problems;
  gchar *shape;
  const gchar *sweep;
  GPtrArray *names;
  guint iterations;
  gboolean verify;
  gdouble peak;
  const gchar *peak_source;
  gboolean peak_stated;
  gdouble bandwidth;
  gchar *bandwidth_source;
  gboolean *wrong;
  FILE *out;
  ToolColumn columns[BENCH_N_COLUMNS];
  gboolean each_run;
  json_t *json;
} Bench;

/** bench_report_start: Prepares the output of @self, whose other fields are set, and prints the
 * head. */
void bench_report_start (Bench *self, FILE *out);

/** bench_report_add: Prints a row and keeps it as JSON. @name: the kernel, as the user named it. */
void bench_report_add (Bench *self, const GemmclGemm *gemm, const gchar *name,
                       const BenchResult *result);

/** bench_report_skip: Prints that @kernel was not measured, and @why. */
void bench_report_skip (Bench *self, const GemmclGemm *gemm, const gchar *kernel, const gchar *why);
