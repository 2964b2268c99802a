/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "arrivals.h"
#include "line.h"
#include "plugins.h"

/* Batches and the device's queue: what ends a batch loses no buffer, and what does not end it
 * leaves it to fill. */

#define CAPS                                                                                       \
  "other/tensors,format=static,num_tensors=1,dimensions=(string)1:1,types=(string)float32,"        \
  "framerate=0/1"
#define MONO    "audio/x-raw,format=F32LE,rate=8000,channels=1,layout=interleaved"
#define SAMPLES 80
#define FRAME   (SAMPLES * GST_SECOND / 8000)

/* A buffer of @n times @value, the @index-th of a stream. */
static GstBuffer *
make_buffer (gfloat value, guint n, guint index)
{
  g_autofree gfloat *values = g_new (gfloat, n);
  GstBuffer *buffer;

  for (guint i = 0; i < n; i++)
    values[i] = value;
  buffer = buffer_new (values, n * sizeof *values);
  GST_BUFFER_PTS (buffer) = index * FRAME;
  GST_BUFFER_DURATION (buffer) = FRAME;
  return buffer;
}

static void
push (GstHarness *harness, GstBuffer *buffer)
{
  g_assert_cmpstr (gst_flow_get_name (gst_harness_push (harness, buffer)), ==, "ok");
}

static void
push_event (GstHarness *harness, GstEvent *event)
{
  g_assert_true (gst_harness_push_event (harness, event));
}

static GstEvent *
new_tag (guint number)
{
  return gst_event_new_tag (gst_tag_list_new (GST_TAG_TRACK_NUMBER, number + 1, NULL));
}

static GstEvent *
new_mark (void)
{
  return gst_event_new_custom (GST_EVENT_CUSTOM_DOWNSTREAM, gst_structure_new_empty ("mark"));
}

/* That the next arrival that is a buffer, of @n elements, has @value and the @index-th's time. */
static void
assert_buffer (Arrivals *arrivals, guint *at, gfloat value, guint n, guint index, gboolean discont)
{
  const Arrival *arrival;
  GstMapInfo map;

  while ((arrival = arrivals_get (arrivals, *at)) && arrival->kind != ARRIVAL_BUFFER)
    (*at)++;
  if (!arrival)
    g_error ("buffer %u is lost", index);
  (*at)++;
  g_assert_cmpuint (GST_BUFFER_PTS (arrival->buffer), ==, index * FRAME);
  g_assert_cmpint (GST_BUFFER_IS_DISCONT (arrival->buffer), ==, discont);
  g_assert_true (gst_buffer_map (arrival->buffer, &map, GST_MAP_READ));
  g_assert_cmpuint (map.size, ==, n * sizeof (gfloat));
  for (guint i = 0; i < n; i++)
    g_assert_cmpfloat (((gfloat *)map.data)[i], ==, value);
  gst_buffer_unmap (arrival->buffer, &map);
}

static void
assert_arrivals (Arrivals *arrivals, const gchar *expected)
{
  g_autofree gchar *found = arrivals_print (arrivals);

  g_assert_cmpstr (found, ==, expected);
}

/* Each 7th of 60 buffers ends a batch of 3 early: by a DISCONT, or by another alpha. */
static void
check_early_ends (gboolean discont, guint depth)
{
  g_autoptr (Stream) stream =
      stream_new ("weight", "[1]", "batch-size", 3, "queue-depth", depth, NULL);
  g_autoptr (Arrivals) arrivals = NULL;
  guint at = 0;

  g_assert_true (stream_play (stream, MONO, NULL));
  arrivals = arrivals_new (stream->harness->sinkpad, FALSE);
  for (guint i = 0; i < 60; i++) {
    GstBuffer *buffer = make_buffer (i, SAMPLES, i);

    if (discont && i % 7 == 6)
      GST_BUFFER_FLAG_SET (buffer, GST_BUFFER_FLAG_DISCONT);
    else if (i % 7 == 6)
      g_object_set (stream->element, "alpha", 1.0 + i / 7, NULL);
    push (stream->harness, buffer);
  }
  push_event (stream->harness, gst_event_new_eos ());
  g_assert_cmpuint (arrivals_count (arrivals), ==, 61);
  for (guint i = 0; i < 60; i++) {
    const guint alpha = discont || i < 6 ? 1 : 1 + (i - 6) / 7;

    assert_buffer (arrivals, &at, alpha * i, SAMPLES, i, discont && i % 7 == 6);
  }
  stream_assert_quiet (stream);
}

