/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include <gst/base/gstbasetransform.h>
#include <string.h>

#include "stream.h"

/* Runs in flight, and batches: their order, what ends and what drops them, and their latency. */

#define CAPS(rate)                                                                                 \
  "other/tensors,format=static,num_tensors=1,dimensions=(string)16:16,types=(string)float32,"      \
  "framerate=" rate
#define FRAME (GST_SECOND / 10)
#define BYTES (16 * 16 * sizeof (gfloat))

/* A tensor full of @value. */
static GstBuffer *
tensor (gfloat value, guint index)
{
  gfloat values[BYTES / sizeof (gfloat)];
  GstBuffer *buffer;

  for (guint i = 0; i < G_N_ELEMENTS (values); i++)
    values[i] = value;
  buffer = buffer_new (values, sizeof values);
  GST_BUFFER_PTS (buffer) = index * FRAME;
  GST_BUFFER_DURATION (buffer) = FRAME;
  return buffer;
}

static void
push (Stream *stream, gfloat value, guint index)
{
  g_assert_cmpint (gst_harness_push (stream->harness, tensor (value, index)), ==, GST_FLOW_OK);
}

/* Sums 16 columns, so that @value makes 16 times as much. */
static Stream *
new_stream (guint depth, guint batch, gdouble beta)
{
  gdouble ones[16];
  g_autofree gchar *weight = NULL;

  for (guint i = 0; i < 16; i++)
    ones[i] = 1;
  weight = literal (ones, 16, 1);
  return stream_new ("weight", weight, "queue-depth", depth, "batch-size", batch, "beta", beta,
                     NULL);
}

static void
assert_buffer (GstBuffer *buffer, gfloat value, guint index)
{
  gfloat values[16] = {0};

  g_assert_nonnull (buffer);
  g_assert_cmpuint (gst_buffer_extract (buffer, 0, values, sizeof values), ==, sizeof values);
  for (guint i = 0; i < 16; i++)
    g_assert_cmpfloat (values[i], ==, value);
  g_assert_cmpuint (GST_BUFFER_PTS (buffer), ==, index * FRAME);
}

static void
pull (Stream *stream, gfloat value, guint index)
{
  g_autoptr (GstBuffer) buffer = gst_harness_pull (stream->harness);

  assert_buffer (buffer, value, index);
}

/* What is there already. */
static void
take (Stream *stream, gfloat value, guint index)
{
  g_autoptr (GstBuffer) buffer = gst_harness_try_pull (stream->harness);

  assert_buffer (buffer, value, index);
}

/* Every buffer once, in order, the same at any depth, also when each adds to the one before. */
static void
test_order (void)
{
  static const struct {
    guint depth, batch;
    gdouble beta;
  } cases[] = {{1, 1, 0}, {2, 1, 0}, {4, 1, 0}, {64, 1, 0}, {2, 3, 0},
               {4, 2, 0}, {1, 1, 1}, {2, 1, 1}, {4, 1, 1}};
  const guint n = 200;

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (Stream) stream = new_stream (cases[i].depth, cases[i].batch, cases[i].beta);
    gdouble sum = 0;

    g_assert_true (stream_play (stream, CAPS ("10/1"), NULL));
    for (guint j = 0; j < n; j++)
      push (stream, j % 50, j);
    g_assert_true (gst_harness_push_event (stream->harness, gst_event_new_eos ()));
    g_assert_cmpuint (gst_harness_buffers_received (stream->harness), ==, n);
    for (guint j = 0; j < n; j++) {
      sum = cases[i].beta * sum + 16 * (j % 50);
      take (stream, sum, j);
    }
    stream_assert_quiet (stream);
  }
}

/* No next buffer, and no event, is needed for what came in to come out. */
static void
test_never_waits (void)
{
  g_autoptr (Stream) stream = new_stream (4, 1, 0);

  g_assert_true (stream_play (stream, CAPS ("10/1"), NULL));
  for (guint i = 0; i < 20; i++) {
    push (stream, i, i);
    pull (stream, 16 * i, i);
  }
  push (stream, 1, 20);
  push (stream, 2, 21);
  push (stream, 3, 22);
  pull (stream, 16, 20);
  pull (stream, 32, 21);
  pull (stream, 48, 22);
}

