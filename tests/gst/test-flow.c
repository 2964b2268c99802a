/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include <gemmcl.h>
#include <gst/controller/gstdirectcontrolbinding.h>
#include <gst/controller/gstinterpolationcontrolsource.h>
#include <string.h>

#include "stream.h"

/* How data, events and states flow: on tensors of one number, so that a result is easily told. */

#define CAPS                                                                                       \
  "other/"                                                                                         \
  "tensors,format=static,num_tensors=1,dimensions=(string)1:1,types=(string)float32,framerate=10/" \
  "1"
#define FRAME (GST_SECOND / 10)

static GstBuffer *
number (gfloat value, guint index)
{
  GstBuffer *buffer = buffer_new (&value, sizeof value);

  GST_BUFFER_PTS (buffer) = index * FRAME;
  GST_BUFFER_DURATION (buffer) = FRAME;
  GST_BUFFER_OFFSET (buffer) = index;
  return buffer;
}

static gfloat
get_number (GstBuffer *buffer)
{
  gfloat value = 0.0;

  g_assert_nonnull (buffer);
  g_assert_cmpuint (gst_buffer_extract (buffer, 0, &value, sizeof value), ==, sizeof value);
  return value;
}

/* What comes out for @value. */
static gfloat
run_number (Stream *stream, gfloat value, guint index)
{
  g_autoptr (GstBuffer) output = stream_run (stream, number (value, index));

  return get_number (output);
}

static gfloat
pull_number (Stream *stream)
{
  g_autoptr (GstBuffer) output = gst_harness_pull (stream->harness);

  return get_number (output);
}

static void
push_segment (Stream *stream)
{
  GstSegment segment;

  gst_segment_init (&segment, GST_FORMAT_TIME);
  g_assert_true (gst_harness_push_event (stream->harness, gst_event_new_segment (&segment)));
}

static void
test_states (void)
{
  g_autoptr (Stream) stream = stream_new ("weight", "[2]", NULL);

  for (guint i = 0; i < 3; i++) {
    g_assert_cmpint (gst_element_set_state (stream->element, GST_STATE_PAUSED), !=,
                     GST_STATE_CHANGE_FAILURE);
    g_assert_cmpint (gst_element_set_state (stream->element, GST_STATE_READY), ==,
                     GST_STATE_CHANGE_SUCCESS);
    g_assert_cmpint (gst_element_set_state (stream->element, GST_STATE_PLAYING), !=,
                     GST_STATE_CHANGE_FAILURE);
    g_assert_cmpint (gst_element_set_state (stream->element, GST_STATE_NULL), ==,
                     GST_STATE_CHANGE_SUCCESS);
  }
  stream_assert_quiet (stream);
}

/* Through READY and back data flows again, with what was set in READY. */
static void
test_restart (void)
{
  g_autoptr (Stream) stream = stream_new ("weight", "[2]", NULL);

  g_assert_true (stream_play (stream, CAPS, NULL));
  g_assert_cmpfloat (run_number (stream, 3, 0), ==, 6);
  gst_element_set_state (stream->element, GST_STATE_READY);
  g_object_set (stream->element, "input-offset", 1.0, "weight", "[3]", NULL);
  gst_util_set_object_arg (G_OBJECT (stream->element), "activation", "relu");
  gst_element_set_state (stream->element, GST_STATE_PLAYING);
  gst_harness_push_event (stream->harness, gst_event_new_stream_start ("again"));
  g_assert_true (stream_push_caps (stream, CAPS));
  push_segment (stream);
  g_assert_cmpfloat (run_number (stream, 3, 1), ==, 12);
  g_assert_cmpfloat (run_number (stream, -3, 2), ==, 0);
}

