/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plot-draw.h"

#include <math.h>
#include <string.h>

#define LABEL_SIZE 12
#define LABEL_LINE 16
#define LABEL_GAP  34
/* Most labels. With more series, only those in colours have one. */
#define MOST_LABELS 22
/* The largest width of the column of labels. */
#define LABELS_WIDTH 250
#define MANY_POINTS  24

/* Dark enough on white, and distinct with the usual kinds of colour blindness: blue, vermilion,
 * green, purple, orange, light blue, wine, nearly black. */
static const gchar *const colours[] = {"#0072b2", "#d55e00", "#009e73", "#b8629b",
                                       "#d18f00", "#4aa3d8", "#882255", "#1f2328"};
static const gchar muted_colour[] = "#b3bac2";

void
plot_series_free (PlotSeries *self)
{
  g_ptr_array_unref (self->points);
  g_free (self->label);
  g_free (self);
}

gdouble
plot_point_get_size (const PlotPoint *point)
{
  return point->size;
}

gdouble
plot_point_get_intensity (const PlotPoint *point)
{
  return point->intensity;
}

static const PlotPoint *
get_last (const PlotSeries *self)
{
  return g_ptr_array_index (self->points, self->points->len - 1);
}

static gint
compare_speed (gconstpointer a, gconstpointer b)
{
  gdouble x = get_last (*(PlotSeries *const *)a)->gflops;
  gdouble y = get_last (*(PlotSeries *const *)b)->gflops;

  return (x < y) - (x > y);
}

/* Returns: the name, with the chosen kernel, as for "auto", if that is the same at all points. */
static gchar *
make_label (const gchar *name, GPtrArray *points)
{
  const gchar *kernel = ((const PlotPoint *)g_ptr_array_index (points, 0))->kernel;

  for (guint i = 1; i < points->len; i++)
    if (strcmp (((const PlotPoint *)g_ptr_array_index (points, i))->kernel, kernel) != 0)
      return g_strdup (name);
  return strcmp (name, kernel) == 0 ? g_strdup (name) : g_strdup_printf ("%s: %s", name, kernel);
}

/* Assigns colours in the order of the names, or to the fastest if there are more series. */
static void
choose_styles (GPtrArray *list)
{
  g_autoptr (GPtrArray) ranked = g_ptr_array_new ();

  for (guint i = 0; i < list->len; i++)
    g_ptr_array_add (ranked, g_ptr_array_index (list, i));
  if (list->len > G_N_ELEMENTS (colours))
    g_ptr_array_sort (ranked, compare_speed);
  for (guint i = 0; i < ranked->len; i++) {
    PlotSeries *series = g_ptr_array_index (ranked, i);
    series->muted = i >= G_N_ELEMENTS (colours);
    series->colour = series->muted ? muted_colour : colours[i];
    series->marker = i % PLOT_N_MARKERS;
  }
}

GPtrArray *
plot_series_list (const PlotData *data)
{
  GPtrArray *list = g_ptr_array_new_with_free_func ((GDestroyNotify)plot_series_free);

  for (guint i = 0; i < data->names->len; i++) {
    g_autoptr (GPtrArray) points = g_ptr_array_new ();
    PlotSeries *series;
    for (guint j = 0; j < data->points->len; j++) {
      PlotPoint *point = &g_array_index (data->points, PlotPoint, j);
      if (point->series == i)
        g_ptr_array_add (points, point);
    }
    if (points->len == 0)
      continue;
    series = g_new0 (PlotSeries, 1);
    series->label = make_label (g_ptr_array_index (data->names, i), points);
    series->points = g_steal_pointer (&points);
    g_ptr_array_add (list, series);
  }
  choose_styles (list);
  return list;
}

/* Returns: the number after the name: the rate at the last point. */
static gchar *
make_value (const PlotSeries *self)
{
  return plot_format_number (get_last (self)->gflops);
}

static gboolean
has_label (GPtrArray *list, const PlotSeries *series)
{
  return !series->muted || list->len <= MOST_LABELS;
}

gdouble
plot_series_get_margin (GPtrArray *list)
{
  gdouble width = 0;

  for (guint i = 0; i < list->len; i++) {
    const PlotSeries *series = g_ptr_array_index (list, i);
    g_autofree gchar *value = make_value (series);
    if (!has_label (list, series))
      continue;
    width = MAX (width, plot_svg_guess_width (series->label, LABEL_SIZE) + 10 +
                            plot_svg_guess_width (value, LABEL_SIZE));
  }
  return LABEL_GAP + MIN (width, LABELS_WIDTH) + 8;
}

gchar *
plot_series_get_note (GPtrArray *list)
{
  guint labelled = 0;

  for (guint i = 0; i < list->len; i++)
    labelled += has_label (list, g_ptr_array_index (list, i));
  return labelled < list->len
             ? g_strdup_printf ("Grey: %u others, which were slower at their last points.",
                                list->len - labelled)
             : NULL;
}

