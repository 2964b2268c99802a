/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench-report.h"

#include <math.h>

#include "options.h"
#include "table.h"

enum {
  COLUMN_KERNEL,
  COLUMN_MIN,
  COLUMN_MEDIAN,
  COLUMN_GFLOPS,
  COLUMN_EFFICIENCY,
  COLUMN_ERROR,
  COLUMN_BOUND,
  COLUMN_CHECK,
  N_COLUMNS,
};

struct _BenchReport {
  FILE *out;
  const GemmclDeviceInfo *info;
  const GemmclGemm *gemm;
  guint iterations;
  guint n_columns;
  gboolean each_run;
  gdouble peak;
  gchar *peak_source;
  ToolColumn columns[N_COLUMNS];
  json_t *json;
};

BenchReport *
bench_report_new (FILE *out, const GemmclDeviceInfo *info, const GemmclGemm *gemm, guint iterations,
                  gboolean verify, gdouble peak, const gchar *peak_source)
{
  BenchReport *self = g_new0 (BenchReport, 1);

  *self = (BenchReport){
      .out = out,
      .info = info,
      .gemm = gemm,
      .iterations = iterations,
      .n_columns = verify ? N_COLUMNS : COLUMN_ERROR,
      .peak = peak,
      .peak_source = g_strdup (peak_source),
      .columns = {[COLUMN_KERNEL] = {"kernel"},
                  [COLUMN_MIN] = {"min ms", 10, TRUE},
                  [COLUMN_MEDIAN] = {"median ms", 10, TRUE},
                  [COLUMN_GFLOPS] = {"GFLOPS", 9, TRUE},
                  [COLUMN_EFFICIENCY] = {"efficiency", 0, TRUE},
                  [COLUMN_ERROR] = {"max error", 0, TRUE},
                  [COLUMN_BOUND] = {"bound", 9, TRUE},
                  [COLUMN_CHECK] = {"check", 8, FALSE}},
      .json = json_array (),
  };
  return self;
}

void
bench_report_free (BenchReport *self)
{
  json_decref (self->json);
  g_free (self->peak_source);
  g_free (self);
}

void
bench_report_start (BenchReport *self, const gchar *const *kernels, guint n_kernels)
{
  const GemmclGemm *gemm = self->gemm;

  fprintf (self->out, "Device   %s (%s, %s)\n", self->info->name,
           tool_device_type_get_name (self->info->type), self->info->platform);
  if (self->peak > 0)
    fprintf (self->out, "Peak     %.1f GFLOPS: %s\n", self->peak, self->peak_source);
  else
    fprintf (self->out, "Peak     %s; --peak states it\n", self->peak_source);
  fprintf (self->out,
           "Problem  %" G_GSIZE_FORMAT " x %" G_GSIZE_FORMAT " x %" G_GSIZE_FORMAT
           " (M x N x K), %s-major%s%s, alpha %g, beta %g\n"
           "Runs     %u of each kernel, after one that does not count\n\n",
           gemm->m, gemm->n, gemm->k, gemm->layout == GEMMCL_LAYOUT_ROW_MAJOR ? "row" : "column",
           gemm->trans_a ? ", A transposed" : "", gemm->trans_b ? ", B transposed" : "",
           gemm->alpha, gemm->beta, self->iterations);

  /* Of one kernel each run is told, of several only what they come to. */
  self->each_run = n_kernels == 1;
  for (guint i = 0; i < n_kernels; i++)
    tool_table_fit (&self->columns[COLUMN_KERNEL], kernels[i]);
  for (guint i = 0; i < gemmcl_get_n_kernels () && n_kernels == 1; i++)
    tool_table_fit (&self->columns[COLUMN_KERNEL], gemmcl_get_kernel (i)->name);
  tool_table_titles (self->out, self->columns, self->n_columns);
}

static gchar *
format_efficiency (const BenchReport *self, gdouble gflops)
{
  return self->peak > 0 && isfinite (gflops)
             ? g_strdup_printf ("%.1f %%", 100 * gflops / self->peak)
             : g_strdup ("-");
}