static void
test_timestamps_and_flags (void)
{
  g_autoptr (Stream) stream = stream_new ("weight", "[2]", NULL);
  GstBuffer *input = number (1, 5);
  g_autoptr (GstBuffer) output = NULL;

  GST_BUFFER_DTS (input) = 123;
  GST_BUFFER_OFFSET_END (input) = 6;
  GST_BUFFER_FLAG_SET (input, GST_BUFFER_FLAG_DELTA_UNIT | GST_BUFFER_FLAG_MARKER |
                                  GST_BUFFER_FLAG_CORRUPTED | GST_BUFFER_FLAG_DISCONT);
  g_assert_true (stream_play (stream, CAPS, NULL));
  output = stream_run (stream, input);
  g_assert_cmpuint (GST_BUFFER_PTS (output), ==, 5 * FRAME);
  g_assert_cmpuint (GST_BUFFER_DTS (output), ==, 123);
  g_assert_cmpuint (GST_BUFFER_DURATION (output), ==, FRAME);
  g_assert_cmpuint (GST_BUFFER_OFFSET (output), ==, 5);
  g_assert_cmpuint (GST_BUFFER_OFFSET_END (output), ==, 6);
  g_assert_true (GST_BUFFER_FLAG_IS_SET (output, GST_BUFFER_FLAG_DELTA_UNIT));
  g_assert_true (GST_BUFFER_FLAG_IS_SET (output, GST_BUFFER_FLAG_MARKER));
  g_assert_true (GST_BUFFER_FLAG_IS_SET (output, GST_BUFFER_FLAG_CORRUPTED));
  g_assert_true (GST_BUFFER_FLAG_IS_SET (output, GST_BUFFER_FLAG_DISCONT));
}

static void
test_previous_output (void)
{
  g_autoptr (Stream) stream = stream_new ("weight", "[1]", "beta", 0.5, NULL);
  GstBuffer *discont;

  g_assert_true (stream_play (stream, CAPS, NULL));
  g_assert_cmpfloat (run_number (stream, 4, 0), ==, 4);
  g_assert_cmpfloat (run_number (stream, 4, 1), ==, 6);
  g_assert_cmpfloat (run_number (stream, 4, 2), ==, 7);
  /* A discontinuity. */
  discont = number (4, 3);
  GST_BUFFER_FLAG_SET (discont, GST_BUFFER_FLAG_DISCONT);
  g_assert_cmpint (gst_harness_push (stream->harness, discont), ==, GST_FLOW_OK);
  g_assert_cmpfloat (pull_number (stream), ==, 4);
  g_assert_cmpfloat (run_number (stream, 4, 4), ==, 6);
  /* A flush. */
  gst_harness_push_event (stream->harness, gst_event_new_flush_start ());
  gst_harness_push_event (stream->harness, gst_event_new_flush_stop (TRUE));
  push_segment (stream);
  g_assert_cmpfloat (run_number (stream, 4, 5), ==, 4);
  g_assert_cmpfloat (run_number (stream, 4, 6), ==, 6);
  /* New caps, of the same shape. */
  g_assert_true (
      stream_push_caps (stream, "other/tensors,format=static,num_tensors=1,dimensions=(string)1:1,"
                                "types=(string)float32,framerate=20/1"));
  g_assert_cmpfloat (run_number (stream, 4, 7), ==, 4);
}

static void
test_renegotiation (void)
{
  g_autoptr (Stream) stream = stream_new ("weight", "[[1,2],[3,4]]", NULL);
  const gfloat rows[6] = {1, 0, 0, 1, 1, 1};
  const gdouble one[] = {1, 2}, three[] = {1, 2, 3, 4, 4, 6};
  g_autoptr (GstBuffer) first = NULL, second = NULL;
  g_autoptr (GstCaps) caps = NULL;

  g_assert_true (stream_play (stream,
                              "other/tensors,format=static,num_tensors=1,dimensions=(string)2:1,"
                              "types=(string)float32,framerate=0/1",
                              NULL));
  first = stream_run (stream, buffer_new (rows, 8));
  assert_floats (first, one, 2, 0);
  g_assert_true (
      stream_push_caps (stream, "other/tensors,format=static,num_tensors=1,dimensions=(string)2:3,"
                                "types=(string)float32,framerate=0/1"));
  second = stream_run (stream, buffer_new (rows, 24));
  assert_floats (second, three, 6, 0);
  caps = stream_get_output_caps (stream);
  assert_caps (caps, "other/tensors,dimensions=(string)2:3");
}

