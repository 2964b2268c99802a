/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "feed.h"

#include <gst/controller/gstdirectcontrolbinding.h>
#include <gst/controller/gstinterpolationcontrolsource.h>

#define FEED_FRAME (10 * GST_MSECOND)
#define MIN_STEPS  20
#define MAX_STEPS  80
#define MAX_N      3

#define ANY_OPENCL                                                                                 \
  "other/tensors(memory:OpenCL);audio/x-raw(memory:OpenCL);video/x-raw(memory:OpenCL)"
#define SAMPLES(format, rate)                                                                      \
  "audio/x-raw,format=" format ",rate=" rate                                                       \
  ",channels=2,layout=interleaved,channel-mask=(bitmask)3"
#define FLOATS(dimensions, rate) TENSORS ("1", dimensions, "float32", rate)

/**
 * Family: streams that one weight suits
 * @caps: theirs
 * @k: their K
 * @n: choices of N
 * @unit: what their samples are about
 */
typedef struct _FeedFamily {
  const gchar *caps[4];
  guint k, n[MAX_N];
  gdouble unit;
} Family;

static const Family families[] = {
    {.caps = {SAMPLES ("F32LE", "8000"), SAMPLES ("S16LE", "8000"), SAMPLES ("F32LE", "16000"),
              SAMPLES ("S16LE", "16000")},
     .k = 2,
     .n = {1, 2, 3},
     .unit = 1000},
    {.caps = {FLOATS ("5:3", "100/1"), FLOATS ("5:7", "100/1"), FLOATS ("5:3", "50/1"),
              FLOATS ("5:1", "0/1")},
     .k = 5,
     .n = {1, 4, 17},
     .unit = 1},
    {.caps = {VIDEO ("GRAY8", "width=10,height=4"), VIDEO ("GRAY8", "width=7,height=5"),
              VIDEO ("GRAY8", "width=4,height=10"), VIDEO ("GRAY8", "width=1,height=1")},
     .k = 1,
     .n = {1, 2, 3},
     .unit = 60},
    {.caps = {VIDEO ("RGB", "width=9,height=4"), VIDEO ("BGR", "width=9,height=4"),
              VIDEO ("RGB", "width=5,height=6"), VIDEO ("BGR", "width=4,height=4")},
     .k = 3,
     .n = {1, 2, 3},
     .unit = 60},
};

static gboolean
is_true (Feed *self, guint percent)
{
  return (guint)g_rand_int_range (self->rand, 0, 100) < percent;
}

static gdouble
pick_float (Feed *self, gdouble least, gdouble most)
{
  return (gfloat)g_rand_double_range (self->rand, least, most);
}

static GBytes *
pick_matrix (Feed *self, gsize n, gdouble unit)
{
  gdouble *values = g_new (gdouble, n);

  for (gsize i = 0; i < n; i++)
    values[i] = unit * pick_float (self, -0.5, 1);
  return g_bytes_new_take (values, n * sizeof (gdouble));
}

static gchar *
print_matrix (GBytes *matrix, gsize rows, gsize columns)
{
  return matrix ? literal (g_bytes_get_data (matrix, NULL), rows, columns) : g_strdup ("");
}

static void
set_operand (Feed *self, const gchar *name, GBytes *matrix, gsize rows)
{
  g_autofree gchar *text = print_matrix (matrix, rows, self->terms.n);

  g_object_set (self->stream->element, name, text, NULL);
}

/* Takes @matrix, which may be NULL. */
static void
replace (GBytes **slot, GBytes *matrix)
{
  g_clear_pointer (slot, g_bytes_unref);
  *slot = matrix;
}

static GBytes *
pick_row (Feed *self)
{
  return pick_matrix (self, self->terms.n, (gfloat)self->family->unit);
}

static gdouble
pick_alpha (Feed *self)
{
  const gdouble choice[] = {1, 1, 0.5, -1, 0, 30, pick_float (self, -2, 2)};

  return choice[g_rand_int_range (self->rand, 0, G_N_ELEMENTS (choice))];
}

static gdouble
pick_beta (Feed *self)
{
  const gdouble choice[] = {0, 0, 0.5, 1, -1, pick_float (self, -1, 1)};

  if (!self->has_addend && !self->may_feed_back)
    return 0;
  return choice[g_rand_int_range (self->rand, 0, G_N_ELEMENTS (choice))];
}