/* @format is "%.4f" or the like; what is not known is a dash. */
static gchar *
format_number (const gchar *format, gdouble number)
{
  gchar text[G_ASCII_DTOSTR_BUF_SIZE];

  return g_strdup (isnan (number) ? "-" : g_ascii_formatd (text, sizeof text, format, number));
}

static void
print_runs (BenchReport *self, const BenchResult *result)
{
  for (guint i = 0; i < result->times->len; i++) {
    gdouble ms = g_array_index (result->times, gdouble, i);
    gdouble gflops = bench_gflops (self->gemm, ms);
    g_autofree gchar *name = g_strdup_printf ("  run %u", i + 1);
    g_autofree gchar *time = format_number ("%.4f", ms);
    g_autofree gchar *rate = format_number ("%.2f", gflops);
    g_autofree gchar *efficiency = format_efficiency (self, gflops);
    const gchar *cells[] = {name, time, "", rate, efficiency};
    tool_table_row (self->out, self->columns, cells, G_N_ELEMENTS (cells));
  }
}

static json_t *
make_json (const BenchReport *self, const BenchResult *result)
{
  const GemmclGemm *gemm = self->gemm;
  gdouble efficiency = self->peak > 0 ? result->gflops / self->peak : NAN;

  return json_pack (
      "{s:o, s:s, s:s, s:I, s:I, s:I, s:i, s:{s:o, s:o, s:o}, s:o, s:o, s:o, s:o, s:o, s:o}",
      "device", tool_json_string (self->info->name), "kernel", result->kernel, "precision",
      gemmcl_precision_get_name (tool_get_precision (result->kernel)), "m", (json_int_t)gemm->m,
      "n", (json_int_t)gemm->n, "k", (json_int_t)gemm->k, "iterations", (int)self->iterations,
      "time_ms", "min", tool_json_number (result->min), "median", tool_json_number (result->median),
      "max", tool_json_number (result->max), "gflops", tool_json_number (result->gflops),
      "peak_gflops", self->peak > 0 ? tool_json_number (self->peak) : json_null (), "efficiency",
      tool_json_number (efficiency), "verified",
      result->verified ? json_boolean (result->right) : json_null (), "max_error",
      tool_json_number (result->max_error), "error_bound", tool_json_number (result->error_bound));
}

void
bench_report_add (BenchReport *self, const BenchResult *result)
{
  g_autofree gchar *min = format_number ("%.4f", result->min);
  g_autofree gchar *median = format_number ("%.4f", result->median);
  g_autofree gchar *gflops = format_number ("%.2f", result->gflops);
  g_autofree gchar *efficiency = format_efficiency (self, result->gflops);
  g_autofree gchar *max_error = format_number ("%.3g", result->max_error);
  g_autofree gchar *bound = format_number ("%.3g", result->error_bound);
  const gchar *cells[N_COLUMNS] = {
      [COLUMN_KERNEL] = result->kernel,
      [COLUMN_MIN] = min,
      [COLUMN_MEDIAN] = median,
      [COLUMN_GFLOPS] = gflops,
      [COLUMN_EFFICIENCY] = efficiency,
      [COLUMN_ERROR] = max_error,
      [COLUMN_BOUND] = bound,
      [COLUMN_CHECK] = !result->verified ? "-"
                       : result->right   ? "ok"
                                         : "MISMATCH",
  };

  if (self->each_run)
    print_runs (self, result);
  tool_table_row (self->out, self->columns, cells, self->n_columns);
  json_array_append_new (self->json, make_json (self, result));
}

void
bench_report_skip (BenchReport *self, const gchar *kernel, const gchar *why)
{
  const gchar *cells[] = {kernel, why};

  tool_table_row (self->out, (const ToolColumn[]){self->columns[COLUMN_KERNEL], {""}}, cells,
                  G_N_ELEMENTS (cells));
}

const json_t *
bench_report_get_json (const BenchReport *self)
{
  return self->json;
}