/* alpha rises from 0 to 2 over ten frames, in stream time. */
static void
test_alpha_ramp (void)
{
  g_autoptr (Stream) stream = stream_new ("weight", "[1]", NULL);
  g_autoptr (GstControlSource) source = gst_interpolation_control_source_new ();
  GstTimedValueControlSource *timed = GST_TIMED_VALUE_CONTROL_SOURCE (source);

  g_object_set (source, "mode", GST_INTERPOLATION_MODE_LINEAR, NULL);
  g_assert_true (gst_object_add_control_binding (
      GST_OBJECT (stream->element),
      gst_direct_control_binding_new_absolute (GST_OBJECT (stream->element), "alpha", source)));
  g_assert_true (gst_timed_value_control_source_set (timed, 0, 0.0));
  g_assert_true (gst_timed_value_control_source_set (timed, 10 * FRAME, 2.0));
  g_assert_true (stream_play (stream, CAPS, NULL));
  for (guint i = 0; i <= 12; i++) {
    gdouble alpha = MIN (i * 0.2, 2.0);

    g_assert_cmpfloat_with_epsilon (run_number (stream, 100, i), 100 * alpha, 1e-3);
  }
}

static void
test_addend_and_bias (void)
{
  g_autoptr (Stream) stream = stream_new ("weight", "[2]", "addend", "[10]", "beta", 0.5, "bias",
                                          "[100]", "alpha", 3.0, NULL);

  g_assert_true (stream_play (stream, CAPS, NULL));
  g_assert_cmpfloat (run_number (stream, 1, 0), ==, 111);
  g_assert_cmpfloat (run_number (stream, 1, 1), ==, 111);
  g_object_set (stream->element, "beta", 1.0, "alpha", 0.0, NULL);
  g_assert_cmpfloat (run_number (stream, 1, 2), ==, 110);
}

static void
test_eos (void)
{
  g_autoptr (Stream) stream = stream_new ("weight", "[2]", NULL);
  g_autoptr (GstEvent) event = NULL;

  g_assert_true (stream_play (stream, CAPS, NULL));
  run_number (stream, 1, 0);
  g_assert_true (gst_harness_push_event (stream->harness, gst_event_new_eos ()));
  do {
    gst_clear_event (&event);
    event = gst_harness_try_pull_event (stream->harness);
    g_assert_nonnull (event);
  } while (GST_EVENT_TYPE (event) != GST_EVENT_EOS);
}

static void
test_batch (void)
{
  g_autoptr (Stream) stream = stream_new ("weight", "[2]", "batch-size", 3, "queue-depth", 1, NULL);
  GstBuffer *discont;

  g_assert_true (stream_play (stream, CAPS, NULL));
  for (guint i = 0; i < 2; i++)
    g_assert_cmpint (gst_harness_push (stream->harness, number (i, i)), ==, GST_FLOW_OK);
  g_assert_cmpuint (gst_harness_buffers_received (stream->harness), ==, 0);
  gst_harness_push (stream->harness, number (2, 2));
  g_assert_cmpuint (gst_harness_buffers_received (stream->harness), ==, 3);
  for (guint i = 0; i < 3; i++) {
    g_autoptr (GstBuffer) output = gst_harness_pull (stream->harness);

    g_assert_cmpfloat (get_number (output), ==, 2.0f * i);
    g_assert_cmpuint (GST_BUFFER_PTS (output), ==, i * FRAME);
  }
  /* What was collected goes out before a discontinuity, another alpha, and EOS. */
  gst_harness_push (stream->harness, number (7, 3));
  discont = number (8, 4);
  GST_BUFFER_FLAG_SET (discont, GST_BUFFER_FLAG_DISCONT);
  gst_harness_push (stream->harness, discont);
  g_assert_cmpfloat (pull_number (stream), ==, 14);
  g_assert_cmpuint (gst_harness_buffers_in_queue (stream->harness), ==, 0);
  g_object_set (stream->element, "alpha", 10.0, NULL);
  gst_harness_push (stream->harness, number (9, 5));
  g_assert_cmpfloat (pull_number (stream), ==, 16);
  gst_harness_push_event (stream->harness, gst_event_new_eos ());
  g_assert_cmpfloat (pull_number (stream), ==, 180);
  stream_assert_quiet (stream);
}

static void
test_batch_flush (void)
{
  g_autoptr (Stream) stream = stream_new ("weight", "[2]", "batch-size", 2, NULL);

  g_assert_true (stream_play (stream, CAPS, NULL));
  gst_harness_push (stream->harness, number (1, 0));
  gst_harness_push_event (stream->harness, gst_event_new_flush_start ());
  gst_harness_push_event (stream->harness, gst_event_new_flush_stop (TRUE));
  push_segment (stream);
  gst_harness_push (stream->harness, number (5, 0));
  gst_harness_push (stream->harness, number (6, 1));
  g_assert_cmpfloat (pull_number (stream), ==, 10);
  g_assert_cmpfloat (pull_number (stream), ==, 12);
}

