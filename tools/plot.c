/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plot.h"

#include <math.h>

#include "plot-draw.h"

#define MARGIN     24
#define TITLE_SIZE 19
#define TEXT_SIZE  13
#define NOTE_SIZE  11.5
#define NOTE_LINE  17

/* Heights above the chart, and between the chart and the notes below it. */
#define HEAD 106
#define FOOT 68

/* The chart of lines. */
#define LINES_HEIGHT 356
#define LEFT         64
/* Ratio of the largest to the smallest size from which the axis is logarithmic. */
#define WIDE 4
/* The smallest distance of numbers on the lower axis. */
#define TICK_GAP 42

/* The chart of bars. */
#define BAR_LINE 24
/* The height of a line in a long list, its number of bars, and the bar's share of a line. */
#define DENSE_LINE 18
#define MANY_BARS  30
#define BAR_SHARE  0.64
#define NAME_SIZE  12.5
/* The largest width of the column of names, and the widths of the columns of numbers. */
#define NAMES_WIDTH 300
#define RATE_WIDTH  70
#define SHARE_WIDTH 66
#define BAR_COLOUR  "#0072b2"

PlotData *
plot_data_new (void)
{
  PlotData *self = g_new0 (PlotData, 1);

  self->names = g_ptr_array_new_with_free_func (g_free);
  self->points = g_array_new (FALSE, FALSE, sizeof (PlotPoint));
  return self;
}

void
plot_data_free (PlotData *self)
{
  g_free (self->title);
  g_free (self->subtitle);
  g_free (self->size_title);
  g_free (self->peak_source);
  g_free (self->bandwidth_source);
  g_ptr_array_unref (self->names);
  g_array_unref (self->points);
  g_free (self);
}

gchar *
plot_point_describe (const PlotData *data, const PlotPoint *point)
{
  gchar rate[G_ASCII_DTOSTR_BUF_SIZE], share[G_ASCII_DTOSTR_BUF_SIZE];
  g_autofree gchar *efficiency = NULL;

  g_ascii_formatd (rate, sizeof rate, "%.2f", point->gflops);
  if (data->peak > 0) {
    g_ascii_formatd (share, sizeof share, "%.1f", 100 * point->gflops / data->peak);
    efficiency = g_strdup_printf (", %s %% of the %s", share, plot_get_peak_name (data));
  }
  return g_strdup_printf (
      "%s, %" G_GSIZE_FORMAT " \u00d7 %" G_GSIZE_FORMAT " \u00d7 %" G_GSIZE_FORMAT ": %s GFLOPS%s",
      point->kernel, point->m, point->n, point->k, rate, efficiency != NULL ? efficiency : "");
}

const gchar *
plot_get_peak_name (const PlotData *data)
{
  return data->peak_stated ? "peak" : "f32 peak";
}

gchar *
plot_get_peak_note (const PlotData *data)
{
  return g_strdup_printf (data->peak > 0 ? "The %s: %s." : "The %s is %s; --peak sets it.",
                          plot_get_peak_name (data), data->peak_source);
}

GString *
plot_begin (const PlotData *data, const gchar *kind, const gchar *const *notes, guint n_notes,
            gdouble rows, PlotFrame *frame)
{
  const PlotFont heading = {.size = TITLE_SIZE, .colour = PLOT_INK, .bold = TRUE};
  const PlotFont below = {.size = TEXT_SIZE, .colour = PLOT_GREY};
  const PlotFont note = {.size = NOTE_SIZE, .colour = PLOT_GREY};
  const gdouble width = PLOT_WIDTH - 2 * MARGIN;
  g_autofree gchar *title = g_strdup_printf ("%s: %s", kind, data->title);
  g_autofree gchar *all = g_strdup_printf ("%s. %s", data->title, data->subtitle);
  g_autofree gchar *sub = plot_svg_shorten (all, TEXT_SIZE, width);
  gdouble place = HEAD + rows + FOOT;
  guint n_lines = 0;
  GString *svg;

  frame->top = HEAD;
  frame->bottom = HEAD + rows;
  for (guint i = 0; i < n_notes; i++)
    n_lines += notes[i] != NULL;
  svg = plot_svg_new (PLOT_WIDTH, place + n_lines * NOTE_LINE, title);
  plot_svg_text (svg, MARGIN, 38, &heading, kind, NULL);
  plot_svg_text (svg, MARGIN, 61, &below, sub, NULL);
  for (guint i = 0; i < n_notes; i++) {
    g_autofree gchar *line =
        notes[i] != NULL ? plot_svg_shorten (notes[i], NOTE_SIZE, width) : NULL;
    if (line == NULL)
      continue;
    plot_svg_text (svg, MARGIN, place, &note, line, NULL);
    place += NOTE_LINE;
  }
  return svg;
}

