/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

/**
 * PlotAxis:
 * @low, @high: the values at its ends; more than 0 where @logarithmic
 * @start, @end: the pixels of these
 *
 * How values become places along one side of a chart, and which of them get a number.
 */
typedef struct {
  gdouble low, high;
  gdouble start, end;
  gboolean logarithmic;
} PlotAxis;

/** plot_axis_place: Returns: the pixel of @value. */
gdouble plot_axis_place (const PlotAxis *self, gdouble value);

/**
 * plot_axis_list_ticks:
 * @most: how many there is room for, at least 2
 *
 * Returns: (transfer full) (element-type gdouble): round decimal numbers from end to end.
 */
GArray *plot_axis_list_ticks (const PlotAxis *self, guint most);

/** plot_axis_list_octaves: The same of powers of two, for a logarithmic axis. */
GArray *plot_axis_list_octaves (const PlotAxis *self, guint most);

/**
 * plot_axis_draw_x:
 * @y: the axis to the left, whose end is the top
 * @title: what the values are, set under their numbers
 */
void plot_axis_draw_x (GString *svg, const PlotAxis *x, const PlotAxis *y, const GArray *ticks,
                       const gchar *title);

/** plot_axis_draw_y: The other one; @title stands on top. */
void plot_axis_draw_y (GString *svg, const PlotAxis *x, const PlotAxis *y, const GArray *ticks,
                       const gchar *title);