static void
test_batch_latency (void)
{
  for (guint n = 1; n <= 4; n += 3) {
    g_autoptr (Stream) stream =
        stream_new ("weight", "[2]", "batch-size", n, "queue-depth", 1, NULL);

    g_assert_true (stream_play (stream, CAPS, NULL));
    gst_harness_set_upstream_latency (stream->harness, 5);
    g_assert_cmpuint (gst_harness_query_latency (stream->harness), ==, 5 + (n - 1) * FRAME);
  }
}

static void
test_batch_needs_no_previous_output (void)
{
  g_autoptr (Stream) stream = stream_new ("weight", "[2]", "batch-size", 2, "beta", 0.5, NULL);
  g_autoptr (Stream) with_addend =
      stream_new ("weight", "[2]", "batch-size", 2, "beta", 0.5, "addend", "[4]", NULL);

  g_assert_true (stream_play (stream, CAPS, NULL));
  gst_harness_push (stream->harness, number (1, 0));
  g_assert_cmpint (gst_harness_push (stream->harness, number (1, 1)), ==, GST_FLOW_ERROR);
  stream_assert_error (stream, GST_LIBRARY_ERROR, "beta is 0.5", "batch-size is 2", "addend", NULL);
  g_assert_true (stream_play (with_addend, CAPS, NULL));
  gst_harness_push (with_addend->harness, number (1, 0));
  gst_harness_push (with_addend->harness, number (2, 1));
  g_assert_cmpfloat (pull_number (with_addend), ==, 4);
  g_assert_cmpfloat (pull_number (with_addend), ==, 6);
}

static void
test_several_tensors (void)
{
  const gint16 rows[2][3] = {{1, 2, 3}, {-4, 5, -6}};
  const gdouble expected[] = {6, 1, -5, -4};
  g_autoptr (Stream) stream = stream_new ("weight", "[[1,1],[1,0],[1,0]]", "tensor-index", 1, NULL);
  GstBuffer *input = gst_buffer_new ();
  g_autoptr (GstMemory) other = gst_allocator_alloc (NULL, 7, NULL);
  g_autoptr (GstBuffer) output = NULL, result = NULL;
  g_autoptr (GstCaps) caps = NULL;

  gst_buffer_append_memory (input, gst_memory_ref (other));
  gst_buffer_append (input, buffer_new (rows, sizeof rows));
  g_assert_true (stream_play (stream,
                              "other/tensors,format=static,num_tensors=2,"
                              "dimensions=(string)\"7,3:2\",types=(string)\"uint8,int16\","
                              "framerate=0/1",
                              NULL));
  output = stream_run (stream, input);
  g_assert_cmpuint (gst_buffer_n_memory (output), ==, 2);
  g_assert_true (gst_buffer_peek_memory (output, 0) == other);
  result = gst_buffer_new ();
  gst_buffer_append_memory (result, gst_buffer_get_memory (output, 1));
  assert_floats (result, expected, 4, 0);
  caps = stream_get_output_caps (stream);
  assert_caps (caps, "other/tensors,num_tensors=2,dimensions=(string)\"7,2:2\","
                     "types=(string)\"uint8,float32\"");
}

static void
test_wrong_tensors (void)
{
  g_autoptr (Stream) one = stream_new ("weight", "[2]", NULL);
  g_autoptr (Stream) two = stream_new ("weight", "[2]", NULL);
  GstFlowReturn flow;

  g_assert_true (stream_play (one, CAPS, NULL));
  flow = gst_harness_push (one->harness, buffer_new ("12345678", 8));
  g_assert_cmpint (flow, ==, GST_FLOW_ERROR);
  stream_assert_error (one, GST_RESOURCE_ERROR, "8 bytes", "expected 4", NULL);
  g_assert_true (stream_play (two,
                              "other/tensors,format=static,num_tensors=2,"
                              "dimensions=(string)\"1,1\",types=(string)\"int8,int8\","
                              "framerate=0/1",
                              NULL));
  flow = gst_harness_push (two->harness, buffer_new ("12", 2));
  g_assert_cmpint (flow, ==, GST_FLOW_ERROR);
  stream_assert_error (two, GST_RESOURCE_ERROR, "1 memories", "2 tensors", NULL);
}

