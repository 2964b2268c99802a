/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include <math.h>

#include "plot-draw.h"

#define ROWS 356
#define LEFT 64
/* From this ratio on, sizes stand at equal steps where each is twice the one before. */
#define WIDE 4
/* The least between the numbers below. */
#define TICK_GAP 42

static PlotAxis
make_x (const PlotData *data, const PlotFrame *frame)
{
  PlotAxis x = {.low = G_MAXDOUBLE, .high = 0, .start = frame->left, .end = frame->right};

  for (guint i = 0; i < data->points->len; i++) {
    gdouble size = g_array_index (data->points, PlotPoint, i).size;
    x.low = MIN (x.low, size);
    x.high = MAX (x.high, size);
  }
  x.logarithmic = x.high >= WIDE * x.low;
  /* Not less than a point's width, where all points are of one size. */
  if (x.high <= x.low)
    x.high = x.low + 1;
  return x;
}

static PlotAxis
make_y (const PlotData *data, const PlotFrame *frame)
{
  PlotAxis y = {.low = 0, .high = data->peak, .start = frame->bottom, .end = frame->top};

  for (guint i = 0; i < data->points->len; i++)
    y.high = MAX (y.high, g_array_index (data->points, PlotPoint, i).gflops);
  y.high *= 1.06;
  return y;
}

static gint
compare_numbers (gconstpointer a, gconstpointer b)
{
  gdouble x = *(const gdouble *)a, y = *(const gdouble *)b;

  return (x > y) - (x < y);
}

/* The sizes that were measured, if there is room for their numbers. */
static GArray *
list_sizes (const PlotData *data, const PlotAxis *x)
{
  g_autoptr (GArray) all = g_array_new (FALSE, FALSE, sizeof (gdouble));
  GArray *sizes = g_array_new (FALSE, FALSE, sizeof (gdouble));

  for (guint i = 0; i < data->points->len; i++)
    g_array_append_val (all, g_array_index (data->points, PlotPoint, i).size);
  g_array_sort (all, compare_numbers);
  for (guint i = 0; i < all->len; i++) {
    gdouble size = g_array_index (all, gdouble, i);
    gdouble last = sizes->len > 0 ? g_array_index (sizes, gdouble, sizes->len - 1) : 0;
    if (size > last && last > 0 && plot_axis_place (x, size) - plot_axis_place (x, last) < TICK_GAP)
      return g_array_unref (sizes), NULL;
    if (size > last)
      g_array_append_val (sizes, size);
  }
  return sizes;
}

static void
draw_peak (GString *svg, const PlotData *data, const PlotAxis *x, const PlotAxis *y)
{
  const PlotStroke dashes = {.colour = PLOT_INK, .width = 1.2, .dash = "7 5"};
  const PlotFont font = {.size = 12, .colour = PLOT_INK, .halo = TRUE};
  gdouble place = plot_axis_place (y, data->peak);
  g_autofree gchar *number = plot_format_number (data->peak);
  g_autofree gchar *text = g_strdup_printf ("%s %s GFLOPS", plot_get_peak_name (data), number);

  plot_svg_open (svg, "peak", text);
  plot_svg_line (svg, x->start, place, x->end, place, &dashes);
  plot_svg_text (svg, x->start + 8, place - 6, &font, text, NULL);
  plot_svg_close (svg);
}

gchar *
plot_lines (const PlotData *data)
{
  g_autoptr (GPtrArray) list = plot_series_list (data);
  g_autofree gchar *peak = plot_get_peak_note (data);
  g_autofree gchar *others = plot_series_get_note (list);
  g_autofree gchar *title = g_strdup_printf ("Size s of %s", data->size_title);
  const gchar *notes[] = {peak, others};
  PlotFrame frame = {.left = LEFT, .right = PLOT_WIDTH - plot_series_get_margin (list)};
  GString *svg = plot_begin (data, "Speed over size", notes, G_N_ELEMENTS (notes), ROWS, &frame);
  const PlotAxis x = make_x (data, &frame), y = make_y (data, &frame);
  const guint most = (guint)((frame.right - frame.left) / TICK_GAP);
  g_autoptr (GArray) across = list_sizes (data, &x);
  g_autoptr (GArray) up = plot_axis_list_ticks (&y, 8);

  if (across == NULL)
    across = x.logarithmic ? plot_axis_list_octaves (&x, most) : plot_axis_list_ticks (&x, most);
  plot_axis_draw_y (svg, &x, &y, up, "GFLOPS");
  plot_axis_draw_x (svg, &x, &y, across, title);
  if (data->peak > 0)
    draw_peak (svg, data, &x, &y);
  plot_series_draw (svg, data, list, &x, &y, plot_point_get_size);
  return plot_svg_finish (svg);
}