/* Buffers are pushed before an event that came after them. */
static void
test_events_follow (void)
{
  GstEvent *const events[] = {
      gst_event_new_gap (FRAME, FRAME),
      gst_event_new_custom (GST_EVENT_CUSTOM_DOWNSTREAM, gst_structure_new_empty ("mark")),
      gst_event_new_eos (),
  };
  g_autoptr (Stream) stream = new_stream (4, 1, 0);

  g_assert_true (stream_play (stream, CAPS ("10/1"), NULL));
  for (guint i = 0; i < G_N_ELEMENTS (events); i++) {
    for (guint j = 0; j < 3; j++)
      push (stream, j, j);
    g_assert_true (gst_harness_push_event (stream->harness, events[i]));
    for (guint j = 0; j < 3; j++)
      take (stream, 16 * j, j);
  }
}

/* Each result leaves under the caps that it was made for. */
static GstPadProbeReturn
check_size (GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  GstBuffer *buffer = GST_PAD_PROBE_INFO_BUFFER (info);
  g_autoptr (GstCaps) caps = gst_pad_get_current_caps (pad);
  guint *n = data;
  gboolean wide =
      gst_structure_has_field_typed (gst_caps_get_structure (caps, 0), "dimensions",
                                     G_TYPE_STRING) &&
      strstr (gst_structure_get_string (gst_caps_get_structure (caps, 0), "dimensions"), "2:16");

  g_assert_cmpuint (gst_buffer_get_size (buffer), ==, (wide ? 32 : 16) * sizeof (gfloat));
  (*n)++;
  return GST_PAD_PROBE_OK;
}

static void
test_caps_drain (void)
{
  static const gchar wide[] = "[[1,2],[1,2],[1,2],[1,2],[1,2],[1,2],[1,2],[1,2],[1,2],[1,2],[1,2],"
                              "[1,2],[1,2],[1,2],[1,2],[1,2]]";
  g_autoptr (Stream) stream = new_stream (4, 1, 0);
  g_autofree gchar *narrow = NULL;
  guint n = 0;
  gulong probe;

  g_object_get (stream->element, "weight", &narrow, NULL);
  g_assert_true (stream_play (stream, CAPS ("10/1"), NULL));
  probe =
      gst_pad_add_probe (stream->harness->sinkpad, GST_PAD_PROBE_TYPE_BUFFER, check_size, &n, NULL);
  for (guint i = 0; i < 40; i++) {
    if (i % 10 == 3)
      g_object_set (stream->element, "weight", i % 20 == 3 ? wide : narrow, NULL);
    if (i % 10 == 7)
      g_assert_true (stream_push_caps (stream, i % 20 == 7 ? CAPS ("20/1") : CAPS ("10/1")));
    push (stream, i, i);
  }
  g_assert_true (gst_harness_push_event (stream->harness, gst_event_new_eos ()));
  g_assert_cmpuint (n, ==, 40);
  gst_pad_remove_probe (stream->harness->sinkpad, probe);
  stream_assert_quiet (stream);
}

static GstPadProbeReturn
drop (GstPad *pad G_GNUC_UNUSED, GstPadProbeInfo *info G_GNUC_UNUSED, gpointer data)
{
  g_atomic_int_inc ((gint *)data);
  return GST_PAD_PROBE_DROP;
}

/* After a flush comes nothing of what was before it. */
static void
test_flush (void)
{
  g_autoptr (Stream) stream = new_stream (4, 2, 0);
  GstSegment segment;
  gint n_before;

  gst_segment_init (&segment, GST_FORMAT_TIME);
  g_assert_true (stream_play (stream, CAPS ("10/1"), NULL));
  for (guint round = 0; round < 20; round++) {
    for (guint i = 0; i < round % 8; i++)
      push (stream, 100, i);
    gst_harness_push_event (stream->harness, gst_event_new_flush_start ());
    gst_harness_push_event (stream->harness, gst_event_new_flush_stop (TRUE));
    while (gst_harness_buffers_in_queue (stream->harness) > 0)
      gst_buffer_unref (gst_harness_pull (stream->harness));
    n_before = gst_harness_buffers_received (stream->harness);
    gst_harness_push_event (stream->harness, gst_event_new_segment (&segment));
    push (stream, 1, 0);
    push (stream, 2, 1);
    pull (stream, 16, 0);
    pull (stream, 32, 1);
    g_assert_cmpuint (gst_harness_buffers_received (stream->harness), ==, n_before + 2);
  }
}

