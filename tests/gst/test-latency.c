/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include <gst/base/gstbasetransform.h>

#include "../lib/clock.h"
#include "stream.h"

/* The answer to LATENCY queries: the time of collecting a batch, and that of a run by the clock of
 * the device, which is the test's here. */

#define ONE   TENSOR ("1:1")
#define FRAME (GST_SECOND / 10)
#define MS    GST_MSECOND

/* Returns: the latency without that of upstream, which stays what it is. */
static GstClockTime
get_latency (Stream *stream, gboolean is_live)
{
  g_autoptr (GstQuery) query = gst_query_new_latency ();
  GstClockTime min, max;
  gboolean live;

  gst_harness_set_live (stream->harness, is_live);
  gst_harness_set_upstream_latency (stream->harness, 5);
  g_assert_true (gst_pad_query (GST_BASE_TRANSFORM_SRC_PAD (stream->element), query));
  gst_query_parse_latency (query, &live, &min, &max);
  g_assert_cmpint (live, ==, is_live);
  g_assert_cmpuint (min, >=, 5);
  g_assert_true (max == GST_CLOCK_TIME_NONE || max >= min);
  return min - 5;
}

/* The latency of collecting is known before the first run. */
static void
test_batch (void)
{
  static const struct {
    guint depth, batch, frames;
  } cases[] = {{1, 1, 0}, {4, 1, 0}, {1, 3, 2}, {2, 4, 3}};

  for (guint i = 0; i < 2 * G_N_ELEMENTS (cases); i++) {
    const guint j = i / 2;
    g_autoptr (Stream) stream = stream_start (ONE, "gemmcl weight=[2] queue-depth=%u batch-size=%u",
                                              cases[j].depth, cases[j].batch);

    g_assert_cmpuint (get_latency (stream, i % 2), ==, cases[j].frames * FRAME);
  }
}

static guint
count_messages (Stream *stream)
{
  GstMessage *message;
  guint n = 0;

  for (; (message = gst_bus_pop_filtered (stream->bus, GST_MESSAGE_LATENCY)); n++)
    gst_message_unref (message);
  return n;
}

/* Runs @batch buffers, which take @us microseconds on the device. DRAIN queries finish runs. */
static void
run (Stream *stream, guint batch, guint us)
{
  g_autoptr (GstQuery) drain = gst_query_new_drain ();

  clock_set (NULL, us);
  for (guint i = 0; i < batch; i++)
    stream_push (stream, gst_buffer_new_memdup ("1234", 4));
  g_assert_true (gst_pad_peer_query (stream->harness->srcpad, drain));
  stream_collect (stream);
}

/* One long run does not count, a second one does. The latency rises at once, and falls when 128
 * runs in a row were shorter. A message announces each change. More than a minute is no time. */
static const struct {
  guint n, us;
  GstClockTime latency; /* after the last of the runs */
  guint n_messages;
} steps[] = {
    {3, 999, 0, 0},          {1, 3000, 0, 0},
    {1, 3000, 4 * MS, 1},    {1, 30000, 4 * MS, 0},
    {1, 4000, 4 * MS, 0},    {2, 9000, 16 * MS, 1},
    {1, 16000, 16 * MS, 0},  {2, 61000000, 16 * MS, 0},
    {126, 1500, 16 * MS, 0}, {1, 1500, 16 * MS, 0},
    {127, 1500, 16 * MS, 0}, {1, 1500, 2 * MS, 1},
    {127, 100, 2 * MS, 0},   {1, 100, 0, 1},
};

static void
test_run (void)
{
  static const guint batches[] = {1, 3};

  for (guint i = 0; i < 2 * G_N_ELEMENTS (batches); i++) {
    const guint batch = batches[i / 2];
    g_autoptr (Stream) stream =
        stream_start (ONE, "gemmcl weight=[2] queue-depth=3 batch-size=%u batch-timeout=-1", batch);
    const GstClockTime collecting = (batch - 1) * FRAME;

    count_messages (stream);
    for (guint j = 0; j < G_N_ELEMENTS (steps); j++) {
      for (guint n = 0; n < steps[j].n; n++)
        run (stream, batch, steps[j].us);
      g_assert_cmpuint (get_latency (stream, i % 2), ==, collecting + steps[j].latency);
      g_assert_cmpuint (count_messages (stream), ==, steps[j].n_messages);
    }
    run (stream, batch, 5000);
    run (stream, batch, 5000);
    g_assert_cmpuint (get_latency (stream, i % 2), ==, collecting + 8 * MS);
    stream_set_state (stream, GST_STATE_READY);
    stream_set_state (stream, GST_STATE_PLAYING);
    stream_begin (stream, ONE);
    g_assert_cmpuint (get_latency (stream, i % 2), ==, collecting);
  }
  clock_reset ();
}

/* Asserts that a field of the stats is @us, or at most 1/16 more. */
static void
assert_time (Stream *stream, const gchar *field, guint us)
{
  g_autoptr (GstStructure) stats = stream_get_stats (stream, "gemmcl0");
  guint64 time;

  g_assert_true (gst_structure_get_uint64 (stats, field, &time));
  g_assert_cmpuint (time, >=, us * GST_USECOND);
  g_assert_cmpuint (time, <=, us * GST_USECOND / 16 * 17);
}

/* A percentile is a time that this share of the runs did not exceed, whatever their order. */
static void
test_percentiles (void)
{
  static const struct {
    guint n, us, p50, p90, p99, max;
  } parts[] = {{0, 0, 0, 0, 0, 0},
               {1, 50000, 50000, 50000, 50000, 50000},
               {49, 3000, 3000, 3000, 50000, 50000},
               {1, 1, 3000, 3000, 50000, 50000},
               {49, 3, 3, 3000, 3000, 50000},
               {400, 700, 700, 700, 3000, 50000}};
  g_autoptr (Stream) stream = stream_start (ONE, "gemmcl name=gemmcl0 weight=[2]");

  for (guint round = 0; round < 2; round++) {
    for (guint i = 0; i < G_N_ELEMENTS (parts); i++) {
      for (guint n = 0; n < parts[i].n; n++)
        run (stream, 1, parts[i].us);
      assert_time (stream, "run-time-p50", parts[i].p50);
      assert_time (stream, "run-time-p90", parts[i].p90);
      assert_time (stream, "run-time-p99", parts[i].p99);
      assert_time (stream, "run-time-max", parts[i].max);
    }
    stream_set_state (stream, GST_STATE_READY);
    stream_set_state (stream, GST_STATE_PLAYING);
    stream_begin (stream, ONE);
  }
  clock_reset ();
}

int
main (int argc, char **argv)
{
  stream_test_init (&argc, &argv);
  stream_add_test ("/latency/batch", test_batch);
  stream_add_test ("/latency/run", test_run);
  stream_add_test ("/latency/percentiles", test_percentiles);
  return g_test_run ();
}
