/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tune.h"

#include <math.h>
#include <string.h>

#include "bench.h"
#include "options.h"
#include "output.h"

enum { COLUMN_PROBLEM, COLUMN_RULES, COLUMN_TUNED = 3 };

static const ToolColumn titles[TUNE_N_COLUMNS] = {
    [COLUMN_PROBLEM] = {"M x N x K"},
    [COLUMN_RULES] = {"rules", .key = "rules.kernel"},
    {"GFLOPS", 8, TRUE, .key = "rules.gflops", .format = "%.2f"},
    [COLUMN_TUNED] = {"tuned", .key = "tuned.kernel"},
    {"GFLOPS", 8, TRUE, .key = "tuned.gflops", .format = "%.2f"},
    {"gain", 8, TRUE, .key = "more", .format = "%+.1f", .unit = " %"},
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

void
tune_report_add (FILE *out, const ToolColumn columns[TUNE_N_COLUMNS], const json_t *entry)
{
  const gdouble gain = tool_json_get_number (entry, "gain");
  g_autoptr (json_t) row = json_copy ((json_t *)entry);

  json_object_set_new (row, "more", tool_json_number (gain > 1.0 ? gain - 1.0 : NAN));
  tool_table_print (out, columns, TUNE_N_COLUMNS, row);
}

json_t *
tune_report_list (FILE *out, const GPtrArray *entries)
{
  ToolColumn columns[] = {{"M x N x K"},
                          {"precision", .key = "precision"},
                          {"layout", .key = "layout"},
                          {"kernel", .key = "kernel"},
                          {"GFLOPS", 8, TRUE, .key = "gflops", .format = "%.2f"},
                          {"source", .key = "source"}};
  json_t *list = json_array ();

  for (guint i = 0; i < entries->len; i++) {
    const GemmclTuningEntry *entry = g_ptr_array_index (entries, i);
    g_autofree gchar *name = tool_problem_get_name (entry->m, entry->n, entry->k);

    tool_table_fit (&columns[0], name);
    tool_table_fit (&columns[3], entry->kernel);
    json_array_append_new (
        list, json_pack ("{s:s, s:s, s:s, s:I, s:I, s:I, s:s, s:o}", "source",
                         gemmcl_choice_source_get_name (entry->source), "precision",
                         gemmcl_precision_get_name (entry->precision), "layout",
                         tool_layout_get_name (entry->layout), "m", (json_int_t)entry->m, "n",
                         (json_int_t)entry->n, "k", (json_int_t)entry->k, "kernel", entry->kernel,
                         "gflops", tool_json_number (entry->gflops)));
  }
  if (entries->len > 0)
    tool_table_titles (out, columns, G_N_ELEMENTS (columns));
  for (guint i = 0; i < entries->len; i++)
    tool_table_print (out, columns, G_N_ELEMENTS (columns), json_array_get (list, i));
  return list;
}
