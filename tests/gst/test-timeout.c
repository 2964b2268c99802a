/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "arrivals.h"
#include "stream.h"

/* batch-timeout: a live stream that pauses gets the results of a batch that is not full. */

#define CAPS(rate)                                                                                 \
  "other/tensors,format=static,num_tensors=1,dimensions=(string)1:1,types=(string)float32,"        \
  "framerate=" rate
#define FRAME (GST_SECOND / 10)
#define MS    G_TIME_SPAN_MILLISECOND
/* A batch that only the next buffer ends never comes; others may be late on a busy machine. */
#define LATE   (2 * G_TIME_SPAN_MINUTE)
#define ROUNDS 3
/* With -m perf, the delay of the best round. */
#define PRECISION (50 * MS)

/* @timeout: in ns; see batch-timeout */
static Stream *
new_stream (guint batch, gint64 timeout, const gchar *caps)
{
  Stream *stream =
      stream_new ("weight", "[2]", "batch-size", batch, "batch-timeout", timeout, NULL);

  g_assert_true (stream_play (stream, caps, NULL));
  gst_harness_use_systemclock (stream->harness);
  gst_harness_set_live (stream->harness, TRUE);
  return stream;
}

static void
push (Stream *stream, guint index)
{
  const gfloat value = index;
  GstBuffer *buffer = buffer_new (&value, sizeof value);

  GST_BUFFER_PTS (buffer) = index * FRAME;
  g_assert_cmpint (gst_harness_push (stream->harness, buffer), ==, GST_FLOW_OK);
}

static void
push_event (Stream *stream, GstEvent *event)
{
  g_assert_true (gst_harness_push_event (stream->harness, event));
}

static void
assert_buffer (const Arrival *arrival, guint index)
{
  gfloat value = 0;

  g_assert_nonnull (arrival);
  g_assert_cmpint (arrival->kind, ==, ARRIVAL_BUFFER);
  g_assert_cmpuint (GST_BUFFER_PTS (arrival->buffer), ==, index * FRAME);
  g_assert_false (GST_BUFFER_IS_DISCONT (arrival->buffer));
  g_assert_cmpuint (gst_buffer_extract (arrival->buffer, 0, &value, sizeof value), ==,
                    sizeof value);
  g_assert_cmpfloat (value, ==, 2.0f * index);
}

static void
assert_arrivals (Arrivals *arrivals, const gchar *expected)
{
  g_autofree gchar *found = arrivals_print (arrivals);

  g_assert_cmpstr (found, ==, expected);
}

/* Two buffers of a batch of four, and no more; again and again. */
static void
check_pause (gint64 timeout, const gchar *caps, gint64 expected)
{
  g_autoptr (Stream) stream = new_stream (4, timeout, caps);
  g_autoptr (Arrivals) arrivals = arrivals_new (stream->harness->sinkpad, TRUE);
  gint64 best = G_MAXINT64;

  for (guint round = 0; round < ROUNDS; round++) {
    gint64 start = g_get_monotonic_time (), waited;

    push (stream, 2 * round);
    push (stream, 2 * round + 1);
    g_assert_true (arrivals_wait (arrivals, 2 * round + 2, LATE));
    waited = arrivals_get (arrivals, 2 * round)->time - start;
    g_assert_cmpint (waited, >=, expected);
    best = MIN (best, waited);
  }
  g_test_message ("batch-timeout=%" G_GINT64_FORMAT ": %.1f ms", timeout, best / 1e3);
  if (g_test_perf ())
    g_assert_cmpint (best, <=, expected + PRECISION);
  for (guint i = 0; i < 2 * ROUNDS; i++)
    assert_buffer (arrivals_get (arrivals, i), i);
  stream_assert_quiet (stream);
}

