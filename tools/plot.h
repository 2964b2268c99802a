/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

/**
 * Charts of what bench measured, as SVG 1.1 text. The same data give the same text.
 *
 *   plot-svg.c       elements and texts
 *   plot-axis.c      values -> pixels, ticks
 *   plot-series.c    a line for each kernel, with its colour, marks and label
 *   plot.c           the data, what every chart has around it, lines and bars
 *   plot-roofline.c  the roofline
 */

/**
 * PlotPoint:
 * @series: which of the data's series it belongs to
 * @kernel: what ran; static
 * @m, @n, @k: the problem
 * @size: where it stands among the others of its series
 * @gflops: how fast
 * @intensity: operations for each byte of A, B, D, and of C if there is one: what must move at
 *   least
 */
typedef struct {
  guint series;
  const gchar *kernel;
  gsize m, n, k;
  gdouble size;
  gdouble gflops;
  gdouble intensity;
} PlotPoint;

/**
 * PlotData:
 * @title, @subtitle: on top of each chart: the device; and what all points have in common
 * @size_title: (nullable): the shape of which s is the size; %NULL where there is only one
 * @names: (element-type utf8): of the series: what was asked for
 * @peak, @peak_source: 10^9 operations a second in f32, and where that comes from; 0: unknown, and
 *   why
 * @peak_stated: it is what the user says it is, of whatever precision
 * @bandwidth, @bandwidth_source: the same of the memory, in 10^9 bytes a second, for the roofline
 * @points: (element-type PlotPoint): series by series or size by size, the sizes ascending
 */
typedef struct {
  gchar *title;
  gchar *subtitle;
  gchar *size_title;
  GPtrArray *names;
  gdouble peak;
  gchar *peak_source;
  gboolean peak_stated;
  gdouble bandwidth;
  gchar *bandwidth_source;
  GArray *points;
} PlotData;

/** plot_data_new: Returns: (transfer full): data without series and points, to be filled in. */
PlotData *plot_data_new (void);

void plot_data_free (PlotData *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (PlotData, plot_data_free)

/** plot_lines: Returns: (transfer full): rate over size, a line per series; needs a point. */
gchar *plot_lines (const PlotData *data);

/** plot_bars: Returns: (transfer full): rates of points of one size, fastest first. */
gchar *plot_bars (const PlotData *data);

/**
 * plot_roofline:
 *
 * Returns: (transfer full): rate over intensity under what the memory and, where it is known, the
 *   peak allow; needs a point and a bandwidth.
 */
gchar *plot_roofline (const PlotData *data);
