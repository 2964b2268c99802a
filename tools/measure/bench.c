/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <math.h>

#include "devices.h"
#include "measure/bench-articles.h"
#include "measure/bench-matrices.h"
#include "measure/replay.h"
#include "measure/worker.h"
#include "shared-options.h"

#define DEFAULT_ITERATIONS 10

static struct {
  gchar *sweep;
  gchar *replay;
  gint iterations;
  gchar *kernel;
  gboolean validation;
  gchar *beta;
  gchar *peak;
  gchar *bandwidth;
  gchar *json;
} options = {.iterations = DEFAULT_ITERATIONS, .kernel = "auto"};

static const GOptionEntry problem_entries[] = {
    TOOL_OPTION_SIZES (""),
    {"sweep", 0, 0, G_OPTION_ARG_STRING, &options.sweep,
     "Sizes for each of M, N and K that is not given, separated by commas: numbers, "
     "ranges FROM:TO in which each size is twice the one before, or ranges FROM:TO:STEP",
     "SIZES"},
    {"replay", 0, 0, G_OPTION_ARG_FILENAME, &options.replay,
     "Measure the problems and kernels of a file instead: lines that GEMMCL_VERBOSE=1 in the "
     "environment of a program made it print",
     "FILE"},
    TOOL_OPTION_LAYOUT,
    TOOL_OPTION ("a-type", tool_set_choice,
                 "Type in which A is stored: f32, f16, bf16 or u8 (default: f32)", "TYPE"),
    {"beta", 0, 0, G_OPTION_ARG_STRING, &options.beta,
     "Factor of C, an M x N matrix of random numbers; 0: no C (default: 0)", "NUMBER"},
    {NULL}};

static const GOptionEntry measure_entries[] = {
    {"iterations", 'i', 0, G_OPTION_ARG_INT, &options.iterations,
     "Timed runs of each kernel; 0: prepare everything and run nothing (default: " G_STRINGIFY (
         DEFAULT_ITERATIONS) ")",
     "INTEGER"},
    {"kernel", 'k', 0, G_OPTION_ARG_STRING, &options.kernel,
     "The kernels: " TOOL_KERNELS
     "; auto: the library's choice by tuning results and rules; rules: "
     "its choice by rules alone (default: auto)",
     "NAME,..."},
    {"validation", 'v', 0, G_OPTION_ARG_NONE, &options.validation,
     "Check the result of each kernel against the host's in double precision; slow for "
     "large matrices",
     NULL},
    {"peak", 0, 0, G_OPTION_ARG_STRING, &options.peak,
     "The peak that the efficiency refers to, in 10^9 operations a second (default: "
     "the device's in the precision of the kernel, if it is known)",
     "GFLOPS"},
    {NULL}};

static const GOptionEntry output_entries[] = {
    TOOL_OPTION_JSON (&options.json,
                      "Also write the results as JSON, from which gemmcl-plot draws charts,",
                      ", and the table then goes to the standard error"),
    TOOL_OPTION_TABLE,
    {"bandwidth", 0, 0, G_OPTION_ARG_STRING, &options.bandwidth,
     "The memory bandwidth for a roofline, in 10^9 bytes a second; measure: by copies on "
     "the device (default: unknown)",
     "GB/S|measure"},
    {NULL}};

enum { COLUMN_SIZES, COLUMN_KERNEL, COLUMN_CHOICE, COLUMN_STEP = 7, COLUMN_ERROR = 10 };

