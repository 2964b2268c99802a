/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "flows.h"

void
flow_run (void (*flow) (Load *load), const gchar *name, const gchar *text, gfloat factor,
          const LoadSource *source, guint n)
{
  g_auto (Load) load = {.wanted = 0};
  g_autoptr (GTimer) timer = g_timer_new ();

  if (source)
    load_init_with (&load, text, factor, source);
  else
    load_init (&load, text, factor);
  load.total = n;
  flow (&load);
  g_test_message ("%s: %u in, %u out, %.2f s", name, load.taken, load.seen,
                  g_timer_elapsed (timer, NULL));
}

void
flow_order (Load *load)
{
  load_start (load, load->total, 0);
  load_end (load);
  g_assert_cmpuint (load->seen, ==, load->taken);
}

static void
flush (Load *load)
{
  GstHarness *harness = load->line.harness;

  g_assert_true (gst_harness_push_event (harness, gst_event_new_flush_start ()));
  if (load->pusher)
    load_wait_parked (load);
  g_assert_true (gst_harness_push_event (harness, gst_event_new_flush_stop (TRUE)));
  load_resume (load, FALSE);
}

void
flow_eos (Load *load)
{
  for (guint round = 0; load->taken < load->total; round++) {
    for (guint i = 0; i < round % 8; i++)
      g_assert_cmpint (load_push (load), ==, GST_FLOW_OK);
    g_assert_true (gst_harness_push_event (load->line.harness, gst_event_new_eos ()));
    g_assert_cmpuint (load->seen, ==, load->taken);
    flush (load);
  }
  load_end (load);
}

void
flow_flush (Load *load)
{
  guint n = 0;

  load_start (load, load->total, 0);
  for (; load_wait (load, n % 5); n++)
    flush (load);
  load_end (load);
  g_test_message ("%u flushes", n);
  if (n == 0)
    g_test_skip ("All buffers were through before the first flush.");
}

void
flow_caps (Load *load)
{
  g_autoptr (GstElement) element = NULL;
  guint n = 0;

  if (GST_IS_BIN (load->line.harness->element))
    element = gst_bin_get_by_name (GST_BIN (load->line.harness->element), "a");
  else
    element = gst_object_ref (load->line.harness->element);
  load_start (load, load->total, 7);
  for (; load_wait (load, 3); n++)
    if (element)
      g_object_set (element, "weight", load->source->weights[n % 2], NULL);
  load_end (load);
  g_assert_cmpuint (load->seen, ==, load->taken);
  if (element)
    g_test_message ("%u weights", n);
}

/* When pads are shut while it renegotiates, GStreamer's base class warns, which means nothing. */
static void
drop_warning (GstBus *bus)
{
  g_autoptr (GstMessage) message = gst_bus_pop_filtered (bus, GST_MESSAGE_WARNING);
  g_autoptr (GError) error = NULL;

  if (!message)
    return;
  gst_message_parse_warning (message, &error, NULL);
  g_assert_cmpstr (error->message, ==, "not negotiated");
}

void
flow_states (Load *load)
{
  GstElement *element = load->line.harness->element;
  guint n = 0;

  load_start (load, load->total, 0);
  for (; load_wait (load, n % 5); n++) {
    g_assert_cmpint (gst_element_set_state (element, n % 7 == 6 ? GST_STATE_NULL : GST_STATE_READY),
                     !=, GST_STATE_CHANGE_FAILURE);
    load_wait_parked (load);
    drop_warning (load->line.bus);
    load->floor = load->next;
    g_assert_cmpint (gst_element_set_state (element, GST_STATE_PLAYING), !=,
                     GST_STATE_CHANGE_FAILURE);
    load_resume (load, TRUE);
  }
  load_end (load);
  g_test_message ("%u changes", n);
  if (n == 0)
    g_test_skip ("All buffers were through before the first change of state.");
}

/* What a sink sees of a source that is told to seek. */
typedef struct {
  GMutex lock;
  GCond changed;
  guint seen, wanted;
  GstClockTime expected; /* the next buffer's, or of a segment the first one's */
} Watch;

