/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#define GST_USE_UNSTABLE_API /* tracers */
#include "load.h"

#include <string.h>

#define FRAME (GST_SECOND / 1000)

/* All numbers alike, so that one that was harmed is seen. */
static GstBuffer *
make_tensor (gpointer data G_GNUC_UNUSED, guint n, gboolean is_long)
{
  const gsize count = is_long ? 32 : 16;
  gfloat *values = g_new (gfloat, count);

  for (gsize i = 0; i < count; i++)
    values[i] = n;
  return gst_buffer_new_wrapped (values, count * sizeof *values);
}

/* The weight may have a fifth column, of zeros. Where weights change, all of it may be twice as
 * large. */
static void
check_tensor (const Load *self, GstPad *pad, GstBuffer *buffer, guint n)
{
  g_autoptr (GstCaps) caps = gst_pad_get_current_caps (pad);
  const guint columns = g_ascii_strtoull (
      gst_structure_get_string (gst_caps_get_structure (caps, 0), "dimensions"), NULL, 10);
  const gfloat *values;
  gfloat expected = self->line->factor * (gfloat)n;
  GstMapInfo map;

  g_assert_true (gst_buffer_map (buffer, &map, GST_MAP_READ));
  values = (const gfloat *)map.data;
  g_assert_cmpuint (map.size % (4 * columns * sizeof (gfloat)), ==, 0);
  g_assert_cmpuint (map.size, >, 0);
  if (self->swaps_weights && columns == 4 && values[0] == 2 * expected)
    expected *= 2;
  for (gsize i = 0; i < map.size / sizeof (gfloat); i++)
    g_assert_cmpfloat (values[i], ==, i % columns < 4 ? expected : 0.0f);
  gst_buffer_unmap (buffer, &map);
}

static const LoadSource tensors = {
    {TENSORS ("1", "4:4", "float32", "1000/1"), TENSORS ("1", "4:8", "float32", "1000/1")},
    {"[[2,0,0,0,0],[0,2,0,0,0],[0,0,2,0,0],[0,0,0,2,0]]", LOAD_WEIGHT,
     "[[4,0,0,0],[0,4,0,0],[0,0,4,0],[0,0,0,4]]"},
    make_tensor,
    check_tensor,
    NULL};

#define EACH(number) "[" number "," number "," number "," number "]"
#define CONTROLLED   " bias=" EACH ("0") " addend=" EACH (".125") " weight=" LOAD_WEIGHT

/* Settings, each with both its values. */
static const struct {
  const gchar *name, *values[2];
} controls[] = {{"alpha", {"1", "2"}},
                {"beta", {"1", "2"}},
                {"bias", {EACH ("0"), EACH (".0625")}},
                {"addend", {EACH (".125"), EACH (".25")}}};

/* Now and then so late that a batch is not full in time. */
static GstBuffer *
make_controlled (gpointer data, guint n, gboolean is_long)
{
  if (n % 32 == 31)
    g_usleep (3000);
  return make_tensor (data, n, is_long);
}

/* Any values of the settings are right, but the same for all of a buffer. */
static void
check_controlled (const Load *self, GstPad *pad G_GNUC_UNUSED, GstBuffer *buffer, guint n)
{
  const gfloat product = self->line->factor * (gfloat)n;
  gboolean is_right = FALSE;
  const gfloat *values;
  GstMapInfo map;

  g_assert_true (gst_buffer_map (buffer, &map, GST_MAP_READ));
  values = (const gfloat *)map.data;
  g_assert_cmpuint (map.size, ==, 16 * sizeof (gfloat));
  for (gint alpha = 1; alpha <= 2; alpha++)
    for (gint bias = 0; bias <= 1; bias++)
      for (gint addend = 1; addend <= 4; addend *= 2)
        is_right |= values[0] == alpha * product + bias * .0625f + addend * .125f;
  if (!is_right)
    g_error ("%g came out for %u", values[0], n);
  for (guint i = 1; i < 16; i++)
    g_assert_cmpfloat (values[i], ==, values[0]);
  gst_buffer_unmap (buffer, &map);
}

