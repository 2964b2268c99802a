/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>

#include "bench.h"
#include "tool.h"
#include "options.h"

#define DEFAULT_ITERATIONS 10

static struct {
  gint m, n, k;
  gchar *sweep;
  gint iterations;
  gchar *kernel;
  gboolean validation;
  gchar *beta;
  gchar *peak;
  gchar *bandwidth;
  gchar *json;
} options = {.m = BENCH_SIZE_UNSTATED,
             .n = BENCH_SIZE_UNSTATED,
             .k = BENCH_SIZE_UNSTATED,
             .iterations = DEFAULT_ITERATIONS,
             .kernel = "auto"};

static const GOptionEntry problem_entries[] = {
    {"size1", 'M', 0, G_OPTION_ARG_INT, &options.m,
     "Rows of A and D (default: " G_STRINGIFY (BENCH_SIZE_DEFAULT) ")", "INTEGER"},
    {"size2", 'K', 0, G_OPTION_ARG_INT, &options.k,
     "Columns of A, rows of B (default: " G_STRINGIFY (BENCH_SIZE_DEFAULT) ")", "INTEGER"},
    {"size3", 'N', 0, G_OPTION_ARG_INT, &options.n,
     "Columns of B and D (default: " G_STRINGIFY (BENCH_SIZE_DEFAULT) ")", "INTEGER"},
    {"sweep", 0, 0, G_OPTION_ARG_STRING, &options.sweep,
     "Sizes for those of M, N and K that are not given: numbers with commas between, "
     "FROM:TO, each twice the one before, and FROM:TO:STEP",
     "SIZES"},
    TOOL_OPTION_LAYOUT,
    TOOL_OPTION ("a-type", tool_set_choice,
                 "Type in which A is stored: f32, f16, bf16 or u8 (default: f32)", "TYPE"),
    {"beta", 0, 0, G_OPTION_ARG_STRING, &options.beta,
     "Factor of the addend C, random numbers, M x N; 0: no C (default: 0)", "NUMBER"},
    {NULL}};

static const GOptionEntry measure_entries[] = {
    {"iterations", 'i', 0, G_OPTION_ARG_INT, &options.iterations,
     "Timed runs of each kernel; 0: prepare everything and run nothing (default: " G_STRINGIFY (
         DEFAULT_ITERATIONS) ")",
     "INTEGER"},
    {"kernel", 'k', 0, G_OPTION_ARG_STRING, &options.kernel,
     "A kernel, several with commas between, or all; auto: the choice of the library, "
     "by tuning and rules; rules: by its rules alone (default: auto)",
     "NAME,..."},
    {"validation", 'v', 0, G_OPTION_ARG_NONE, &options.validation,
     "Check the result of each kernel against a double-precision one of the host; slow "
     "for large matrices",
     NULL},
    {"peak", 0, 0, G_OPTION_ARG_STRING, &options.peak,
     "The peak that the efficiency refers to, in 10^9 operations a second (default: "
     "the f32 peak, where the device reveals it)",
     "GFLOPS"},
    {NULL}};

static const GOptionEntry output_entries[] = {
    {"json", 0, 0, G_OPTION_ARG_FILENAME, &options.json,
     "Also write the results as JSON, from which gemmcl-plot draws charts, to this file, "
     "which is emptied before; - is the "
     "standard output, and the table then goes to the standard error",
     "FILE"},
    {"bandwidth", 0, 0, G_OPTION_ARG_STRING, &options.bandwidth,
     "The memory bandwidth for a roofline, in 10^9 bytes a second; measure: by copies on "
     "the device (default: unknown)",
     "GB/S|measure"},
    {NULL}};

