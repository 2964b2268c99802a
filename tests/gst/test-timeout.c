/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "arrivals.h"
#include "stream.h"

/* batch-timeout: a live stream that pauses gets the results of a batch that is not full. What is in
 * such a batch besides buffers, test-flow.c looks at. */

#define CAPS(rate) TENSORS ("1", "1:1", "float32", rate)
#define FRAME      (GST_SECOND / 10)
#define MS         G_TIME_SPAN_MILLISECOND
#define PRECISION  (50 * MS) /* with -m perf, of the best of several */

/* @timeout: in ns; see batch-timeout */
static Stream *
start (guint batch, gint64 timeout, const gchar *caps)
{
  Stream *stream = stream_start (
      caps, "gemmcl weight=[2] batch-size=%u batch-timeout=%" G_GINT64_FORMAT, batch, timeout);

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
  stream_push (stream, buffer);
}

static void
assert_buffer (const Arrival *arrival, guint index)
{
  g_assert_nonnull (arrival);
  g_assert_cmpint (arrival->kind, ==, ARRIVAL_BUFFER);
  g_assert_cmpuint (GST_BUFFER_PTS (arrival->buffer), ==, index * FRAME);
  g_assert_false (GST_BUFFER_IS_DISCONT (arrival->buffer));
  assert_floats (arrival->buffer, (gdouble[]){2 * index}, 1, 0);
}

/* Two buffers of a batch of four, and no more; again and again. They take no less than the
 * timeout; how much more depends on the machine. By default it is the time that a batch takes by
 * the caps. */
static void
test_pause (void)
{
  static const struct {
    gint64 timeout;
    const gchar *caps;
    gint64 expected;
  } cases[] = {{100 * GST_MSECOND, CAPS ("0/1"), 100 * MS},
               {5 * GST_MSECOND, CAPS ("10/1"), 5 * MS},
               {-1, CAPS ("20/1"), 200 * MS},
               {-1, CAPS ("50/1"), 80 * MS}};

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (Stream) stream = start (4, cases[i].timeout, cases[i].caps);
    g_autoptr (Arrivals) arrivals = arrivals_new (stream->harness->sinkpad, TRUE);
    gint64 best = G_MAXINT64;

    for (guint n = 0; n < 6; n += 2) {
      gint64 begin = g_get_monotonic_time (), waited;

      push (stream, n);
      push (stream, n + 1);
      g_assert_true (arrivals_wait (arrivals, n + 2, FOREVER));
      waited = arrivals_get (arrivals, n)->time - begin;
      g_assert_cmpint (waited, >=, cases[i].expected);
      best = MIN (best, waited);
    }
    g_test_message ("%.1f ms", best / 1e3);
    if (g_test_perf ())
      g_assert_cmpint (best, <=, cases[i].expected + PRECISION);
    for (guint n = 0; n < 6; n++)
      assert_buffer (arrivals_get (arrivals, n), n);
    stream_assert_quiet (stream);
  }
}

/* There is no timeout by default if neither caps nor buffers say how long one is. */
static void
test_none (void)
{
  g_autoptr (Stream) stream = start (3, -1, CAPS ("0/1"));
  g_autoptr (Arrivals) arrivals = arrivals_new (stream->harness->sinkpad, TRUE);

  push (stream, 0);
  push (stream, 1);
  g_assert_false (arrivals_wait (arrivals, 1, 300 * MS));
  push (stream, 2);
  g_assert_true (arrivals_wait (arrivals, 3, FOREVER));
}

/* A full batch does not wait, and the next one has the whole time. */
static void
test_full (void)
{
  g_autoptr (Stream) stream = start (2, GST_SECOND, CAPS ("0/1"));
  g_autoptr (Arrivals) arrivals = arrivals_new (stream->harness->sinkpad, TRUE);
  gint64 begin;

  push (stream, 0);
  g_usleep (300 * MS);
  push (stream, 1);
  g_assert_true (arrivals_wait (arrivals, 2, FOREVER));
  begin = g_get_monotonic_time ();
  push (stream, 2);
  g_assert_true (arrivals_wait (arrivals, 3, FOREVER));
  g_assert_cmpint (arrivals_get (arrivals, 2)->time - begin, >=, 1000 * MS);
  assert_buffer (arrivals_get (arrivals, 2), 2);
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
  g_autoptr (Stream) stream = start (3, GST_MSECOND, CAPS ("0/1"));
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
  g_assert_true (arrivals_wait (arrivals, n, FOREVER));
  g_atomic_int_set (&stop, 1);
  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    g_thread_join (threads[i]);
  g_assert_cmpuint (arrivals_count (arrivals), ==, n);
  for (guint i = 0; i < n; i++)
    assert_buffer (arrivals_get (arrivals, i), i);
  stream_assert_quiet (stream);
}

/* Flushes, or changes of state, just when the time may be over: after a flush comes nothing of
 * before it. */
static void
test_ends (gconstpointer states)
{
  g_autoptr (Stream) stream = start (4, 2 * GST_MSECOND, CAPS ("0/1"));
  g_autoptr (Arrivals) arrivals = arrivals_new (stream->harness->sinkpad, TRUE);
  const Arrival *arrival;
  guint flushes = 0;

  for (guint round = 0; round < 100; round++) {
    push (stream, round);
    g_usleep ((gulong)g_test_rand_int_range (0, 4000));
    if (states) {
      stream_set_state (stream, round % 2 ? GST_STATE_READY : GST_STATE_NULL);
      stream_set_state (stream, GST_STATE_PLAYING);
      stream_begin (stream, CAPS ("0/1"));
    } else {
      stream_flush (stream);
    }
  }
  push (stream, 100);
  g_assert_true (arrivals_wait (arrivals, arrivals_count (arrivals) + 1, FOREVER));
  for (guint i = 0; !states && (arrival = arrivals_get (arrivals, i)); i++)
    if (arrival->kind == ARRIVAL_FLUSH)
      flushes++;
    else if (arrival->kind == ARRIVAL_BUFFER)
      assert_buffer (arrival, flushes);
  g_assert_cmpuint (flushes, ==, states ? 0 : 100);
  stream_assert_quiet (stream);
}

int
main (int argc, char **argv)
{
  stream_test_init (&argc, &argv);
  stream_add_test ("/timeout/pause", test_pause);
  stream_add_test ("/timeout/none", test_none);
  stream_add_test ("/timeout/full", test_full);
  stream_add_test ("/timeout/load", test_load);
  stream_add_data_test ("/timeout/flush", NULL, test_ends);
  stream_add_data_test ("/timeout/states", "states", test_ends);
  return g_test_run ();
}
