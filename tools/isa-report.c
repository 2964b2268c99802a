/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The model's predictions for figures, as a table and as JSON.
 */
#include "isa-model.h"

#include <stdio.h>

#include "table.h"
#include "tool.h"

enum {
  COLUMN_KERNEL,
  COLUMN_DEVICE,
  COLUMN_THREADS,
  COLUMN_WAITS,
  COLUMN_EFFICIENCY,
  COLUMN_BOUND,
  COLUMN_ISSUE,
  COLUMN_PORT,
  COLUMN_SLM,
  COLUMN_FILL,
  COLUMN_LINK,
  COLUMN_MEMORY,
  COLUMN_MEGABYTES,
  N_COLUMNS
};

static json_t *
prediction_to_json (const IsaDevice *device, const IsaPrediction *prediction)
{
  const gdouble *busy = prediction->busy;

  return json_pack ("{s:s, s:f, s:f, s:s, s:f, s:f, s:f, s:[ffffff]}", "device", device->title,
                    "efficiency", prediction->efficiency, "gflops", prediction->gflops, "bound",
                    isa_bound_get_name (prediction->bound), "threads", prediction->threads,
                    "missed_bytes", prediction->missed_bytes, "dpas_share", prediction->dpas_share,
                    "busy", busy[0], busy[1], busy[2], busy[3], busy[4], busy[5]);
}

static void
print_prediction (FILE *out, const ToolColumn *columns, const IsaFigures *figures,
                  const IsaDevice *device, const IsaPrediction *prediction)
{
  const IsaLoop *loop = &figures->loops[figures->hot];
  gchar texts[N_COLUMNS][16];
  const gchar *cells[N_COLUMNS];

  for (guint c = 0; c < N_COLUMNS; c++)
    cells[c] = texts[c];
  cells[COLUMN_KERNEL] = figures->kernel;
  cells[COLUMN_DEVICE] = device->title;
  cells[COLUMN_BOUND] = isa_bound_get_name (prediction->bound);
  g_snprintf (texts[COLUMN_THREADS], sizeof (texts[0]), "%.1f", prediction->threads);
  g_snprintf (texts[COLUMN_WAITS], sizeof (texts[0]), "%.0f", loop->rounds + loop->slm_rounds);
  g_snprintf (texts[COLUMN_EFFICIENCY], sizeof (texts[0]), "%.1f %%", 100 * prediction->efficiency);
  g_snprintf (texts[COLUMN_MEGABYTES], sizeof (texts[0]), "%.0f", prediction->missed_bytes / 1e6);
  for (guint s = 0; s < ISA_N_STATIONS; s++)
    g_snprintf (texts[COLUMN_ISSUE + s], sizeof (texts[0]), "%.0f %%", 100 * prediction->busy[s]);
  tool_table_row (out, columns, cells, N_COLUMNS);
}

static void
prepare_columns (FILE *out, const GPtrArray *all, ToolColumn columns[N_COLUMNS])
{
  const ToolColumn titles[N_COLUMNS] = {
      [COLUMN_KERNEL] = {"kernel"},
      [COLUMN_DEVICE] = {"GPU"},
      [COLUMN_THREADS] = {"threads", 0, TRUE},
      [COLUMN_WAITS] = {"waits", 0, TRUE},
      [COLUMN_EFFICIENCY] = {"of peak", 0, TRUE},
      [COLUMN_BOUND] = {"bound by", 12},
      [COLUMN_ISSUE] = {"pipes", 0, TRUE},
      [COLUMN_PORT] = {"port", 0, TRUE},
      [COLUMN_SLM] = {"local", 0, TRUE},
      [COLUMN_FILL] = {"fill", 0, TRUE},
      [COLUMN_LINK] = {"ring", 0, TRUE},
      [COLUMN_MEMORY] = {"memory", 0, TRUE},
      [COLUMN_MEGABYTES] = {"MB missed", 0, TRUE},
  };

  for (guint c = 0; c < N_COLUMNS; c++)
    columns[c] = titles[c];
  for (guint i = 0; i < all->len; i++)
    tool_table_fit (&columns[COLUMN_KERNEL], ((const IsaFigures *)all->pdata[i])->kernel);
  for (const IsaDevice *device = isa_devices; device->target != NULL; device++)
    tool_table_fit (&columns[COLUMN_DEVICE], device->title);
  tool_table_titles (out, columns, N_COLUMNS);
}

/* All of a list, or NULL where one is something else. */
static GPtrArray *
read_figures (const json_t *list, GError **error)
{
  g_autoptr (GPtrArray) all = g_ptr_array_new_with_free_func ((GDestroyNotify)isa_figures_free);

  for (gsize i = 0; i < json_array_size (list); i++) {
    IsaFigures *figures = isa_figures_from_json (json_array_get (list, i));
    if (figures == NULL) {
      g_set_error (error, TOOL_ERROR, TOOL_ERROR_FAILED,
                   "Number %" G_GSIZE_FORMAT
                   " of the figures is not what this version's --json writes; have them made anew.",
                   i + 1);
      return NULL;
    }
    g_ptr_array_add (all, figures);
  }
  if (!json_is_array (list)) {
    g_set_error_literal (error, TOOL_ERROR, TOOL_ERROR_FAILED,
                         "Figures should be a list, as --json writes it.");
    return NULL;
  }
  return g_steal_pointer (&all);
}

gboolean
isa_model_report (json_t *figures, const IsaProblem *problem, FILE *out, GError **error)
{
  g_autoptr (GPtrArray) all = read_figures (figures, error);
  ToolColumn columns[N_COLUMNS];

  if (all == NULL)
    return FALSE;
  prepare_columns (out, all, columns);
  for (guint i = 0; i < all->len; i++) {
    const IsaFigures *one = all->pdata[i];
    const IsaDevice *device = isa_device_find (one->target);
    IsaPrediction prediction;
    IsaShape shape;

    if (device == NULL || !isa_shape_read (one->options, &shape) ||
        !isa_model_predict (one, &shape, device, problem, &prediction))
      continue;
    print_prediction (out, columns, one, device, &prediction);
    json_object_set_new (json_array_get (figures, i), "model",
                         prediction_to_json (device, &prediction));
  }
  return TRUE;
}