/* A control source whose value is that of the stream time, in steps. */
static GstControlSource *
control (Feed *self, const gchar *name, gdouble (*pick) (Feed *self))
{
  GstControlSource *source = gst_interpolation_control_source_new ();
  GstObject *element = GST_OBJECT (self->stream->element);

  g_object_set (source, "mode", GST_INTERPOLATION_MODE_NONE, NULL);
  for (guint i = 0; i < MAX_STEPS; i += (guint)g_rand_int_range (self->rand, 1, 9))
    gst_timed_value_control_source_set (GST_TIMED_VALUE_CONTROL_SOURCE (source), i * FEED_FRAME,
                                        pick (self));
  g_assert_true (gst_object_add_control_binding (
      element, gst_direct_control_binding_new_absolute (element, name, source)));
  return source;
}

static void
refuse (Feed *self, const gchar *what)
{
  if (!self->failure)
    self->failure = g_strdup (what);
}

/* Pushes an event between buffers. Takes @event. */
static void
push_event (Feed *self, GstEvent *event)
{
  const gchar *name = GST_EVENT_TYPE_NAME (event);
  Item *item = g_new0 (Item, 1);

  item->kind = ITEM_EVENT;
  item->event = gst_event_ref (event);
  g_ptr_array_add (self->items, item);
  if (!gst_harness_push_event (self->stream->harness, event))
    refuse (self, name);
}

static void
push_custom (Feed *self)
{
  push_event (self, gst_event_new_custom (GST_EVENT_CUSTOM_DOWNSTREAM,
                                          gst_structure_new_empty ("application/x-mark")));
}

static void
push_tag (Feed *self)
{
  push_event (
      self, gst_event_new_tag (gst_tag_list_new (GST_TAG_TRACK_NUMBER, (guint)self->n + 1, NULL)));
}

static void
push_gap (Feed *self)
{
  push_event (self, gst_event_new_gap (self->time, FEED_FRAME));
}

/* The times of buffers go on; their stream time is somewhere else. */
static void
push_segment (Feed *self)
{
  self->segment.start = self->segment.position = self->time;
  self->segment.time = (guint64)g_rand_int_range (self->rand, 0, MAX_STEPS) * FEED_FRAME;
  push_event (self, gst_event_new_segment (&self->segment));
}

static void
flush (Feed *self)
{
  Item *item = g_new0 (Item, 1);

  item->kind = ITEM_FLUSH;
  g_ptr_array_add (self->items, item);
  stream_push_event (self->stream, gst_event_new_flush_start ());
  stream_push_event (self->stream, gst_event_new_flush_stop (TRUE));
  push_segment (self);
  self->resets = TRUE;
}

static void
push_eos (Feed *self)
{
  push_event (self, gst_event_new_eos ());
  flush (self);
}

static void
change_caps (Feed *self)
{
  const gchar *const *caps = self->family->caps;
  const gchar *next = caps[g_rand_int_range (self->rand, 0, G_N_ELEMENTS (self->family->caps))];
  g_autoptr (GstCaps) parsed = gst_caps_from_string (next);

  if (next == self->caps)
    return;
  self->caps = next;
  shape_init (&self->shape, parsed);
  if (!gst_harness_push_event (self->stream->harness, gst_event_new_caps (parsed)))
    refuse (self, next);
  self->resets = TRUE;
}

static void
change_weight (Feed *self)
{
  replace (&self->terms.b, pick_matrix (self, self->terms.k * self->terms.n, 1));
  set_operand (self, "weight", self->terms.b, self->terms.k);
}

/* A bias and an addend must fit the weight all the time. */
static void
change_n (Feed *self)
{
  const gsize n = self->family->n[g_rand_int_range (self->rand, 0, MAX_N)];

  if (n == self->terms.n || self->n_changed)
    return;
  self->n_changed = TRUE;
  self->terms.n = n;
  if (self->terms.bias)
    g_object_set (self->stream->element, "bias", "", NULL);
  if (self->terms.addend)
    g_object_set (self->stream->element, "addend", "", NULL);
  change_weight (self);
  if (self->terms.bias) {
    replace (&self->terms.bias, pick_row (self));
    set_operand (self, "bias", self->terms.bias, 1);
  }
  if (self->terms.addend) {
    replace (&self->terms.addend, pick_row (self));
    set_operand (self, "addend", self->terms.addend, 1);
  }
  self->resets = TRUE;
}

static void
change_bias (Feed *self)
{
  replace (&self->terms.bias, is_true (self, 80) ? pick_row (self) : NULL);
  set_operand (self, "bias", self->terms.bias, 1);
}

static void
change_addend (Feed *self)
{
  if (!self->has_addend)
    return;
  replace (&self->terms.addend, pick_row (self));
  set_operand (self, "addend", self->terms.addend, 1);
}