static void
draw_line (GString *svg, const PlotData *data, const PlotSeries *self, const PlotAxis *x,
           const PlotAxis *y, PlotGetX get_x)
{
  const PlotStroke stroke = {.colour = self->colour, .width = self->muted ? 1 : 2};
  const guint n = self->points->len;
  g_autofree gdouble *xy = g_new (gdouble, 2 * n);

  plot_svg_open (svg, "series", self->label);
  for (guint i = 0; i < n; i++) {
    const PlotPoint *point = g_ptr_array_index (self->points, i);
    xy[2 * i] = plot_axis_place (x, get_x (point));
    xy[2 * i + 1] = plot_axis_place (y, point->gflops);
  }
  plot_svg_polyline (svg, xy, n, &stroke);
  for (guint i = 0; i < n; i++) {
    g_autofree gchar *tip = plot_point_describe (data, g_ptr_array_index (self->points, i));
    plot_svg_marker (svg, self->marker, xy[2 * i], xy[2 * i + 1],
                     self->muted || n > MANY_POINTS ? 2.5 : 4.5, self->colour, tip);
  }
  plot_svg_close (svg);
}

/* Moves @places, which ascend, as little as possible so that they are @gap apart and within @low
 * and @high. After subtracting the gaps before each place, a descending run is replaced by its
 * mean. */
static void
spread (gdouble *places, guint n, gdouble gap, gdouble low, gdouble high)
{
  g_autofree guint *counts = g_new0 (guint, n);
  g_autofree gdouble *means = g_new0 (gdouble, n);
  guint n_runs = 0, at = 0;

  for (guint i = 0; i < n; i++) {
    means[n_runs] = places[i] - i * gap;
    counts[n_runs++] = 1;
    for (; n_runs > 1 && means[n_runs - 2] > means[n_runs - 1]; n_runs--) {
      guint count = counts[n_runs - 2] + counts[n_runs - 1];
      means[n_runs - 2] =
          (means[n_runs - 2] * counts[n_runs - 2] + means[n_runs - 1] * counts[n_runs - 1]) / count;
      counts[n_runs - 2] = count;
    }
  }
  high = MAX (high - (n - 1) * gap, low);
  for (guint run = 0; run < n_runs; run++)
    for (guint i = 0; i < counts[run]; i++, at++)
      places[at] = CLAMP (means[run], low, high) + at * gap;
}

static void
draw_label (GString *svg, const PlotSeries *self, gdouble from_x, gdouble from_y, gdouble right,
            gdouble place)
{
  const PlotStroke leader = {.colour = self->colour, .width = 0.8};
  const PlotFont font = {.size = LABEL_SIZE, .colour = self->muted ? PLOT_GREY : PLOT_INK};
  const gdouble xy[] = {
      from_x, from_y, right + 3, from_y, right + LABEL_GAP - 10, place, right + LABEL_GAP - 5,
      place};
  g_autofree gchar *value = make_value (self);
  g_autofree gchar *name = plot_svg_shorten (
      self->label, LABEL_SIZE, LABELS_WIDTH - 10 - plot_svg_guess_width (value, LABEL_SIZE));

  plot_svg_polyline (svg, xy, G_N_ELEMENTS (xy) / 2, &leader);
  plot_svg_text (svg, right + LABEL_GAP, place + 4, &font, name, value);
}

static void
draw_labels (GString *svg, GPtrArray *list, const PlotAxis *x, const PlotAxis *y, PlotGetX get_x)
{
  g_autoptr (GPtrArray) ranked = g_ptr_array_new ();
  g_autofree gdouble *places = g_new (gdouble, list->len);

  for (guint i = 0; i < list->len; i++)
    if (has_label (list, g_ptr_array_index (list, i)))
      g_ptr_array_add (ranked, g_ptr_array_index (list, i));
  /* From the top: the fastest has the highest label. */
  g_ptr_array_sort (ranked, compare_speed);
  for (guint i = 0; i < ranked->len; i++)
    places[i] = plot_axis_place (y, get_last (g_ptr_array_index (ranked, i))->gflops);
  spread (places, ranked->len, LABEL_LINE, y->end, y->start);
  for (guint i = 0; i < ranked->len; i++) {
    const PlotSeries *series = g_ptr_array_index (ranked, i);
    const PlotPoint *last = get_last (series);
    draw_label (svg, series, plot_axis_place (x, get_x (last)), plot_axis_place (y, last->gflops),
                x->end, places[i]);
  }
}

void
plot_series_draw (GString *svg, const PlotData *data, GPtrArray *list, const PlotAxis *x,
                  const PlotAxis *y, PlotGetX get_x)
{
  draw_labels (svg, list, x, y, get_x);
  for (gint pass = 0; pass < 2; pass++)
    for (guint i = 0; i < list->len; i++) {
      const PlotSeries *series = g_ptr_array_index (list, i);
      if (series->muted == (pass == 0))
        draw_line (svg, data, series, x, y, get_x);
    }
}
