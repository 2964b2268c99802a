/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "feed.h"

#include <gst/controller/gstdirectcontrolbinding.h>
#include <gst/controller/gstinterpolationcontrolsource.h>
#include <math.h>

#define FEED_FRAME (10 * GST_MSECOND)
#define MIN_STEPS  20
#define MAX_STEPS  80
#define N_CHOICES  3

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
 * @unit: what a bias and an addend are about
 */
typedef struct _FeedFamily {
  const gchar *caps[4];
  guint k, n[N_CHOICES];
  gint unit;
} Family;

static const Family families[] = {
    {.caps = {SAMPLES ("F32LE", "8000"), SAMPLES ("S16LE", "8000"), SAMPLES ("F32LE", "16000"),
              SAMPLES ("S16LE", "16000")},
     .k = 2,
     .n = {1, 2, 3},
     .unit = 1000},
    {.caps = {FLOATS ("5:3", "100/1"), FLOATS ("5:7", "100/1"), FLOATS ("5:3", "50/1"),
              FLOATS ("5:1", "0/1")},
     .k = FEED_MAX_K,
     .n = {1, 4, FEED_MAX_N},
     .unit = 8},
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

/* Returns: a number from @least to @most. */
static gint
pick (Feed *self, gint least, gint most)
{
  return g_rand_int_range (self->rand, least, most + 1);
}

/* Sets the operand @name. */
static void
change_operand (Feed *self, const gchar *name, gdouble *matrix, gsize rows, gint least, gint most)
{
  g_autofree gchar *text = NULL;

  for (gsize i = 0; i < rows * self->n; i++)
    matrix[i] = pick (self, least, most);
  text = literal (matrix, rows, self->n);
  g_object_set (self->stream->element, name, text, NULL);
}

static void
change_weight (Feed *self)
{
  change_operand (self, "weight", self->b, self->k, -1, 2);
}

static void
change_row (Feed *self, const gchar *name, gdouble *row)
{
  change_operand (self, name, row, 1, -self->family->unit / 2, self->family->unit);
}

static gdouble
pick_alpha (Feed *self)
{
  static const gdouble choice[] = {1, 1, 0.5, -1, 0, 3};

  return choice[pick (self, 0, G_N_ELEMENTS (choice) - 1)];
}

static gdouble
pick_beta (Feed *self)
{
  static const gdouble choice[] = {0, 0, 1, -1};

  if (!self->has_addend && !self->may_feed_back)
    return 0;
  return choice[pick (self, 0, G_N_ELEMENTS (choice) - 1)];
}

/* A control source whose value is that of the stream time, in steps. */
static GstControlSource *
control (Feed *self, const gchar *name, gdouble (*pick_value) (Feed *self))
{
  GstControlSource *source = gst_interpolation_control_source_new ();
  GstObject *element = GST_OBJECT (self->stream->element);

  g_object_set (source, "mode", GST_INTERPOLATION_MODE_NONE, NULL);
  for (guint i = 0; i < MAX_STEPS; i += (guint)pick (self, 1, 8))
    gst_timed_value_control_source_set (GST_TIMED_VALUE_CONTROL_SOURCE (source), i * FEED_FRAME,
                                        pick_value (self));
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
  push_event (self, gst_event_new_tag (
                        gst_tag_list_new (GST_TAG_TRACK_NUMBER, (guint)self->count + 1, NULL)));
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
  self->segment.time = (guint64)pick (self, 0, MAX_STEPS - 1) * FEED_FRAME;
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
  const gchar *next = caps[pick (self, 0, G_N_ELEMENTS (self->family->caps) - 1)];
  g_autoptr (GstCaps) parsed = gst_caps_from_string (next);

  if (next == self->caps)
    return;
  self->caps = next;
  shape_init (&self->shape, parsed);
  if (!gst_harness_push_event (self->stream->harness, gst_event_new_caps (parsed)))
    refuse (self, next);
  self->resets = TRUE;
}

/* A bias and an addend must fit the weight all the time. */
static void
change_n (Feed *self)
{
  const gsize n = self->family->n[pick (self, 0, N_CHOICES - 1)];

  if (n == self->n || self->n_changed)
    return;
  self->n_changed = TRUE;
  self->n = n;
  if (self->has_bias)
    g_object_set (self->stream->element, "bias", "", NULL);
  if (self->has_addend)
    g_object_set (self->stream->element, "addend", "", NULL);
  change_weight (self);
  if (self->has_bias)
    change_row (self, "bias", self->bias);
  if (self->has_addend)
    change_row (self, "addend", self->addend);
  self->resets = TRUE;
}

static void
change_bias (Feed *self)
{
  self->has_bias = is_true (self, 80);
  if (self->has_bias)
    change_row (self, "bias", self->bias);
  else
    g_object_set (self->stream->element, "bias", "", NULL);
}

static void
change_addend (Feed *self)
{
  if (self->has_addend)
    change_row (self, "addend", self->addend);
}

static void
change_scalars (Feed *self)
{
  if (!self->alpha_source && is_true (self, 60))
    g_object_set (self->stream->element, "alpha", self->alpha = pick_alpha (self), NULL);
  if (!self->beta_source && is_true (self, 60))
    g_object_set (self->stream->element, "beta", self->beta = pick_beta (self), NULL);
}

/* The element may do now what it does by itself. */
static void
rest (Feed *self)
{
  g_usleep ((gulong)pick (self, 0, 2999));
}

static gdouble
pick_sample (Feed *self)
{
  switch (self->shape.type) {
  case SAMPLE_F32:
    return pick (self, -8, 8);
  case SAMPLE_S16:
    return is_true (self, 3) ? 20000 : pick (self, -1000, 1000);
  default:
    return pick (self, 0, 255);
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
    self->samples = choice[pick (self, 0, G_N_ELEMENTS (choice) - 1)];
  return is_true (self, 1) ? (gsize)pick (self, 1000, 2499) : self->samples;
}

static gboolean
is_integer (const Feed *self)
{
  /* Video without a format of N channels leaves as tensors. */
  return self->shape.type != SAMPLE_F32 && !(self->shape.medium == MEDIUM_VIDEO && self->n == 2);
}

gdouble
feed_store (SampleType type, gdouble value)
{
  switch (type) {
  case SAMPLE_S16:
    return rint (CLAMP (value, -32768.0, 32767.0));
  case SAMPLE_U8:
    return rint (CLAMP (value, 0.0, 255.0));
  default:
    return value;
  }
}

/* Computes the results of @a, of @m rows. */
static void
compute (Feed *self, Item *item, gsize m, const gdouble *a)
{
  for (guint c = 0; c < 2; c++) {
    GArray *d = item->results[c] = g_array_sized_new (FALSE, FALSE, sizeof (gdouble), m * self->n);
    const GArray *previous = self->previous[c];

    if (previous && previous->len != m * self->n)
      previous = NULL;
    for (gsize i = 0; i < m * self->n; i++) {
      const gsize j = i % self->n;
      gdouble sum = 0, added = previous ? g_array_index (previous, gdouble, i) : 0;

      for (gsize l = 0; l < self->k; l++)
        sum += a[i / self->n * self->k + l] * self->b[l * self->n + j];
      added = self->beta * (self->has_addend ? self->addend[j] : added);
      sum = self->alpha * sum + added + (self->has_bias ? self->bias[j] : 0);
      g_array_append_val (d, sum);
    }
  }
}

static void
set_previous (Feed *self, GArray *const *results)
{
  for (guint c = 0; c < 2; c++) {
    g_clear_pointer (&self->previous[c], g_array_unref);
    self->previous[c] = results ? g_array_copy (results[c]) : NULL;
  }
  for (guint i = 0; results && self->beta == 0 && is_integer (self) && i < results[1]->len; i++) {
    gdouble *value = &g_array_index (self->previous[1], gdouble, i);

    *value = feed_store (self->shape.type, *value);
  }
}

static void
set_times (Feed *self, GstBuffer *buffer)
{
  GST_BUFFER_PTS (buffer) = self->time;
  GST_BUFFER_DTS (buffer) = is_true (self, 50) ? self->time / 2 : GST_CLOCK_TIME_NONE;
  GST_BUFFER_DURATION (buffer) = FEED_FRAME;
  GST_BUFFER_OFFSET (buffer) = self->count;
  GST_BUFFER_OFFSET_END (buffer) = self->count + 1;
  self->count++;
  self->time += FEED_FRAME;
}

static void
sync_scalar (Feed *self, GstControlSource *source, gdouble *value)
{
  guint64 time = gst_segment_to_stream_time (&self->segment, GST_FORMAT_TIME, self->time);

  if (source)
    g_assert_true (gst_control_source_get_value (source, time, value));
}

/* Silence of audio stays silence without a bias and without beta. */
static void
add_buffer (Feed *self, GstBuffer *buffer, gsize m, const gdouble *a)
{
  Item *item = g_new0 (Item, 1);

  item->kind = ITEM_BUFFER;
  item->buffer = gst_buffer_ref (buffer);
  item->caps = gst_caps_from_string (self->caps);
  item->n = self->n;
  item->keeps_gap =
      self->shape.medium != MEDIUM_AUDIO || m == 0 || (!self->has_bias && self->beta == 0);
  if (self->resets || GST_BUFFER_IS_DISCONT (buffer))
    set_previous (self, NULL);
  compute (self, item, m, a);
  if (m > 0)
    set_previous (self, item->results);
  g_ptr_array_add (self->items, item);
  self->resets = self->n_changed = FALSE;
}

static void
push_buffer (Feed *self)
{
  const gboolean is_gap = is_true (self, 10), is_empty = is_gap && is_true (self, 40);
  const gboolean is_silent = is_gap && self->shape.medium == MEDIUM_AUDIO;
  const gsize m = is_empty ? 0 : pick_rows (self), n = m * self->k;
  g_autofree gdouble *a = g_new0 (gdouble, n);
  GstBuffer *buffer;
  GstFlowReturn flow;

  for (gsize i = 0; i < n && !is_silent; i++)
    a[i] = pick_sample (self);
  buffer = is_empty ? gst_buffer_new () : shape_write (&self->shape, n, a);
  sync_scalar (self, self->alpha_source, &self->alpha);
  sync_scalar (self, self->beta_source, &self->beta);
  set_times (self, buffer);
  if (is_gap)
    GST_BUFFER_FLAG_SET (buffer, GST_BUFFER_FLAG_GAP);
  if (is_true (self, 7))
    GST_BUFFER_FLAG_SET (buffer, GST_BUFFER_FLAG_DISCONT);
  if (is_true (self, 20))
    GST_BUFFER_FLAG_SET (buffer, GST_BUFFER_FLAG_MARKER);
  g_string_append_printf (self->script, "%s%s%" G_GSIZE_FORMAT,
                          GST_BUFFER_IS_DISCONT (buffer) ? "D" : "", is_gap ? "G" : "", m);
  add_buffer (self, buffer, m, a);
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
  gint at = pick (self, 0, 99);
  guint i = 0;

  for (; at >= (gint)steps[i].weight; i++)
    at -= (gint)steps[i].weight;
  g_string_append_printf (self->script, " %s", steps[i].name);
  steps[i].run (self);
}

gchar *
feed_run (Feed *self)
{
  const gint n = pick (self, MIN_STEPS, MAX_STEPS - 1);

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
  for (guint c = 0; c < 2; c++)
    g_clear_pointer (&self->results[c], g_array_unref);
  g_free (self);
}

static void
make_element (Feed *self)
{
  static const gint64 timeouts[] = {-1, 0, GST_MSECOND, 20 * GST_MSECOND};
  const guint batch = (guint)(is_true (self, 30) ? 1 : pick (self, 2, 5));
  const guint depth = (guint)pick (self, 1, 4);
  const gint64 timeout = timeouts[pick (self, 0, G_N_ELEMENTS (timeouts) - 1)];
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
set_operands (Feed *self)
{
  self->k = self->family->k;
  self->n = self->family->n[pick (self, 0, N_CHOICES - 1)];
  change_weight (self);
  if (is_true (self, 50))
    change_bias (self);
  self->has_addend = is_true (self, 30);
  change_addend (self);
  if (is_true (self, 20))
    self->alpha_source = control (self, "alpha", pick_alpha);
  if (is_true (self, 20))
    self->beta_source = control (self, "beta", pick_beta);
  self->alpha = 1;
  self->beta = self->has_addend;
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
  self->family = &families[pick (self, 0, G_N_ELEMENTS (families) - 1)];
  self->caps = self->family->caps[pick (self, 0, G_N_ELEMENTS (self->family->caps) - 1)];
  caps = gst_caps_from_string (self->caps);
  shape_init (&self->shape, caps);
  self->samples = 16;
  self->resets = TRUE;
  gst_segment_init (&self->segment, GST_FORMAT_TIME);
  make_element (self);
  set_operands (self);
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
  gst_clear_object (&self->alpha_source);
  gst_clear_object (&self->beta_source);
  set_previous (self, NULL);
  g_free (self);
}