#define SEEK_FRAME (GST_SECOND / 1000)
#define MAX_WAIT   (60 * G_TIME_SPAN_SECOND) /* what failed sends nothing */

static GstPadProbeReturn
watch (GstPad *pad G_GNUC_UNUSED, GstPadProbeInfo *info, gpointer data)
{
  Watch *self = data;

  g_mutex_lock (&self->lock);
  if (info->type & GST_PAD_PROBE_TYPE_BUFFER) {
    g_assert_cmpuint (GST_BUFFER_PTS (GST_PAD_PROBE_INFO_BUFFER (info)), ==, self->expected);
    self->expected += SEEK_FRAME;
    self->seen++;
    g_cond_broadcast (&self->changed);
  } else if (GST_EVENT_TYPE (GST_PAD_PROBE_INFO_EVENT (info)) == GST_EVENT_SEGMENT) {
    const GstSegment *segment;

    gst_event_parse_segment (GST_PAD_PROBE_INFO_EVENT (info), &segment);
    self->expected = segment->start;
  }
  g_mutex_unlock (&self->lock);
  return GST_PAD_PROBE_OK;
}

static void
watch_wait (Watch *self, guint n)
{
  const gint64 end = g_get_monotonic_time () + MAX_WAIT;
  guint until;

  g_mutex_lock (&self->lock);
  until = self->seen + n;
  while (self->seen < until)
    g_assert_true (g_cond_wait_until (&self->changed, &self->lock, end));
  g_mutex_unlock (&self->lock);
}

/* Through PAUSED, READY and NULL now and then; and seeks. */
static void
disturb (GstElement *pipeline, guint round, GstState middle)
{
  static const GstState states[] = {GST_STATE_PAUSED, GST_STATE_READY, GST_STATE_NULL};

  if (round % 10 == 9) {
    const GstState state = states[round / 10 % G_N_ELEMENTS (states)];

    gst_element_set_state (pipeline, state == GST_STATE_READY ? middle : state);
    gst_element_set_state (pipeline, GST_STATE_PLAYING);
    gst_element_get_state (pipeline, NULL, NULL, GST_CLOCK_TIME_NONE);
  }
  g_assert_true (gst_element_seek_simple (pipeline, GST_FORMAT_TIME,
                                          GST_SEEK_FLAG_FLUSH | GST_SEEK_FLAG_ACCURATE,
                                          (gint64)(round * 37 % 1000) * SEEK_FRAME));
}

void
flow_seek (const gchar *line, GstState middle, guint n)
{
  g_autofree gchar *text = g_strconcat (line, " ! fakesink name=sink sync=false", NULL);
  g_autoptr (GError) error = NULL;
  g_autoptr (GstElement) pipeline = NULL, sink = NULL;
  g_autoptr (GstPad) pad = NULL;
  g_autoptr (GstBus) bus = NULL;
  g_autoptr (GstMessage) message = NULL;
  Watch self = {.seen = 0};
  guint round = 0;

  pipeline = gst_parse_launch (text, &error);
  g_assert_no_error (error);
  sink = gst_bin_get_by_name (GST_BIN (pipeline), "sink");
  pad = gst_element_get_static_pad (sink, "sink");
  gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, watch,
                     &self, NULL);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  for (; self.seen < n; round++) {
    watch_wait (&self, 1 + round % 20);
    disturb (pipeline, round, middle);
  }
  bus = gst_element_get_bus (pipeline);
  message = gst_bus_pop_filtered (bus, GST_MESSAGE_ERROR | GST_MESSAGE_WARNING);
  g_assert_null (message);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  g_test_message ("%u buffers, %u seeks", self.seen, round);
}

/* What the registry keeps. */
static gboolean
is_kept (const gchar *type)
{
  return g_str_has_suffix (type, "Factory") || g_str_equal (type, "GstPlugin");
}

void
flow_check_leaks (gconstpointer tracer)
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
    const GValue *object = gst_structure_get_value (one, "object");
    g_autofree gchar *text = gst_structure_to_string (one);

    if (!is_kept (G_VALUE_TYPE_NAME (object))) {
      g_test_message ("%s", text);
      n++;
    }
  }
  g_assert_cmpuint (n, ==, 0);
}
