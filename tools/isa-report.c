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

  return json_pack ("{s:s, s:f, s:s, s:f, s:f, s:[ffffff]}", "device", device->title, "efficiency",
                    prediction->efficiency, "bound", isa_bound_get_name (prediction->bound),
                    "threads", prediction->threads, "missed_bytes", prediction->missed_bytes,
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
prepare_columns (FILE *out, const json_t *figures, ToolColumn columns[N_COLUMNS])
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
  for (gsize i = 0; i < json_array_size (figures); i++)
    tool_table_fit (&columns[COLUMN_KERNEL],
                    json_string_value (json_object_get (json_array_get (figures, i), "kernel")));
  for (const IsaDevice *device = isa_devices; device->target != NULL; device++)
    tool_table_fit (&columns[COLUMN_DEVICE], device->title);
  tool_table_titles (out, columns, N_COLUMNS);
}

gboolean
isa_model_report (json_t *figures, const IsaProblem *problem, FILE *out, GError **error)
{
  ToolColumn columns[N_COLUMNS];

  prepare_columns (out, figures, columns);
  for (gsize i = 0; i < json_array_size (figures); i++) {
    json_t *object = json_array_get (figures, i);
    g_autoptr (IsaFigures) read = isa_figures_from_json (object);
    const IsaDevice *device = read != NULL ? isa_device_find (read->target) : NULL;
    IsaPrediction prediction;
    IsaShape shape;

    if (read == NULL) {
      g_set_error (error, TOOL_ERROR, TOOL_ERROR_FAILED,
                   "Number %" G_GSIZE_FORMAT
                   " of the figures is not what this version's --json writes; have them made anew.",
                   i + 1);
      return FALSE;
    }
    if (device == NULL || !isa_shape_read (read->options, &shape) ||
        !isa_model_predict (read, &shape, device, problem, &prediction))
      continue;
    print_prediction (out, columns, read, device, &prediction);
    json_object_set_new (object, "model", prediction_to_json (device, &prediction));
  }
  return TRUE;
}
