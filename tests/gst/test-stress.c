/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#define GST_USE_UNSTABLE_API
#include "load.h"

/* What elements do while buffers are in flight, many times: order, EOS, flushes, caps and states
 * that change under load; and what is left of it all. With GEMMCL_TEST_BRIEF some hundred buffers
 * each, else ten thousand. */

/* One element, and two that hand on OpenCL memory, of which one collects batches. */
static const struct {
  const gchar *name, *text;
  gfloat factor;
} lines[] = {
    {"one", "gemmcl queue-depth=3 name=a weight=" LOAD_WEIGHT, 2},
    {"two",
     "gemmcl queue-depth=3 name=a weight=" LOAD_WEIGHT
     " ! gemmcl queue-depth=3 batch-size=2 weight=" LOAD_WEIGHT,
     4},
};

static guint
get_n (void)
{
  return g_getenv ("GEMMCL_TEST_BRIEF") ? 300 : 10000;
}

/* A test with a line of its own for each of them. */
static void
run_lines (void (*run) (Load *load))
{
  for (guint i = 0; i < G_N_ELEMENTS (lines); i++) {
    g_auto (Load) load = {.wanted = 0};
    g_autoptr (GTimer) timer = g_timer_new ();

    load_init (&load, lines[i].text, lines[i].factor);
    run (&load);
    g_test_message ("%s: %u in, %u out, %.2f s", lines[i].name, load.taken, load.seen,
                    g_timer_elapsed (timer, NULL));
  }
}

static void
run_order (Load *load)
{
  load_start (load, get_n (), 0);
  load_end (load);
  g_assert_cmpuint (load->seen, ==, load->taken);
}

static void
test_order (void)
{
  run_lines (run_order);
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

/* All that was pushed is out when EOS is. */
static void
run_eos (Load *load)
{
  for (guint round = 0; load->taken < get_n (); round++) {
    for (guint i = 0; i < round % 8; i++)
      g_assert_cmpint (load_push (load), ==, GST_FLOW_OK);
    g_assert_true (gst_harness_push_event (load->line.harness, gst_event_new_eos ()));
    g_assert_cmpuint (load->seen, ==, load->taken);
    flush (load);
  }
  load_end (load);
}

static void
test_eos (void)
{
  run_lines (run_eos);
}

static void
run_flush (Load *load)
{
  guint n = 0;

  load_start (load, get_n (), 0);
  for (; load_wait (load, n % 5); n++)
    flush (load);
  load_end (load);
  g_test_message ("%u flushes", n);
  g_assert_cmpuint (n, >, 1);
}

static void
test_flush (void)
{
  run_lines (run_flush);
}

/* Caps by whoever pushes, the weight, and with it the caps that come out, by another thread. */
static void
run_caps (Load *load)
{
  g_autoptr (GstElement) element = NULL;
  guint n = 0;

  if (GST_IS_BIN (load->line.harness->element))
    element = gst_bin_get_by_name (GST_BIN (load->line.harness->element), "a");
  else
    element = gst_object_ref (load->line.harness->element);
  load_start (load, get_n (), 7);
  for (; load_wait (load, 3); n++)
    if (load->factor == 2) /* the second element wants four columns */
      g_object_set (element, "weight", n % 2 ? LOAD_WEIGHT : LOAD_WEIGHT_5, NULL);
  load_end (load);
  g_assert_cmpuint (load->seen, ==, load->taken);
  g_test_message ("%u weights", n);
}

static void
test_caps (void)
{
  run_lines (run_caps);
}

static void
run_states (Load *load)
{
  GstElement *element = load->line.harness->element;
  guint n = 0;

  load_start (load, get_n (), 0);
  for (; load_wait (load, n % 5); n++) {
    g_assert_cmpint (gst_element_set_state (element, n % 7 == 6 ? GST_STATE_NULL : GST_STATE_READY),
                     !=, GST_STATE_CHANGE_FAILURE);
    load_wait_parked (load);
    load->floor = load->next;
    g_assert_cmpint (gst_element_set_state (element, GST_STATE_PLAYING), !=,
                     GST_STATE_CHANGE_FAILURE);
    load_resume (load, TRUE);
  }
  load_end (load);
  g_test_message ("%u changes", n);
  g_assert_cmpuint (n, >, 1);
}

static void
test_states (void)
{
  run_lines (run_states);
}

/* What a sink sees of a source that is told to seek. */
typedef struct {
  GMutex lock;
  GCond changed;
  guint seen, wanted;
  GstClockTime expected; /* the next buffer's, or of a segment the first one's */
} Watch;

#define SEEK_FRAME (GST_SECOND / 1000)

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
  guint until;

  g_mutex_lock (&self->lock);
  until = self->seen + n;
  while (self->seen < until)
    g_cond_wait (&self->changed, &self->lock);
  g_mutex_unlock (&self->lock);
}

