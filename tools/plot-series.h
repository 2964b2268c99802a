/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "plot-axis.h"
#include "plot-svg.h"
#include "plot.h"

/**
 * PlotSeries:
 * @label: its name; with the kernel that was chosen where that was always the same
 * @points: (element-type PlotPoint): borrowed from the data; at least one
 * @colour, @marker: told apart by those who see few colours, too
 * @muted: there are more series than colours, and others are faster
 */
typedef struct {
  gchar *label;
  GPtrArray *points;
  const gchar *colour;
  PlotMarker marker;
  gboolean muted;
} PlotSeries;

void plot_series_free (PlotSeries *self);

/** plot_series_list: Returns: (transfer full) (element-type PlotSeries): those with points. */
GPtrArray *plot_series_list (const PlotData *data);

/** PlotGetX: Returns: what of a point an x axis shows. */
typedef gdouble (*PlotGetX) (const PlotPoint *point);

gdouble plot_point_get_size (const PlotPoint *point);
gdouble plot_point_get_intensity (const PlotPoint *point);

/** plot_series_get_margin: Returns: pixels that the labels of @list need to the right. */
gdouble plot_series_get_margin (GPtrArray *list);

/** plot_series_get_note: Returns: (transfer full) (nullable): what to say of series without labels,
 * if there are any. */
gchar *plot_series_get_note (GPtrArray *list);

/**
 * plot_series_draw:
 * @list: of #PlotSeries
 * @x, @y: the axes; labels stand to the right of @x's end, over the height of @y
 *
 * Draws all series, the muted ones below, and writes names next to the last points, moved up or
 * down where others are in the way; of a long list only those of the fastest.
 */
void plot_series_draw (GString *svg, const PlotData *data, GPtrArray *list, const PlotAxis *x,
                       const PlotAxis *y, PlotGetX get_x);
