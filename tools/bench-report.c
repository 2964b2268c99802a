/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench.h"

#include <math.h>
#include <string.h>

#include "options.h"
#include "output.h"

enum { COLUMN_SIZES, COLUMN_KERNEL, COLUMN_CHOICE };

static void
print_head (Bench *self)
{
  const GemmclGemm *gemm = &g_array_index (self->problems, GemmclGemm, 0);

  fprintf (self->out, "Device   %s (%s, %s)\n", self->info->name,
           tool_device_type_get_name (self->info->type), self->info->platform);
  if (self->peak > 0)
    fprintf (self->out, "%-8s %.1f GFLOPS: %s\n", self->peak_stated ? "Peak" : "f32 peak",
             self->peak, self->peak_source);
  else
    fprintf (self->out, "f32 peak %s; --peak sets it\n", self->peak_source);
  if (self->bandwidth > 0)
    fprintf (self->out, "Memory   %.1f GB/s: %s\n", self->bandwidth, self->bandwidth_source);
  fprintf (self->out, "Problem  %s (M x N x K)", self->shape);
  if (self->problems->len > 1)
    fprintf (self->out, ", s = %s", self->sweep);
  fprintf (self->out,
           ", %s-major%s%s, alpha %g, beta %g\n"
           "Runs     %u of each kernel, after one that does not count\n\n",
           gemm->layout == GEMMCL_LAYOUT_ROW_MAJOR ? "row" : "column",
           gemm->trans_a ? ", A transposed" : "", gemm->trans_b ? ", B transposed" : "",
           gemm->alpha, gemm->beta, self->iterations);
}

/* TRUE if auto or rules is among the names. */
static gboolean
lets_choose (const Bench *self)
{
  for (guint i = 0; i < self->names->len; i++)
    if (!gemmcl_kernel_exists (g_ptr_array_index (self->names, i), NULL))
      return TRUE;
  return FALSE;
}

static void
fit_columns (Bench *self)
{
  for (guint i = 0; i < self->problems->len; i++) {
    const GemmclGemm *gemm = &g_array_index (self->problems, GemmclGemm, i);
    g_autofree gchar *sizes = tool_problem_get_name (gemm->m, gemm->n, gemm->k);

    tool_table_fit (&self->columns[COLUMN_SIZES], sizes);
  }
  for (guint i = 0; i < self->names->len; i++)
    tool_table_fit (&self->columns[COLUMN_KERNEL], g_ptr_array_index (self->names, i));
  /* If a kernel will be chosen, the column must fit all of them. */
  for (guint i = 0; i < gemmcl_get_n_kernels () && !self->columns[COLUMN_CHOICE].hidden; i++)
    tool_table_fit (&self->columns[COLUMN_KERNEL], gemmcl_get_kernel (i)->name);
  tool_table_titles (self->out, self->columns, BENCH_N_COLUMNS);
}

void
bench_report_start (Bench *self, FILE *out)
{
  const gboolean one_size = self->problems->len == 1;
  const ToolColumn columns[BENCH_N_COLUMNS] = {
      [COLUMN_SIZES] = {"M x N x K", .hidden = one_size},
      [COLUMN_KERNEL] = {"kernel", .key = "kernel"},
      [COLUMN_CHOICE] = {"choice", 8, .hidden = !lets_choose (self), .key = "choice"},
      {"min ms", 10, TRUE, .key = "time_ms.min", .format = "%.4f"},
      {"median ms", 10, TRUE, .key = "time_ms.median", .format = "%.4f"},
      {"GFLOPS", 9, TRUE, .key = "gflops", .format = "%.2f"},
      {"efficiency", 0, TRUE, .key = "efficiency", .format = "%.1f", .unit = " %"},
      {"max error", 0, TRUE, !self->verify, "max_error", "%.3g"},
      {"bound", 9, TRUE, !self->verify, "error_bound", "%.3g"},
      {"check", 8, FALSE, !self->verify, "verified"},
  };

  memcpy (self->columns, columns, sizeof columns);
  self->out = out;
  /* With one kernel and one size each run is a line; otherwise only the median is. */
  self->each_run = self->names->len == 1 && one_size;
  self->json = json_array ();
  print_head (self);
  fit_columns (self);
}

