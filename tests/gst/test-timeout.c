/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "arrivals.h"
#include "stream.h"

/* batch-timeout: a live stream that pauses gets the results of a batch that is not full, after that
 * time and no earlier. test-flow.c looks at events in such a batch and at streams without a
 * timeout; in test-streams.c and test-stress.c batches end by it among all else. */

#define CAPS(rate) TENSORS ("1", "1:1", "float32", rate)
#define FRAME      (GST_SECOND / 10)
#define MS         G_TIME_SPAN_MILLISECOND

static void
push (Stream *stream, guint index)
{
  const gfloat value = index;
  GstBuffer *buffer = gst_buffer_new_memdup (&value, sizeof value);

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
    const gchar *timeout, *caps;
    gint64 expected;
  } cases[] = {{"100000000", CAPS ("0/1"), 100 * MS},
               {"5000000", CAPS ("10/1"), 5 * MS},
               {"-1", CAPS ("20/1"), 200 * MS},
               {"-1", CAPS ("50/1"), 80 * MS}};

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (Stream) stream = stream_start (
        cases[i].caps, "gemmcl weight=[2] batch-size=4 batch-timeout=%s", cases[i].timeout);
    g_autoptr (Arrivals) arrivals = arrivals_new (stream->harness->sinkpad, TRUE);

    for (guint n = 0; n < 6; n += 2) {
      const gint64 begin = g_get_monotonic_time ();

      push (stream, n);
      push (stream, n + 1);
      g_assert_true (arrivals_wait (arrivals, n + 2, FOREVER));
      g_assert_cmpint (arrivals_get (arrivals, n)->time - begin, >=, cases[i].expected);
    }
    for (guint n = 0; n < 6; n++)
      assert_buffer (arrivals_get (arrivals, n), n);
    stream_assert_quiet (stream);
  }
}

/* A full batch does not wait. The next one has the whole time, though the timeout of the one before
 * is noticed after it begins: its thread waits for the pad. */
static void
test_full (void)
{
  g_autoptr (Stream) stream =
      stream_start (CAPS ("0/1"), "gemmcl weight=[2] batch-size=2 batch-timeout=200000000");
  g_autoptr (Arrivals) arrivals = arrivals_new (stream->harness->sinkpad, TRUE);
  g_autoptr (GstPad) pad = gst_element_get_static_pad (stream->element, "sink");
  gint64 begin;

  push (stream, 0);
  GST_PAD_STREAM_LOCK (pad);
  g_usleep (400 * MS);
  push (stream, 1);
  g_assert_true (arrivals_wait (arrivals, 2, FOREVER));
  begin = g_get_monotonic_time ();
  push (stream, 2);
  GST_PAD_STREAM_UNLOCK (pad);
  g_assert_true (arrivals_wait (arrivals, 3, FOREVER));
  g_assert_cmpint (arrivals_get (arrivals, 2)->time - begin, >=, 200 * MS);
  assert_buffer (arrivals_get (arrivals, 2), 2);
}

int
main (int argc, char **argv)
{
  stream_test_init (&argc, &argv);
  stream_add_test ("/timeout/pause", test_pause);
  stream_add_test ("/timeout/full", test_full);
  return g_test_run ();
}
