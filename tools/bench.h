/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>
#include <stdio.h>

#include "gemmcl-opencl.h"
#include "gemmcl-tuning.h"
#include "gemmcl.h"
#include "output.h"

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
 * @gemm: valid, with a batch of 1 and dense rows
 *
 * Makes the same numbers in each run of the program, between -1 and 1.
 *
 * Returns: (transfer full): the problem, or %NULL when it does not fit the memory of the device or
 *   the host.
 */
BenchProblem *bench_problem_new (GemmclContext *context, const GemmclGemm *gemm, GError **error);

void bench_problem_free (BenchProblem *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (BenchProblem, bench_problem_free)

/** One run of a plan on the matrices of a BenchProblem. */

/**
 * bench_run_once:
 * @plan: for the problem; has its B
 * @m: rows of A and D this time; 0 for all
 * @ms: (out): milliseconds by the device's own clock, from the start of the run to its end, with
 *   all its steps, such as A's way into an image; NaN where it measured no time, as drivers without
 *   a GPU do not
 *
 * Returns: %FALSE with an error of the library's.
 */
gboolean bench_run_once (const BenchProblem *problem, GemmclPlan *plan, gsize m, gdouble *ms,
                         GError **error);

/** bench_check_cl: Returns: %FALSE with #GEMMCL_ERROR_OPENCL unless @status of @call is
 * CL_SUCCESS. */
gboolean bench_check_cl (cl_int status, const gchar *call, GError **error);

/**
 * bench_get_duration:
 * @ms: (out): milliseconds by the device's clock from the start of @first to the end of @last,
 *   which is waited for; NaN if the device measured no time
 */
gboolean bench_get_duration (cl_event first, cl_event last, gdouble *ms, GError **error);

/** bench_spoil_output: Fills D on the device with NaN, so that what a kernel forgets to write does
 * not look right because an earlier one wrote it. */
gboolean bench_spoil_output (const BenchProblem *problem, GError **error);

/** bench_read_output: Copies D from the device to the host's copy of @problem. */
gboolean bench_read_output (BenchProblem *problem, GError **error);

/**
 * BenchResult:
 * @kernel: the kernel that ran; static
 * @choice: where its choice comes from
 * @times: (element-type gdouble): milliseconds of each run, in the order of the runs; NaN where the
 *   device measured no time
 * @min, @median, @max: of @times; NaN without runs, or without their times
 * @gflops: by @median; NaN without runs
 * @verified: whether the result was checked, and @right what came of it
 * @max_error, @error_bound: as of gemmcl_gemm_verify(); NaN where it was not checked
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

/** bench_gflops: Returns: 10^9 operations a second of a run of @gemm that takes @ms. */
gdouble bench_gflops (const GemmclGemm *gemm, gdouble ms);

/**
 * bench_measure:
 * @kernel: a kernel's name, "auto" or "rules"
 * @iterations: how many runs are timed, after one that is not; 0 only makes everything ready
 * @verify: check the result of the first run
 *
 * Ends after a run where tool_catch_interrupt() was called before and there was a Ctrl-C.
 *
 * Times are the device's own, from the start of a run to its end: what the host does between runs
 * and the copies of A and D do not count, and B was packed before.
 *
 * Returns: (transfer full): what came of it, or %NULL with an error of the library's, or
 *   %TOOL_ERROR_INTERRUPTED.
 */
BenchResult *bench_measure (BenchProblem *problem, const gchar *kernel, guint iterations,
                            gboolean verify, GError **error);

/**
 * tool_quantile:
 * @numbers: (element-type gdouble): in any order; left as they are
 * @share: 0 for the least, 0.5 for the median, 1 for the largest
 *
 * Returns: the number below which @share of @numbers lie, on the line between the two neighbours of
 *   that place; NaN where there are no numbers.
 */
gdouble tool_quantile (const GArray *numbers, gdouble share);

/**
 * bench_measure_bandwidth:
 * @gbs: (out): 10^9 bytes a second, read and written, by the fastest of a few copies from one
 *   buffer of the device to another, each larger than its caches where memory allows
 * @source: (out) (transfer full): how that was measured, in words
 *
 * Returns: %FALSE with an error of the library's.
 */
gboolean bench_measure_bandwidth (GemmclContext *context, gdouble *gbs, gchar **source,
                                  GError **error);

/** BENCH_SIZE_UNSTATED: the value of -M, -N or -K if the user does not give it. */
#define BENCH_SIZE_UNSTATED G_MININT

#define BENCH_SIZE_DEFAULT 1024

/**
 * BenchSizes:
 * @m, @n, @k: what was stated, or %BENCH_SIZE_UNSTATED: that is a size of the sweep
 * @sweep: (nullable): the sizes as the user wrote them; borrowed
 * @sizes: (element-type guint): the same, ascending; without a sweep the default alone
 *
 * The shapes of the problems that are measured one after the other.
 */
typedef struct {
  gint m, n, k;
  const gchar *sweep;
  GArray *sizes;
} BenchSizes;

/**
 * bench_sizes_new:
 * @sweep: (nullable): numbers and ranges with commas between, "64,256:4096,5000:6000:250"
 *
 * Returns: (transfer full): the shapes, or %NULL with %TOOL_ERROR_USAGE.
 */
BenchSizes *bench_sizes_new (gint m, gint n, gint k, const gchar *sweep, GError **error);

void bench_sizes_free (BenchSizes *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (BenchSizes, bench_sizes_free)

/** bench_sizes_apply: Gives @gemm the shape of the sweep's size number @index. */
void bench_sizes_apply (const BenchSizes *self, guint index, GemmclGemm *gemm);

/** bench_sizes_describe: Returns: (transfer full): "64 x s x s" with " x " for @times; a
 * single size by its number. */
gchar *bench_sizes_describe (const BenchSizes *self, const gchar *times);

/**
 * BenchSetup:
 * @info: the device
 * @gemm: the problem but for its sizes
 * @sizes: these
 * @names: (element-type utf8): the kernels, as they were asked for
 * @iterations: runs of each kernel
 * @verify: results are checked
 * @peak, @peak_source: 10^9 operations a second, in f32 whatever the kernels compute in, and where
 *   that comes from; 0: unknown, and why
 * @peak_stated: it is what the user says it is, of whatever precision
 * @bandwidth, @bandwidth_source: 10^9 bytes a second of the device's memory, likewise; 0: nobody
 *   asked
 *
 * What all measurements of a call of bench have in common. Nothing is owned but @bandwidth_source.
 */
typedef struct {
  const GemmclDeviceInfo *info;
  GemmclGemm gemm;
  const BenchSizes *sizes;
  GPtrArray *names;
  guint iterations;
  gboolean verify;
  gdouble peak;
  const gchar *peak_source;
  gboolean peak_stated;
  gdouble bandwidth;
  gchar *bandwidth_source;
} BenchSetup;

/**
 * BenchReport:
 *
 * The output of bench, written as results arrive: a head, a row for each kernel and size, and
 * the same as JSON.
 */
typedef struct _BenchReport BenchReport;

/**
 * bench_report_new:
 * @out: where the text goes; borrowed
 * @setup: what follows; borrowed
 *
 * Prints the head.
 */
BenchReport *bench_report_new (FILE *out, const BenchSetup *setup);

void bench_report_free (BenchReport *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (BenchReport, bench_report_free)

/**
 * bench_report_add:
 * @gemm: the problem, with its sizes
 *
 * Prints a row and keeps it for bench_report_get_json().
 */
void bench_report_add (BenchReport *self, const GemmclGemm *gemm, const BenchResult *result);

/** bench_report_skip: Prints that @kernel was not measured and why. */
void bench_report_skip (BenchReport *self, const GemmclGemm *gemm, const gchar *kernel,
                        const gchar *why);

/** bench_report_get_json: Returns: (transfer none): a list with an object per added result. */
const json_t *bench_report_get_json (const BenchReport *self);

/** BenchCharts: the results of bench, for charts. */
typedef struct _BenchCharts BenchCharts;

/** bench_charts_new: @setup: borrowed. */
BenchCharts *bench_charts_new (const BenchSetup *setup);

void bench_charts_free (BenchCharts *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (BenchCharts, bench_charts_free)

/**
 * bench_charts_add:
 * @name: which of the setup's names it was measured for
 * @size: which of its sizes
 * @gemm: the problem
 */
void bench_charts_add (BenchCharts *self, guint name, guint size, const GemmclGemm *gemm,
                       const BenchResult *result);

/** bench_charts_are_empty: Returns: TRUE if there is nothing to draw. */
gboolean bench_charts_are_empty (const BenchCharts *self);

/** bench_charts_draw: Returns: (transfer full): lines over the sizes, or bars of a single one. */
gchar *bench_charts_draw (BenchCharts *self);

/** bench_charts_draw_roofline: Returns: (transfer full): needs the bandwidth. */
gchar *bench_charts_draw_roofline (BenchCharts *self);