/* A flow of downstream's is returned. */
static void
test_downstream_fails (void)
{
  g_autoptr (Stream) stream = new_stream (2, 1, 0);
  GstFlowReturn flow = GST_FLOW_OK;

  g_assert_true (stream_play (stream, CAPS ("10/1"), NULL));
  push (stream, 1, 0);
  pull (stream, 16, 0);
  gst_pad_set_active (stream->harness->sinkpad, FALSE);
  for (guint i = 0; flow == GST_FLOW_OK && i < 1000; i++)
    flow = gst_harness_push (stream->harness, tensor (1, i));
  g_assert_cmpint (flow, ==, GST_FLOW_FLUSHING);
}

/* A buffer that is wrong fails by itself; those before it come out. */
static void
test_wrong_buffer (void)
{
  g_autoptr (Stream) stream = new_stream (4, 1, 0);

  g_assert_true (stream_play (stream, CAPS ("10/1"), NULL));
  push (stream, 1, 0);
  push (stream, 2, 1);
  g_assert_cmpint (gst_harness_push (stream->harness, buffer_new ("12345678", 8)), ==,
                   GST_FLOW_ERROR);
  stream_assert_error (stream, GST_RESOURCE_ERROR, "8 bytes", NULL);
  pull (stream, 16, 0);
  pull (stream, 32, 1);
}

/* Whether upstream is live or not, as GStreamer's decoders have it; and after what is upstream's.
 */
static void
test_latency (void)
{
  static const struct {
    guint depth, batch, frames;
  } cases[] = {{1, 1, 0}, {2, 1, 0}, {4, 1, 0}, {1, 3, 2}, {2, 3, 2}};

  for (guint i = 0; i < 2 * G_N_ELEMENTS (cases); i++) {
    const guint j = i / 2;
    g_autoptr (Stream) stream = new_stream (cases[j].depth, cases[j].batch, 0);
    g_autoptr (GstQuery) query = gst_query_new_latency ();
    GstClockTime min, max;
    gboolean live;

    g_assert_true (stream_play (stream, CAPS ("10/1"), NULL));
    gst_harness_set_live (stream->harness, i % 2);
    gst_harness_set_upstream_latency (stream->harness, 5);
    g_assert_true (gst_pad_query (GST_BASE_TRANSFORM_SRC_PAD (stream->element), query));
    gst_query_parse_latency (query, &live, &min, &max);
    g_assert_cmpint (live, ==, i % 2);
    g_assert_cmpuint (min, ==, 5 + cases[j].frames * FRAME);
    g_assert_true (max == GST_CLOCK_TIME_NONE || max >= min);
  }
}

/* With buffers in flight, and with some in a batch that is not full. */
static void
test_states (void)
{
  g_autoptr (Stream) stream = new_stream (4, 2, 0);
  gint n_dropped = 0;

  g_assert_true (stream_play (stream, CAPS ("10/1"), NULL));
  gst_pad_add_probe (stream->harness->sinkpad, GST_PAD_PROBE_TYPE_BUFFER, drop, &n_dropped, NULL);
  for (guint round = 0; round < 20; round++) {
    for (guint i = 0; i < round % 8; i++)
      push (stream, 1, i);
    gst_element_set_state (stream->element, GST_STATE_READY);
    gst_element_set_state (stream->element, GST_STATE_PLAYING);
    gst_harness_push_event (stream->harness, gst_event_new_stream_start ("again"));
    g_assert_true (stream_push_caps (stream, CAPS ("10/1")));
  }
  stream_assert_quiet (stream);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  gst_init (&argc, &argv);
  stream_add_test ("/queue/order", test_order);
  stream_add_test ("/queue/never-waits", test_never_waits);
  stream_add_test ("/queue/events-follow", test_events_follow);
  stream_add_test ("/queue/caps-drain", test_caps_drain);
  stream_add_test ("/queue/flush", test_flush);
  stream_add_test ("/queue/downstream-fails", test_downstream_fails);
  stream_add_test ("/queue/wrong-buffer", test_wrong_buffer);
  stream_add_test ("/queue/latency", test_latency);
  stream_add_test ("/queue/states", test_states);
  return g_test_run ();
}
