/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plot-draw.h"

#include <math.h>

/* Tolerance, as a share of a step, so that rounding does not remove the tick at an end. */
#define SLACK 1e-9

static const PlotStroke grid = {.colour = PLOT_GRID, .width = 1};
static const PlotStroke base = {.colour = "#8c959f", .width = 1};

gdouble
plot_axis_place (const PlotAxis *self, gdouble value)
{
  gdouble part = self->logarithmic ? log (value / self->low) / log (self->high / self->low)
                                   : (value - self->low) / (self->high - self->low);

  return self->start + part * (self->end - self->start);
}

/* Returns: the ticks with the smallest step of 1, 2, 2.5 or 5 times a power of ten that gives at
 * most @most. */
static GArray *
list_linear (const PlotAxis *self, guint most)
{
  static const gdouble steps[] = {1, 2, 2.5, 5, 10};
  gdouble least = (self->high - self->low) / most;
  gdouble power = pow (10, floor (log10 (least)));
  GArray *ticks = g_array_new (FALSE, FALSE, sizeof (gdouble));
  gdouble step = 10 * power;

  for (guint i = G_N_ELEMENTS (steps); i-- > 0;)
    if (steps[i] * power >= least)
      step = steps[i] * power;
  for (gdouble i = ceil (self->low / step - SLACK); i <= self->high / step + SLACK; i++) {
    /* Adding 0 turns -0 into 0. */
    gdouble tick = i * step + 0.0;
    g_array_append_val (ticks, tick);
  }
  return ticks;
}

/* Returns: ticks at the powers of ten times the first @n_factors of 1, 2 and 5. */
static GArray *
list_decades (const PlotAxis *self, guint n_factors)
{
  static const gdouble factors[] = {1, 2, 5};
  GArray *ticks = g_array_new (FALSE, FALSE, sizeof (gdouble));

  for (gint power = (gint)floor (log10 (self->low)); pow (10, power) <= self->high; power++)
    for (guint i = 0; i < n_factors; i++) {
      gdouble tick = factors[i] * pow (10, power);
      if (tick >= self->low * (1 - SLACK) && tick <= self->high * (1 + SLACK))
        g_array_append_val (ticks, tick);
    }
  return ticks;
}

GArray *
plot_axis_list_ticks (const PlotAxis *self, guint most)
{
  GArray *ticks;

  if (!self->logarithmic)
    return list_linear (self, most);
  ticks = list_decades (self, 3);
  if (ticks->len <= most)
    return ticks;
  g_array_unref (ticks);
  return list_decades (self, 1);
}

GArray *
plot_axis_list_octaves (const PlotAxis *self, guint most)
{
  GArray *ticks = g_array_new (FALSE, FALSE, sizeof (gdouble));
  gint first = (gint)ceil (log2 (self->low) - SLACK);
  gint last = (gint)floor (log2 (self->high) + SLACK);
  gint step = MAX ((last - first + (gint)most) / (gint)most, 1);

  for (gint power = first; power <= last; power += step) {
    gdouble tick = exp2 (power);
    g_array_append_val (ticks, tick);
  }
  return ticks;
}

static gchar *
format_tick (gdouble tick)
{
  gchar text[G_ASCII_DTOSTR_BUF_SIZE];

  return g_strdup (g_ascii_formatd (text, sizeof text, "%.10g", tick));
}

void
plot_axis_draw_x (GString *svg, const PlotAxis *x, const PlotAxis *y, const GArray *ticks,
                  const gchar *title)
{
  const PlotFont number = {.size = 12, .colour = PLOT_GREY, .anchor = PLOT_MIDDLE};
  const PlotFont name = {.size = 13, .colour = PLOT_INK, .anchor = PLOT_MIDDLE};

  for (guint i = 0; i < ticks->len; i++) {
    gdouble tick = g_array_index (ticks, gdouble, i);
    gdouble place = plot_axis_place (x, tick);
    g_autofree gchar *text = format_tick (tick);
    plot_svg_line (svg, place, y->end, place, y->start + 4, &grid);
    plot_svg_text (svg, place, y->start + 19, &number, text, NULL);
  }
  plot_svg_line (svg, x->start, y->start, x->end, y->start, &base);
  plot_svg_text (svg, (x->start + x->end) / 2, y->start + 40, &name, title, NULL);
}

void
plot_axis_draw_y (GString *svg, const PlotAxis *x, const PlotAxis *y, const GArray *ticks,
                  const gchar *title)
{
  const PlotFont number = {.size = 12, .colour = PLOT_GREY, .anchor = PLOT_END};
  const PlotFont name = {.size = 13, .colour = PLOT_INK, .anchor = PLOT_START};

  for (guint i = 0; i < ticks->len; i++) {
    gdouble tick = g_array_index (ticks, gdouble, i);
    gdouble place = plot_axis_place (y, tick);
    g_autofree gchar *text = format_tick (tick);
    plot_svg_line (svg, x->start, place, x->end, place, &grid);
    plot_svg_text (svg, x->start - 8, place + 4, &number, text, NULL);
  }
  plot_svg_text (svg, 24, y->end - 12, &name, title, NULL);
}
