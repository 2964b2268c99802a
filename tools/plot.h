/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

/**
 * Draws charts of the results of bench, as SVG 1.1 text. The same data give the same text.
 *
 *   plot-svg.c       elements and texts
 *   plot-axis.c      values -> pixels, ticks
 *   plot-series.c    a line for each kernel, with its colour, marks and label
 *   plot.c           the data, titles and notes of all charts, lines and bars
 *   plot-roofline.c  the roofline
 */

/**
 * PlotPoint:
 * @series: the index of its series
 * @kernel: the kernel that ran; static
 * @m, @n, @k: the problem
 * @size: its place on the axis of sizes
 * @gflops: its rate
 * @intensity: operations per byte of A, B, D and C (if any), the least traffic
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
 * @title, @subtitle: the device, and the parameters that all points share
 * @size_title: (nullable): the shape with the size s; %NULL if there is only one size
 * @names: (element-type utf8): names of the series: kernels, as the user named them
 * @peak: 10^9 operations a second in f32; 0: unknown
 * @peak_source: the origin of @peak, or the reason why it is unknown
 * @peak_stated: the user stated @peak, in any precision
 * @bandwidth, @bandwidth_source: 10^9 bytes a second of the memory, and their origin, for the
 *   roofline
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

/** plot_data_new: Returns: (transfer full): data without series and points. */
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
 * Returns: (transfer full): rate over intensity, with the limits of the memory and, if known, of
 *   the peak; needs a point and a bandwidth.
 */
gchar *plot_roofline (const PlotData *data);