static void
change_scalars (Feed *self)
{
  if (!self->alpha && is_true (self, 60))
    g_object_set (self->stream->element, "alpha", self->terms.alpha = pick_alpha (self), NULL);
  if (!self->beta && is_true (self, 60))
    g_object_set (self->stream->element, "beta", self->terms.beta = pick_beta (self), NULL);
}

/* The element may do now what it does by itself. */
static void
rest (Feed *self)
{
  g_usleep ((gulong)g_rand_int_range (self->rand, 0, 3000));
}

static gdouble
pick_sample (Feed *self)
{
  switch (self->shape.type) {
  case SAMPLE_F32:
    return pick_float (self, -1, 1);
  case SAMPLE_S16:
    return is_true (self, 3) ? G_MAXINT16 : g_rand_int_range (self->rand, -3000, 3001);
  default:
    return g_rand_int_range (self->rand, 0, 256);
  }
}

/* Many buffers of audio are as long as the one before, and few are longer than all others. */
static gsize
pick_rows (Feed *self)
{
  static const gsize choice[] = {1, 7, 16, 33};

  if (self->shape.medium != MEDIUM_AUDIO)
    return self->shape.rows;
  if (is_true (self, 25))
    self->samples = choice[g_rand_int_range (self->rand, 0, G_N_ELEMENTS (choice))];
  return is_true (self, 1) ? (gsize)g_rand_int_range (self->rand, 1000, 2500) : self->samples;
}

static GstBuffer *
make_buffer (Feed *self, gboolean is_gap)
{
  const gsize rows = pick_rows (self), n = rows * self->shape.columns;
  g_autofree gdouble *values = g_new0 (gdouble, n);

  for (gsize i = 0; i < n && !(is_gap && self->shape.medium == MEDIUM_AUDIO); i++)
    values[i] = pick_sample (self);
  return shape_write (&self->shape, n, values);
}

static void
set_times (Feed *self, GstBuffer *buffer)
{
  GST_BUFFER_PTS (buffer) = self->time;
  GST_BUFFER_DTS (buffer) = is_true (self, 50) ? self->time / 2 : GST_CLOCK_TIME_NONE;
  GST_BUFFER_DURATION (buffer) = FEED_FRAME;
  GST_BUFFER_OFFSET (buffer) = self->n;
  GST_BUFFER_OFFSET_END (buffer) = self->n + 1;
  self->n++;
  self->time += FEED_FRAME;
}

static void
sync_scalar (Feed *self, GstControlSource *source, GstClockTime time, gdouble *value)
{
  guint64 stream_time = gst_segment_to_stream_time (&self->segment, GST_FORMAT_TIME, time);

  if (source)
    g_assert_true (gst_control_source_get_value (source, stream_time, value));
}

static void
add_buffer (Feed *self, GstBuffer *buffer)
{
  Item *item = g_new0 (Item, 1);

  sync_scalar (self, self->alpha, GST_BUFFER_PTS (buffer), &self->terms.alpha);
  sync_scalar (self, self->beta, GST_BUFFER_PTS (buffer), &self->terms.beta);
  item->kind = ITEM_BUFFER;
  item->buffer = gst_buffer_ref (buffer);
  item->caps = gst_caps_from_string (self->caps);
  item->resets = self->resets || GST_BUFFER_IS_DISCONT (buffer);
  terms_copy (&item->terms, &self->terms);
  g_ptr_array_add (self->items, item);
  self->resets = self->n_changed = FALSE;
}

static void
push_buffer (Feed *self)
{
  const gboolean is_gap = is_true (self, 10);
  GstBuffer *buffer = is_gap && is_true (self, 40) ? gst_buffer_new () : make_buffer (self, is_gap);
  GstFlowReturn flow;

  set_times (self, buffer);
  if (is_gap)
    GST_BUFFER_FLAG_SET (buffer, GST_BUFFER_FLAG_GAP);
  if (is_true (self, 7))
    GST_BUFFER_FLAG_SET (buffer, GST_BUFFER_FLAG_DISCONT);
  if (is_true (self, 20))
    GST_BUFFER_FLAG_SET (buffer, GST_BUFFER_FLAG_MARKER);
  g_string_append_printf (self->script, "%s%s%" G_GSIZE_FORMAT,
                          GST_BUFFER_IS_DISCONT (buffer) ? "D" : "", is_gap ? "G" : "",
                          gst_buffer_get_size (buffer));
  add_buffer (self, buffer);
  flow = gst_harness_push (self->stream->harness, buffer);
  if (flow != GST_FLOW_OK)
    refuse (self, gst_flow_get_name (flow));
}