static const LoadSource controlled = {
    {TENSORS ("1", "4:4", "float32", "1000/1")}, {NULL}, make_controlled, check_controlled, NULL};

/* A buffer that was pushed before a flush must not come after it. */
static GstPadProbeReturn
see_flush (GstPad *pad G_GNUC_UNUSED, GstPadProbeInfo *info, gpointer data)
{
  Load *self = data;

  g_mutex_lock (&self->lock);
  if (GST_EVENT_TYPE (GST_PAD_PROBE_INFO_EVENT (info)) == GST_EVENT_FLUSH_STOP)
    self->floor = self->next;
  g_mutex_unlock (&self->lock);
  return GST_PAD_PROBE_OK;
}

static GstPadProbeReturn
see (GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  Load *self = data;
  GstBuffer *buffer = GST_PAD_PROBE_INFO_BUFFER (info);
  const guint n = GST_BUFFER_PTS (buffer) / FRAME;

  self->source->check (self, pad, buffer, n);
  g_mutex_lock (&self->lock);
  g_assert_cmpint (n, >, self->last);
  g_assert_cmpuint (n, >=, self->floor);
  self->last = n;
  self->seen++;
  g_cond_broadcast (&self->changed);
  g_mutex_unlock (&self->lock);
  return GST_PAD_PROBE_OK;
}

void
load_init (Load *self, const LoadLine *line, const LoadSource *source, guint total)
{
  GstPad *pad;

  *self = (Load){.source = source ? source : &tensors, .line = line, .total = total, .last = -1};
  g_mutex_init (&self->lock);
  g_cond_init (&self->changed);
  self->stream = stream_start (self->source->caps[0], "%s", line->text);
  pad = self->stream->harness->sinkpad;
  gst_harness_set_drop_buffers (self->stream->harness, TRUE);
  gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER, see, self, NULL);
  gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_EVENT_FLUSH, see_flush, self, NULL);
}

/* Waits until all is pushed, and ends the stream. */
static void
end (Load *self)
{
  g_clear_pointer (&self->pusher, g_thread_join);
  if (!self->ended)
    stream_push_event (self->stream, gst_event_new_eos ());
  self->ended = TRUE;
}

void
load_clear (Load *self)
{
  end (self);
  stream_assert_quiet (self->stream);
  stream_free (self->stream);
  g_mutex_clear (&self->lock);
  g_cond_clear (&self->changed);
}

GstFlowReturn
load_push (Load *self)
{
  const gboolean is_long = self->caps_period > 0 && self->next / self->caps_period % 2 > 0;
  GstBuffer *buffer = self->source->make (self->source->data, self->next, is_long);
  GstFlowReturn flow;

  GST_BUFFER_PTS (buffer) = self->next * FRAME;
  GST_BUFFER_DURATION (buffer) = FRAME;
  if (self->caps_period > 0 && self->next % self->caps_period == 0)
    gst_harness_set_src_caps_str (self->stream->harness, self->source->caps[is_long]);
  flow = gst_harness_push (self->stream->harness, buffer);
  g_mutex_lock (&self->lock);
  self->next++;
  self->taken += flow == GST_FLOW_OK;
  g_mutex_unlock (&self->lock);
  return flow;
}

/* Sets @flag; the pusher then sleeps while it is parked. */
static void
tell (Load *self, gboolean *flag, gboolean value)
{
  g_mutex_lock (&self->lock);
  *flag = value;
  g_cond_broadcast (&self->changed);
  while (value && self->parked)
    g_cond_wait (&self->changed, &self->lock);
  g_mutex_unlock (&self->lock);
}

/* Until all are taken; parks whenever the element flushes. */
static gpointer
push_all (gpointer data)
{
  Load *self = data;

  while (self->taken < self->total) {
    const GstFlowReturn flow = load_push (self);

    if (flow == GST_FLOW_FLUSHING)
      tell (self, &self->parked, TRUE);
    else
      g_assert_cmpstr (gst_flow_get_name (flow), ==, "ok");
  }
  tell (self, &self->done, TRUE);
  return NULL;
}