/* The columns from COLUMN_ERROR on are those of the validation. */
static ToolColumn columns[] = {
    [COLUMN_SIZES] = {"M x N x K"},
    [COLUMN_KERNEL] = {"kernel", .key = "kernel"},
    [COLUMN_CHOICE] = {"choice", 8, .hidden = TRUE, .key = "choice"},
    {"min ms", 10, TRUE, .key = "time_ms.min", .format = "%.4f"},
    {"median ms", 10, TRUE, .key = "time_ms.median", .format = "%.4f"},
    {"spread", 7, TRUE, .key = "time_ms.spread", .format = "%.1f", .unit = " %"},
    {"GFLOPS", 9, TRUE, .key = "gflops", .format = "%.2f"},
    [COLUMN_STEP] = {"step", 0, TRUE, .key = "step_speedup", .format = "%.2f", .unit = "x"},
    {"cumulative", 0, TRUE, .key = "cumulative_speedup", .format = "%.2f", .unit = "x"},
    {"efficiency", 0, TRUE, .key = "efficiency", .format = "%.1f", .unit = " %"},
    [COLUMN_ERROR] = {"max error", 0, TRUE, .key = "max_error", .format = "%.3g"},
    {"bound", 9, TRUE, .key = "error_bound", .format = "%.3g"},
    {"check", 8, .key = "verified"},
    {NULL}};

/**
 * Bench:
 * @problems: (element-type GemmclGemm): one for each size
 * @names: (element-type utf8): the kernels, as the user named them
 * @has_sets: the user named several at once, or a file to replay
 * @is_ladder: they are steps; @ladder: those of the problem under way
 * @peaks: 10^9 operations a second in each precision; NaN: unknown; @peak_sources: how they were
 *   calculated, or why they are unknown
 * @bandwidth: 10^9 bytes a second of the device's memory; NaN: unknown
 * @n_wrong: results that exceeded their error bounds; @n_unbuilt: kernels that did not build
 * @n: the measurement under way, of @n_all, which began @start seconds after the clock's
 * @out: for the table; @notes: for other lines
 * @each_run: the table also has a row for each run, before the one for the median
 * @json: a list with an object for each result
 */
typedef struct {
  GemmclContext *context;
  const GemmclDeviceInfo *info;
  GArray *problems;
  GPtrArray *names;
  gboolean has_sets, is_ladder;
  BenchLadder ladder;
  gdouble peaks[GEMMCL_N_PRECISIONS];
  gchar *peak_sources[GEMMCL_N_PRECISIONS];
  gdouble bandwidth;
  gchar *bandwidth_source;
  guint n_wrong, n_unbuilt, n, n_all;
  gdouble start;
  FILE *out, *notes;
  gboolean each_run;
  json_t *json;
} Bench;

static gboolean
describe_problems (Bench *self, GError **error)
{
  const gchar *sweep = options.sweep != NULL ? options.sweep : G_STRINGIFY (TOOL_DEFAULT_SIZE);
  g_auto (GStrv) parts = g_strsplit (*sweep != '\0' ? sweep : ",", ",", -1);
  GemmclGemm gemm = tool_gemm;

  if (options.iterations < 0)
    return tool_refuse (error, "-i, --iterations takes 0 or more, not %d.", options.iterations);
  if (options.replay != NULL) {
    if (tool_has_gemm_options () || options.beta != NULL || options.sweep != NULL ||
        !g_str_equal (options.kernel, "auto"))
      return tool_refuse (error, "--replay takes problems and kernels from its file: leave out "
                                 "--kernel and the options of problems.");
    self->has_sets = TRUE;
    self->names = g_ptr_array_new ();
    self->problems = bench_replay_read (options.replay, self->names, error);
    return self->problems != NULL;
  }
  if (options.beta != NULL && !tool_parse_number ("--beta", options.beta, &gemm.beta, error))
    return FALSE;
  if (!bench_can_store (gemm.a_type))
    return tool_refuse (error, "--a-type takes f32, f16, bf16 or u8 here, not \"%s\".",
                        gemmcl_type_get_name (gemm.a_type));
  if (options.sweep != NULL && gemm.m > 0 && gemm.n > 0 && gemm.k > 0)
    return tool_refuse (error, "--sweep varies those of M, N and K that are not given, but -M, -N "
                               "and -K are all given. Leave at least one out.");
  gemm.addend = gemm.beta != 0.0 ? GEMMCL_ADDEND_MATRIX : GEMMCL_ADDEND_NONE;
  self->problems = g_array_new (FALSE, FALSE, sizeof (GemmclGemm));
  for (guint i = 0; parts[i] != NULL; i++)
    if (!bench_add_problems (self->problems, &gemm, parts[i]))
      return tool_refuse (error,
                          "--sweep takes sizes from 1 to %d, separated by commas, or FROM:TO, "
                          "where each size is twice the one before, or FROM:TO:STEP; not \"%s\".",
                          G_MAXINT32, parts[i]);
  if (self->problems->len > BENCH_MOST_SIZES)
    return tool_refuse (error, "--sweep takes %d sizes at most, and \"%s\" has more.",
                        BENCH_MOST_SIZES, sweep);
  for (guint i = 0; i < self->problems->len; i++)
    if (!gemmcl_gemm_validate (&g_array_index (self->problems, GemmclGemm, i), error))
      return FALSE;
  return TRUE;
}

