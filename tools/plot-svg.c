/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plot-draw.h"

#include <math.h>

#define FONTS                                                                                      \
  "system-ui, -apple-system, 'Segoe UI', 'Helvetica Neue', 'DejaVu Sans', Arial, sans-serif"

/* Average width of a character as a share of the font size, for digits and capitals of wide fonts.
 */
#define CHARACTER 0.62

static gchar *
escape (const gchar *text)
{
  g_autofree gchar *valid = g_utf8_make_valid (text, -1);

  /* XML does not allow control characters. */
  for (gchar *at = valid; *at != '\0'; at++)
    if (g_ascii_iscntrl (*at))
      *at = ' ';
  return g_markup_escape_text (valid, -1);
}

/* Appends a number, rounded to hundredths of pixels, in the fewest digits. */
static void
append_number (GString *svg, gdouble number)
{
  gchar text[G_ASCII_DTOSTR_BUF_SIZE];
  gdouble rounded = round (number * 100) / 100;

  /* Adding 0 turns -0 into 0. */
  g_string_append (svg, g_ascii_formatd (text, sizeof text, "%.10g", rounded + 0.0));
}

static void
append_attribute (GString *svg, const gchar *name, gdouble number)
{
  g_string_append_printf (svg, " %s=\"", name);
  append_number (svg, number);
  g_string_append_c (svg, '"');
}

static void
append_stroke (GString *svg, const PlotStroke *stroke)
{
  g_string_append_printf (svg, " fill=\"none\" stroke=\"%s\"", stroke->colour);
  append_attribute (svg, "stroke-width", stroke->width);
  if (stroke->dash != NULL)
    g_string_append_printf (svg, " stroke-dasharray=\"%s\"", stroke->dash);
}

/* Ends an element that is filled with @colour and may have a title. */
static void
append_fill (GString *svg, const gchar *element, const gchar *colour, const gchar *title)
{
  g_autofree gchar *escaped = title != NULL ? escape (title) : NULL;

  g_string_append_printf (svg, " fill=\"%s\"", colour);
  if (escaped != NULL)
    g_string_append_printf (svg, "><title>%s</title></%s>\n", escaped, element);
  else
    g_string_append (svg, "/>\n");
}

GString *
plot_svg_new (gdouble width, gdouble height, const gchar *title)
{
  GString *svg = g_string_new ("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg");
  g_autofree gchar *escaped = escape (title);

  g_string_append (svg, " xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\"");
  append_attribute (svg, "width", width);
  append_attribute (svg, "height", height);
  g_string_append (svg, " viewBox=\"0 0 ");
  append_number (svg, width);
  g_string_append_c (svg, ' ');
  append_number (svg, height);
  g_string_append_printf (svg, "\" font-family=\"" FONTS "\">\n<title>%s</title>\n", escaped);
  plot_svg_bar (svg, 0, 0, width, height, PLOT_PAPER, NULL);
  return svg;
}

gchar *
plot_svg_finish (GString *svg)
{
  g_string_append (svg, "</svg>\n");
  return g_string_free (svg, FALSE);
}

void
plot_svg_open (GString *svg, const gchar *class, const gchar *title)
{
  g_autofree gchar *escaped = escape (title);

  g_string_append_printf (svg, "<g class=\"%s\">\n<title>%s</title>\n", class, escaped);
}

void
plot_svg_close (GString *svg)
{
  g_string_append (svg, "</g>\n");
}

void
plot_svg_line (GString *svg, gdouble x1, gdouble y1, gdouble x2, gdouble y2,
               const PlotStroke *stroke)
{
  g_string_append (svg, "<line");
  append_attribute (svg, "x1", x1);
  append_attribute (svg, "y1", y1);
  append_attribute (svg, "x2", x2);
  append_attribute (svg, "y2", y2);
  append_stroke (svg, stroke);
  g_string_append (svg, "/>\n");
}

void
plot_svg_polyline (GString *svg, const gdouble *xy, guint n, const PlotStroke *stroke)
{
  g_string_append (svg, "<polyline points=\"");
  for (guint i = 0; i < n; i++) {
    append_number (svg, xy[2 * i]);
    g_string_append_c (svg, ',');
    append_number (svg, xy[2 * i + 1]);
    g_string_append (svg, i + 1 < n ? " " : "\"");
  }
  append_stroke (svg, stroke);
  g_string_append (svg, " stroke-linejoin=\"round\"/>\n");
}

void
plot_svg_bar (GString *svg, gdouble x, gdouble y, gdouble width, gdouble height,
              const gchar *colour, const gchar *title)
{
  g_string_append (svg, "<rect");
  append_attribute (svg, "x", x);
  append_attribute (svg, "y", y);
  append_attribute (svg, "width", width);
  append_attribute (svg, "height", height);
  append_fill (svg, "rect", colour, title);
}