static PlotAxis
make_x (const PlotData *data, const PlotFrame *frame)
{
  PlotAxis x = {.low = G_MAXDOUBLE, .high = 0, .start = frame->left, .end = frame->right};

  for (guint i = 0; i < data->points->len; i++) {
    gdouble size = g_array_index (data->points, PlotPoint, i).size;
    x.low = MIN (x.low, size);
    x.high = MAX (x.high, size);
  }
  x.logarithmic = x.high >= WIDE * x.low;
  /* An axis needs a length, also if all points have the same size. */
  if (x.high <= x.low)
    x.high = x.low + 1;
  return x;
}

static PlotAxis
make_y (const PlotData *data, const PlotFrame *frame)
{
  PlotAxis y = {.low = 0, .high = data->peak, .start = frame->bottom, .end = frame->top};

  for (guint i = 0; i < data->points->len; i++)
    y.high = MAX (y.high, g_array_index (data->points, PlotPoint, i).gflops);
  y.high *= 1.06;
  return y;
}

static gint
compare_numbers (gconstpointer a, gconstpointer b)
{
  gdouble x = *(const gdouble *)a, y = *(const gdouble *)b;

  return (x > y) - (x < y);
}

/* Returns: the measured sizes: the first, the last, and the others as far as there is room. */
static GArray *
list_sizes (const PlotData *data, const PlotAxis *x)
{
  g_autoptr (GArray) all = g_array_new (FALSE, FALSE, sizeof (gdouble));
  GArray *sizes = g_array_new (FALSE, FALSE, sizeof (gdouble));
  gdouble end;

  for (guint i = 0; i < data->points->len; i++)
    g_array_append_val (all, g_array_index (data->points, PlotPoint, i).size);
  g_array_sort (all, compare_numbers);
  end = plot_axis_place (x, g_array_index (all, gdouble, all->len - 1));
  for (guint i = 0; i < all->len; i++) {
    const gdouble size = g_array_index (all, gdouble, i), place = plot_axis_place (x, size);
    const gdouble last = sizes->len > 0 ? g_array_index (sizes, gdouble, sizes->len - 1) : 0;

    if (size <= last || (place < end && place > end - TICK_GAP) ||
        (last > 0 && place < end && place < plot_axis_place (x, last) + TICK_GAP))
      continue;
    g_array_append_val (sizes, size);
  }
  return sizes;
}

static void
draw_peak_across (GString *svg, const PlotData *data, const PlotAxis *x, const PlotAxis *y)
{
  const PlotStroke dashes = {.colour = PLOT_INK, .width = 1.2, .dash = "7 5"};
  const PlotFont font = {.size = 12, .colour = PLOT_INK, .halo = TRUE};
  gdouble place = plot_axis_place (y, data->peak);
  g_autofree gchar *number = plot_format_number (data->peak);
  g_autofree gchar *text = g_strdup_printf ("%s %s GFLOPS", plot_get_peak_name (data), number);

  plot_svg_open (svg, "peak", text);
  plot_svg_line (svg, x->start, place, x->end, place, &dashes);
  plot_svg_text (svg, x->start + 8, place - 6, &font, text, NULL);
  plot_svg_close (svg);
}

gchar *
plot_lines (const PlotData *data)
{
  g_autoptr (GPtrArray) list = plot_series_list (data);
  g_autofree gchar *peak = plot_get_peak_note (data);
  g_autofree gchar *others = plot_series_get_note (list);
  g_autofree gchar *title = g_strdup_printf ("Matrix size s (%s)", data->size_title);
  const gchar *notes[] = {peak, others};
  PlotFrame frame = {.left = LEFT, .right = PLOT_WIDTH - plot_series_get_margin (list)};
  GString *svg = plot_begin (data, "GEMM speed by matrix size", notes, G_N_ELEMENTS (notes),
                             LINES_HEIGHT, &frame);
  const PlotAxis x = make_x (data, &frame), y = make_y (data, &frame);
  g_autoptr (GArray) across = list_sizes (data, &x);
  g_autoptr (GArray) up = plot_axis_list_ticks (&y, 8);

  plot_axis_draw_y (svg, &x, &y, up, "Speed (GFLOPS)");
  plot_axis_draw_x (svg, &x, &y, across, title);
  if (data->peak > 0)
    draw_peak_across (svg, data, &x, &y);
  plot_series_draw (svg, data, list, &x, &y, plot_point_get_size);
  return plot_svg_finish (svg);
}

static gint
compare_rates (gconstpointer a, gconstpointer b)
{
  gdouble x = ((const PlotPoint *)(*(PlotSeries *const *)a)->points->pdata[0])->gflops;
  gdouble y = ((const PlotPoint *)(*(PlotSeries *const *)b)->points->pdata[0])->gflops;

  return (x < y) - (x > y);
}