static gboolean
describe_problems (Bench *self, GError **error)
{
  const gint sizes[BENCH_N_SIZES] = {options.m, options.n, options.k};
  GemmclGemm gemm = tool_gemm;

  if (options.iterations < 0) {
    g_set_error (error, TOOL_ERROR, TOOL_ERROR_USAGE, "-i, --iterations takes 0 or more, not %d.",
                 options.iterations);
    return FALSE;
  }
  if (options.beta != NULL && !tool_parse_number ("--beta", options.beta, &gemm.beta, error))
    return FALSE;
  if (!bench_can_store (gemm.a_type)) {
    g_set_error (error, TOOL_ERROR, TOOL_ERROR_USAGE,
                 "--a-type takes f32, f16, bf16 or u8 here, not \"%s\".",
                 gemmcl_type_get_name (gemm.a_type));
    return FALSE;
  }
  gemm.addend = gemm.beta != 0.0 ? GEMMCL_ADDEND_MATRIX : GEMMCL_ADDEND_NONE;
  self->problems = bench_list_problems (sizes, options.sweep, &gemm, &self->shape, error);
  for (guint i = 0; self->problems != NULL && i < self->problems->len; i++)
    if (!gemmcl_gemm_validate (&g_array_index (self->problems, GemmclGemm, i), error))
      return FALSE;
  return self->problems != NULL;
}

/* Checks that all sizes fit before the first is measured. */
static gboolean
check_memory (const Bench *self, GError **error)
{
  for (guint i = 0; i < self->problems->len; i++)
    if (!bench_problem_check (self->context, &g_array_index (self->problems, GemmclGemm, i), error))
      return FALSE;
  return TRUE;
}

static gboolean
is_stdout (const gchar *path)
{
  return g_strcmp0 (path, "-") == 0;
}

/* Fails if the file cannot be written: the measurements may take an hour. */
static gboolean
check_output (GError **error)
{
  g_autoptr (json_t) empty = json_array ();

  return options.json == NULL || is_stdout (options.json) ||
         tool_json_write (empty, options.json, error);
}

static gboolean
find_peak (Bench *self, GError **error)
{
  self->peak = self->info->peak_gflops;
  self->peak_source = self->info->peak_source;
  if (options.peak == NULL)
    return TRUE;
  self->peak_source = "set with --peak";
  self->peak_stated = TRUE;
  return tool_parse_positive ("--peak", options.peak, &self->peak, error);
}

static gboolean
find_bandwidth (Bench *self, GError **error)
{
  if (g_strcmp0 (options.bandwidth, "measure") == 0)
    return bench_measure_bandwidth (self->context, &self->bandwidth, &self->bandwidth_source,
                                    error);
  self->bandwidth_source = options.bandwidth != NULL ? g_strdup ("set with --bandwidth") : NULL;
  return tool_parse_positive ("--bandwidth", options.bandwidth, &self->bandwidth, error);
}