static void
test_discont (void)
{
  for (guint round = 0; round < 8; round++)
    check_early_ends (TRUE, 1 + (round + 1) % 4);
}

static void
test_alpha (void)
{
  for (guint round = 0; round < 8; round++)
    check_early_ends (FALSE, 1 + (round + 1) % 4);
}

/* What is set after two of a batch of four are collected holds from the third on. */
static void
check_change (const gchar *name, const gchar *before, const gchar *after, const gfloat results[2])
{
  g_autoptr (Stream) stream =
      stream_new ("weight", "[2]", "bias", "[100]", "addend", "[10]", "alpha", 1.0, "beta", 1.0,
                  "batch-size", 4, "batch-timeout", (gint64)0, NULL);
  g_autoptr (Arrivals) arrivals = NULL;
  guint at = 0;

  g_test_message ("%s", name);
  gst_util_set_object_arg (G_OBJECT (stream->element), name, before);
  g_assert_true (stream_play (stream, CAPS, NULL));
  arrivals = arrivals_new (stream->harness->sinkpad, FALSE);
  for (guint i = 0; i < 10; i++) {
    if (i == 2)
      gst_util_set_object_arg (G_OBJECT (stream->element), name, after);
    push (stream->harness, make_buffer (1, 1, i));
  }
  push_event (stream->harness, gst_event_new_eos ());
  for (guint i = 0; i < 10; i++)
    assert_buffer (arrivals, &at, results[i >= 2], 1, i, FALSE);
  stream_assert_quiet (stream);
}

static void
test_change (void)
{
  check_change ("weight", "[2]", "[3]", (gfloat[]){112, 113});
  check_change ("bias", "[100]", "[200]", (gfloat[]){112, 212});
  check_change ("bias", "[100]", "", (gfloat[]){112, 12});
  check_change ("addend", "[10]", "[20]", (gfloat[]){112, 122});
  check_change ("alpha", "1", "2", (gfloat[]){112, 114});
  check_change ("beta", "1", "2", (gfloat[]){112, 122});
}

/* The same with a weight of another N, which makes other caps of what follows. */
static void
test_other_n (void)
{
  g_autoptr (Stream) stream =
      stream_new ("weight", "[2]", "batch-size", 4, "batch-timeout", (gint64)0, NULL);
  g_autoptr (Arrivals) arrivals = NULL;
  guint at = 0;

  g_assert_true (stream_play (stream, CAPS, NULL));
  arrivals = arrivals_new (stream->harness->sinkpad, FALSE);
  for (guint i = 0; i < 6; i++) {
    if (i == 2)
      g_object_set (stream->element, "weight", "[[3,3]]", NULL);
    push (stream->harness, make_buffer (1, 1, i));
  }
  push_event (stream->harness, gst_event_new_eos ());
  for (guint i = 0; i < 6; i++)
    assert_buffer (arrivals, &at, i < 2 ? 2 : 3, i < 2 ? 1 : 2, i, FALSE);
  for (guint i = 0; i < 6; i++)
    assert_caps (arrivals_get (arrivals, i)->caps, i < 2 ? "other/tensors,dimensions=(string)1:1"
                                                         : "other/tensors,dimensions=(string)2:1");
  stream_assert_quiet (stream);
}

/* Pushes @event, which may be NULL, and asserts what has arrived by then: all that was pushed
 * before the first buffer that is held. */
static void
push_and_check (Stream *stream, GString *pushed, GstEvent *event, gsize first_held,
                Arrivals *arrivals)
{
  g_autofree gchar *expected = NULL;

  if (event) {
    push_event (stream->harness, event);
    g_string_append_c (pushed, 'e');
  }
  expected = g_strndup (pushed->str, MIN (first_held, pushed->len));
  assert_arrivals (arrivals, expected);
}

