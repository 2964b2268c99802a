/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "stream.h"

/* batch-timeout: a live stream that pauses gets the results of a batch that is not full, after that
 * time and no earlier. flow.py looks at events in such a batch and at streams without a timeout; in
 * streams.py and test-stress.c batches end by it among all else. */

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

/* Waits for the next buffer. Returns: the us since @begin */
static gint64
pull (Stream *stream, guint index, gint64 begin)
{
  g_autoptr (GstBuffer) buffer = gst_harness_pull (stream->harness);
  const gint64 time = g_get_monotonic_time () - begin;

  g_assert_nonnull (buffer);
  g_assert_cmpuint (GST_BUFFER_PTS (buffer), ==, index * FRAME);
  g_assert_false (GST_BUFFER_IS_DISCONT (buffer));
  assert_floats (buffer, (gdouble[]){2 * index}, 1, 0);
  return time;
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

    for (guint n = 0; n < 6; n += 2) {
      const gint64 begin = g_get_monotonic_time ();

      push (stream, n);
      push (stream, n + 1);
      g_assert_cmpint (pull (stream, n, begin), >=, cases[i].expected);
      pull (stream, n + 1, begin);
    }
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
  g_autoptr (GstPad) pad = gst_element_get_static_pad (stream->element, "sink");
  gint64 begin;

  push (stream, 0);
  GST_PAD_STREAM_LOCK (pad);
  g_usleep (400 * MS);
  push (stream, 1);
  pull (stream, 0, 0);
  pull (stream, 1, 0);
  begin = g_get_monotonic_time ();
  push (stream, 2);
  GST_PAD_STREAM_UNLOCK (pad);
  g_assert_cmpint (pull (stream, 2, begin), >=, 200 * MS);
}

int
main (int argc, char **argv)
{
  stream_test_init (&argc, &argv);
  stream_add_test ("/timeout/pause", test_pause);
  stream_add_test ("/timeout/full", test_full);
  return g_test_run ();
}