static void
start (Load *self)
{
  self->pusher = g_thread_new ("pusher", push_all, self);
}

/* Waits until @n more buffers came out. Returns: whether the pusher is still at it. */
static gboolean
wait_for (Load *self, guint n)
{
  gboolean pushing;
  guint until;

  g_mutex_lock (&self->lock);
  until = self->seen + n;
  while (!self->done && self->seen < until)
    g_cond_wait (&self->changed, &self->lock);
  pushing = !self->done;
  g_mutex_unlock (&self->lock);
  return pushing;
}

/* Waits until the pusher found the element flushing, or is done. */
static void
wait_parked (Load *self)
{
  g_mutex_lock (&self->lock);
  while (self->pusher && !self->done && !self->parked)
    g_cond_wait (&self->changed, &self->lock);
  g_mutex_unlock (&self->lock);
}

static void
flush (Load *self)
{
  GstSegment segment;

  gst_segment_init (&segment, GST_FORMAT_TIME);
  stream_push_event (self->stream, gst_event_new_flush_start ());
  wait_parked (self);
  stream_push_event (self->stream, gst_event_new_flush_stop (TRUE));
  stream_push_event (self->stream, gst_event_new_segment (&segment));
  tell (self, &self->parked, FALSE);
}

/* All that was pushed is out when EOS is. */
static void
flow_eos (Load *self)
{
  for (guint round = 0; self->taken < self->total; round++) {
    for (guint i = 0; i < round % 8; i++)
      g_assert_cmpint (load_push (self), ==, GST_FLOW_OK);
    stream_push_event (self->stream, gst_event_new_eos ());
    g_assert_cmpuint (self->seen, ==, self->taken);
    flush (self);
  }
}

/* Flushes, whatever is in flight. */
static void
flow_flush (Load *self)
{
  guint n = 0;

  start (self);
  for (; wait_for (self, n % 5); n++)
    flush (self);
  g_test_message ("%u flushes", n);
  if (n == 0)
    g_test_skip ("All buffers were through before the first flush.");
}

/* Other caps by the pusher, other weights of "a", and with some of them other caps that come out,
 * by this thread. */
static void
flow_caps (Load *self)
{
  g_autoptr (GstElement) element = GST_IS_BIN (self->stream->element)
                                       ? gst_bin_get_by_name (GST_BIN (self->stream->element), "a")
                                       : gst_object_ref (self->stream->element);
  const guint n_weights = self->source->weights[2] ? 3 : 2;

  self->caps_period = 7;
  self->swaps_weights = element != NULL;
  start (self);
  for (guint n = 0; wait_for (self, 3); n++)
    if (element)
      g_object_set (element, "weight", self->source->weights[n % n_weights], NULL);
  end (self);
  g_assert_cmpuint (self->seen, ==, self->taken);
}

/* This thread does what applications and sinks do meanwhile. */
static void
flow_control (Load *self)
{
  GstPad *pad = self->stream->harness->sinkpad;
  guint64 buffers = 0;

  start (self);
  for (guint n = 0; wait_for (self, 1); n++) {
    const guint which = n % G_N_ELEMENTS (controls);
    g_autoptr (GstQuery) query = gst_query_new_latency ();
    g_autoptr (GstStructure) stats = stream_get_stats (self->stream, NULL);

    gst_util_set_object_arg (G_OBJECT (self->stream->element), controls[which].name,
                             controls[which].values[n / G_N_ELEMENTS (controls) % 2]);
    g_assert_true (gst_structure_get_uint64 (stats, "buffers", &buffers));
    g_assert_true (gst_pad_peer_query (pad, query));
    /* An event of the first buffer makes no other late. */
    gst_pad_push_event (pad, gst_event_new_qos (GST_QOS_TYPE_UNDERFLOW, 0.5, 0, 0));
  }
  end (self);
  g_assert_cmpuint (self->seen, ==, self->taken);
}