static gboolean
find_peaks (Bench *self, GError **error)
{
  gdouble given = NAN;

  if (!tool_parse_positive ("--peak", options.peak, &given, error))
    return FALSE;
  for (guint i = 0; i < GEMMCL_N_PRECISIONS; i++) {
    self->peaks[i] = tool_get_peak (self->info, i, &self->peak_sources[i]);
    if (options.peak != NULL) {
      self->peaks[i] = given;
      g_free (self->peak_sources[i]);
      self->peak_sources[i] = g_strdup ("set with --peak");
    }
  }
  return TRUE;
}

static gboolean
find_bandwidth (Bench *self, GError **error)
{
  self->bandwidth = NAN;
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
  for (guint i = 0; i < GEMMCL_N_PRECISIONS; i++)
    g_clear_pointer (&self->peak_sources[i], g_free);
  g_clear_pointer (&self->problems, g_array_unref);
  g_clear_object (&self->context);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Bench, bench_clear)

/* Prints the peak of each precision that the kernels have, or the one of --peak. */
static void
print_peaks (const Bench *self)
{
  GemmclGemm gemm = g_array_index (self->problems, GemmclGemm, 0);
  gboolean used[GEMMCL_N_PRECISIONS] = {FALSE};

  for (guint i = 0; i < self->names->len; i++) {
    tool_adopt_precision (&gemm, self->names->pdata[i]);
    used[options.peak == NULL ? gemm.precision : GEMMCL_PRECISION_F32] = TRUE;
  }
  for (guint i = 0; i < GEMMCL_N_PRECISIONS; i++) {
    g_autofree gchar *title = options.peak != NULL
                                  ? g_strdup ("Peak")
                                  : g_strdup_printf ("%s peak", gemmcl_precision_get_name (i));

    if (used[i] && !isnan (self->peaks[i]))
      fprintf (self->notes, "%-8s %.1f GFLOPS: %s\n", title, self->peaks[i], self->peak_sources[i]);
    else if (used[i])
      fprintf (self->notes, "%-8s %s; --peak sets it\n", title, self->peak_sources[i]);
  }
}

static void
print_problem (const Bench *self)
{
  const GemmclGemm *gemm = &g_array_index (self->problems, GemmclGemm, 0);
  /* In a sweep, "64 x s x s" if N and K vary. */
  const GemmclGemm *given = self->problems->len > 1 ? &tool_gemm : gemm;
  const gsize numbers[] = {given->m, given->n, given->k};

  fprintf (self->notes, "Problem  ");
  for (guint i = 0; i < G_N_ELEMENTS (numbers); i++) {
    g_autofree gchar *number = g_strdup_printf ("%zu", numbers[i]);

    fprintf (self->notes, "%s%s", i > 0 ? " x " : "", numbers[i] > 0 ? number : "s");
  }
  fprintf (self->notes, " (M x N x K)");
  if (self->problems->len > 1)
    fprintf (self->notes, ", s = %s", options.sweep);
  fprintf (self->notes, ", %s-major%s%s, alpha %g, beta %g\n",
           gemm->layout == GEMMCL_LAYOUT_ROW_MAJOR ? "row" : "column",
           gemm->trans_a ? ", A transposed" : "", gemm->trans_b ? ", B transposed" : "",
           gemm->alpha, gemm->beta);
}

