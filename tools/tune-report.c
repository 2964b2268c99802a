/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tune.h"

#include <math.h>
#include <string.h>

#include "bench.h"
#include "options.h"
#include "output.h"

enum {
  COLUMN_PROBLEM,
  COLUMN_RULES,
  COLUMN_RULES_GFLOPS,
  COLUMN_TUNED,
  COLUMN_TUNED_GFLOPS,
  COLUMN_GAIN,
};

static const ToolColumn titles[TUNE_N_COLUMNS] = {
    [COLUMN_PROBLEM] = {"M x N x K"},
    [COLUMN_RULES] = {"rules"},
    [COLUMN_RULES_GFLOPS] = {"GFLOPS", 8, TRUE},
    [COLUMN_TUNED] = {"tuned"},
    [COLUMN_TUNED_GFLOPS] = {"GFLOPS", 8, TRUE},
    [COLUMN_GAIN] = {"gain", 8, TRUE},
};

void
tune_report_start (TuneReport *self, const GArray *problems)
{
  g_autofree gchar *path = gemmcl_tuning_get_path ();

  memcpy (self->columns, titles, sizeof titles);
  for (guint i = 0; i < problems->len; i++) {
    const GemmclGemm *gemm = &g_array_index (problems, GemmclGemm, i);
    g_autofree gchar *name = tool_problem_get_name (gemm->m, gemm->n, gemm->k);
    tool_table_fit (&self->columns[COLUMN_PROBLEM], name);
  }
  for (guint i = 0; i < gemmcl_get_n_kernels (); i++) {
    tool_table_fit (&self->columns[COLUMN_RULES], gemmcl_get_kernel (i)->name);
    tool_table_fit (&self->columns[COLUMN_TUNED], gemmcl_get_kernel (i)->name);
  }
  fprintf (self->out, "Device    %s\nDriver    %s\nFile      %s\n\n", self->info->name,
           self->info->driver, path);
  tool_table_titles (self->out, self->columns, TUNE_N_COLUMNS);
}

static gdouble
get_gflops (const TuneSearch *search, const TuneCandidate *candidate)
{
  return candidate != NULL ? bench_gflops (&search->gemm, candidate->ms) : NAN;
}

static json_t *
make_choice (const TuneSearch *search, const TuneCandidate *candidate)
{
  return candidate != NULL ? json_pack ("{s:s, s:o}", "kernel", candidate->name, "gflops",
                                        tool_json_number (get_gflops (search, candidate)))
                           : json_null ();
}

static json_t *
make_candidates (const TuneSearch *search)
{
  json_t *list = json_array ();

  for (guint i = 0; i < search->candidates->len; i++) {
    const TuneCandidate *candidate = g_ptr_array_index (search->candidates, i);
    json_t *object = make_choice (search, candidate);
    json_object_set_new (object, "why", tool_json_string (candidate->why));
    json_array_append_new (list, object);
  }
  return list;
}

static json_t *
make_json (const TuneReport *self, const TuneSearch *search, gboolean stored)
{
  const GemmclGemm *gemm = &search->gemm;

  return json_pack (
      "{s:o, s:o, s:s, s:s, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:b, s:o}", "device",
      tool_json_string (self->info->name), "driver", tool_json_string (self->info->driver),
      "precision", gemmcl_precision_get_name (gemm->precision), "layout",
      tool_layout_get_name (gemm->layout), "m", (json_int_t)gemm->m, "n", (json_int_t)gemm->n, "k",
      (json_int_t)gemm->k, "seconds", tool_json_number (search->seconds), "rules",
      make_choice (search, search->rules), "tuned", make_choice (search, search->best), "gain",
      tool_json_number (search->gain), "stored", stored, "candidates", make_candidates (search));
}

void
tune_report_add (TuneReport *self, const TuneSearch *search, gboolean stored)
{
  const GemmclGemm *gemm = &search->gemm;
  g_autofree gchar *problem = tool_problem_get_name (gemm->m, gemm->n, gemm->k);
  g_autofree gchar *rules = tool_format_number ("%.2f", get_gflops (search, search->rules), "");
  g_autofree gchar *tuned = tool_format_number ("%.2f", get_gflops (search, search->best), "");
  g_autofree gchar *gain =
      tool_format_number ("%+.1f", search->gain > 1.0 ? 100.0 * (search->gain - 1.0) : NAN, " %");
  const gchar *cells[TUNE_N_COLUMNS] = {
      [COLUMN_PROBLEM] = problem,
      [COLUMN_RULES] = search->rules != NULL ? search->rules->name : "-",
      [COLUMN_RULES_GFLOPS] = rules,
      [COLUMN_TUNED] = search->best != NULL ? search->best->name : "-",
      [COLUMN_TUNED_GFLOPS] = tuned,
      [COLUMN_GAIN] = gain,
  };

  tool_table_row (self->out, self->columns, cells, TUNE_N_COLUMNS);
  json_array_append_new (self->json, make_json (self, search, stored));
}

json_t *
tune_report_list (FILE *out, const GPtrArray *entries)
{
  ToolColumn columns[] = {{"M x N x K"}, {"precision"},       {"layout"},
                          {"kernel"},    {"GFLOPS", 8, TRUE}, {"source"}};
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  json_t *list = json_array ();

  for (guint i = 0; i < entries->len; i++) {
    const GemmclTuningEntry *entry = g_ptr_array_index (entries, i);
    gchar *name = tool_problem_get_name (entry->m, entry->n, entry->k);
    g_ptr_array_add (names, name);
    tool_table_fit (&columns[0], name);
    tool_table_fit (&columns[3], entry->kernel);
  }
  if (entries->len > 0)
    tool_table_titles (out, columns, G_N_ELEMENTS (columns));
  for (guint i = 0; i < entries->len; i++) {
    const GemmclTuningEntry *entry = g_ptr_array_index (entries, i);
    const gchar *precision = gemmcl_precision_get_name (entry->precision);
    const gchar *layout = tool_layout_get_name (entry->layout);
    const gchar *source = gemmcl_choice_source_get_name (entry->source);
    g_autofree gchar *gflops = tool_format_number ("%.2f", entry->gflops, "");
    const gchar *cells[] = {
        g_ptr_array_index (names, i), precision, layout, entry->kernel, gflops, source};

    tool_table_row (out, columns, cells, G_N_ELEMENTS (cells));
    json_array_append_new (list, json_pack ("{s:s, s:s, s:s, s:I, s:I, s:I, s:s, s:o}", "source",
                                            source, "precision", precision, "layout", layout, "m",
                                            (json_int_t)entry->m, "n", (json_int_t)entry->n, "k",
                                            (json_int_t)entry->k, "kernel", entry->kernel, "gflops",
                                            tool_json_number (entry->gflops)));
  }
  return list;
}
