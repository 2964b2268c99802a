/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>

#include "bench-measure.h"
#include "bench-problem.h"
#include "bench-report.h"
#include "interrupt.h"
#include "options.h"
#include "tool.h"

#define DEFAULT_SIZE       1024
#define DEFAULT_ITERATIONS 10
#define DEFAULT_KERNEL     "auto"

static struct {
  gint m, n, k;
  gint iterations;
  gchar *kernel;
  gboolean validation;
  gchar *layout;
  gchar *beta;
  gchar *peak;
  gchar *json;
} options = {
    .m = DEFAULT_SIZE, .n = DEFAULT_SIZE, .k = DEFAULT_SIZE, .iterations = DEFAULT_ITERATIONS};

static const GOptionEntry problem_entries[] = {
    {"size1", 'M', 0, G_OPTION_ARG_INT, &options.m,
     "Rows of A and D (default: " G_STRINGIFY (DEFAULT_SIZE) ")", "INTEGER"},
    {"size2", 'K', 0, G_OPTION_ARG_INT, &options.k,
     "Columns of A, rows of B (default: " G_STRINGIFY (DEFAULT_SIZE) ")", "INTEGER"},
    {"size3", 'N', 0, G_OPTION_ARG_INT, &options.n,
     "Columns of B and D (default: " G_STRINGIFY (DEFAULT_SIZE) ")", "INTEGER"},
    {"layout", 0, 0, G_OPTION_ARG_STRING, &options.layout,
     "What lies together in memory: row or col (default: row)", "row|col"},
    {"beta", 0, 0, G_OPTION_ARG_STRING, &options.beta,
     "The factor of the addend C: random numbers, M x N; with 0 there is no C (default: 0)",
     "NUMBER"},
    {NULL}};

static const GOptionEntry measure_entries[] = {
    {"iterations", 'i', 0, G_OPTION_ARG_INT, &options.iterations,
     "Runs of each kernel that are timed; 0 makes everything ready and runs nothing "
     "(default: " G_STRINGIFY (DEFAULT_ITERATIONS) ")",
     "INTEGER"},
    {"kernel", 'k', 0, G_OPTION_ARG_STRING, &options.kernel,
     "A kernel, several with commas between, or all; auto lets the library choose "
     "(default: " DEFAULT_KERNEL ")",
     "NAME,..."},
    {"validation", 'v', 0, G_OPTION_ARG_NONE, &options.validation,
     "Check each kernel's result against a double-precision one of the host; slow where matrices "
     "are large",
     NULL},
    {"peak", 0, 0, G_OPTION_ARG_STRING, &options.peak,
     "What the efficiency is a part of, in 10^9 operations a second (default: what can be told "
     "from the device)",
     "GFLOPS"},
    {"json", 0, 0, G_OPTION_ARG_FILENAME, &options.json,
     "Write the results as JSON, too; - is the standard output, and the table goes to the standard "
     "error then",
     "FILE"},
    {NULL}};

static gboolean
check_least (const gchar *option, gint value, gint least, GError **error)
{
  if (value >= least)
    return TRUE;
  g_set_error (error, TOOL_ERROR, TOOL_ERROR_USAGE, "%s takes %d or more, not %d.", option, least,
               value);
  return FALSE;
}

static gboolean
describe_problem (GemmclGemm *gemm, GError **error)
{
  if (!check_least ("-M, --size1", options.m, 1, error) ||
      !check_least ("-K, --size2", options.k, 1, error) ||
      !check_least ("-N, --size3", options.n, 1, error) ||
      !check_least ("-i, --iterations", options.iterations, 0, error) ||
      !tool_get_epilogue (gemm, options.beta, error) ||
      !tool_parse_layout (options.layout, &gemm->layout, error))
    return FALSE;
  gemm->m = options.m;
  gemm->n = options.n;
  gemm->k = options.k;
  gemm->addend = gemm->beta != 0.0 ? GEMMCL_ADDEND_MATRIX : GEMMCL_ADDEND_NONE;
  return gemmcl_gemm_validate (gemm, error);
}

static gboolean
find_peak (const GemmclDeviceInfo *info, gdouble *peak, const gchar **source, GError **error)
{
  *peak = info->peak_gflops;
  *source = info->peak_source;
  if (options.peak == NULL)
    return TRUE;
  *source = "stated with --peak";
  if (!tool_parse_number ("--peak", options.peak, peak, error))
    return FALSE;
  if (*peak > 0.0)
    return TRUE;
  g_set_error (error, TOOL_ERROR, TOOL_ERROR_USAGE, "--peak takes more than 0, not %s.",
               options.peak);
  return FALSE;
}

static gboolean
wants_all (void)
{
  return g_strcmp0 (options.kernel, "all") == 0;
}

