/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plot-draw.h"

#define LINE 24
/* The same of a long list, how long that is, and what of a line its bar takes. */
#define DENSE_LINE 18
#define MANY       30
#define BAR_SHARE  0.64
#define NAME_SIZE  12.5
/* The widest column of names, and those of the numbers. */
#define NAMES_WIDTH 300
#define RATE_WIDTH  70
#define SHARE_WIDTH 66
#define MARGIN      24
#define BAR_COLOUR  "#0072b2"

static gint
compare_rates (gconstpointer a, gconstpointer b)
{
  gdouble x = ((const PlotPoint *)(*(PlotSeries *const *)a)->points->pdata[0])->gflops;
  gdouble y = ((const PlotPoint *)(*(PlotSeries *const *)b)->points->pdata[0])->gflops;

  return (x < y) - (x > y);
}

static gdouble
get_names_width (GPtrArray *list)
{
  gdouble width = 0;

  for (guint i = 0; i < list->len; i++)
    width = MAX (width, plot_svg_guess_width (((PlotSeries *)list->pdata[i])->label, NAME_SIZE));
  return MIN (width, NAMES_WIDTH);
}

static void
draw_row (GString *svg, const PlotData *data, const PlotSeries *series, const PlotAxis *x,
          gdouble middle, gdouble bar)
{
  const PlotFont name = {.size = NAME_SIZE, .colour = PLOT_INK, .anchor = PLOT_END};
  const PlotFont number = {.size = NAME_SIZE, .colour = PLOT_GREY, .anchor = PLOT_END};
  const PlotPoint *point = series->points->pdata[0];
  g_autofree gchar *label = plot_svg_shorten (series->label, NAME_SIZE, NAMES_WIDTH);
  g_autofree gchar *rate = plot_format_number (point->gflops);
  g_autofree gchar *tip = plot_point_describe (data, point);
  gchar share[G_ASCII_DTOSTR_BUF_SIZE];

  plot_svg_open (svg, "series", series->label);
  plot_svg_text (svg, x->start - 9, middle + 4, &name, label, NULL);
  plot_svg_bar (svg, x->start, middle - bar / 2, plot_axis_place (x, point->gflops) - x->start, bar,
                BAR_COLOUR, tip);
  plot_svg_text (svg, x->end + RATE_WIDTH, middle + 4, &name, rate, NULL);
  if (data->peak > 0) {
    g_autofree gchar *text = NULL;
    g_ascii_formatd (share, sizeof share, "%.1f", 100 * point->gflops / data->peak);
    text = g_strconcat (share, " %", NULL);
    plot_svg_text (svg, x->end + RATE_WIDTH + SHARE_WIDTH, middle + 4, &number, text, NULL);
  }
  plot_svg_close (svg);
}

static void
draw_peak (GString *svg, const PlotData *data, const PlotAxis *x, const PlotFrame *frame)
{
  const PlotStroke dashes = {.colour = PLOT_INK, .width = 1.2, .dash = "7 5"};
  const PlotFont font = {.size = 12, .colour = PLOT_INK, .anchor = PLOT_END};
  gdouble place = plot_axis_place (x, data->peak);
  g_autofree gchar *number = plot_format_number (data->peak);
  g_autofree gchar *text = g_strdup_printf ("%s %s", plot_get_peak_name (data), number);

  plot_svg_open (svg, "peak", text);
  plot_svg_line (svg, place, frame->top - 4, place, frame->bottom, &dashes);
  plot_svg_text (svg, place + 4, frame->top - 12, &font, text, NULL);
  plot_svg_close (svg);
}

static void
draw_heads (GString *svg, const PlotData *data, const PlotFrame *frame)
{
  const PlotFont font = {.size = 12, .colour = PLOT_GREY, .anchor = PLOT_END};

  plot_svg_text (svg, frame->right + RATE_WIDTH, frame->top - 12, &font, "GFLOPS", NULL);
  if (data->peak > 0)
    plot_svg_text (svg, frame->right + RATE_WIDTH + SHARE_WIDTH, frame->top - 12, &font, "of peak",
                   NULL);
}

gchar *
plot_bars (const PlotData *data)
{
  g_autoptr (GPtrArray) list = plot_series_list (data);
  g_autofree gchar *note = plot_get_peak_note (data);
  const gdouble numbers = MARGIN + RATE_WIDTH + (data->peak > 0 ? SHARE_WIDTH : 0);
  PlotFrame frame = {.left = MARGIN + get_names_width (list) + 9, .right = PLOT_WIDTH - numbers};
  const gdouble line = list->len > MANY ? DENSE_LINE : LINE;
  GString *svg =
      plot_begin (data, "Kernels by speed", (const gchar *[]){note}, 1, list->len * line, &frame);
  const PlotAxis y = {.low = 0, .high = list->len, .start = frame.bottom, .end = frame.top};
  PlotAxis x = {.low = 0, .high = data->peak, .start = frame.left, .end = frame.right};
  g_autoptr (GArray) ticks = NULL;

  g_ptr_array_sort (list, compare_rates);
  x.high =
      MAX (x.high, ((const PlotPoint *)((PlotSeries *)list->pdata[0])->points->pdata[0])->gflops);
  x.high *= 1.01;
  ticks = plot_axis_list_ticks (&x, 8);
  plot_axis_draw_x (svg, &x, &y, ticks, "GFLOPS");
  draw_heads (svg, data, &frame);
  for (guint i = 0; i < list->len; i++)
    draw_row (svg, data, list->pdata[i], &x, frame.top + (i + 0.5) * line, BAR_SHARE * line);
  if (data->peak > 0)
    draw_peak (svg, data, &x, &frame);
  return plot_svg_finish (svg);
}