/* How many in a hundred steps are which. */
static const struct {
  guint weight;
  const gchar *name;
  void (*run) (Feed *self);
} steps[] = {
    {60, "", push_buffer},          {7, "custom", push_custom},
    {3, "tag", push_tag},           {2, "gap", push_gap},
    {3, "segment", push_segment},   {2, "flush", flush},
    {1, "eos", push_eos},           {3, "caps", change_caps},
    {4, "weight", change_weight},   {2, "n", change_n},
    {3, "bias", change_bias},       {2, "addend", change_addend},
    {5, "scalars", change_scalars}, {3, "rest", rest},
};

static void
run_step (Feed *self)
{
  gint at = g_rand_int_range (self->rand, 0, 100);
  guint i = 0;

  for (; at >= (gint)steps[i].weight; i++)
    at -= (gint)steps[i].weight;
  g_string_append_printf (self->script, " %s", steps[i].name);
  steps[i].run (self);
}

gchar *
feed_run (Feed *self)
{
  const gint n = g_rand_int_range (self->rand, MIN_STEPS, MAX_STEPS);

  for (gint i = 0; i < n && !self->failure; i++)
    run_step (self);
  if (!self->failure)
    push_event (self, gst_event_new_eos ());
  return g_steal_pointer (&self->failure);
}

static void
item_free (gpointer data)
{
  Item *self = data;

  gst_clear_event (&self->event);
  gst_clear_buffer (&self->buffer);
  gst_clear_caps (&self->caps);
  terms_clear (&self->terms);
  g_free (self);
}

static void
make_element (Feed *self)
{
  static const gint64 timeouts[] = {-1, 0, GST_MSECOND, 20 * GST_MSECOND};
  const guint batch = (guint)(is_true (self, 30) ? 1 : g_rand_int_range (self->rand, 2, 6));
  const guint depth = (guint)g_rand_int_range (self->rand, 1, 5);
  const gint64 timeout = timeouts[g_rand_int_range (self->rand, 0, G_N_ELEMENTS (timeouts))];
  const gboolean named = self->shape.medium != MEDIUM_VIDEO && is_true (self, 75);
  const gchar *kernel = named ? "gemm_naive" : "auto"; /* which writes no video */

  self->may_feed_back = batch == 1;
  self->stream = stream_new ("gemmcl batch-size=%u queue-depth=%u batch-timeout=%" G_GINT64_FORMAT
                             " kernel=%s precision=f32 feature-mode=pixel",
                             batch, depth, timeout, kernel);
  g_string_append_printf (
      self->script, "batch-size=%u queue-depth=%u batch-timeout=%" G_GINT64_FORMAT " kernel=%s: %s",
      batch, depth, timeout, kernel, self->caps);
}

static void
set_terms (Feed *self)
{
  self->terms.k = self->family->k;
  self->terms.n = self->family->n[g_rand_int_range (self->rand, 0, MAX_N)];
  change_weight (self);
  if (is_true (self, 50))
    change_bias (self);
  self->has_addend = is_true (self, 30);
  change_addend (self);
  if (is_true (self, 20))
    self->alpha = control (self, "alpha", pick_alpha);
  if (is_true (self, 20))
    self->beta = control (self, "beta", pick_beta);
  self->terms.alpha = 1;
  self->terms.beta = self->has_addend;
  change_scalars (self);
}

Feed *
feed_new (guint32 seed)
{
  Feed *self = g_new0 (Feed, 1);
  g_autoptr (GstCaps) caps = NULL;
  gboolean to_opencl;

  self->rand = g_rand_new_with_seed (seed);
  self->items = g_ptr_array_new_with_free_func (item_free);
  self->script = g_string_new (NULL);
  self->family = &families[g_rand_int_range (self->rand, 0, G_N_ELEMENTS (families))];
  self->caps =
      self->family->caps[g_rand_int_range (self->rand, 0, G_N_ELEMENTS (self->family->caps))];
  caps = gst_caps_from_string (self->caps);
  shape_init (&self->shape, caps);
  self->samples = 16;
  self->resets = TRUE;
  gst_segment_init (&self->segment, GST_FORMAT_TIME);
  make_element (self);
  set_terms (self);
  to_opencl = is_true (self, 25);
  g_string_append_printf (self->script, "%s:", to_opencl ? " to memory:OpenCL" : "");
  g_assert_true (stream_play (self->stream, self->caps, to_opencl ? ANY_OPENCL : NULL));
  return self;
}

void
feed_free (Feed *self)
{
  stream_free (self->stream);
  g_ptr_array_unref (self->items);
  g_rand_free (self->rand);
  g_string_free (self->script, TRUE);
  g_free (self->failure);
  gst_clear_object (&self->alpha);
  gst_clear_object (&self->beta);
  terms_clear (&self->terms);
  g_free (self);
}
