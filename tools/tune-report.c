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
tune_report_start (FILE *out, ToolColumn columns[TUNE_N_COLUMNS], const GemmclDeviceInfo *info,
                   const GArray *problems)
{
  g_autofree gchar *path = gemmcl_tuning_get_path ();

  memcpy (columns, titles, sizeof titles);
  for (guint i = 0; i < problems->len; i++) {
    const GemmclGemm *gemm = &g_array_index (problems, GemmclGemm, i);
    g_autofree gchar *name = tool_problem_get_name (gemm->m, gemm->n, gemm->k);
    tool_table_fit (&columns[COLUMN_PROBLEM], name);
  }
  for (guint i = 0; i < gemmcl_get_n_kernels (); i++) {
    tool_table_fit (&columns[COLUMN_RULES], gemmcl_get_kernel (i)->name);
    tool_table_fit (&columns[COLUMN_TUNED], gemmcl_get_kernel (i)->name);
  }
  fprintf (out, "Device    %s\nDriver    %s\nFile      %s\n\n", info->name, info->driver, path);
  tool_table_titles (out, columns, TUNE_N_COLUMNS);
}

/* Returns: the kernel of a choice, and its speed; dashes without one. */
static const gchar *
format_choice (const json_t *choice, gchar **gflops)
{
  const gchar *kernel = tool_json_get_string (choice, "kernel");

  *gflops = tool_format_number ("%.2f", tool_json_get_number (choice, "gflops"), "");
  return kernel != NULL ? kernel : "-";
}

void
tune_report_add (FILE *out, const ToolColumn columns[TUNE_N_COLUMNS], const json_t *entry)
{
  const gdouble gain = tool_json_get_number (entry, "gain");
  g_autofree gchar *problem = tool_json_get_problem (entry);
  g_autofree gchar *rules = NULL, *tuned = NULL;
  g_autofree gchar *percent =
      tool_format_number ("%+.1f", gain > 1.0 ? 100.0 * (gain - 1.0) : NAN, " %");
  const gchar *cells[TUNE_N_COLUMNS] = {
      [COLUMN_PROBLEM] = problem,
      [COLUMN_RULES] = format_choice (json_object_get (entry, "rules"), &rules),
      [COLUMN_TUNED] = format_choice (json_object_get (entry, "tuned"), &tuned),
      [COLUMN_GAIN] = percent,
  };

  cells[COLUMN_RULES_GFLOPS] = rules;
  cells[COLUMN_TUNED_GFLOPS] = tuned;
  tool_table_row (out, columns, cells, TUNE_N_COLUMNS);
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
