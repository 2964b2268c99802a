/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plot.h"

#include "plot-draw.h"

#define MARGIN     24
#define TITLE_SIZE 19
#define TEXT_SIZE  13
#define NOTE_SIZE  11.5
#define NOTE_LINE  17

/* From the top to the chart, and from the chart to the notes below it. */
#define HEAD 106
#define FOOT 68

PlotData *
plot_data_new (void)
{
  PlotData *self = g_new0 (PlotData, 1);

  self->names = g_ptr_array_new_with_free_func (g_free);
  self->points = g_array_new (FALSE, FALSE, sizeof (PlotPoint));
  return self;
}

void
plot_data_free (PlotData *self)
{
  g_free (self->title);
  g_free (self->subtitle);
  g_free (self->size_title);
  g_free (self->peak_source);
  g_free (self->bandwidth_source);
  g_ptr_array_unref (self->names);
  g_array_unref (self->points);
  g_free (self);
}

gchar *
plot_point_describe (const PlotData *data, const PlotPoint *point)
{
  gchar rate[G_ASCII_DTOSTR_BUF_SIZE], share[G_ASCII_DTOSTR_BUF_SIZE];
  g_autofree gchar *efficiency = NULL;

  g_ascii_formatd (rate, sizeof rate, "%.2f", point->gflops);
  if (data->peak > 0) {
    g_ascii_formatd (share, sizeof share, "%.1f", 100 * point->gflops / data->peak);
    efficiency = g_strdup_printf (", %s %% of the %s", share, plot_get_peak_name (data));
  }
  return g_strdup_printf (
      "%s, %" G_GSIZE_FORMAT " \u00d7 %" G_GSIZE_FORMAT " \u00d7 %" G_GSIZE_FORMAT ": %s GFLOPS%s",
      point->kernel, point->m, point->n, point->k, rate, efficiency != NULL ? efficiency : "");
}

const gchar *
plot_get_peak_name (const PlotData *data)
{
  return data->peak_stated ? "peak" : "f32 peak";
}

gchar *
plot_get_peak_note (const PlotData *data)
{
  return g_strdup_printf (data->peak > 0 ? "The %s: %s." : "The %s is %s; --peak states it.",
                          plot_get_peak_name (data), data->peak_source);
}

GString *
plot_begin (const PlotData *data, const gchar *kind, const gchar *const *notes, guint n_notes,
            gdouble rows, PlotFrame *frame)
{
  const PlotFont heading = {.size = TITLE_SIZE, .colour = PLOT_INK, .bold = TRUE};
  const PlotFont below = {.size = TEXT_SIZE, .colour = PLOT_GREY};
  const PlotFont note = {.size = NOTE_SIZE, .colour = PLOT_GREY};
  const gdouble width = PLOT_WIDTH - 2 * MARGIN;
  g_autofree gchar *title = g_strdup_printf ("%s: %s", kind, data->title);
  g_autofree gchar *head = plot_svg_shorten (data->title, TITLE_SIZE, width);
  g_autofree gchar *all = g_strdup_printf ("%s. %s", kind, data->subtitle);
  g_autofree gchar *sub = plot_svg_shorten (all, TEXT_SIZE, width);
  gdouble place = HEAD + rows + FOOT;
  guint n_lines = 0;
  GString *svg;

  frame->top = HEAD;
  frame->bottom = HEAD + rows;
  for (guint i = 0; i < n_notes; i++)
    n_lines += notes[i] != NULL;
  svg = plot_svg_new (PLOT_WIDTH, place + n_lines * NOTE_LINE, title);
  plot_svg_text (svg, MARGIN, 38, &heading, head, NULL);
  plot_svg_text (svg, MARGIN, 61, &below, sub, NULL);
  for (guint i = 0; i < n_notes; i++) {
    g_autofree gchar *line =
        notes[i] != NULL ? plot_svg_shorten (notes[i], NOTE_SIZE, width) : NULL;
    if (line == NULL)
      continue;
    plot_svg_text (svg, MARGIN, place, &note, line, NULL);
    place += NOTE_LINE;
  }
  return svg;
}