void
plot_svg_marker (GString *svg, PlotMarker marker, gdouble x, gdouble y, gdouble radius,
                 const gchar *colour, const gchar *title)
{
  /* Corners around (0, 0), for shapes of about the same area as the circle. */
  static const struct {
    guint n;
    gdouble xy[4][2];
  } shapes[PLOT_N_MARKERS] = {
      [PLOT_MARKER_SQUARE] = {4, {{-0.9, -0.9}, {0.9, -0.9}, {0.9, 0.9}, {-0.9, 0.9}}},
      [PLOT_MARKER_DIAMOND] = {4, {{0, -1.3}, {1.3, 0}, {0, 1.3}, {-1.3, 0}}},
      [PLOT_MARKER_TRIANGLE] = {3, {{0, -1.3}, {1.3, 0.9}, {-1.3, 0.9}}},
  };

  if (marker == PLOT_MARKER_CIRCLE) {
    g_string_append (svg, "<circle");
    append_attribute (svg, "cx", x);
    append_attribute (svg, "cy", y);
    append_attribute (svg, "r", radius);
    g_string_append (svg, " stroke=\"" PLOT_PAPER "\"");
    append_fill (svg, "circle", colour, title);
    return;
  }
  g_string_append (svg, "<path d=\"");
  for (guint i = 0; i < shapes[marker].n; i++) {
    g_string_append_c (svg, i == 0 ? 'M' : 'L');
    append_number (svg, x + radius * shapes[marker].xy[i][0]);
    g_string_append_c (svg, ' ');
    append_number (svg, y + radius * shapes[marker].xy[i][1]);
  }
  g_string_append (svg, "Z\" stroke=\"" PLOT_PAPER "\"");
  append_fill (svg, "path", colour, title);
}

void
plot_svg_text (GString *svg, gdouble x, gdouble y, const PlotFont *font, const gchar *text,
               const gchar *more)
{
  static const gchar *const anchors[] = {"start", "middle", "end"};
  g_autofree gchar *escaped = escape (text);

  /* Draws the rim first, then the letters: SVG 1.1 has no such order within one text. */
  for (guint rim = font->halo ? 1 : 0;; rim--) {
    g_string_append (svg, "<text");
    append_attribute (svg, "x", x);
    append_attribute (svg, "y", y);
    append_attribute (svg, "font-size", font->size);
    g_string_append_printf (svg, " text-anchor=\"%s\" fill=\"%s\"", anchors[font->anchor],
                            rim ? PLOT_PAPER : font->colour);
    if (font->bold)
      g_string_append (svg, " font-weight=\"600\"");
    if (rim)
      g_string_append (svg, " stroke=\"" PLOT_PAPER "\" stroke-width=\"4\" "
                            "stroke-linejoin=\"round\"");
    if (font->turn != 0) {
      g_string_append (svg, " transform=\"rotate(");
      append_number (svg, font->turn);
      g_string_append_c (svg, ' ');
      append_number (svg, x);
      g_string_append_c (svg, ' ');
      append_number (svg, y);
      g_string_append (svg, ")\"");
    }
    g_string_append_printf (svg, ">%s", escaped);
    if (more != NULL) {
      g_autofree gchar *rest = escape (more);
      g_string_append_printf (svg, "<tspan dx=\"7\" fill=\"%s\">%s</tspan>", PLOT_GREY, rest);
    }
    g_string_append (svg, "</text>\n");
    if (rim == 0)
      return;
  }
}

gdouble
plot_svg_guess_width (const gchar *text, gdouble size)
{
  return CHARACTER * size * g_utf8_strlen (text, -1);
}

gchar *
plot_svg_shorten (const gchar *text, gdouble size, gdouble width)
{
  g_autofree gchar *valid = g_utf8_make_valid (text, -1);
  g_autofree gchar *start = NULL;
  glong most = MAX ((glong)(width / (CHARACTER * size)), 2);

  if (g_utf8_strlen (valid, -1) <= most)
    return g_steal_pointer (&valid);
  start = g_utf8_substring (valid, 0, most - 1);
  return g_strconcat (start, "\u2026", NULL);
}

gchar *
plot_format_number (gdouble number)
{
  gchar text[G_ASCII_DTOSTR_BUF_SIZE];
  gdouble size = fabs (number);

  return g_strdup (g_ascii_formatd (text, sizeof text,
                                    size >= 100  ? "%.0f"
                                    : size >= 10 ? "%.1f"
                                    : size >= 1  ? "%.2f"
                                    : size >= .1 ? "%.3f"
                                                 : "%.3g",
                                    number));
}
