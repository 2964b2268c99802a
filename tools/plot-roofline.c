/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include <math.h>

#include "plot-draw.h"

#define ROWS 368
#define LEFT 64
/* Height of the sizes' numbers above the lower axis, and the smallest gap between two of them. */
#define SIZES_HEIGHT 26
#define SIZES_GAP    8
#define TICK_GAP     42

static const PlotFont size_font = {
    .size = 11, .colour = PLOT_GREY, .anchor = PLOT_MIDDLE, .halo = TRUE};
static const PlotFont roof_font = {.size = 12, .colour = PLOT_INK, .halo = TRUE};

/* Returns: the intensity at which the slope of the memory meets the peak; 0 without a peak. */
static gdouble
get_ridge (const PlotData *data)
{
  return data->peak > 0 ? data->peak / data->bandwidth : 0;
}

/* Makes axes for all points and the ridge, with room for the slope to the left. */
static void
make_axes (const PlotData *data, const PlotFrame *frame, PlotAxis *x, PlotAxis *y)
{
  const gdouble ridge = get_ridge (data);

  *x = (PlotAxis){.low = G_MAXDOUBLE, .logarithmic = TRUE, .start = frame->left};
  *y = (PlotAxis){.low = G_MAXDOUBLE, .logarithmic = TRUE, .end = frame->top};
  x->end = frame->right;
  y->start = frame->bottom;
  for (guint i = 0; i < data->points->len; i++) {
    const PlotPoint *point = &g_array_index (data->points, PlotPoint, i);
    x->low = MIN (x->low, point->intensity);
    x->high = MAX (x->high, point->intensity);
    y->low = MIN (y->low, point->gflops);
    y->high = MAX (y->high, point->gflops);
  }
  y->high = 1.7 * MAX (y->high, ridge > 0 ? data->peak : data->bandwidth * x->low);
  x->low = MIN (x->low / 2, ridge > 0 ? ridge / 8 : x->low / 4);
  x->high = MAX (x->high * 1.25, ridge * 3);
  y->low /= 1.5;
  /* Room for the numbers of the sizes. */
  y->low = y->high * pow (y->low / y->high, ROWS / (ROWS - (gdouble)SIZES_HEIGHT));
}

static void
draw_slope (GString *svg, const PlotData *data, const PlotAxis *x, const PlotAxis *y)
{
  const PlotStroke stroke = {.colour = PLOT_INK, .width = 1.5};
  const gdouble top = data->peak > 0 ? data->peak : y->high;
  const gdouble low = MAX (x->low, y->low / data->bandwidth);
  const gdouble high = MIN (x->high, top / data->bandwidth);
  const gdouble xy[] = {plot_axis_place (x, low), plot_axis_place (y, low * data->bandwidth),
                        plot_axis_place (x, high), plot_axis_place (y, high * data->bandwidth)};
  const gdouble angle = atan2 (xy[3] - xy[1], xy[2] - xy[0]);
  const gdouble part = 0.3;
  PlotFont font = roof_font;
  g_autofree gchar *number = plot_format_number (data->bandwidth);
  g_autofree gchar *text = g_strdup_printf ("memory %s GB/s", number);

  font.anchor = PLOT_MIDDLE;
  font.turn = angle * 180 / G_PI;
  plot_svg_open (svg, "bandwidth", text);
  plot_svg_polyline (svg, xy, 2, &stroke);
  plot_svg_text (svg, xy[0] + part * (xy[2] - xy[0]) + 8 * sin (angle),
                 xy[1] + part * (xy[3] - xy[1]) - 8 * cos (angle), &font, text, NULL);
  plot_svg_close (svg);
}

static void
draw_peak (GString *svg, const PlotData *data, const PlotAxis *x, const PlotAxis *y)
{
  const PlotStroke stroke = {.colour = PLOT_INK, .width = 1.5};
  const gdouble place = plot_axis_place (y, data->peak);
  PlotFont font = roof_font;
  g_autofree gchar *number = plot_format_number (data->peak);
  g_autofree gchar *text = g_strdup_printf ("%s %s GFLOPS", plot_get_peak_name (data), number);

  font.anchor = PLOT_END;
  plot_svg_open (svg, "peak", text);
  plot_svg_line (svg, plot_axis_place (x, get_ridge (data)), place, x->end, place, &stroke);
  plot_svg_text (svg, x->end - 6, place - 7, &font, text, NULL);
  plot_svg_close (svg);
}