/* Explicitly, and by default the time that a batch's buffers take by the caps. */
static void
test_pause (void)
{
  check_pause (100 * GST_MSECOND, CAPS ("0/1"), 100 * MS);
  check_pause (100 * GST_MSECOND, CAPS ("10/1"), 100 * MS);
  check_pause (5 * GST_MSECOND, CAPS ("10/1"), 5 * MS);
  check_pause (-1, CAPS ("20/1"), 200 * MS);
  check_pause (-1, CAPS ("50/1"), 80 * MS);
}

/* With 0, or where neither caps nor buffers say how long one is, only a buffer or an event ends a
 * batch. */
static void
test_none (void)
{
  const struct {
    gint64 timeout;
    const gchar *caps;
  } cases[] = {{0, CAPS ("100/1")}, {-1, CAPS ("0/1")}};

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (Stream) stream = new_stream (3, cases[i].timeout, cases[i].caps);
    g_autoptr (Arrivals) arrivals = arrivals_new (stream->harness->sinkpad, TRUE);

    push (stream, 0);
    push (stream, 1);
    g_assert_false (arrivals_wait (arrivals, 1, 300 * MS));
    push (stream, 2);
    push (stream, 3);
    push_event (stream, gst_event_new_eos ());
    assert_arrivals (arrivals, "bbbbE");
  }
}

/* A full batch does not wait, and the next one has the whole time. */
static void
test_full (void)
{
  g_autoptr (Stream) stream = new_stream (2, GST_SECOND, CAPS ("0/1"));
  g_autoptr (Arrivals) arrivals = arrivals_new (stream->harness->sinkpad, TRUE);
  gint64 start;

  push (stream, 0);
  g_usleep (500 * MS);
  push (stream, 1);
  assert_arrivals (arrivals, "bb");
  start = g_get_monotonic_time ();
  push (stream, 2);
  g_assert_true (arrivals_wait (arrivals, 3, LATE));
  g_assert_cmpint (arrivals_get (arrivals, 2)->time - start, >=, 1000 * MS);
  assert_buffer (arrivals_get (arrivals, 2), 2);
}

/* Events between collected buffers, and behind them, come with them. */
static void
test_events (void)
{
  g_autoptr (Stream) stream = new_stream (4, 50 * GST_MSECOND, CAPS ("0/1"));
  g_autoptr (Arrivals) arrivals = arrivals_new (stream->harness->sinkpad, TRUE);

  for (guint i = 0; i < 2; i++) {
    push (stream, i);
    push_event (stream, gst_event_new_custom (GST_EVENT_CUSTOM_DOWNSTREAM,
                                              gst_structure_new_empty ("mark")));
  }
  g_assert_true (arrivals_wait (arrivals, 4, LATE));
  assert_arrivals (arrivals, "bebe");
  assert_buffer (arrivals_get (arrivals, 0), 0);
  assert_buffer (arrivals_get (arrivals, 2), 1);
}

/* A DISCONT that ends a batch is that of its own buffer, which the timeout sends. */
static void
test_discont (void)
{
  g_autoptr (Stream) stream = new_stream (4, 50 * GST_MSECOND, CAPS ("0/1"));
  g_autoptr (Arrivals) arrivals = arrivals_new (stream->harness->sinkpad, TRUE);
  GstBuffer *discont = gst_buffer_new_memdup (&(gfloat){1}, sizeof (gfloat));

  push (stream, 0);
  GST_BUFFER_FLAG_SET (discont, GST_BUFFER_FLAG_DISCONT);
  gst_harness_push (stream->harness, discont);
  g_assert_true (arrivals_wait (arrivals, 2, LATE));
  push (stream, 2);
  g_assert_true (arrivals_wait (arrivals, 3, LATE));
  assert_arrivals (arrivals, "bDb");
}

static gpointer
burn (gpointer stop)
{
  while (!g_atomic_int_get ((gint *)stop))
    ;
  return NULL;
}

