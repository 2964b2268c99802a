/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

#include "plot.h"

/**
 * Appends elements of SVG 1.1 to a string. Coordinates are pixels, x to the right and y down. Texts
 * are escaped and made valid UTF-8; numbers have a decimal point in every locale.
 */

#define PLOT_INK   "#1f2328"
#define PLOT_GREY  "#656d76"
#define PLOT_GRID  "#e4e7eb"
#define PLOT_PAPER "#ffffff"

/**
 * PlotStroke:
 * @dash: (nullable): lengths of dashes and gaps, "6 4"; %NULL: a solid line
 */
typedef struct {
  const gchar *colour;
  gdouble width;
  const gchar *dash;
} PlotStroke;

typedef enum {
  PLOT_START,
  PLOT_MIDDLE,
  PLOT_END,
} PlotAnchor;

/**
 * PlotFont:
 * @anchor: the part of the text that is at its point
 * @turn: degrees clockwise around that point
 * @halo: draw a rim in the colour of the background, for texts that lines may cross
 */
typedef struct {
  gdouble size;
  const gchar *colour;
  PlotAnchor anchor;
  gboolean bold;
  gdouble turn;
  gboolean halo;
} PlotFont;

/** PlotMarker: shapes, which distinguish lines without colours. */
typedef enum {
  PLOT_MARKER_CIRCLE,
  PLOT_MARKER_SQUARE,
  PLOT_MARKER_DIAMOND,
  PLOT_MARKER_TRIANGLE,
} PlotMarker;

#define PLOT_N_MARKERS (PLOT_MARKER_TRIANGLE + 1)

/** plot_svg_new: @title: the text for screen readers. Returns: (transfer full): an image with a
 * background. */
GString *plot_svg_new (gdouble width, gdouble height, const gchar *title);

/** plot_svg_finish: Returns: (transfer full): the whole text; frees @svg. */
gchar *plot_svg_finish (GString *svg);

/** plot_svg_open: Begins a group. @title: its tooltip. */
void plot_svg_open (GString *svg, const gchar *class, const gchar *title);
void plot_svg_close (GString *svg);

void plot_svg_line (GString *svg, gdouble x1, gdouble y1, gdouble x2, gdouble y2,
                    const PlotStroke *stroke);

/** plot_svg_polyline: @xy: (array length=2*n): x and y of each point. */
void plot_svg_polyline (GString *svg, const gdouble *xy, guint n, const PlotStroke *stroke);

/** plot_svg_bar: Draws a filled rectangle. @title: (nullable): its tooltip. */
void plot_svg_bar (GString *svg, gdouble x, gdouble y, gdouble width, gdouble height,
                   const gchar *colour, const gchar *title);

/** plot_svg_marker: Draws a marker at (x, y). @title: its tooltip. */
void plot_svg_marker (GString *svg, PlotMarker marker, gdouble x, gdouble y, gdouble radius,
                      const gchar *colour, const gchar *title);

/** plot_svg_text: Draws @text, then @more (nullable) in grey. */
void plot_svg_text (GString *svg, gdouble x, gdouble y, const PlotFont *font, const gchar *text,
                    const gchar *more);

/** plot_svg_guess_width: Returns: the largest width of @text in usual sans-serif fonts. */
gdouble plot_svg_guess_width (const gchar *text, gdouble size);

/** plot_svg_shorten: Returns: (transfer full): @text, cut at @width. */
gchar *plot_svg_shorten (const gchar *text, gdouble size, gdouble width);

/** plot_format_number: Returns: (transfer full): @number with three digits, or all those before the
 * point if there are more. */
gchar *plot_format_number (gdouble number);

/**
 * PlotAxis:
 * @low, @high: the values at its ends; more than 0 if @logarithmic
 * @start, @end: the pixels of @low and @high
 *
 * Maps values to pixels along one side of a chart.
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
 * @most: the largest number of ticks, at least 2
 *
 * Returns: (transfer full) (element-type gdouble): round decimal numbers from end to end.
 */
GArray *plot_axis_list_ticks (const PlotAxis *self, guint most);

/** plot_axis_list_octaves: Returns: (transfer full): the same with powers of two, for a logarithmic
 * axis. */
GArray *plot_axis_list_octaves (const PlotAxis *self, guint most);

/**
 * plot_axis_draw_x:
 * @y: the axis to the left, whose end is the top
 * @title: the name of the values, below their numbers
 */
void plot_axis_draw_x (GString *svg, const PlotAxis *x, const PlotAxis *y, const GArray *ticks,
                       const gchar *title);

/** plot_axis_draw_y: Draws the axis to the left, with @title above it. */
void plot_axis_draw_y (GString *svg, const PlotAxis *x, const PlotAxis *y, const GArray *ticks,
                       const gchar *title);

/**
 * PlotSeries:
 * @label: its name, with the chosen kernel if that is the same at all points
 * @points: (element-type PlotPoint): borrowed from the data; at least one
 * @colour, @marker: its style, distinct with colour blindness, too
 * @muted: grey, since there are more series than colours and others are faster
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

/** PlotGetX: Returns: the value of a point on the x axis. */
typedef gdouble (*PlotGetX) (const PlotPoint *point);

gdouble plot_point_get_size (const PlotPoint *point);
gdouble plot_point_get_intensity (const PlotPoint *point);

/** plot_series_get_margin: Returns: pixels that the labels of @list need to the right. */
gdouble plot_series_get_margin (GPtrArray *list);

/** plot_series_get_note: Returns: (transfer full) (nullable): the note about series without labels,
 * if there are any. */
gchar *plot_series_get_note (GPtrArray *list);

/**
 * plot_series_draw:
 * @list: of #PlotSeries
 * @x, @y: the axes; labels are to the right of the end of @x, over the height of @y
 *
 * Draws all series, the muted ones first. Writes names next to the last points, moved up or down so
 * that they do not overlap; in a long list only those of the fastest.
 */
void plot_series_draw (GString *svg, const PlotData *data, GPtrArray *list, const PlotAxis *x,
                       const PlotAxis *y, PlotGetX get_x);

/** plot_point_describe: Returns: (transfer full): the tooltip of a point. */
gchar *plot_point_describe (const PlotData *data, const PlotPoint *point);

#define PLOT_WIDTH 960

/** PlotFrame: the rectangle of a chart's points, in pixels. */
typedef struct {
  gdouble left, top, right, bottom;
} PlotFrame;

/**
 * plot_begin:
 * @kind: the kind of chart, before the data's title
 * @notes: (array length=n_notes): lines below the chart; %NULL ones are left out
 * @frame: (inout): the bottom is set for a chart of @rows pixels height
 *
 * Returns: (transfer full): an image with titles and notes around @frame.
 */
GString *plot_begin (const PlotData *data, const gchar *kind, const gchar *const *notes,
                     guint n_notes, gdouble rows, PlotFrame *frame);

/** plot_get_peak_name: Returns: "f32 peak", or "peak" if the user stated it; static. */
const gchar *plot_get_peak_name (const PlotData *data);

/** plot_get_peak_note: Returns: (transfer full): the origin of the peak, or why it is unknown. */
gchar *plot_get_peak_note (const PlotData *data);