static void
print_head (const Bench *self)
{
  fprintf (self->notes, "Device   %s (%s, %s)\n", self->info->name,
           tool_device_type_get_name (self->info->type), self->info->platform);
  print_peaks (self);
  if (!isnan (self->bandwidth))
    fprintf (self->notes, "Memory   %.1f GB/s: %s\n", self->bandwidth, self->bandwidth_source);
  if (options.replay == NULL)
    print_problem (self);
  fprintf (self->notes, "Runs     %d of each kernel%s\n\n", options.iterations,
           options.iterations == 0 ? ": they are prepared only"
           : self->info->type == GEMMCL_DEVICE_TYPE_GPU
               ? ", after " G_STRINGIFY (BENCH_WARM_UP_MS) " ms of runs that do not count"
               : ", after one that does not count");
}

/* Prints the head and the titles. */
static void
start_report (Bench *self)
{
  const gboolean one_size = self->problems->len == 1;

  columns[COLUMN_SIZES].hidden = one_size;
  for (guint i = 0; i < self->problems->len; i++) {
    const GemmclGemm *gemm = &g_array_index (self->problems, GemmclGemm, i);
    g_autofree gchar *sizes = tool_problem_get_name (gemm->m, gemm->n, gemm->k);

    tool_table_fit (&columns[COLUMN_SIZES], sizes);
  }
  for (guint i = 0; i < self->names->len; i++) {
    const gchar *name = g_ptr_array_index (self->names, i);

    tool_table_fit (&columns[COLUMN_KERNEL], name);
    /* Other names, auto and rules, let the library choose. */
    if (!gemmcl_kernel_fits (NULL, name, NULL, NULL))
      columns[COLUMN_CHOICE].hidden = FALSE;
  }
  /* If the library chooses the kernel, the column must fit any name. */
  for (guint i = 0; i < gemmcl_get_n_kernels () && !columns[COLUMN_CHOICE].hidden; i++)
    tool_table_fit (&columns[COLUMN_KERNEL], gemmcl_get_kernel (i)->name);
  columns[COLUMN_STEP].hidden = columns[COLUMN_STEP + 1].hidden = !self->is_ladder;
  for (ToolColumn *column = &columns[COLUMN_ERROR]; column->title != NULL; column++)
    column->hidden = !options.validation;
  /* With one kernel and one size each run is a line; otherwise only the median is. */
  self->each_run = self->names->len == 1 && one_size;
  print_head (self);
  tool_table_titles (self->out, columns, NULL);
}

/* Returns: 10^9 operations a second for a run of @gemm in @ms. */
static gdouble
get_gflops (const GemmclGemm *gemm, gdouble ms)
{
  return 2.0 * gemm->m * gemm->n * gemm->k * MAX (gemm->batch, 1) / (ms * 1e6);
}

/* Prints a row for each of @times. @peak: that of the kernel's precision */
static void
print_runs (const Bench *self, const GemmclGemm *gemm, const GArray *times, gdouble peak)
{
  for (guint i = 0; i < times->len; i++) {
    const gdouble ms = g_array_index (times, gdouble, i), gflops = get_gflops (gemm, ms);
    g_autofree gchar *name = g_strdup_printf ("  run %u", i + 1);
    g_autoptr (json_t) row = json_pack (
        "{s:s, s:{s:o}, s:o, s:o}", "kernel", name, "time_ms", "min", tool_json_number (ms),
        "gflops", tool_json_number (gflops), "efficiency", tool_json_number (gflops / peak));

    tool_table_print (self->out, columns, row);
  }
}

/* Prints that @kernel was not measured, and @why, in the place of the first number. */
static void
print_skipped (const Bench *self, const GemmclGemm *gemm, const gchar *kernel, const gchar *why)
{
  g_autoptr (json_t) row = json_pack ("{s:I, s:I, s:I, s:s, s:{s:o}}", "m", (json_int_t)gemm->m,
                                      "n", (json_int_t)gemm->n, "k", (json_int_t)gemm->k, "kernel",
                                      kernel, "time_ms", "min", tool_json_string (why));

  tool_table_print (self->out, columns, row);
}

