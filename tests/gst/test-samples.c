/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include <gst/audio/audio.h>

#include "stream.h"

/* Buffers' numbers of samples, and the position. flow.py and streams.py have the rest. */

#define ONE  TENSOR ("1:1")
#define MONO AUDIO ("F32LE", "1")

/* The position is the end of the last buffer. */
static void
test_position (void)
{
  g_autoptr (Stream) stream = stream_start (ONE, "gemmcl weight=[2]");
  gint64 position;

  for (guint i = 1; i <= 2; i++) {
    GstBuffer *buffer = gst_buffer_new_memdup ("1234", 4);

    GST_BUFFER_PTS (buffer) = i * GST_SECOND;
    GST_BUFFER_DURATION (buffer) = GST_SECOND / 2;
    stream_push (stream, buffer);
    g_assert_true (
        gst_pad_query_position (stream->element->srcpads->data, GST_FORMAT_TIME, &position));
    g_assert_cmpint (position, ==, i * GST_SECOND + GST_SECOND / 2);
  }
}

/* Buffers of as many bytes but not as many samples, by their metas: no batch has both. */
static void
test_batch_of_lengths (void)
{
  const guint samples[] = {5000, 4, 4};
  g_autoptr (Stream) stream = stream_start (MONO, "gemmcl weight=[2] batch-size=2");
  g_autofree gdouble *values = g_new (gdouble, 5000), *doubled = g_new (gdouble, 5000);
  g_autofree gfloat *floats = g_new (gfloat, 5000);
  GstAudioInfo info;

  gst_audio_info_set_format (&info, GST_AUDIO_FORMAT_F32, 8000, 1, NULL);
  fill_values (values, 5000, 1);
  for (guint i = 0; i < 5000; i++) {
    floats[i] = values[i];
    doubled[i] = 2 * values[i];
  }
  for (guint i = 0; i < G_N_ELEMENTS (samples); i++) {
    GstBuffer *input = gst_buffer_new_memdup (floats, 5000 * sizeof *floats);

    gst_buffer_add_audio_meta (input, &info, samples[i], NULL);
    stream_push (stream, input);
  }
  stream_push_event (stream, gst_event_new_eos ());
  for (guint i = 0; i < G_N_ELEMENTS (samples); i++) {
    g_autoptr (GstBuffer) output = gst_harness_pull (stream->harness);

    assert_floats (output, doubled, samples[i], 0);
  }
  stream_assert_quiet (stream);
}

int
main (int argc, char **argv)
{
  stream_test_init (&argc, &argv);
  stream_add_test ("/samples/position", test_position);
  stream_add_test ("/samples/batch", test_batch_of_lengths);
  return g_test_run ();
}