/* A source that pauses at random, at times about as long as the timeout, on a busy machine. */
static void
test_load (void)
{
  g_autoptr (Stream) stream = new_stream (3, GST_MSECOND, CAPS ("0/1"));
  g_autoptr (Arrivals) arrivals = arrivals_new (stream->harness->sinkpad, TRUE);
  const guint n = g_getenv ("GEMMCL_TEST_BRIEF") ? 301 : 2000; /* not full at last */
  GThread *threads[2];
  gint stop = 0;

  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    threads[i] = g_thread_new ("burn", burn, &stop);
  for (guint i = 0; i < n; i++) {
    push (stream, i);
    if (g_test_rand_int_range (0, 3) == 0)
      g_usleep ((gulong)g_test_rand_int_range (0, 2000));
  }
  g_assert_true (arrivals_wait (arrivals, n, LATE));
  g_atomic_int_set (&stop, 1);
  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    g_thread_join (threads[i]);
  g_assert_cmpuint (arrivals_count (arrivals), ==, n);
  for (guint i = 0; i < n; i++)
    assert_buffer (arrivals_get (arrivals, i), i);
  stream_assert_quiet (stream);
}

/* Flushes just when the time may be over: after one comes nothing of before it. */
static void
test_flush (void)
{
  g_autoptr (Stream) stream = new_stream (4, 2 * GST_MSECOND, CAPS ("0/1"));
  g_autoptr (Arrivals) arrivals = arrivals_new (stream->harness->sinkpad, TRUE);
  const Arrival *arrival;
  GstSegment segment;
  guint flushes = 0;

  gst_segment_init (&segment, GST_FORMAT_TIME);
  for (guint round = 0; round < 100; round++) {
    push (stream, round);
    g_usleep ((gulong)g_test_rand_int_range (0, 4000));
    push_event (stream, gst_event_new_flush_start ());
    push_event (stream, gst_event_new_flush_stop (TRUE));
    push_event (stream, gst_event_new_segment (&segment));
  }
  push (stream, 100);
  g_assert_true (arrivals_wait (arrivals, arrivals_count (arrivals) + 1, LATE));
  for (guint i = 0; (arrival = arrivals_get (arrivals, i)); i++) {
    if (arrival->kind == ARRIVAL_FLUSH)
      flushes++;
    else if (arrival->kind == ARRIVAL_BUFFER)
      assert_buffer (arrival, flushes);
  }
  g_assert_cmpuint (flushes, ==, 100);
  stream_assert_quiet (stream);
}

/* States change just when the time may be over. */
static void
test_states (void)
{
  g_autoptr (Stream) stream = new_stream (4, 2 * GST_MSECOND, CAPS ("0/1"));
  g_autoptr (Arrivals) arrivals = arrivals_new (stream->harness->sinkpad, TRUE);

  for (guint round = 0; round < 50; round++) {
    push (stream, round);
    g_usleep ((gulong)g_test_rand_int_range (0, 4000));
    gst_element_set_state (stream->element, round % 2 ? GST_STATE_READY : GST_STATE_NULL);
    gst_element_set_state (stream->element, GST_STATE_PLAYING);
    push_event (stream, gst_event_new_stream_start ("again"));
    g_assert_true (stream_push_caps (stream, CAPS ("0/1")));
  }
  push (stream, 50);
  g_assert_true (arrivals_wait (arrivals, arrivals_count (arrivals) + 1, LATE));
  stream_assert_quiet (stream);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  gst_init (&argc, &argv);
  stream_add_test ("/timeout/pause", test_pause);
  stream_add_test ("/timeout/none", test_none);
  stream_add_test ("/timeout/full", test_full);
  stream_add_test ("/timeout/events", test_events);
  stream_add_test ("/timeout/discont", test_discont);
  stream_add_test ("/timeout/load", test_load);
  stream_add_test ("/timeout/flush", test_flush);
  stream_add_test ("/timeout/states", test_states);
  return g_test_run ();
}