/* @name: the kernel, as the user named it; @times: milliseconds of the runs, which are sorted */
static json_t *
make_row (const Bench *self, const GemmclGemm *gemm, const gchar *name, GemmclPlan *plan,
          GArray *times)
{
  const gchar *kernel = gemmcl_plan_get_kernel (plan);
  json_t *time_ms = bench_make_times (times);
  const gdouble gflops = get_gflops (gemm, tool_json_get_number (time_ms, "median"));
  GemmclPlanInfo info;

  gemmcl_plan_get_info (plan, &info);
  return json_pack (
      "{s:o, s:s, s:s, s:s, s:s, s:s, s:s, s:b, s:b, s:f, s:f, s:I, s:I, s:I, s:I, s:i, s:o, s:o, "
      "s:o, s:s, s:o, s:o, s:s?, s:n, s:n, s:n}",
      "device", tool_json_string (self->info->name), "requested", name, "kernel", kernel, "choice",
      gemmcl_choice_source_get_name (info.source), "precision",
      gemmcl_precision_get_name (info.precision), "a_type", gemmcl_type_get_name (gemm->a_type),
      "layout", tool_layout_get_name (gemm->layout), "trans_a", gemm->trans_a, "trans_b",
      gemm->trans_b, "alpha", (gdouble)gemm->alpha, "beta", (gdouble)gemm->beta, "m",
      (json_int_t)gemm->m, "n", (json_int_t)gemm->n, "k", (json_int_t)gemm->k, "batch",
      (json_int_t)MAX (gemm->batch, 1), "iterations", options.iterations, "time_ms", time_ms,
      "gflops", tool_json_number (gflops), "peak_gflops",
      tool_json_number (self->peaks[info.precision]), "peak_source",
      self->peak_sources[info.precision], "efficiency",
      tool_json_number (gflops / self->peaks[info.precision]), "bandwidth_gbs",
      tool_json_number (self->bandwidth), "bandwidth_source", self->bandwidth_source, "verified",
      "max_error", "error_bound");
}

/* Writes the results so far to the file, so that they outlast a tool that is killed. The standard
 * output gets all of them at the end. */
static gboolean
write_results (const Bench *self, gboolean is_end, GError **error)
{
  return (self->out == stderr) != is_end || tool_json_write (self->json, options.json, error);
}

/* Checks the output of the last run. */
static gboolean
verify (Bench *self, BenchMatrices *matrices, json_t *row, GError **error)
{
  gdouble worst = NAN, bound = NAN;
  gboolean right;

  if (!bench_read_output (matrices, error))
    return FALSE;
  right = gemmcl_gemm_verify (&matrices->gemm, matrices->a, matrices->b, matrices->c, NULL,
                              matrices->d, &worst, &bound);
  self->n_wrong += !right;
  json_object_set_new (row, "verified", json_boolean (right));
  json_object_set_new (row, "max_error", tool_json_number (worst));
  json_object_set_new (row, "error_bound", tool_json_number (bound));
  return TRUE;
}

/* Runs the plan once. Fails after a Ctrl-C. */
static gboolean
run_once (const BenchMatrices *matrices, GemmclPlan *plan, gdouble *ms, GError **error)
{
  return tool_check_interrupt (error) && bench_run_once (matrices, plan, ms, error);
}

/* Shows that one of several kernels has no plan, and @why (nullable). Returns: FALSE if the tool
 * must stop for it. */
static gboolean
skip (Bench *self, const GemmclGemm *gemm, const gchar *name, GError *why)
{
  const gboolean unbuilt = g_error_matches (why, GEMMCL_ERROR, GEMMCL_ERROR_BUILD);

  if (!self->has_sets || (!unbuilt && !g_error_matches (why, GEMMCL_ERROR, GEMMCL_ERROR_KERNEL)))
    return FALSE;
  self->n_unbuilt += unbuilt;
  why->message[strcspn (why->message, "\n")] = '\0';
  tool_progress_clear ();
  print_skipped (self, gemm, name, why->message);
  return TRUE;
}