/* When pads are shut while it renegotiates, GStreamer's base class warns, which means nothing. */
static void
drop_warning (Stream *stream)
{
  g_autoptr (GstMessage) message = gst_bus_pop_filtered (stream->bus, GST_MESSAGE_WARNING);
  g_autoptr (GError) error = NULL;

  if (message)
    gst_message_parse_warning (message, &error, NULL);
  g_assert_cmpstr (error ? error->message : "not negotiated", ==, "not negotiated");
}

/* Down to READY or NULL, and up again. */
static void
flow_states (Load *self)
{
  guint n = 0;

  start (self);
  for (; wait_for (self, n % 5); n++) {
    stream_set_state (self->stream, n % 7 == 6 ? GST_STATE_NULL : GST_STATE_READY);
    wait_parked (self);
    drop_warning (self->stream);
    self->floor = self->next;
    stream_set_state (self->stream, GST_STATE_PLAYING);
    stream_begin (self->stream, self->source->caps[0]);
    tell (self, &self->parked, FALSE);
  }
  g_test_message ("%u changes", n);
  if (n == 0)
    g_test_skip ("All buffers were through before the first change of state.");
}

const LoadFlow load_flows[LOAD_N_FLOWS] = {
    {"eos", flow_eos},
    {"flush", flow_flush},
    {"caps", flow_caps},
    {"states", flow_states},
};

void
load_run (const LoadFlow *flow, const LoadLine *line, const LoadSource *source, guint n)
{
  g_auto (Load) load = {NULL};
  g_autoptr (GTimer) timer = g_timer_new ();

  load_init (&load, line, source, n);
  flow->run (&load);
  g_test_message ("%s: %u in, %u out, %.2f s", line->name, load.taken, load.seen,
                  g_timer_elapsed (timer, NULL));
}

void
load_run_controlled (const gchar *element, guint n)
{
  static const LoadFlow flow = {"control", flow_control};
  g_autofree gchar *text = g_strconcat (element, CONTROLLED, NULL);
  const LoadLine line = {"control", text, 2};

  load_run (&flow, &line, &controlled, n);
}

GstTracer *
load_start_tracer (void)
{
  g_autoptr (GstPlugin) plugin = plugins_load ("coretracers");
  g_autoptr (GstPluginFeature) feature =
      plugin ? gst_registry_find_feature (gst_registry_get (), "leaks", GST_TYPE_TRACER_FACTORY)
             : NULL;

  if (!feature)
    return NULL;
  return g_object_new (gst_tracer_factory_get_tracer_type (GST_TRACER_FACTORY (feature)), NULL);
}

/* Returns: whether the registry keeps objects of @type. */
static gboolean
is_kept (const gchar *type)
{
  return g_str_has_suffix (type, "Factory") || g_str_equal (type, "GstPlugin");
}

void
load_check_leaks (gconstpointer tracer)
{
  /* It has no references to what it names, though to free it would drop some. */
  static GstStructure *found = NULL;
  const GValue *list;
  guint n = 0;

  if (!tracer) {
    g_test_skip ("there is no tracer for leaks");
    return;
  }
  gst_task_cleanup_all (); /* a thread that ends holds its task */
  g_signal_emit_by_name ((gpointer)tracer, "get-live-objects", &found);
  g_assert_nonnull (found);
  list = gst_structure_get_value (found, "live-objects-list");
  for (guint i = 0; i < gst_value_list_get_size (list); i++) {
    const GstStructure *one = gst_value_get_structure (gst_value_list_get_value (list, i));
    g_autofree gchar *text = gst_structure_to_string (one);

    if (is_kept (G_VALUE_TYPE_NAME (gst_structure_get_value (one, "object"))))
      continue;
    g_test_message ("%s", text);
    n++;
  }
  g_assert_cmpuint (n, ==, 0);
}