/* Through PAUSED, READY and NULL now and then; and seeks. */
static void
disturb (GstElement *pipeline, guint round)
{
  static const GstState states[] = {GST_STATE_PAUSED, GST_STATE_READY, GST_STATE_NULL};

  if (round % 10 == 9) {
    gst_element_set_state (pipeline, states[round / 10 % G_N_ELEMENTS (states)]);
    gst_element_set_state (pipeline, GST_STATE_PLAYING);
    gst_element_get_state (pipeline, NULL, NULL, GST_CLOCK_TIME_NONE);
  }
  g_assert_true (gst_element_seek_simple (pipeline, GST_FORMAT_TIME,
                                          GST_SEEK_FLAG_FLUSH | GST_SEEK_FLAG_ACCURATE,
                                          (gint64)(round * 37 % 1000) * SEEK_FRAME));
}

static void
test_seek (void)
{
  g_autoptr (GstPlugin) plugin = gst_plugin_load_file (VIDEOTESTSRC, NULL);
  g_autoptr (GstElement) pipeline = NULL, sink = NULL;
  g_autoptr (GstPad) pad = NULL;
  g_autoptr (GstBus) bus = NULL;
  g_autoptr (GstMessage) message = NULL;
  Watch self = {.seen = 0};
  guint round = 0;

  if (!plugin) {
    g_test_skip ("there is no videotestsrc");
    return;
  }
  pipeline = gst_parse_launch ("videotestsrc ! video/x-raw,format=GRAY8,width=16,height=8,"
                               "framerate=1000/1 ! gemmcl weight=[1] queue-depth=3 ! "
                               "fakesink name=sink sync=false",
                               NULL);
  sink = gst_bin_get_by_name (GST_BIN (pipeline), "sink");
  pad = gst_element_get_static_pad (sink, "sink");
  gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, watch,
                     &self, NULL);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  for (; self.seen < get_n (); round++) {
    watch_wait (&self, 1 + round % 20);
    disturb (pipeline, round);
  }
  bus = gst_element_get_bus (pipeline);
  message = gst_bus_pop_filtered (bus, GST_MESSAGE_ERROR | GST_MESSAGE_WARNING);
  g_assert_null (message);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  g_test_message ("%u buffers, %u seeks", self.seen, round);
}

/* GStreamer's tracer of that name, from now on. (transfer full) */
static GstTracer *
start_tracer (void)
{
  g_autoptr (GstPlugin) plugin = gst_plugin_load_file (CORE_TRACERS, NULL);
  g_autoptr (GstPluginFeature) feature =
      plugin ? gst_registry_find_feature (gst_registry_get (), "leaks", GST_TYPE_TRACER_FACTORY)
             : NULL;

  if (!feature)
    return NULL;
  return g_object_new (gst_tracer_factory_get_tracer_type (GST_TRACER_FACTORY (feature)), NULL);
}

/* What the registry keeps. */
static gboolean
is_kept (const gchar *type)
{
  return g_str_has_suffix (type, "Factory") || g_str_equal (type, "GstPlugin");
}

static void
test_leaks (gconstpointer tracer)
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

int
main (int argc, char **argv)
{
  g_autoptr (GstTracer) tracer = NULL;

  line_test_init (&argc, &argv, CORE_ELEMENTS);
  tracer = start_tracer ();
  stream_add_test ("/stress/order", test_order);
  stream_add_test ("/stress/eos", test_eos);
  stream_add_test ("/stress/flush", test_flush);
  stream_add_test ("/stress/caps", test_caps);
  stream_add_test ("/stress/states", test_states);
  stream_add_test ("/stress/seek", test_seek);
  g_test_add_data_func ("/stress/leaks", tracer, test_leaks);
  return g_test_run ();
}