/* Draws a thin line below a point, and its size at the bottom. */
static void
draw_size (GString *svg, const PlotPoint *point, const gchar *text, const PlotAxis *x,
           const PlotAxis *y)
{
  const PlotStroke stroke = {.colour = "#8c959f", .width = 0.8, .dash = "1 3"};
  const gdouble place = plot_axis_place (x, point->intensity);

  plot_svg_line (svg, place, y->start - SIZES_HEIGHT + 6, place, plot_axis_place (y, point->gflops),
                 &stroke);
  plot_svg_text (svg, place, y->start - 8, &size_font, text, NULL);
}

/* Draws the last size, and the others as far as there is room. */
static void
draw_sizes (GString *svg, const PlotData *data, const PlotAxis *x, const PlotAxis *y)
{
  const PlotPoint *last = NULL;
  g_autofree gchar *last_text = NULL;
  gdouble free_from = x->start, free_to;

  for (guint i = 0; i < data->points->len; i++) {
    const PlotPoint *point = &g_array_index (data->points, PlotPoint, i);
    if (last == NULL || point->intensity > last->intensity)
      last = point;
  }
  last_text = g_strdup_printf ("%.0f", last->size);
  free_to = plot_axis_place (x, last->intensity) -
            plot_svg_guess_width (last_text, size_font.size) / 2 - SIZES_GAP;
  for (guint i = 0; i < data->points->len; i++) {
    const PlotPoint *point = &g_array_index (data->points, PlotPoint, i);
    const gdouble place = plot_axis_place (x, point->intensity);
    g_autofree gchar *text = g_strdup_printf ("%.0f", point->size);
    const gdouble half = plot_svg_guess_width (text, size_font.size) / 2;

    if (place - half < free_from || place + half > free_to)
      continue;
    draw_size (svg, point, text, x, y);
    free_from = place + half + SIZES_GAP;
  }
  draw_size (svg, last, last_text, x, y);
}

static gboolean
has_point_above (const PlotData *data)
{
  for (guint i = 0; i < data->points->len; i++) {
    const PlotPoint *point = &g_array_index (data->points, PlotPoint, i);
    if (point->gflops > data->bandwidth * point->intensity)
      return TRUE;
  }
  return FALSE;
}

/* Returns: (nullable): %NULL if there is nothing to explain. */
static gchar *
make_sizes_note (const PlotData *data)
{
  const gchar *above =
      has_point_above (data) ? "Points above the slope: matrices that were in caches." : NULL;

  return data->size_title != NULL ? g_strdup_printf ("Numbers above the axis: the size s of %s. %s",
                                                     data->size_title, above != NULL ? above : "")
                                  : g_strdup (above);
}

gchar *
plot_roofline (const PlotData *data)
{
  g_autoptr (GPtrArray) list = plot_series_list (data);
  g_autofree gchar *peak = plot_get_peak_note (data);
  g_autofree gchar *memory = g_strdup_printf ("Memory: %s.", data->bandwidth_source);
  g_autofree gchar *sizes = make_sizes_note (data);
  g_autofree gchar *others = plot_series_get_note (list);
  const gchar *notes[] = {peak, memory, sizes, others};
  PlotFrame frame = {.left = LEFT, .right = PLOT_WIDTH - plot_series_get_margin (list)};
  GString *svg = plot_begin (data, "GEMM roofline", notes, G_N_ELEMENTS (notes), ROWS, &frame);
  g_autoptr (GArray) across = NULL;
  g_autoptr (GArray) up = NULL;
  PlotAxis x, y;

  make_axes (data, &frame, &x, &y);
  across = plot_axis_list_octaves (&x, (guint)((frame.right - frame.left) / TICK_GAP));
  up = plot_axis_list_ticks (&y, 12);
  plot_axis_draw_y (svg, &x, &y, up, "Speed (GFLOPS)");
  plot_axis_draw_x (svg, &x, &y, across, "Arithmetic intensity (FLOP/byte)");
  if (data->size_title != NULL)
    draw_sizes (svg, data, &x, &y);
  plot_series_draw (svg, data, list, &x, &y, plot_point_get_intensity);
  draw_slope (svg, data, &x, &y);
  if (data->peak > 0)
    draw_peak (svg, data, &x, &y);
  return plot_svg_finish (svg);
}