/* Events that have their place in a stream keep it, and a batch fills in spite of them. */
static void
test_events (void)
{
  g_autoptr (Stream) stream =
      stream_new ("weight", "[2]", "batch-size", 4, "batch-timeout", (gint64)0, NULL);
  g_autoptr (Arrivals) arrivals = NULL;
  g_autoptr (GString) pushed = g_string_new (NULL);
  gsize first_held = G_MAXSIZE;
  guint at = 0;

  g_assert_true (stream_play (stream, CAPS, NULL));
  arrivals = arrivals_new (stream->harness->sinkpad, FALSE);
  push_and_check (stream, pushed, new_mark (), first_held, arrivals);
  for (guint i = 0; i < 14; i++) {
    push (stream->harness, make_buffer (i, 1, i));
    g_string_append_c (pushed, 'b');
    if (i % 4 == 0)
      first_held = pushed->len - 1;
    if (i % 4 == 3)
      first_held = G_MAXSIZE;
    push_and_check (stream, pushed, new_mark (), first_held, arrivals);
    push_and_check (stream, pushed, new_tag (i), first_held, arrivals);
    push_and_check (stream, pushed, gst_event_new_gap (i * FRAME, FRAME), first_held, arrivals);
  }
  push_event (stream->harness, gst_event_new_eos ());
  g_string_append_c (pushed, 'E');
  push_and_check (stream, pushed, NULL, G_MAXSIZE, arrivals);
  for (guint i = 0; i < 14; i++)
    assert_buffer (arrivals, &at, 2 * i, 1, i, FALSE);
  stream_assert_quiet (stream);
}

/* A letter for each buffer and event that passes a pad. */
typedef struct {
  GMutex lock;
  GString *text;
} Trace;

typedef struct {
  Trace *trace;
  gchar buffer, event;
} TracedPad;

static GstPadProbeReturn
trace (GstPad *pad G_GNUC_UNUSED, GstPadProbeInfo *info, gpointer data)
{
  const TracedPad *self = data;
  const gboolean is_buffer = (info->type & GST_PAD_PROBE_TYPE_BUFFER) != 0;

  if (!is_buffer && GST_EVENT_TYPE (GST_PAD_PROBE_INFO_EVENT (info)) != GST_EVENT_CUSTOM_DOWNSTREAM)
    return GST_PAD_PROBE_OK;
  g_mutex_lock (&self->trace->lock);
  g_string_append_c (self->trace->text, is_buffer ? self->buffer : self->event);
  g_mutex_unlock (&self->trace->lock);
  return GST_PAD_PROBE_OK;
}

static void
trace_pad (GstElement *element, const gchar *name, TracedPad *traced)
{
  g_autoptr (GstPad) pad = gst_element_get_static_pad (element, name);

  gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, trace,
                     traced, NULL);
}

/* Eight buffers into batches of four, each behind an event of the tracer's. */
static void
run_traced (Trace *self)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GstElement) pipeline = gst_parse_launch (
      "fakesrc num-buffers=8 sizetype=fixed sizemax=4 filltype=zero ! capsfilter caps=\"" CAPS
      "\" ! gemmcl name=g weight=[2] batch-size=4 batch-timeout=0 ! fakesink sync=false",
      &error);
  g_autoptr (GstElement) element = NULL;
  g_autoptr (GstBus) bus = NULL;
  g_autoptr (GstMessage) message = NULL;
  TracedPad in = {self, 'b', 'e'}, out = {self, 'B', 'E'};

  g_assert_no_error (error);
  element = gst_bin_get_by_name (GST_BIN (pipeline), "g");
  trace_pad (element, "sink", &in);
  trace_pad (element, "src", &out);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  bus = gst_element_get_bus (pipeline);
  message =
      gst_bus_timed_pop_filtered (bus, GST_CLOCK_TIME_NONE, GST_MESSAGE_EOS | GST_MESSAGE_ERROR);
  g_assert_cmpstr (GST_MESSAGE_TYPE_NAME (message), ==, "eos");
  gst_element_set_state (pipeline, GST_STATE_NULL);
}

/* GStreamer's tracer of latencies sends an event before each buffer. */
static void
test_tracer (void)
{
  g_autoptr (GstTracer) tracer = NULL;
  Trace self = {.text = g_string_new (NULL)};

  if (!g_test_subprocess ()) {
    g_test_trap_subprocess (NULL, 0, G_TEST_SUBPROCESS_INHERIT_STDERR);
    g_test_trap_assert_passed ();
    g_string_free (self.text, TRUE);
    return;
  }
  tracer = plugins_start_tracer ("latency");
  g_assert_nonnull (tracer);
  run_traced (&self);
  g_test_message ("%s", self.text->str);
  g_assert_cmpstr (self.text->str, ==, "eEbebebebBEBEBEBeEbebebebBEBEBEB");
  g_string_free (self.text, TRUE);
}

int
main (int argc, char **argv)
{
  line_test_init (&argc, &argv);
  stream_add_test ("/collect/discont", test_discont);
  stream_add_test ("/collect/alpha", test_alpha);
  stream_add_test ("/collect/change", test_change);
  stream_add_test ("/collect/other-n", test_other_n);
  stream_add_test ("/collect/events", test_events);
  stream_add_test ("/collect/tracer", test_tracer);
  return g_test_run ();
}
