/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "stream.h"

/* Weight, bias and addend change while data flows. */

#define CAPS                                                                                       \
  "other/tensors,format=static,num_tensors=1,dimensions=(string)2:1,types=(string)float32,"        \
  "framerate=0/1"

static const gfloat ones[2] = {1, 1};

/* Pushes [1, 1] and expects @values out. */
static void
expect (Stream *stream, const gdouble *values, gsize n)
{
  g_autoptr (GstBuffer) output = stream_run (stream, buffer_new (ones, sizeof ones));

  assert_floats (output, values, n, 0);
}

static void
assert_property (Stream *stream, const gchar *name, const gchar *expected)
{
  g_autofree gchar *value = NULL;

  g_object_get (stream->element, name, &value, NULL);
  g_assert_cmpstr (value, ==, expected);
}

static void
test_same_shape (void)
{
  g_autoptr (Stream) stream = stream_new ("weight", "[[1],[2]]", "bias", "[0]", NULL);

  g_assert_true (stream_play (stream, CAPS, NULL));
  expect (stream, (gdouble[]){3}, 1);
  g_object_set (stream->element, "weight", "[[10],[20]]", NULL);
  assert_property (stream, "weight", "[[10],[20]]");
  expect (stream, (gdouble[]){30}, 1);
  g_object_set (stream->element, "bias", "[5]", NULL);
  expect (stream, (gdouble[]){35}, 1);
  g_object_set (stream->element, "bias", "", NULL);
  expect (stream, (gdouble[]){30}, 1);
  g_object_set (stream->element, "addend", "[7]", "beta", 1.0, NULL);
  expect (stream, (gdouble[]){37}, 1);
  g_object_set (stream->element, "addend", "[8]", NULL);
  expect (stream, (gdouble[]){38}, 1);
  stream_assert_quiet (stream);
}

static void
test_other_n (void)
{
  g_autoptr (Stream) stream = stream_new ("weight", "[[1],[2]]", NULL);
  g_autoptr (GstCaps) caps = NULL;

  g_assert_true (stream_play (stream, CAPS, NULL));
  expect (stream, (gdouble[]){3}, 1);
  g_object_set (stream->element, "weight", "[[1,2,3],[4,5,6]]", NULL);
  expect (stream, (gdouble[]){5, 7, 9}, 3);
  caps = stream_get_output_caps (stream);
  assert_caps (caps, "other/tensors,dimensions=(string)3:1");
  stream_assert_quiet (stream);
}

/* Two changes before a buffer are one. */
static void
test_other_n_twice (void)
{
  g_autoptr (Stream) stream = stream_new ("weight", "[[1],[2]]", NULL);

  g_assert_true (stream_play (stream, CAPS, NULL));
  g_object_set (stream->element, "weight", "[[1,2,3],[4,5,6]]", NULL);
  g_object_set (stream->element, "bias", "[1,1,1]", NULL);
  expect (stream, (gdouble[]){6, 8, 10}, 3);
  stream_assert_quiet (stream);
}

static void
test_batch (void)
{
  g_autoptr (Stream) stream = stream_new ("weight", "[[1],[2]]", "batch-size", 2, NULL);
  g_autoptr (GstBuffer) old = NULL;

  g_assert_true (stream_play (stream, CAPS, NULL));
  gst_harness_push (stream->harness, buffer_new (ones, sizeof ones));
  g_object_set (stream->element, "weight", "[[1,2],[3,4]]", NULL);
  gst_harness_push (stream->harness, buffer_new (ones, sizeof ones));
  old = gst_harness_pull (stream->harness);
  assert_floats (old, (gdouble[]){3}, 1, 0);
  expect (stream, (gdouble[]){4, 6}, 2);
}

/* Each is refused with a warning, reads back as it was, and works on. */
static void
check_refused (Stream *stream, const gchar *property, const gchar *value, const gchar *word)
{
  g_autofree gchar *before = NULL;

  g_object_get (stream->element, property, &before, NULL);
  g_object_set (stream->element, property, value, NULL);
  stream_assert_warning (stream, property, "the old one stays", word, NULL);
  assert_property (stream, property, before);
  expect (stream, (gdouble[]){4}, 1);
}