/* Makes the plan of a kernel and runs it: once without timing, for the check, then the iterations.
 * A kernel that does not fit is skipped if the user named several at once, otherwise an error. */
static gboolean
measure_kernel (Bench *self, BenchMatrices *matrices, const gchar *name, GError **error)
{
  g_autoptr (GArray) times = g_array_new (FALSE, FALSE, sizeof (gdouble));
  g_autoptr (GemmclPlan) plan = NULL;
  g_autoptr (json_t) checked = json_object (), row = NULL;
  g_autoptr (GError) why = NULL;
  gboolean timed = TRUE;
  gdouble ms;

  if (!tool_check_interrupt (error))
    return FALSE;
  if (self->n_all > 1) {
    const guint done = self->n++;

    tool_progress_show (self->n, self->n_all, name,
                        done > 0 ? (tool_get_seconds () - self->start) / done * (self->n_all - done)
                                 : 0);
  }
  plan = gemmcl_plan_new (self->context, &matrices->gemm, name, &why);
  if (plan == NULL) {
    if (skip (self, &matrices->gemm, name, why))
      return TRUE;
    g_propagate_error (error, g_steal_pointer (&why));
    return FALSE;
  }
  if (!gemmcl_plan_set (plan, GEMMCL_PLAN_B, matrices->weights, error))
    return FALSE;
  if (options.iterations > 0 && ((options.validation && !bench_spoil_output (matrices, error)) ||
                                 !run_once (matrices, plan, &ms, error) ||
                                 (options.validation && !verify (self, matrices, checked, error)) ||
                                 !bench_warm_up (matrices, plan, error)))
    return FALSE;
  for (gint i = 0; i < options.iterations; i++) {
    if (!run_once (matrices, plan, &ms, error))
      return FALSE;
    g_array_append_val (times, ms);
    timed &= !isnan (ms);
  }
  tool_progress_clear ();
  if (self->each_run)
    print_runs (self, &matrices->gemm, times,
                self->peaks[tool_get_precision (gemmcl_plan_get_kernel (plan))]);
  if (!timed)
    g_array_set_size (times, 0);
  row = make_row (self, &matrices->gemm, name, plan, times);
  json_object_update (row, checked);
  bench_add_launch (row, plan);
  if (self->is_ladder)
    bench_add_step (&self->ladder, row);
  json_array_append (self->json, row);
  if (!write_results (self, FALSE, error))
    return FALSE;
  tool_table_print (self->out, columns, row);
  if (!timed)
    fprintf (self->notes, "  The device measured no time.\n");
  return TRUE;
}

/* Measures @n kernels. */
static gboolean
measure_problem (Bench *self, const GemmclGemm *gemm, gpointer *names, guint n, GError **error)
{
  g_autoptr (BenchMatrices) matrices = bench_matrices_new (self->context, gemm, error);

  if (matrices == NULL)
    return FALSE;
  self->ladder = (BenchLadder){0};
  for (guint i = 0; i < n; i++) {
    const gchar *name = names[i];

    tool_adopt_precision (&matrices->gemm, name);
    if (!measure_kernel (self, matrices, name, error))
      return FALSE;
  }
  if (self->is_ladder)
    bench_print_peak (self->out, columns, self->json);
  return TRUE;
}

static gboolean
measure (Bench *self, GError **error)
{
  /* A replayed problem has a kernel of its own. */
  const guint n = options.replay != NULL ? 1 : self->names->len;

  self->start = tool_get_seconds ();
  self->n_all = self->problems->len * n;
  for (guint i = 0; i < self->problems->len; i++)
    if (!measure_problem (self, &g_array_index (self->problems, GemmclGemm, i),
                          self->names->pdata + (options.replay != NULL ? i : 0), n, error))
      return FALSE;
  if (self->n_wrong > 0)
    return tool_fail (error, "%u of %zu results are outside their error bounds.", self->n_wrong,
                      json_array_size (self->json));
  return self->n_unbuilt == 0 ||
         tool_fail (error, "%u of the kernels did not build.", self->n_unbuilt);
}