static void
test_stats (void)
{
  g_autoptr (Stream) stream = stream_new ("weight", "[2]", "kernel", "gemm_naive", NULL);
  g_autoptr (GstStructure) stats = NULL;
  guint64 buffers, bytes, kernel_time;

  g_assert_true (stream_play (stream, CAPS, NULL));
  for (guint i = 0; i < 3; i++)
    run_number (stream, 1, i);
  g_object_get (stream->element, "stats", &stats, NULL);
  g_assert_true (gst_structure_get (stats, "buffers", G_TYPE_UINT64, &buffers, "bytes",
                                    G_TYPE_UINT64, &bytes, "kernel-time", G_TYPE_UINT64,
                                    &kernel_time, NULL));
  g_assert_cmpuint (buffers, ==, 3);
  g_assert_cmpuint (bytes, ==, 3 * 8);
  g_assert_cmpuint (kernel_time, >, 0);
  g_assert_cmpstr (gst_structure_get_string (stats, "kernel"), ==, "gemm_naive");
  g_assert_cmpstr (gst_structure_get_string (stats, "kernel-source"), ==, "named");
  g_assert_cmpstr (gst_structure_get_string (stats, "memory"), ==, "system");
  g_assert_cmpstr (gst_structure_get_string (stats, "device"), !=, "");
}

/* Returns: (transfer full): the next message that reports the stats; NULL if there is none. */
static GstMessage *
pop_report (Stream *stream)
{
  GstMessage *message;

  while ((message = gst_bus_pop_filtered (stream->bus, GST_MESSAGE_ELEMENT))) {
    if (gst_message_has_name (message, "gemmcl-stats"))
      return message;
    gst_message_unref (message);
  }
  return NULL;
}

/* The stats are reported once at EOS, with all runs counted, and equal the property. */
static void
test_stats_at_eos (void)
{
  g_autoptr (Stream) stream = stream_new ("weight", "[2]", "batch-size", 3, NULL);
  g_autoptr (GstStructure) stats = NULL;
  g_autoptr (GstMessage) message = NULL;
  guint64 buffers;

  g_assert_true (stream_play (stream, CAPS, NULL));
  for (guint i = 0; i < 4; i++)
    g_assert_cmpint (gst_harness_push (stream->harness, number (i, i)), ==, GST_FLOW_OK);
  g_assert_null (pop_report (stream));
  g_assert_true (gst_harness_push_event (stream->harness, gst_event_new_eos ()));
  message = pop_report (stream);
  g_assert_nonnull (message);
  g_object_get (stream->element, "stats", &stats, NULL);
  g_assert_true (gst_structure_is_equal (gst_message_get_structure (message), stats));
  g_assert_true (gst_structure_get_uint64 (stats, "buffers", &buffers));
  g_assert_cmpuint (buffers, ==, 4);
  gst_element_set_state (stream->element, GST_STATE_READY);
  g_assert_null (pop_report (stream));
}

/* A stream that ends without EOS reports its stats on the way to READY; the next one begins anew.
 */
static void
test_stats_at_ready (void)
{
  g_autoptr (Stream) stream = stream_new ("weight", "[2]", "kernel", "gemm_naive", NULL);
  const GstStructure *stats;
  guint64 buffers, bytes;

  for (guint i = 0; i < 2; i++) {
    g_autoptr (GstMessage) message = NULL;

    if (i == 0) {
      g_assert_true (stream_play (stream, CAPS, NULL));
    } else {
      gst_element_set_state (stream->element, GST_STATE_PLAYING);
      gst_harness_push_event (stream->harness, gst_event_new_stream_start ("again"));
      g_assert_true (stream_push_caps (stream, CAPS));
      push_segment (stream);
    }
    run_number (stream, 1, 0);
    gst_element_set_state (stream->element, GST_STATE_READY);
    message = pop_report (stream);
    g_assert_nonnull (message);
    stats = gst_message_get_structure (message);
    g_assert_true (gst_structure_get (stats, "buffers", G_TYPE_UINT64, &buffers, "bytes",
                                      G_TYPE_UINT64, &bytes, NULL));
    g_assert_cmpuint (buffers, ==, 1);
    g_assert_cmpuint (bytes, ==, 8);
    g_assert_cmpstr (gst_structure_get_string (stats, "kernel"), ==, "gemm_naive");
  }
  gst_element_set_state (stream->element, GST_STATE_PLAYING);
  gst_element_set_state (stream->element, GST_STATE_NULL);
  g_assert_null (pop_report (stream));
}

