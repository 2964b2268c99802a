/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* row-outputs: a tensor of sum, max and arg-max behind the result. */
#include <gemmcl.h>

#include "stream.h"

#define ALL (GEMMCL_ROW_SUM | GEMMCL_ROW_MAX | GEMMCL_ROW_ARG_MAX)

/* A row per number x: x, 2 x and 3 - x. */
#define WEIGHT "[[1,2,-1]]"
#define BIAS   "[0,0,3]"
#define CAPS                                                                                       \
  "other/tensors,format=static,num_tensors=1,dimensions=(string)1:2,types=int8,framerate=0/1"

static void
assert_memory (GstBuffer *buffer, guint index, const gdouble *expected, gsize n)
{
  g_autoptr (GstBuffer) memory = gst_buffer_new ();

  gst_buffer_append_memory (memory, gst_buffer_get_memory (buffer, index));
  assert_floats (memory, expected, n, 0);
}

/* Several buffers, one after the other, each with rows of its own. */
static void
run_some (Stream *stream)
{
  for (gint i = 0; i < 4; i++) {
    const gint8 numbers[] = {i, -3};
    const gdouble d[] = {i, 2 * i, 3 - i, -3, -6, 6};
    const gdouble rows[] = {2 * i + 3, MAX (2 * i, 3 - i), i < 1 ? 2 : 1, -3, 6, 2};
    g_autoptr (GstBuffer) output = stream_run (stream, buffer_new (numbers, sizeof numbers));

    g_assert_cmpuint (gst_buffer_n_memory (output), ==, 2);
    assert_memory (output, 0, d, 6);
    assert_memory (output, 1, rows, 6);
  }
  stream_assert_quiet (stream);
}

static void
test_tensors (void)
{
  g_autoptr (Stream) stream = stream_new ("weight", WEIGHT, "bias", BIAS, "row-outputs", ALL, NULL);
  g_autoptr (GstCaps) caps = NULL;

  g_assert_true (stream_play (stream, CAPS, NULL));
  run_some (stream);
  caps = stream_get_output_caps (stream);
  assert_caps (caps, "other/tensors,num_tensors=2,dimensions=(string)\"3:2,3:2\","
                     "types=(string)\"float32,float32\"");
}

/* Row outputs are written by the host: nothing may leave before they are. */
static void
test_opencl_memory (void)
{
  g_autoptr (Stream) stream =
      stream_new ("weight", WEIGHT, "bias", BIAS, "row-outputs", ALL, "queue-depth", 3, NULL);

  g_assert_true (stream_play (stream, CAPS, "other/tensors(memory:OpenCL)"));
  run_some (stream);
}

static void
test_batch (void)
{
  const gint8 numbers[2][2] = {{1, 2}, {3, -4}};
  const gdouble sums[2][2] = {{5, 7}, {9, -5}};
  g_autoptr (Stream) stream = stream_new ("weight", WEIGHT, "bias", BIAS, "row-outputs",
                                          GEMMCL_ROW_SUM, "batch-size", 2, NULL);

  g_assert_true (stream_play (stream, CAPS, NULL));
  for (guint i = 0; i < 2; i++)
    g_assert_cmpint (gst_harness_push (stream->harness, buffer_new (numbers[i], sizeof numbers[i])),
                     ==, GST_FLOW_OK);
  for (guint i = 0; i < 2; i++) {
    g_autoptr (GstBuffer) output = gst_harness_pull (stream->harness);

    g_assert_nonnull (output);
    assert_memory (output, 1, sums[i], 2);
  }
}

