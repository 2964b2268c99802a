/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

#include "plot.h"

/**
 * SVG 1.1, element by element, into a string. Coordinates are pixels, x to the right and y down.
 * Texts are escaped and made valid UTF-8; numbers have a point in every locale.
 */

#define PLOT_INK   "#1f2328"
#define PLOT_GREY  "#656d76"
#define PLOT_GRID  "#e4e7eb"
#define PLOT_PAPER "#ffffff"

/**
 * PlotStroke:
 * @dash: (nullable): lengths of dashes and gaps, "6 4"; %NULL for a whole line
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
 * @anchor: which part of the text is at the point that it is given
 * @turn: degrees clockwise around that point
 * @halo: a rim in the colour of the paper, for texts that lines may cross
 */
typedef struct {
  gdouble size;
  const gchar *colour;
  PlotAnchor anchor;
  gboolean bold;
  gdouble turn;
  gboolean halo;
} PlotFont;

/** PlotMarker: shapes, so that lines can be told apart without their colours. */
typedef enum {
  PLOT_MARKER_CIRCLE,
  PLOT_MARKER_SQUARE,
  PLOT_MARKER_DIAMOND,
  PLOT_MARKER_TRIANGLE,
} PlotMarker;

#define PLOT_N_MARKERS (PLOT_MARKER_TRIANGLE + 1)

/** plot_svg_new: Returns: (transfer full): an image with a background, and @title for readers who
 * do not see it. */
GString *plot_svg_new (gdouble width, gdouble height, const gchar *title);

/** plot_svg_finish: Returns: (transfer full): the whole text; frees @svg. */
gchar *plot_svg_finish (GString *svg);

/** plot_svg_open: Begins a group that @title is about: browsers show it where the mouse is. */
void plot_svg_open (GString *svg, const gchar *class, const gchar *title);
void plot_svg_close (GString *svg);

void plot_svg_line (GString *svg, gdouble x1, gdouble y1, gdouble x2, gdouble y2,
                    const PlotStroke *stroke);

/** plot_svg_polyline: @xy: (array length=2*n): x and y of each point. */
void plot_svg_polyline (GString *svg, const gdouble *xy, guint n, const PlotStroke *stroke);

/** plot_svg_bar: A filled rectangle, which @title (nullable) is about. */
void plot_svg_bar (GString *svg, gdouble x, gdouble y, gdouble width, gdouble height,
                   const gchar *colour, const gchar *title);

/** plot_svg_marker: A mark around (x, y), which @title is about. */
void plot_svg_marker (GString *svg, PlotMarker marker, gdouble x, gdouble y, gdouble radius,
                      const gchar *colour, const gchar *title);

/** plot_svg_text: @more: (nullable): follows @text, in grey. */
void plot_svg_text (GString *svg, gdouble x, gdouble y, const PlotFont *font, const gchar *text,
                    const gchar *more);

/** plot_svg_guess_width: Returns: pixels that @text takes in any usual sans-serif font at most. */
gdouble plot_svg_guess_width (const gchar *text, gdouble size);

/** plot_svg_shorten: Returns: (transfer full): @text, cut where it would be wider than @width. */
gchar *plot_svg_shorten (const gchar *text, gdouble size, gdouble width);

/** plot_format_number: Returns: (transfer full): @number with three digits or all before the point.
 */
gchar *plot_format_number (gdouble number);

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

/** plot_point_describe: Returns: (transfer full): what the point says where the mouse is. */
gchar *plot_point_describe (const PlotData *data, const PlotPoint *point);

#define PLOT_WIDTH 960

/** PlotFrame: the pixels between which a chart has its points. */
typedef struct {
  gdouble left, top, right, bottom;
} PlotFrame;

/**
 * plot_begin:
 * @kind: what it shows, before the data's own title
 * @notes: (array length=n_notes): lines that stand below; %NULL ones are left out
 * @frame: (inout): its bottom is set to a chart of @rows pixels height
 *
 * Returns: (transfer full): a picture with titles and notes around @frame.
 */
GString *plot_begin (const PlotData *data, const gchar *kind, const gchar *const *notes,
                     guint n_notes, gdouble rows, PlotFrame *frame);

/** plot_get_peak_name: Returns: "f32 peak", or "peak" where the user stated it; static. */
const gchar *plot_get_peak_name (const PlotData *data);

/** plot_get_peak_note: Returns: (transfer full): where the peak comes from, or why there is none.
 */
gchar *plot_get_peak_note (const PlotData *data);
