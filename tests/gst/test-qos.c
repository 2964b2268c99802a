/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "stream.h"

/* QoS: buffers that come too late are skipped before they cost a run. The events are the test's,
 * so that no clock decides. */

#define ONE TENSOR ("1:1")
#define N   12

static const struct {
  const gchar *path, *settings;
} cases[] = {
    {"/qos/plain", "queue-depth=1"},
    {"/qos/queue", "queue-depth=4"},
    {"/qos/batch", "batch-size=3 batch-timeout=0"},
    {"/qos/batch-and-queue", "batch-size=4 batch-timeout=0 queue-depth=3"},
};

/* Events before some buffers, which come once a second: a buffer is late until @time + @diff. */
static const struct {
  guint before;
  GstQOSType type;
  GstClockTimeDiff diff, time;
} events[] = {
    {3, GST_QOS_TYPE_UNDERFLOW, GST_SECOND / 2, 4 * GST_SECOND},
    {8, GST_QOS_TYPE_OVERFLOW, -GST_SECOND / 2, 7 * GST_SECOND},
    {9, GST_QOS_TYPE_THROTTLE, GST_SECOND, 9 * GST_SECOND},
};
static const gboolean is_late[N] = {[3] = TRUE, [4] = TRUE, [9] = TRUE, [10] = TRUE};

static void
push_all (Stream *stream)
{
  for (guint i = 0; i < N; i++) {
    const gfloat value = i;
    GstBuffer *buffer = gst_buffer_new_memdup (&value, sizeof value);

    GST_BUFFER_PTS (buffer) = i * GST_SECOND;
    GST_BUFFER_DURATION (buffer) = GST_SECOND;
    for (guint j = 0; j < G_N_ELEMENTS (events); j++)
      if (events[j].before == i)
        gst_harness_push_upstream_event (
            stream->harness,
            gst_event_new_qos (events[j].type, 1.5, events[j].diff, events[j].time));
    stream_push (stream, buffer);
  }
}

/* A batch that had begun is finished; buffers behind it are not processed yet. */
static void
assert_message (Stream *stream, guint i, guint64 dropped)
{
  g_autoptr (GstMessage) message = gst_bus_pop_filtered (stream->bus, GST_MESSAGE_QOS);
  const GstClockTime earliest = i < 5 ? 4.5 * GST_SECOND : 10 * GST_SECOND;
  guint64 running, stream_time, timestamp, duration, n_processed, n_dropped;
  guint batch;
  gboolean live;
  gint64 jitter;
  gdouble proportion;
  GstFormat format;

  g_assert_nonnull (message);
  gst_message_parse_qos (message, &live, &running, &stream_time, &timestamp, &duration);
  gst_message_parse_qos_values (message, &jitter, &proportion, NULL);
  gst_message_parse_qos_stats (message, &format, &n_processed, &n_dropped);
  g_object_get (stream->element, "batch-size", &batch, NULL);
  g_assert_cmpuint (running, ==, i * GST_SECOND);
  g_assert_cmpuint (stream_time, ==, i * GST_SECOND);
  g_assert_cmpuint (timestamp, ==, i * GST_SECOND);
  g_assert_cmpuint (duration, ==, GST_SECOND);
  g_assert_cmpint (jitter, ==, (gint64)(earliest - running));
  g_assert_cmpfloat (proportion, ==, 1.5);
  g_assert_cmpint (format, ==, GST_FORMAT_BUFFERS);
  g_assert_cmpuint (n_processed, ==, (i + 1 - dropped) / batch * batch);
  g_assert_cmpuint (n_dropped, ==, dropped);
}

static void
assert_counts (Stream *stream, guint64 buffers, guint64 dropped)
{
  g_autoptr (GstStructure) stats = stream_get_stats (stream, "gemmcl0");
  guint64 n_buffers, n_dropped, bytes;

  gst_structure_get (stats, "buffers", G_TYPE_UINT64, &n_buffers, "dropped", G_TYPE_UINT64,
                     &n_dropped, "bytes", G_TYPE_UINT64, &bytes, NULL);
  g_assert_cmpuint (n_buffers, ==, buffers);
  g_assert_cmpuint (n_dropped, ==, dropped);
  g_assert_cmpuint (bytes, ==, buffers * 2 * sizeof (gfloat));
}

/* After a flush no buffer is late any more, and messages count anew. */
static void
test_qos (gconstpointer data)
{
  const guint i = GPOINTER_TO_UINT (data) / 2;
  const gboolean qos = GPOINTER_TO_UINT (data) % 2;
  g_autoptr (Stream) stream =
      stream_start (ONE, "gemmcl weight=[2] qos=%s %s", qos ? "true" : "false", cases[i].settings);
  guint dropped = 0;

  for (guint round = 1; round <= 2; round++) {
    push_all (stream);
    stream_push_event (stream, gst_event_new_eos ());
    dropped = 0;
    for (guint n = 0; n < N; n++) {
      const gboolean is_dropped = qos && is_late[n];
      g_autoptr (GstBuffer) output = is_dropped ? NULL : gst_harness_pull (stream->harness);

      if (is_dropped) {
        assert_message (stream, n, ++dropped);
      } else {
        g_assert_cmpuint (GST_BUFFER_PTS (output), ==, n * GST_SECOND);
        assert_floats (output, (gdouble[]){2 * n}, 1, 0);
        g_assert_cmpint (n > 0 && GST_BUFFER_IS_DISCONT (output), ==,
                         n > 0 && qos && is_late[n - 1]);
      }
    }
    g_assert_null (gst_bus_pop_filtered (stream->bus, GST_MESSAGE_QOS));
    assert_counts (stream, round * (N - dropped), round * dropped);
    stream_flush (stream);
  }
}

int
main (int argc, char **argv)
{
  stream_test_init (&argc, &argv);
  for (guint i = 0; i < 2 * G_N_ELEMENTS (cases); i++) {
    g_autofree gchar *path = g_strdup_printf ("%s/%s", cases[i / 2].path, i % 2 ? "on" : "off");

    stream_add_data_test (path, GUINT_TO_POINTER (i), test_qos);
  }
  return g_test_run ();
}