/* Returns: the share of the peak; NaN if it is unknown. */
static gdouble
get_efficiency (const Bench *self, gdouble gflops)
{
  return self->peak > 0 ? gflops / self->peak : NAN;
}

static void
print_runs (Bench *self, const GemmclGemm *gemm, const BenchResult *result)
{
  for (guint i = 0; i < result->times->len; i++) {
    gdouble ms = g_array_index (result->times, gdouble, i);
    gdouble gflops = bench_gflops (gemm, ms);
    g_autofree gchar *name = g_strdup_printf ("  run %u", i + 1);
    g_autoptr (json_t) row =
        json_pack ("{s:s, s:{s:o}, s:o, s:o}", "kernel", name, "time_ms", "min",
                   tool_json_number (ms), "gflops", tool_json_number (gflops), "efficiency",
                   tool_json_number (get_efficiency (self, gflops)));

    tool_table_print (self->out, self->columns, BENCH_N_COLUMNS, row);
  }
}

/* @name: the kernel, as the user named it. */
static json_t *
make_json (const Bench *self, const GemmclGemm *gemm, const gchar *name, const BenchResult *result)
{
  const gdouble peak = self->peak > 0 ? self->peak : NAN;
  const gdouble bandwidth = self->bandwidth > 0 ? self->bandwidth : NAN;
  const GemmclPrecision precision = tool_get_precision (result->kernel);

  return json_pack (
      "{s:o, s:s, s:s, s:s, s:s, s:s, s:b, s:b, s:f, s:f, s:I, s:I, s:I, s:i, s:{s:o, s:o, s:o},"
      " s:o, s:o, s:s, s:o, s:o, s:s?, s:o, s:o, s:o}",
      "device", tool_json_string (self->info->name), "requested", name, "kernel", result->kernel,
      "choice", gemmcl_choice_source_get_name (result->choice), "precision",
      gemmcl_precision_get_name (precision), "layout", tool_layout_get_name (gemm->layout),
      "trans_a", gemm->trans_a, "trans_b", gemm->trans_b, "alpha", (gdouble)gemm->alpha, "beta",
      (gdouble)gemm->beta, "m", (json_int_t)gemm->m, "n", (json_int_t)gemm->n, "k",
      (json_int_t)gemm->k, "iterations", (int)self->iterations, "time_ms", "min",
      tool_json_number (result->min), "median", tool_json_number (result->median), "max",
      tool_json_number (result->max), "gflops", tool_json_number (result->gflops), "peak_gflops",
      tool_json_number (peak), "peak_source", self->peak_source, "efficiency",
      tool_json_number (get_efficiency (self, result->gflops)), "bandwidth_gbs",
      tool_json_number (bandwidth), "bandwidth_source", self->bandwidth_source, "verified",
      result->verified ? json_boolean (result->right) : json_null (), "max_error",
      tool_json_number (result->max_error), "error_bound", tool_json_number (result->error_bound));
}

void
bench_report_add (Bench *self, const GemmclGemm *gemm, const gchar *name, const BenchResult *result)
{
  json_t *row = make_json (self, gemm, name, result);

  if (self->each_run)
    print_runs (self, gemm, result);
  tool_table_print (self->out, self->columns, BENCH_N_COLUMNS, row);
  if (result->times->len > 0 && isnan (result->median))
    fprintf (self->out, "  The device measured no time.\n");
  json_array_append_new (self->json, row);
}

void
bench_report_skip (Bench *self, const GemmclGemm *gemm, const gchar *kernel, const gchar *why)
{
  /* The reason is in the place of the first number. */
  g_autoptr (json_t) row = json_pack ("{s:I, s:I, s:I, s:s, s:{s:o}}", "m", (json_int_t)gemm->m,
                                      "n", (json_int_t)gemm->n, "k", (json_int_t)gemm->k, "kernel",
                                      kernel, "time_ms", "min", tool_json_string (why));

  tool_table_print (self->out, self->columns, BENCH_N_COLUMNS, row);
}
