/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include <math.h>
#include <string.h>

#include "stream.h"

#define SAMPLES 9

static const gchar *const formats[] = {"F32LE", "F64LE", "S16LE", "S32LE"};

static gdouble
read_sample (const guint8 *data, GstAudioFormat format, gsize index)
{
  switch (format) {
  case GST_AUDIO_FORMAT_F32LE:
    return ((const gfloat *)data)[index];
  case GST_AUDIO_FORMAT_F64LE:
    return ((const gdouble *)data)[index];
  case GST_AUDIO_FORMAT_S16LE:
    return ((const gint16 *)data)[index];
  default:
    return ((const gint32 *)data)[index];
  }
}

static GstBuffer *
make_samples (GstAudioFormat format, const gdouble *values, gsize n)
{
  gsize size = GST_AUDIO_FORMAT_INFO_WIDTH (gst_audio_format_get_info (format)) / 8;
  GstBuffer *buffer = gst_buffer_new_allocate (NULL, n * size, NULL);
  GstMapInfo map;

  g_assert_true (gst_buffer_map (buffer, &map, GST_MAP_WRITE));
  for (gsize i = 0; i < n; i++) {
    if (format == GST_AUDIO_FORMAT_F32LE)
      ((gfloat *)map.data)[i] = values[i];
    else if (format == GST_AUDIO_FORMAT_F64LE)
      ((gdouble *)map.data)[i] = values[i];
    else if (format == GST_AUDIO_FORMAT_S16LE)
      ((gint16 *)map.data)[i] = values[i];
    else
      ((gint32 *)map.data)[i] = values[i];
  }
  gst_buffer_unmap (buffer, &map);
  return buffer;
}

/* Integers are rounded, halves to even, and saturated; floats are not. */
static gdouble
store (GstAudioFormat format, gdouble value)
{
  if (format == GST_AUDIO_FORMAT_S16LE)
    return CLAMP (rint (value), -32768.0, 32767.0);
  if (format == GST_AUDIO_FORMAT_S32LE)
    return CLAMP (rint (value), -2147483648.0, 2147483647.0);
  return value;
}

static void
assert_samples (GstBuffer *buffer, GstAudioFormat format, const gdouble *expected, gsize n)
{
  GstMapInfo map;

  g_assert_true (gst_buffer_map (buffer, &map, GST_MAP_READ));
  g_assert_cmpuint (map.size, ==,
                    n * GST_AUDIO_FORMAT_INFO_WIDTH (gst_audio_format_get_info (format)) / 8);
  for (gsize i = 0; i < n; i++)
    g_assert_cmpfloat_with_epsilon (read_sample (map.data, format, i), store (format, expected[i]),
                                    1e-4);
  gst_buffer_unmap (buffer, &map);
}

static gchar *
audio_caps (const gchar *format, guint channels)
{
  return g_strdup_printf ("audio/x-raw,format=%s,rate=8000,channels=%u,layout=interleaved%s",
                          format, channels, channels == 2 ? ",channel-mask=(bitmask)3" : "");
}

static void
check_format (const gchar *name, guint k, guint n)
{
  GstAudioFormat format = gst_audio_format_from_string (name);
  g_autofree gchar *caps = audio_caps (name, k), *weight = NULL;
  gdouble a[SAMPLES * 2], b[2 * 3], d[SAMPLES * 3];
  g_autoptr (Stream) stream = NULL;
  g_autoptr (GstBuffer) output = NULL;
  g_autoptr (GstCaps) output_caps = NULL;
  GstAudioInfo info;

  fill_values (a, SAMPLES * k, 1);
  for (guint i = 0; i < SAMPLES * k; i++)
    a[i] = a[i] * 8 * 4000;
  fill_values (b, k * n, 2);
  weight = literal (b, k, n);
  stream = stream_new ("weight", weight, NULL);
  g_assert_true (stream_play (stream, caps, NULL));
  output = stream_run (stream, make_samples (format, a, SAMPLES * k));
  reference_gemm (SAMPLES, n, k, 1.0, a, b, 0.0, NULL, NULL, d);
  assert_samples (output, format, d, SAMPLES * n);
  output_caps = stream_get_output_caps (stream);
  g_assert_true (gst_audio_info_from_caps (&info, output_caps));
  g_assert_cmpint (GST_AUDIO_INFO_FORMAT (&info), ==, format);
  g_assert_cmpint (GST_AUDIO_INFO_CHANNELS (&info), ==, (gint)n);
  stream_assert_quiet (stream);
}

static void
test_formats (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (formats); i++) {
    g_test_message ("%s", formats[i]);
    check_format (formats[i], 2, 1);
    check_format (formats[i], 2, 3);
    check_format (formats[i], 1, 2);
  }
}