static gboolean
run (G_GNUC_UNUSED gchar **arguments, GError **error)
{
  g_auto (Bench) self = {.json = json_array ()};
  gboolean ok;

  if (!describe_problems (&self, error) || (self.context = tool_open_context (error)) == NULL ||
      (self.names == NULL &&
       (self.names = tool_list_kernels (options.kernel, TRUE, &self.has_sets, error)) == NULL))
    return FALSE;
  self.is_ladder = g_str_equal (options.kernel, "ladder");
  self.info = gemmcl_context_get_device_info (self.context);
  /* Fails early: every size must fit before the first is measured. */
  for (guint i = 0; i < self.problems->len; i++)
    if (!bench_matrices_check (self.context, &g_array_index (self.problems, GemmclGemm, i), error))
      return FALSE;
  self.out = tool_table_get_output (options.json);
  self.notes = tool_notes_get_output (options.json);
  /* The file, too: the measurements may take an hour. */
  if (!find_peaks (&self, error) || !find_bandwidth (&self, error) ||
      !write_results (&self, FALSE, error))
    return FALSE;
  tool_catch_interrupt ();
  start_report (&self);
  ok = measure (&self, error);
  tool_progress_clear ();
  if (options.validation)
    bench_print_launches (self.notes, self.json, self.problems->len == 1);
  /* Results are written even if a later kernel failed. The first error is reported. */
  return write_results (&self, TRUE, ok ? error : NULL) && ok;
}

const ToolCommand tool_bench = {
    .name = "bench",
    .summary = "Measure kernels, and check their results",
    .description =
        "Measures how fast kernels multiply random matrices, A of M x K and B of K x N: the "
        "shortest and the median time of a run by the device's clock, the spread, which is the "
        "distance between the quartiles as a share of the median, the speed at the median "
        "in 10^9 operations a second (GFLOPS), and its share of the device's peak in the "
        "kernel's precision, if that peak is known; --peak sets another. B is packed before the "
        "clock starts. The output has a line for each run of a single kernel, and a line for "
        "each of several kernels or sizes.\n\n"
        "--validation checks each result first: every element must be within the error bound "
        "of the kernel's precision. The element whose error is the largest share of its bound is "
        "shown, as the error and the bound; a mismatch is exit status 1.\n\n"
        "Of several kernels that one name stands for, the table gives the reason why one cannot "
        "solve the problem on the device, or does not build, which is exit status 1 at the end. "
        "The progress is on the standard error.\n\n"
        "-v also prints how each kernel was launched: at which level it runs (gemmcl kernels "
        "--help), its work-items and those of a group, rows x columns x parts of a split K, the "
        "work-items of a hardware thread (SIMD) and the threads that started, and local memory of "
        "a group, private memory of a work-item and its spilled part, by the driver. "
        "--kernel=ladder adds the speedup of each step, and of all steps together.\n\n"
        "--replay measures the plans of a program again, by their sizes, layouts, types of A, "
        "activations and kernels: GEMMCL_VERBOSE=1 PROGRAM 2>plans.txt, and then gemmcl bench "
        "--replay plans.txt. It says what it leaves out, such as a bias or a frame.\n\n"
        "The file of --json is a list that is replaced whole after each result. So it is valid at "
        "any moment, and keeps the results of a run that is killed. Ctrl-C stops after the "
        "current run; --json=- then prints the results so far.\n\n"
        "If -k has auto or rules, a column gives the source of each choice: named by the user, "
        "tuned on this machine, shipped with the library, or its rules.",
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
                 {"gemmcl bench -M 1280 -K 1280 -N 1280 -k ladder",
                  "One optimization after another, with its speedup"},
                 {"gemmcl bench --sweep 64:2048 -k auto,gemm_naive --json speed.json && "
                  "gemmcl-plot speed.json speed.svg",
                  "Six sizes of square matrices, and a chart of them"}},
    .run = run,
};
