/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "measure/bench-matrices.h"
#include "shared-options.h"
#include "results.h"

static struct {
  const gchar *kernel;
  const gchar *addend;
  gint batch;
} options = {.kernel = "auto", .addend = "none", .batch = 1};

static const GOptionEntry problem_entries[] = {
    {"kernel", 'k', 0, G_OPTION_ARG_STRING, &options.kernel,
     "The kernel; auto: the library's choice by tuning results and rules; rules: its choice by "
     "rules alone (default: auto)",
     "NAME"},
    {"batch", 0, 0, G_OPTION_ARG_INT, &options.batch,
     "Number of matrices A, M x K, that one run multiplies by the same B (default: 1)", "INTEGER"},
    TOOL_OPTION_LAYOUT,
    {"addend", 0, 0, G_OPTION_ARG_STRING, &options.addend,
     "C: none; output: the previous content of D (default: none)", "none|output"},
    TOOL_OPTION_ACTIVATION,
    TOOL_OPTION_TABLE,
    {NULL}};

static ToolColumn columns[] = {{"M x N x K", 19},
                               {"kernel", 24, .key = "kernel"},
                               {"compiled", 0, TRUE, .key = "compiled", .format = "%.0f"},
                               {"ms", 7, TRUE, .key = "ms", .format = "%.0f"},
                               {NULL}};

/* Runs the problem once on zeros, since some drivers compile when a run is enqueued. */
static gboolean
run_once (GemmclContext *context, const GemmclGemm *gemm, const gchar *kernel, GError **error)
{
  const gsize rows = gemm->m * gemm->batch;
  g_autofree gfloat *a = NULL, *b = NULL, *d = NULL;

  if (!bench_matrices_check (context, gemm, error))
    return FALSE;
  a = g_try_new0 (gfloat, rows * gemm->k);
  b = g_try_new0 (gfloat, gemm->k * gemm->n);
  d = g_try_new0 (gfloat, rows * gemm->n);
  if (a == NULL || b == NULL || d == NULL)
    return tool_fail (error, "There is not enough memory for matrices of this size.");
  return gemmcl_gemm_run (context, gemm, kernel, a, b, NULL, NULL, d, error);
}

static guint
count_compiled (GemmclContext *context)
{
  GemmclContextStats stats;

  gemmcl_context_get_stats (context, &stats);
  return stats.compiled;
}

static gboolean
warm (GemmclContext *context, const GemmclGemm *gemm, const gchar *kernel, GError **error)
{
  const gint64 start = g_get_monotonic_time ();
  const guint before = count_compiled (context);
  g_autofree gchar *name = tool_problem_get_name (gemm->m, gemm->n, gemm->k);
  g_autoptr (json_t) row = NULL;
  g_autoptr (GemmclPlan) plan = gemmcl_plan_new (context, gemm, kernel, error);

  if (plan == NULL || !run_once (context, gemm, gemmcl_plan_get_kernel (plan), error)) {
    g_prefix_error (error, "%s: ", name);
    return FALSE;
  }
  row = json_pack (
      "{s:I, s:I, s:I, s:s, s:i, s:f}", "m", (json_int_t)gemm->m, "n", (json_int_t)gemm->n, "k",
      (json_int_t)gemm->k, "kernel", gemmcl_plan_get_kernel (plan), "compiled",
      (int)(count_compiled (context) - before), "ms", (g_get_monotonic_time () - start) / 1e3);
  tool_table_print (stdout, columns, row);
  return TRUE;
}

static gboolean
run (gchar **arguments, GError **error)
{
  g_autoptr (GemmclContext) context = NULL;
  g_autoptr (GArray) problems = NULL;
  GemmclGemm gemm = tool_gemm;
  const gchar *kernel = tool_find_kernel (options.kernel, TRUE, error);

  if (kernel == NULL)
    return FALSE;
  if (options.batch < 1)
    return tool_refuse (error, "--batch takes 1 or more, not %d.", options.batch);
  if (g_str_equal (options.addend, "output"))
    gemm.addend = GEMMCL_ADDEND_OUTPUT;
  else if (!g_str_equal (options.addend, "none"))
    return tool_refuse (error, "--addend takes none or output, not \"%s\".", options.addend);
  gemm.batch = options.batch;
  tool_adopt_precision (&gemm, kernel);
  problems = tool_problems_new (arguments, &gemm, error);
  if (problems == NULL || (context = tool_open_context (error)) == NULL)
    return FALSE;
  tool_table_titles (stdout, columns, NULL);
  for (guint i = 0; i < problems->len; i++) {
    GemmclGemm *problem = &g_array_index (problems, GemmclGemm, i);

    problem->a_stride = problem->batch > 1 ? problem->m * problem->k : 0;
    if (!warm (context, problem, kernel, error))
      return FALSE;
  }
  return TRUE;
}

const ToolCommand tool_warm = {
    .name = "warm",
    .summary = "Compile the kernels of problems before they are needed",
    .arguments = "M,N,K ...",
    .n_arguments = 1,
    .more_arguments = TRUE,
    .description =
        "Prepares each problem, an A of M x K by a B of K x N, as the library does on its "
        "first use: chooses the kernel, compiles the programs that are not in the cache, and "
        "runs the kernel once, with zeros, since some drivers compile only then. The next "
        "process finds the programs in the caches and starts in a fraction of the time.\n\n"
        "The table has a line for each problem: the kernel, the number of programs compiled, "
        "and the time. Programs depend on the device, its driver, the library's version, and "
        "the options below; sizes matter only where they change the kernel.",
    .groups = {{"Device", tool_device_entries},
               {"Problem", problem_entries},
               {"Arithmetic", tool_epilogue_entries}},
    .examples = {{"gemmcl warm 64,1024,1024 64,10,1024", "Two layers, on the best device"},
                 {"gemmcl warm -t cpu --addend output --activation relu 1,256,64",
                  "A layer that adds the previous D, on a CPU"}},
    .run = run,
};