static void
test_rounding (void)
{
  const gdouble in[] = {1, 3, 5, -1, -3, 32767, -32768, 0};
  const gdouble out[] = {0, 2, 2, 0, -2, 16384, -16384, 0};
  const gdouble loud[] = {32767, 32767, 32767, -32768, -32768, 32767, -32768, 0};
  g_autoptr (Stream) half = stream_new ("weight", "[0.5]", NULL);
  g_autoptr (Stream) much = stream_new ("weight", "[1e6]", NULL);
  g_autofree gchar *caps = audio_caps ("S16LE", 1);
  g_autoptr (GstBuffer) halves = NULL, louds = NULL;

  g_assert_true (stream_play (half, caps, NULL));
  halves = stream_run (half, make_samples (GST_AUDIO_FORMAT_S16LE, in, G_N_ELEMENTS (in)));
  assert_samples (halves, GST_AUDIO_FORMAT_S16LE, out, G_N_ELEMENTS (out));
  g_assert_true (stream_play (much, caps, NULL));
  louds = stream_run (much, make_samples (GST_AUDIO_FORMAT_S16LE, in, G_N_ELEMENTS (in)));
  assert_samples (louds, GST_AUDIO_FORMAT_S16LE, loud, G_N_ELEMENTS (loud));
}

/* Buffers of any length, also longer than the first guess. */
static void
test_any_length (void)
{
  static const gsize lengths[] = {5, 1024, 1025, 3, 5000, 1};
  g_autoptr (Stream) stream = stream_new ("weight", "[[0.5],[0.25]]", NULL);
  g_autofree gchar *caps = audio_caps ("F32LE", 2);

  g_assert_true (stream_play (stream, caps, NULL));
  for (guint i = 0; i < G_N_ELEMENTS (lengths); i++) {
    g_autofree gdouble *a = g_new (gdouble, lengths[i] * 2), *d = g_new (gdouble, lengths[i]);
    const gdouble b[] = {0.5, 0.25};
    g_autoptr (GstBuffer) output = NULL;

    fill_values (a, lengths[i] * 2, i);
    reference_gemm (lengths[i], 1, 2, 1.0, a, b, 0.0, NULL, NULL, d);
    output = stream_run (stream, make_samples (GST_AUDIO_FORMAT_F32LE, a, lengths[i] * 2));
    assert_samples (output, GST_AUDIO_FORMAT_F32LE, d, lengths[i]);
  }
}

/* The previous output counts from buffer to buffer of the same length. */
static void
test_beta (void)
{
  const gdouble one[] = {1, 2, 3, 4}, three[] = {1, 1, 1};
  const gdouble first[] = {1, 2, 3, 4}, second[] = {1.5, 3, 4.5, 6};
  g_autoptr (Stream) stream = stream_new ("weight", "[1]", "beta", 0.5, NULL);
  g_autofree gchar *caps = audio_caps ("F64LE", 1);
  const struct {
    const gdouble *in, *out;
    gsize n;
  } steps[] = {{one, first, 4}, {one, second, 4}, {three, three, 3}, {one, first, 4}};

  g_assert_true (stream_play (stream, caps, NULL));
  for (guint i = 0; i < G_N_ELEMENTS (steps); i++) {
    g_autoptr (GstBuffer) output =
        stream_run (stream, make_samples (GST_AUDIO_FORMAT_F64LE, steps[i].in, steps[i].n));

    assert_samples (output, GST_AUDIO_FORMAT_F64LE, steps[i].out, steps[i].n);
  }
}

static void
test_gaps (void)
{
  const gdouble zeros[4] = {0};
  g_autofree gchar *caps = audio_caps ("F32LE", 1);

  for (guint with_bias = 0; with_bias < 2; with_bias++) {
    g_autoptr (Stream) stream =
        stream_new ("weight", "[2]", "bias", with_bias ? "[1]" : NULL, NULL);
    GstBuffer *gap = make_samples (GST_AUDIO_FORMAT_F32LE, zeros, 4);
    g_autoptr (GstBuffer) empty = NULL, output = NULL;

    GST_BUFFER_FLAG_SET (gap, GST_BUFFER_FLAG_GAP);
    g_assert_true (stream_play (stream, caps, NULL));
    output = stream_run (stream, gap);
    g_assert_cmpint (GST_BUFFER_FLAG_IS_SET (output, GST_BUFFER_FLAG_GAP), ==, !with_bias);
    gap = gst_buffer_new ();
    GST_BUFFER_FLAG_SET (gap, GST_BUFFER_FLAG_GAP);
    GST_BUFFER_PTS (gap) = 77;
    empty = stream_run (stream, gap);
    g_assert_cmpuint (gst_buffer_get_size (empty), ==, 0);
    g_assert_cmpuint (GST_BUFFER_PTS (empty), ==, 77);
    g_assert_true (GST_BUFFER_FLAG_IS_SET (empty, GST_BUFFER_FLAG_GAP));
    stream_assert_quiet (stream);
  }
}