/* The names that -k asks for, each of them known. */
static GPtrArray *
list_kernels (GError **error)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  g_auto (GStrv) asked =
      g_strsplit (options.kernel != NULL ? options.kernel : DEFAULT_KERNEL, ",", -1);

  for (guint i = 0; wants_all () && i < gemmcl_get_n_kernels (); i++)
    g_ptr_array_add (names, (gpointer)gemmcl_get_kernel (i)->name);
  for (guint i = 0; !wants_all () && asked[i] != NULL; i++) {
    const gchar *name = g_strcmp0 (asked[i], DEFAULT_KERNEL) == 0
                            ? DEFAULT_KERNEL
                            : tool_find_kernel (asked[i], error);
    if (name == NULL)
      return NULL;
    g_ptr_array_add (names, (gpointer)name);
  }
  return g_steal_pointer (&names);
}

/* Measures one kernel after the other; those that are asked for by name must fit. */
static gboolean
measure_kernels (BenchProblem *problem, GPtrArray *names, BenchReport *report, GError **error)
{
  guint wrong = 0;

  bench_report_start (report, (const gchar *const *)names->pdata, names->len);
  for (guint i = 0; i < names->len; i++) {
    const gchar *name = g_ptr_array_index (names, i);
    g_autoptr (GError) why = NULL;
    g_autoptr (BenchResult) result = NULL;
    tool_adopt_precision (&problem->gemm, name);
    if (wants_all () && !gemmcl_kernel_fits (problem->context, name, &problem->gemm, &why)) {
      bench_report_skip (report, name, why->message);
      continue;
    }
    result = bench_measure (problem, name, options.iterations, options.validation, error);
    if (result == NULL)
      return FALSE;
    bench_report_add (report, result);
    wrong += result->verified && !result->right;
  }
  if (wrong > 0)
    g_set_error (error, TOOL_ERROR, TOOL_ERROR_FAILED,
                 "%u of %u kernels gave a result that is out of its bound.", wrong, names->len);
  return wrong == 0;
}

static gboolean
run (G_GNUC_UNUSED gchar **operands, GError **error)
{
  GemmclGemm gemm = GEMMCL_GEMM_INIT;
  g_autoptr (GemmclContext) context = NULL;
  g_autoptr (GPtrArray) names = NULL;
  g_autoptr (BenchProblem) problem = NULL;
  g_autoptr (BenchReport) report = NULL;
  const GemmclDeviceInfo *info;
  const gchar *source;
  gdouble peak;
  gboolean ok;

  if (!describe_problem (&gemm, error))
    return FALSE;
  context = tool_open_context (error);
  if (context == NULL)
    return FALSE;
  info = gemmcl_context_get_device_info (context);
  names = list_kernels (error);
  if (names == NULL || !find_peak (info, &peak, &source, error))
    return FALSE;
  problem = bench_problem_new (context, &gemm, error);
  if (problem == NULL)
    return FALSE;
  report = bench_report_new (g_strcmp0 (options.json, "-") == 0 ? stderr : stdout, info, &gemm,
                             options.iterations, options.validation, peak, source);
  tool_catch_interrupt ();
  ok = measure_kernels (problem, names, report, error);
  /* What was measured is written even where a later kernel failed; the first error counts. */
  if (options.json != NULL &&
      !tool_json_write (bench_report_get_json (report), options.json, ok ? error : NULL))
    return FALSE;
  return ok;
}

const ToolCommand tool_bench = {
    .name = "bench",
    .summary = "Measure kernels, and check their results",
    .description =
        "Measures how fast kernels multiply an A of M x K by a B of K x N, both random: the least "
        "and the median time of a run by the device's own clock, 10^9 operations a second by the "
        "median, and the part that this is of the device's peak. B is packed as the kernel wants "
        "it "
        "before the clock starts. Of one kernel every run is shown, of several a line each.\n\n"
        "With --validation the result is checked first: every element must be within the error "
        "bound of the kernel's precision; the largest error and the bound are shown, and a "
        "mismatch is "
        "exit "
        "status 1.\n\n"
        "With --kernel=all, kernels that cannot do the problem on the device are left out, and the "
        "table says why. Ctrl-C stops after the run that is under way, and what was measured is "
        "still written.",
    .groups = {{"Device", tool_device_entries},
               {"Problem", problem_entries},
               {"Arithmetic", tool_epilogue_entries},
               {"Measurement", measure_entries}},
    .examples = {{"gemmcl bench -M 1024 -K 1024 -N 1024 -k all -v",
                  "All kernels on the best device, checked"},
                 {"gemmcl bench -p Intel -t gpu -k gemm_naive -i 100 --layout col",
                  "A hundred runs of one kernel on an Intel GPU, with column-major matrices"},
                 {"gemmcl bench -M 64 -k all --json bench.json", "Few rows; results in a file"}},
    .run = run,
};