/* Pictures of one channel would leave as such; with row outputs they are tensors. */
static void
test_pictures (void)
{
  guint8 bytes[2][4] = {{1, 2, 0, 0}, {7, 9, 0, 0}};
  const gdouble rows[] = {0, 1, 0, 2, 0, 7, 0, 9};
  g_autoptr (Stream) stream =
      stream_new ("weight", "[[1]]", "row-outputs", GEMMCL_ROW_MAX | GEMMCL_ROW_ARG_MAX, NULL);
  g_autoptr (GstBuffer) output = NULL;
  g_autoptr (GstCaps) caps = NULL;
  const gdouble expected[] = {rows[1], 0, rows[3], 0, rows[5], 0, rows[7], 0};

  g_assert_true (
      stream_play (stream, "video/x-raw,format=GRAY8,width=2,height=2,framerate=1/1", NULL));
  output = stream_run (stream, buffer_new (bytes, sizeof bytes));
  caps = stream_get_output_caps (stream);
  assert_caps (caps, "other/tensors,num_tensors=2,dimensions=(string)\"1:4,2:4\","
                     "types=(string)\"float32,float32\"");
  assert_memory (output, 1, expected, 8);
}

/* What passes through stands before them. */
static void
test_several_tensors (void)
{
  const gint8 number = 5;
  const gdouble expected[] = {5}, max[] = {5};
  g_autoptr (Stream) stream =
      stream_new ("weight", "[[1]]", "tensor-index", 1, "row-outputs", GEMMCL_ROW_MAX, NULL);
  g_autoptr (GstMemory) other = gst_allocator_alloc (NULL, 7, NULL);
  g_autoptr (GstBuffer) output = NULL;
  g_autoptr (GstCaps) caps = NULL;
  GstBuffer *input = gst_buffer_new ();

  gst_buffer_append_memory (input, gst_memory_ref (other));
  gst_buffer_append (input, buffer_new (&number, sizeof number));
  g_assert_true (stream_play (stream,
                              "other/tensors,format=static,num_tensors=2,dimensions=(string)"
                              "\"7,1:1\",types=(string)\"uint8,int8\",framerate=0/1",
                              NULL));
  output = stream_run (stream, input);
  g_assert_cmpuint (gst_buffer_n_memory (output), ==, 3);
  g_assert_true (gst_buffer_peek_memory (output, 0) == other);
  assert_memory (output, 1, expected, 1);
  assert_memory (output, 2, max, 1);
  caps = stream_get_output_caps (stream);
  assert_caps (caps, "other/tensors,num_tensors=3,dimensions=(string)\"7,1:1,1:1\","
                     "types=(string)\"uint8,float32,float32\"");
}

static void
test_refused (void)
{
  g_autoptr (Stream) audio = stream_new ("weight", "[[1]]", "row-outputs", ALL, NULL);
  g_autoptr (Stream) many = stream_new ("weight", "[[1]]", "row-outputs", ALL, NULL);
  g_autoptr (GString) dimensions = g_string_new ("1"), types = g_string_new ("int8");
  g_autofree gchar *caps = NULL;

  stream_play (audio, "audio/x-raw,format=F32LE,rate=8000,channels=1,layout=interleaved", NULL);
  stream_assert_error (audio, GST_STREAM_ERROR, "row-outputs", "Audio leaves as audio", NULL);
  for (guint i = 1; i < 16; i++) {
    g_string_append (dimensions, ",1");
    g_string_append (types, ",int8");
  }
  caps = g_strdup_printf ("other/tensors,format=static,num_tensors=16,dimensions=(string)\"%s\","
                          "types=(string)\"%s\",framerate=0/1",
                          dimensions->str, types->str);
  stream_play (many, caps, NULL);
  stream_assert_error (many, GST_STREAM_ERROR, "16 tensors", "row-outputs=0", NULL);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  gst_init (&argc, &argv);
  stream_add_test ("/rows/tensors", test_tensors);
  stream_add_test ("/rows/opencl-memory", test_opencl_memory);
  stream_add_test ("/rows/batch", test_batch);
  stream_add_test ("/rows/pictures", test_pictures);
  stream_add_test ("/rows/several-tensors", test_several_tensors);
  stream_add_test ("/rows/refused", test_refused);
  return g_test_run ();
}