static void
bench_clear (Bench *self)
{
  g_clear_pointer (&self->json, json_decref);
  g_clear_pointer (&self->names, g_ptr_array_unref);
  g_clear_pointer (&self->bandwidth_source, g_free);
  g_clear_pointer (&self->problems, g_array_unref);
  g_clear_pointer (&self->shape, g_free);
  g_clear_object (&self->context);
  g_clear_pointer (&self->wrong, g_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Bench, bench_clear)

/* Measures each kernel. Kernels that do not fit are skipped with -k all, otherwise an error. */
static gboolean
measure_problem (Bench *self, const GemmclGemm *gemm, GError **error)
{
  g_autoptr (BenchProblem) problem = bench_problem_new (self->context, gemm, error);

  if (problem == NULL)
    return FALSE;
  for (guint i = 0; i < self->names->len; i++) {
    const gchar *name = g_ptr_array_index (self->names, i);
    g_autoptr (GError) why = NULL;
    g_autoptr (BenchResult) result = NULL;
    tool_adopt_precision (&problem->gemm, name);
    if (g_str_equal (options.kernel, "all") &&
        !gemmcl_kernel_fits (self->context, name, &problem->gemm, &why)) {
      bench_report_skip (self, gemm, name, why->message);
      continue;
    }
    result = bench_measure (problem, name, options.iterations, options.validation, error);
    if (result == NULL)
      return FALSE;
    bench_report_add (self, gemm, name, result);
    self->wrong[i] |= result->verified && !result->right;
  }
  return TRUE;
}

static gboolean
measure (Bench *self, GError **error)
{
  const guint n = self->names->len;
  guint wrong = 0;

  for (guint i = 0; i < self->problems->len; i++)
    if (!measure_problem (self, &g_array_index (self->problems, GemmclGemm, i), error))
      return FALSE;
  for (guint i = 0; i < n; i++)
    wrong += self->wrong[i] ? 1 : 0;
  if (wrong > 0)
    g_set_error (error, TOOL_ERROR, TOOL_ERROR_FAILED,
                 "%u of %u kernels gave a result outside its error bound.", wrong, n);
  return wrong == 0;
}

static gboolean
run (G_GNUC_UNUSED gchar **operands, GError **error)
{
  g_auto (Bench) self = {
      .sweep = options.sweep, .iterations = options.iterations, .verify = options.validation};
  gboolean ok;

  if (!describe_problems (&self, error))
    return FALSE;
  self.context = tool_open_context (error);
  if (self.context == NULL)
    return FALSE;
  self.info = gemmcl_context_get_device_info (self.context);
  self.names = tool_list_kernels (options.kernel, TRUE, error);
  if (self.names == NULL || !check_memory (&self, error) || !find_peak (&self, error) ||
      !find_bandwidth (&self, error) || !check_output (error))
    return FALSE;
  self.wrong = g_new0 (gboolean, self.names->len);
  tool_catch_interrupt ();
  bench_report_start (&self, is_stdout (options.json) ? stderr : stdout);
  ok = measure (&self, error);
  /* Results are written even if a later kernel failed. The first error is reported. */
  if (options.json != NULL && !tool_json_write (self.json, options.json, ok ? error : NULL))
    return FALSE;
  return ok;
}

const ToolCommand tool_bench = {
    .name = "bench",
    .summary = "Measure kernels, and check their results",
    .description =
        "Measures how fast kernels multiply random matrices, A of M x K and B of K x N: the "
        "shortest and the median time of a run by the device's clock, 10^9 operations a "
        "second (GFLOPS) by the median, and their share of the device's f32 peak. Other "
        "precisions may exceed that peak; --peak sets another. B is packed before the clock "
        "starts. The output has a line for each run of a single kernel, and a line for each "
        "of several kernels or sizes.\n\n"
        "--validation checks each result first: every element must be within the error bound "
        "of the kernel's precision. The largest error and the bound are shown; a mismatch is "
        "exit status 1.\n\n"
        "--kernel=all leaves out kernels that cannot solve the problem on the device, and the "
        "table gives the reason. Ctrl-C stops after the current run; results so far are "
        "written.\n\n"
        "Where the library chooses the kernel, a column gives the source of the choice: named "
        "by the user, tuned on this machine, shipped with the library, or its rules.",
    .groups = {{"Device", tool_device_entries},
               {"Problem", problem_entries},
               {"Arithmetic", tool_epilogue_entries},
               {"Measurement", measure_entries},
               {"Output", output_entries}},
    .examples = {{"gemmcl bench -M 1024 -K 1024 -N 1024 -k all -v",
                  "All kernels on the best device, checked"},
                 {"gemmcl bench -p Intel -t gpu -k gemm_naive -i 100 --layout col",
                  "A hundred runs of one kernel on an Intel GPU, with column-major matrices"},
                 {"gemmcl bench -M 64 -k all --json bench.json", "Few rows; results in a file"},
                 {"gemmcl bench --sweep 64:2048 -k auto,gemm_naive --json speed.json && "
                  "gemmcl-plot speed.json speed.svg",
                  "Six sizes of square matrices, and a chart of them"}},
    .run = run,
};
