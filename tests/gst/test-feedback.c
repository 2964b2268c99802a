/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include <math.h>

#include "line.h"

/* The previous output, which beta scales: as long as the stream goes on it is there, and in f32. */

#define TENSOR                                                                                     \
  "other/tensors,format=static,num_tensors=1,dimensions=(string)1:1,types=(string)float32,"        \
  "framerate=0/1"
#define MONO    "audio/x-raw,format=F32LE,rate=8000,channels=1,layout=interleaved"
#define SAMPLES 80
#define LONG    3000 /* more than a plan of audio has room for at first */

/* @n times @value. */
static GstBuffer *
make_floats (gfloat value, guint n)
{
  g_autofree gfloat *values = g_new (gfloat, n);

  for (guint i = 0; i < n; i++)
    values[i] = value;
  return buffer_new (values, n * sizeof *values);
}

static void
assert_all (GstBuffer *buffer, gdouble value, guint n)
{
  g_autofree gdouble *values = g_new (gdouble, n);

  for (guint i = 0; i < n; i++)
    values[i] = value;
  assert_floats (buffer, values, n, 1e-6);
}

/* Pushes @n times @value, and expects @n times @expected. */
static void
run_floats (Stream *stream, gfloat value, gdouble expected, guint n)
{
  g_autoptr (GstBuffer) output = stream_run (stream, make_floats (value, n));

  assert_all (output, expected, n);
}

/* The second element adds up what the first one makes. Only the first buffer has a DISCONT, as
 * sources send it: another one would begin the sum anew. */
static void
check_sum (const gchar *between, const gchar *caps, guint samples)
{
  g_autofree gchar *text =
      g_strdup_printf ("gemmcl weight=[[1]] ! %s gemmcl weight=[[1]] beta=1", between);
  g_auto (Line) line = {.n = 0};

  line_init (&line, text, caps);
  for (guint i = 0; i < 30; i++) {
    GstBuffer *buffer = make_floats (1, samples);

    if (i == 0)
      GST_BUFFER_FLAG_SET (buffer, GST_BUFFER_FLAG_DISCONT);
    g_assert_cmpint (gst_harness_push (line.harness, buffer), ==, GST_FLOW_OK);
  }
  for (guint i = 0; i < 30; i++) {
    g_autoptr (GstBuffer) output = gst_harness_pull (line.harness);

    g_assert_nonnull (output);
    assert_all (output, i + 1, samples);
    g_assert_cmpint (GST_BUFFER_IS_DISCONT (output), ==, i == 0);
  }
}

static void
test_sum (void)
{
  for (guint round = 0; round < 15; round++) {
    check_sum ("", TENSOR, 1);
    check_sum ("identity !", TENSOR, 1);
    check_sum ("other/tensors !", TENSOR, 1);
    check_sum ("", MONO, SAMPLES);
    check_sum ("audio/x-raw !", MONO, SAMPLES);
  }
}

/* A mean over time, of which the first element is checked, ends at what comes in, though each step
 * is less than half of an integer. */
static void
check_mean (const gchar *caps, guint size, gdouble value, guint n)
{
  g_autoptr (Stream) stream = stream_new ("weight", "[1]", "alpha", 0.05, "beta", 0.95, NULL);
  gdouble mean = 0;

  gst_util_set_object_arg (G_OBJECT (stream->element), "feature-mode", "pixel");
  g_assert_true (stream_play (stream, caps, NULL));
  for (guint i = 0; i < n; i++) {
    const guint8 bytes[4] = {(guint8)value};
    g_autoptr (GstBuffer) output = stream_run (stream, buffer_new (bytes, size));
    guint8 found[4] = {0};

    mean = 0.05 * value + 0.95 * mean;
    g_assert_cmpuint (gst_buffer_extract (output, 0, found, sizeof found), ==, size);
    g_assert_cmpfloat (fabs (found[0] - mean), <=, 0.5 + 1e-3);
  }
  g_assert_cmpfloat (fabs (mean - value), <, 0.1);
}

static void
test_integers (void)
{
  check_mean ("audio/x-raw,format=S16LE,rate=8000,channels=1,layout=interleaved", 2, 100, 200);
  check_mean ("video/x-raw,format=GRAY8,width=4,height=1,framerate=50/1", 4, 100, 200);
}

/* Other caps have no previous output, even if beta is set before their first buffer, too. */
static void
test_other_n (void)
{
  g_autoptr (Stream) stream = stream_new ("weight", "[1]", NULL);

  g_assert_true (stream_play (stream, TENSOR, NULL));
  for (guint i = 0; i < 3; i++)
    run_floats (stream, 5, 5, 1);
  g_object_set (stream->element, "weight", "[[1,1]]", "beta", 1.0, NULL);
  for (guint i = 0; i < 3; i++) {
    g_autoptr (GstBuffer) output = stream_run (stream, make_floats (7, 1));

    assert_all (output, 7 * (i + 1), 2);
  }
}

/* A bias that comes or goes makes another plan, which has the previous output all the same. */
static void
check_bias (guint longest)
{
  g_autoptr (Stream) stream = stream_new ("weight", "[1]", "beta", 1.0, NULL);

  g_assert_true (stream_play (stream, MONO, NULL));
  run_floats (stream, 1, 1, longest);
  run_floats (stream, 1, 1, SAMPLES);
  run_floats (stream, 1, 2, SAMPLES);
  g_object_set (stream->element, "bias", "[10]", NULL);
  run_floats (stream, 1, 13, SAMPLES);
  g_object_set (stream->element, "bias", "", NULL);
  run_floats (stream, 1, 14, SAMPLES);
  g_object_set (stream->element, "weight", "[2]", NULL);
  run_floats (stream, 1, 16, SAMPLES);
}

static void
test_bias (void)
{
  check_bias (SAMPLES / 2);
  check_bias (LONG);
}

int
main (int argc, char **argv)
{
  line_test_init (&argc, &argv);
  stream_add_test ("/feedback/sum", test_sum);
  stream_add_test ("/feedback/integers", test_integers);
  stream_add_test ("/feedback/other-n", test_other_n);
  stream_add_test ("/feedback/bias", test_bias);
  return g_test_run ();
}