static void
test_half_a_sample (void)
{
  static const guint8 bytes[7] = {0};
  g_autoptr (Stream) stream = stream_new ("weight", "[[1],[1]]", NULL);
  g_autofree gchar *caps = audio_caps ("S16LE", 2);
  GstFlowReturn flow;

  g_assert_true (stream_play (stream, caps, NULL));
  flow = gst_harness_push (stream->harness, buffer_new (bytes, sizeof bytes));
  g_assert_cmpint (flow, ==, GST_FLOW_ERROR);
  stream_assert_error (stream, GST_RESOURCE_ERROR, "7 bytes", "a multiple of 4", NULL);
}

/* Samples need not lie where their type wants them. */
static void
test_unaligned (void)
{
  const gdouble values[] = {1, 2, 3, 4}, doubled[] = {2, 4, 6, 8};
  g_autoptr (Stream) stream = stream_new ("weight", "[2]", NULL);
  g_autofree gchar *caps = audio_caps ("F32LE", 1);
  g_autoptr (GstBuffer) aligned = make_samples (GST_AUDIO_FORMAT_F32LE, values, 4);
  g_autoptr (GstBuffer) output = NULL;
  GstBuffer *input = gst_buffer_new_allocate (NULL, 17, NULL);
  GstMapInfo map;

  g_assert_true (gst_buffer_map (aligned, &map, GST_MAP_READ));
  gst_buffer_fill (input, 1, map.data, map.size);
  gst_buffer_unmap (aligned, &map);
  gst_buffer_resize (input, 1, 16);
  g_assert_true (stream_play (stream, caps, NULL));
  output = stream_run (stream, input);
  assert_samples (output, GST_AUDIO_FORMAT_F32LE, doubled, 4);
}

static void
test_metas (void)
{
  const gdouble values[] = {1, 2};
  g_autoptr (Stream) stream = stream_new ("weight", "[2]", NULL);
  g_autofree gchar *caps = audio_caps ("F32LE", 1);
  GstBuffer *input = make_samples (GST_AUDIO_FORMAT_F32LE, values, 2);
  g_autoptr (GstBuffer) output = NULL;

  gst_buffer_add_audio_clipping_meta (input, GST_FORMAT_DEFAULT, 1, 0);
  gst_buffer_add_audio_level_meta (input, 30, TRUE);
  g_assert_true (stream_play (stream, caps, NULL));
  output = stream_run (stream, input);
  g_assert_nonnull (gst_buffer_get_audio_clipping_meta (output));
  g_assert_null (gst_buffer_get_audio_level_meta (output));
}

/* Buffers of as many bytes but not as many samples, by their metas: no batch has both. */
static void
test_metas_of_a_batch (void)
{
  g_autoptr (Stream) stream = stream_new ("weight", "[2]", "batch-size", 2, NULL);
  g_autofree gchar *caps = audio_caps ("F32LE", 1);
  const guint samples[] = {5000, 4, 4};
  g_autofree gdouble *values = g_new (gdouble, 5000), *doubled = g_new (gdouble, 5000);
  GstAudioInfo info;

  gst_audio_info_set_format (&info, GST_AUDIO_FORMAT_F32, 8000, 1, NULL);
  fill_values (values, 5000, 1);
  for (guint i = 0; i < 5000; i++)
    doubled[i] = 2 * values[i];
  g_assert_true (stream_play (stream, caps, NULL));
  for (guint i = 0; i < G_N_ELEMENTS (samples); i++) {
    GstBuffer *input = make_samples (GST_AUDIO_FORMAT_F32LE, values, 5000);

    gst_buffer_add_audio_meta (input, &info, samples[i], NULL);
    g_assert_cmpint (gst_harness_push (stream->harness, input), ==, GST_FLOW_OK);
  }
  g_assert_true (gst_harness_push_event (stream->harness, gst_event_new_eos ()));
  for (guint i = 0; i < G_N_ELEMENTS (samples); i++) {
    g_autoptr (GstBuffer) output = gst_harness_pull (stream->harness);

    g_assert_nonnull (output);
    assert_samples (output, GST_AUDIO_FORMAT_F32LE, doubled, samples[i]);
  }
  stream_assert_quiet (stream);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  gst_init (&argc, &argv);
  stream_add_test ("/audio/formats", test_formats);
  stream_add_test ("/audio/rounding", test_rounding);
  stream_add_test ("/audio/any-length", test_any_length);
  stream_add_test ("/audio/beta", test_beta);
  stream_add_test ("/audio/gaps", test_gaps);
  stream_add_test ("/audio/half-a-sample", test_half_a_sample);
  stream_add_test ("/audio/unaligned", test_unaligned);
  stream_add_test ("/audio/metas", test_metas);
  stream_add_test ("/audio/metas-of-a-batch", test_metas_of_a_batch);
  return g_test_run ();
}