/* A problem that is unlike those of other tests, which share the file of tuning. */
#define TUNED_M 5
#define TUNED_N 37
#define TUNED_K 29
#define TUNED_CAPS                                                                                 \
  "other/tensors,format=static,num_tensors=1,dimensions=(string)29:5,types=(string)float32,"       \
  "framerate=0/1"

/* Where the element's choice comes from, and of which kernel. */
static void
assert_choice (GemmclChoiceSource source, const gchar *kernel)
{
  gdouble b[TUNED_K * TUNED_N];
  g_autofree gchar *weight = NULL;
  g_autoptr (Stream) stream = NULL;
  g_autoptr (GstStructure) stats = NULL;

  fill_values (b, G_N_ELEMENTS (b), 1);
  weight = literal (b, TUNED_K, TUNED_N);
  stream = stream_new ("weight", weight, NULL);
  g_assert_true (stream_play (stream, TUNED_CAPS, NULL));
  g_object_get (stream->element, "stats", &stats, NULL);
  g_assert_cmpstr (gst_structure_get_string (stats, "kernel-source"), ==,
                   gemmcl_choice_source_get_name (source));
  g_assert_cmpstr (gst_structure_get_string (stats, "kernel"), ==, kernel);
}

/* What was tuned on this machine comes before what the library chooses by itself: by its rules, or
 * what it brings for such a device. */
static void
test_choice (void)
{
  g_autoptr (GemmclContext) context = gemmcl_context_new (NULL, NULL);
  GemmclGemm gemm = GEMMCL_GEMM_INIT;
  g_autoptr (GemmclPlan) plan = NULL;
  g_autoptr (GError) error = NULL;
  g_auto (GStrv) names = NULL;
  GemmclChoiceSource untuned;

  gemm.m = TUNED_M;
  gemm.n = TUNED_N;
  gemm.k = TUNED_K;
  g_assert_true (gemmcl_tuning_forget (context, &error));
  plan = gemmcl_plan_new (context, &gemm, NULL, &error);
  g_assert_no_error (error);
  untuned = gemmcl_plan_get_choice_source (plan);
  g_assert_cmpint (untuned, >=, GEMMCL_CHOICE_SHIPPED);
  assert_choice (untuned, gemmcl_plan_get_kernel (plan));
  names = gemmcl_tuning_list_candidates (context, &gemm);
  g_assert_cmpuint (g_strv_length (names), >, 1);
  g_assert_true (gemmcl_tuning_store (context, &gemm, names[1], 1.0, &error));
  assert_choice (GEMMCL_CHOICE_TUNED, names[1]);
  g_assert_true (gemmcl_tuning_forget (context, &error));
  assert_choice (untuned, gemmcl_plan_get_kernel (plan));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  gst_init (&argc, &argv);
  stream_add_test ("/flow/states", test_states);
  stream_add_test ("/flow/restart", test_restart);
  stream_add_test ("/flow/timestamps-and-flags", test_timestamps_and_flags);
  stream_add_test ("/flow/previous-output", test_previous_output);
  stream_add_test ("/flow/renegotiation", test_renegotiation);
  stream_add_test ("/flow/alpha-ramp", test_alpha_ramp);
  stream_add_test ("/flow/addend-and-bias", test_addend_and_bias);
  stream_add_test ("/flow/eos", test_eos);
  stream_add_test ("/flow/batch", test_batch);
  stream_add_test ("/flow/batch-flush", test_batch_flush);
  stream_add_test ("/flow/batch-latency", test_batch_latency);
  stream_add_test ("/flow/batch-needs-no-previous-output", test_batch_needs_no_previous_output);
  stream_add_test ("/flow/several-tensors", test_several_tensors);
  stream_add_test ("/flow/wrong-tensors", test_wrong_tensors);
  stream_add_test ("/flow/stats", test_stats);
  stream_add_test ("/flow/stats-at-eos", test_stats_at_eos);
  stream_add_test ("/flow/stats-at-ready", test_stats_at_ready);
  stream_add_test ("/flow/choice", test_choice);
  return g_test_run ();
}