static void
test_refused (void)
{
  g_autoptr (Stream) stream = stream_new ("weight", "[[1],[2]]", "bias", "[1]", NULL);

  g_assert_true (stream_play (stream, CAPS, NULL));
  expect (stream, (gdouble[]){4}, 1);
  check_refused (stream, "weight", "/nonexistent.npy", "/nonexistent.npy");
  check_refused (stream, "weight", "[[1],[2]", "weight=[[1],[2]");
  check_refused (stream, "weight", "[[1],[2],[3]]", "K = 3");
  check_refused (stream, "weight", "[[1,2],[3,4]]", "bias is 1 x 1");
  check_refused (stream, "weight", "", "The weight cannot be removed");
  check_refused (stream, "bias", "[1,2]", "1 x 2");
  check_refused (stream, "addend", "[1,2]", "1 x 2");
}

static void
test_downstream_refuses (void)
{
  g_autoptr (Stream) stream = stream_new ("weight", "[[1],[3]]", NULL);

  g_assert_true (stream_play (stream, CAPS, "other/tensors,dimensions=(string)1:1"));
  expect (stream, (gdouble[]){4}, 1);
  check_refused (stream, "weight", "[[1,2],[3,4]]", "Downstream does not take its N = 2");
  stream_assert_quiet (stream);
}

static void
test_in_ready (void)
{
  g_autoptr (Stream) stream = stream_new ("weight", "[[1],[3]]", NULL);

  g_assert_cmpint (gst_element_set_state (stream->element, GST_STATE_READY), ==,
                   GST_STATE_CHANGE_SUCCESS);
  g_object_set (stream->element, "weight", "/nonexistent.npy", NULL);
  stream_assert_warning (stream, "/nonexistent.npy", NULL);
  assert_property (stream, "weight", "[[1],[3]]");
  g_object_set (stream->element, "weight", "[[2],[3]]", NULL);
  g_assert_true (stream_play (stream, CAPS, NULL));
  expect (stream, (gdouble[]){5}, 1);
}

typedef struct {
  GstElement *element;
  gint stop;
  gint swaps;
} Swapper;

/* Weights of one and of two columns, whose results can be told: 3, 30 and 4, 6. */
static gpointer
swap (gpointer data)
{
  static const gchar *const weights[] = {"[[1],[2]]", "[[10],[20]]", "[[1,2],[3,4]]"};
  Swapper *swapper = data;

  while (!g_atomic_int_get (&swapper->stop)) {
    gint i = g_atomic_int_add (&swapper->swaps, 1);

    g_object_set (swapper->element, "weight", weights[i % 3], NULL);
    g_usleep (100);
  }
  return NULL;
}

static void
test_under_load (void)
{
  g_autoptr (Stream) stream = stream_new ("weight", "[[1],[2]]", NULL);
  Swapper swapper = {.element = stream->element};
  guint counts[3] = {0};
  GThread *thread;

  g_assert_true (stream_play (stream, CAPS, NULL));
  thread = g_thread_new ("swap", swap, &swapper);
  for (guint i = 0; i < 300 || g_atomic_int_get (&swapper.swaps) < 60; i++) {
    g_autoptr (GstBuffer) output = stream_run (stream, buffer_new (ones, sizeof ones));
    gfloat values[2] = {0};
    gsize size = gst_buffer_extract (output, 0, values, sizeof values);

    if (size == 4 && values[0] == 3)
      counts[0]++;
    else if (size == 4 && values[0] == 30)
      counts[1]++;
    else if (size == 8 && values[0] == 4 && values[1] == 6)
      counts[2]++;
    else
      g_error ("%" G_GSIZE_FORMAT " bytes: %g, %g", size, values[0], values[1]);
  }
  g_atomic_int_set (&swapper.stop, 1);
  g_thread_join (thread);
  g_test_message ("%d swaps; results %u, %u, %u", swapper.swaps, counts[0], counts[1], counts[2]);
  stream_assert_quiet (stream);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  gst_init (&argc, &argv);
  stream_add_test ("/change/same-shape", test_same_shape);
  stream_add_test ("/change/other-n", test_other_n);
  stream_add_test ("/change/other-n-twice", test_other_n_twice);
  stream_add_test ("/change/batch", test_batch);
  stream_add_test ("/change/refused", test_refused);
  stream_add_test ("/change/downstream-refuses", test_downstream_refuses);
  stream_add_test ("/change/in-ready", test_in_ready);
  stream_add_test ("/change/under-load", test_under_load);
  return g_test_run ();
}