static gdouble
get_names_width (GPtrArray *list)
{
  gdouble width = 0;

  for (guint i = 0; i < list->len; i++)
    width = MAX (width, plot_svg_guess_width (((PlotSeries *)list->pdata[i])->label, NAME_SIZE));
  return MIN (width, NAMES_WIDTH);
}

static void
draw_row (GString *svg, const PlotData *data, const PlotSeries *series, const PlotAxis *x,
          gdouble middle, gdouble bar)
{
  const PlotFont name = {.size = NAME_SIZE, .colour = PLOT_INK, .anchor = PLOT_END};
  const PlotFont number = {.size = NAME_SIZE, .colour = PLOT_GREY, .anchor = PLOT_END};
  const PlotPoint *point = series->points->pdata[0];
  g_autofree gchar *label = plot_svg_shorten (series->label, NAME_SIZE, NAMES_WIDTH);
  g_autofree gchar *rate = plot_format_number (point->gflops);
  g_autofree gchar *tip = plot_point_describe (data, point);
  gchar share[G_ASCII_DTOSTR_BUF_SIZE];

  plot_svg_open (svg, "series", series->label);
  plot_svg_text (svg, x->start - 9, middle + 4, &name, label, NULL);
  plot_svg_bar (svg, x->start, middle - bar / 2, plot_axis_place (x, point->gflops) - x->start, bar,
                BAR_COLOUR, tip);
  plot_svg_text (svg, x->end + RATE_WIDTH, middle + 4, &name, rate, NULL);
  if (data->peak > 0) {
    g_autofree gchar *text = NULL;
    g_ascii_formatd (share, sizeof share, "%.1f", 100 * point->gflops / data->peak);
    text = g_strconcat (share, " %", NULL);
    plot_svg_text (svg, x->end + RATE_WIDTH + SHARE_WIDTH, middle + 4, &number, text, NULL);
  }
  plot_svg_close (svg);
}

static void
draw_peak_up (GString *svg, const PlotData *data, const PlotAxis *x, const PlotFrame *frame)
{
  const PlotStroke dashes = {.colour = PLOT_INK, .width = 1.2, .dash = "7 5"};
  const PlotFont font = {.size = 12, .colour = PLOT_INK, .anchor = PLOT_END};
  gdouble place = plot_axis_place (x, data->peak);
  g_autofree gchar *number = plot_format_number (data->peak);
  g_autofree gchar *text = g_strdup_printf ("%s %s GFLOPS", plot_get_peak_name (data), number);

  plot_svg_open (svg, "peak", text);
  plot_svg_line (svg, place, frame->top - 4, place, frame->bottom, &dashes);
  plot_svg_text (svg, place + 4, frame->top - 12, &font, text, NULL);
  plot_svg_close (svg);
}

static void
draw_heads (GString *svg, const PlotData *data, const PlotFrame *frame)
{
  const PlotFont font = {.size = 12, .colour = PLOT_GREY, .anchor = PLOT_END};

  plot_svg_text (svg, frame->right + RATE_WIDTH, frame->top - 12, &font, "GFLOPS", NULL);
  if (data->peak > 0)
    plot_svg_text (svg, frame->right + RATE_WIDTH + SHARE_WIDTH, frame->top - 12, &font, "of peak",
                   NULL);
}

gchar *
plot_bars (const PlotData *data)
{
  g_autoptr (GPtrArray) list = plot_series_list (data);
  g_autofree gchar *note = plot_get_peak_note (data);
  const gdouble numbers = MARGIN + RATE_WIDTH + (data->peak > 0 ? SHARE_WIDTH : 0);
  PlotFrame frame = {.left = MARGIN + get_names_width (list) + 9, .right = PLOT_WIDTH - numbers};
  const gdouble line = list->len > MANY_BARS ? DENSE_LINE : BAR_LINE;
  GString *svg = plot_begin (data, "GEMM speed by kernel", (const gchar *[]){note}, 1,
                             list->len * line, &frame);
  const PlotAxis y = {.low = 0, .high = list->len, .start = frame.bottom, .end = frame.top};
  PlotAxis x = {.low = 0, .high = data->peak, .start = frame.left, .end = frame.right};
  g_autoptr (GArray) ticks = NULL;

  g_ptr_array_sort (list, compare_rates);
  x.high =
      MAX (x.high, ((const PlotPoint *)((PlotSeries *)list->pdata[0])->points->pdata[0])->gflops);
  x.high *= 1.01;
  ticks = plot_axis_list_ticks (&x, 8);
  plot_axis_draw_x (svg, &x, &y, ticks, "Speed (GFLOPS)");
  draw_heads (svg, data, &frame);
  for (guint i = 0; i < list->len; i++)
    draw_row (svg, data, list->pdata[i], &x, frame.top + (i + 0.5) * line, BAR_SHARE * line);
  if (data->peak > 0)
    draw_peak_up (svg, data, &x, &frame);
  return plot_svg_finish (svg);
}
