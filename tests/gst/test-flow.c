/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include <gemmcl.h>
#include <gst/base/gstbasetransform.h>

#include "log.h"
#include "script.h"

/* The flow of data, events, states and new operands, with numbers whose results are easily told.
 * script.h says what each step means. */

#define ONE    TENSOR ("1:1")
#define FASTER TENSORS ("1", "1:1", "float32", "20/1")
#define PAIR   TENSOR ("2:1")
#define MONO   AUDIO ("F32LE", "1")
#define GRAY   VIDEO ("GRAY8", "width=2,height=2")

/* A row for each number x: x, 2 x and 3 - x; then its sum, its maximum and where that is. */
#define ROWS "gemmcl weight=[[1,2,-1]] bias=[0,0,3] row-outputs=sum+max+arg-max "

static const Script scripts[] = {
    {"/flow/states", "gemmcl weight=[2]", ONE, NULL, "ready; play; ready; play; 1; > 2"},
    {"/flow/restart", "gemmcl weight=[2]", ONE, NULL,
     "3; > 6; ready; input-offset=1; weight=[3]; activation=relu; play; 3; > 12; -3; > 0"},
    {"/flow/eos", "gemmcl weight=[2]", ONE, NULL, "1; > 2; eos; > E"},
    {"/flow/new-caps", "gemmcl weight=[[1,2],[3,4]]", PAIR, NULL,
     "1 0; > 1 2; caps " TENSOR ("2:3") "; 1 0 0 1 1 1; > 1 2 3 4 4 6"},
    {"/flow/addend-and-bias", "gemmcl weight=[2] addend=[10] beta=.5 bias=[100] alpha=3", ONE, NULL,
     "1; > 111; 1; > 111; beta=1; alpha=0; 1; > 110"},
    /* Until beta is set, an addend is added and a previous output is not. */
    {"/flow/addend-alone", "gemmcl weight=[2] addend=[10]", ONE, NULL,
     "1; > 12; addend=; 1; > 2; 1; > 2; addend=[5]; 1; > 7; beta=.5; 1; > 4.5; "
     "addend=; 1; > 2; 1; > 3"},
    {"/flow/never-waits", "gemmcl weight=[2] queue-depth=4", ONE, NULL,
     "1; > 2; 2; > 4; 3; > 6; 4; 5; 6; > 8; > 10; > 12; 7; > 14"},
    {"/flow/events-follow", "gemmcl weight=[2] queue-depth=4", ONE, NULL,
     "1; 2; 3; gap; > 2; > 4; > 6; > e; 1; 2; mark; > 2; > 4; > e; 1; 2; eos; > 2; > 4; > E"},
    {"/flow/wrong-buffer", "gemmcl weight=[2] queue-depth=4", ONE, NULL,
     "1; 2; fail 8|bytes 1 2; > 2; > 4"},

    {"/previous/resets", "gemmcl weight=[1] beta=.5", ONE, NULL,
     "4; > 4; 4; > 6; 4; > 7; D 4; > D 4; 4; > 6; flush; 4; > 4; 4; > 6; caps " FASTER "; 4; > 4"},
    {"/previous/other-length", "gemmcl weight=[1] beta=.5", AUDIO ("F64LE", "1"), NULL,
     "1 2 3 4; > 1 2 3 4; 1 2 3 4; > 1.5 3 4.5 6; 1 1 1; > 1 1 1; 1 2 3 4; > 1 2 3 4"},
    {"/previous/other-n", "gemmcl weight=[1]", ONE, NULL,
     "5; > 5; weight=[[1,1]]; beta=1; 7; > 7 7; 7; > 14 14; 7; > 21 21"},
    {"/previous/other-bias", "gemmcl weight=[1] beta=1", MONO, NULL,
     "40*1; > 40*1; 80*1; > 80*1; 80*1; > 80*2; bias=[10]; 80*1; > 80*13; bias=; 80*1; > 80*14; "
     "weight=[2]; 80*1; > 80*16"},
    /* The first buffer is longer than what a plan of audio has room for at first. */
    {"/previous/other-bias-and-plan", "gemmcl weight=[1] beta=1", MONO, NULL,
     "3000*1; > 3000*1; 80*1; > 80*1; 80*1; > 80*2; bias=[10]; 80*1; > 80*13"},

    {"/change/same-shape", "gemmcl weight=[[1],[2]] bias=[0]", PAIR, NULL,
     "1 1; > 3; weight=[[10],[20]]; 1 1; > 30; bias=[5]; 1 1; > 35; bias=; 1 1; > 30; addend=[7]; "
     "beta=1; 1 1; > 37; addend=[8]; 1 1; > 38"},
    /* 2 x + 1 and 3 x - 1: the offsets are a part of the bias, so it changes with the weight. */
    {"/change/lists", "gemmcl weight=[[1],[2]] input-scale=<2,3> input-offset=<1,-1>", PAIR, NULL,
     "1 1; > 7; weight=[[10],[20]]; 1 1; > 70; bias=[5]; 1 0; > 15; weight=[[1],[3]]; 1 1; > 14; "
     "bias=; 1 1; > 9; weight=[[1,0],[0,1]]; 1 1; > 3 2; alpha=2; "
     "fail alpha|is|2,|but|with|a|list 1 1"},
    {"/change/values", "gemmcl weight-matrix=<<1,2>,<3,4>> bias-vector=<0.5,0>", PAIR, NULL,
     "1 1; > 4.5 6; bias-vector=<>; weight-matrix=<<10>,<20>>; bias-vector=<1>; 1 1; > 31; "
     "weight=[[1],[1]]; 1 1; > 3; bias-vector=<>; 1 1; > 2; ready; weight-matrix=<<7>,<8>>; play; "
     "1 1; > 15"},
    {"/types/downstream", "gemmcl weight=[[2],[3]]", PAIR, "other/tensors,types=(string)uint8",
     "1 1; > 5; 100 -10; > 170; 100 100; > 255; -1 0; > 0"},
    {"/types/scaled", "gemmcl weight=[[2],[3]] output-type=u8 output-scale=.5 output-offset=-1",
     PAIR, NULL, "1 1; > 12; -1 0; > 0"},
    {"/types/auto-scaled", "gemmcl weight=[[2],[3]] output-scale=2", PAIR,
     "other/tensors,types=(string){float32,uint8}", "1 2; > 4"},
    {"/change/other-n", "gemmcl weight=[[1],[2]]", PAIR, NULL,
     "1 1; > 3; weight=[[1,2,3],[4,5,6]]; bias=[1,1,1]; 1 1; > 6 8 10"},
    {"/change/refused", "gemmcl weight=[[1],[2]] bias=[1]", PAIR, NULL,
     "refuse /nonexistent.npy weight=/nonexistent.npy; 1 1; > 4; "
     "refuse weight=[[1],[2] weight=[[1],[2]; refuse K|=|3 weight=[[1],[2],[3]]; "
     "refuse bias|is|1|x|1 weight=[[1,2],[3,4]]; refuse The|weight|cannot|be|removed weight=; "
     "refuse 1|x|2 bias=[1,2]; refuse 1|x|2 addend=[1,2]; 1 1; > 4"},
    {"/change/downstream-refuses", "gemmcl weight=[[1],[3]]", PAIR,
     "other/tensors,dimensions=(string)1:1",
     "1 1; > 4; refuse N|=|2 weight=[[1,2],[3,4]]; 1 1; > 4"},
    {"/change/in-ready", "gemmcl weight=[[1],[3]]", PAIR, NULL,
     "ready; refuse /nonexistent.npy weight=/nonexistent.npy; weight=[[2],[3]]; play; 1 1; > 5"},

    {"/batch/ends", "gemmcl weight=[2] batch-size=3 batch-timeout=0", ONE, NULL,
     "0; 1; -; 2; > 0; > 2; > 4; 7; -; D 8; > 14; -; alpha=10; 9; > D 16; -; eos; > 180; > E"},
    {"/batch/flush", "gemmcl weight=[2] batch-size=2 batch-timeout=0", ONE, NULL,
     "1; flush; 5; 6; > 10; > 12"},
    {"/batch/no-previous-output", "gemmcl weight=[2] batch-size=2 beta=.5 batch-timeout=0", ONE,
     NULL, "fail beta|is|0.5,|batch-size|is|2 1"},
    {"/batch/addend", "gemmcl weight=[2] batch-size=2 beta=.5 addend=[4]", ONE, NULL,
     "1; 2; > 4; > 6"},
    {"/batch/addend-alone", "gemmcl weight=[2] batch-size=2 batch-timeout=0 addend=[4]", ONE, NULL,
     "1; 2; > 6; > 8; 1; -; addend=[5]; 1; > 6; 1; > 7; > 7; 1; beta=1; 1; > 7; > 7"},
    {"/batch/other-n", "gemmcl weight=[2] batch-size=4 batch-timeout=0", ONE, NULL,
     "1; 1; weight=[[3,3]]; -; 1; > 2; > 2; 1; 1; -; 1; > 3 3; > 3 3; > 3 3; > 3 3"},
    /* Events keep their places, and a batch fills in spite of them. */
    {"/batch/events", "gemmcl weight=[2] batch-size=3 batch-timeout=0", ONE, NULL,
     "mark; > e; 1; mark; tag; 2; gap; -; 3; > 2; > e; > e; > 4; > e; > 6; mark; > e; 4; mark; -; "
     "eos; > 8; > e; > E"},
    /* With 0, or where neither caps nor buffers say how long one is, nothing else ends a batch. */
    {"/batch/no-timeout", "gemmcl weight=[2] batch-size=3 batch-timeout=0", ONE, NULL,
     "1; 2; wait 300; -; 3; > 2; > 4; > 6"},
    {"/batch/timeout", "gemmcl weight=[2] batch-size=4 batch-timeout=50000000", ONE, NULL,
     "1; mark; 2; mark; > 2; > e; > 4; > e; 3; > 6"},
    /* A DISCONT that ends a batch is that of its own buffer, which the timeout sends. */
    {"/batch/timeout-and-discont", "gemmcl weight=[2] batch-size=4 batch-timeout=50000000", ONE,
     NULL, "1; D 2; > 2; > D 4; 3; > 6"},

    {"/rows/tensors", ROWS, ONE, NULL, "0; > 0 0 3 3 3 2; 1; > 1 2 2 5 2 1; -3; > -3 -6 6 -3 6 2"},
    {"/rows/opencl-memory", ROWS "queue-depth=3", ONE, "other/tensors(memory:OpenCL)",
     "0; 1; -3; > 0 0 3 3 3 2; > 1 2 2 5 2 1; > -3 -6 6 -3 6 2"},
    {"/rows/batch", ROWS "batch-size=2", TENSOR ("1:2"), NULL,
     "1 2; 3 -4; > 1 2 2 2 4 1 5 2 1 7 4 1; > 3 6 0 -4 -8 7 9 6 1 -5 7 2"},
    /* Tensors that pass are around D, and the row outputs behind them all. */
    {"/rows/second-tensor", "gemmcl weight=[[1,1],[1,0]] tensor-index=1 row-outputs=max",
     TENSORS ("2", "2:1,2:1", "float32,float32", "0/1"), NULL,
     "7 8 1 2; > 7 8 3 1 3; 0 9 -4 5; > 0 9 1 -4 1"},
    {"/rows/first-tensor", "gemmcl weight=[[1,1],[1,0]] row-outputs=sum+top-k top-k=2",
     TENSORS ("2", "2:1,2:1", "float32,float32", "0/1"), NULL, "1 2 7 8; > 3 1 7 8 4 3 1 0 1"},
    /* Frames of one channel would leave as such; with row outputs they are tensors. */
    {"/rows/frames", "gemmcl weight=[1] feature-mode=pixel row-outputs=max+arg-max", GRAY, NULL,
     "1 2 7 9; > 1 2 7 9 1 0 2 0 7 0 9 0"},
    {"/rows/top-k", "gemmcl weight=[[1,2,-1]] bias=[0,0,3] row-outputs=arg-max+top-k top-k=2", ONE,
     NULL,
     "1; > 1 2 2 1 2 2 1 2; -3; > -3 -6 6 2 6 -3 2 0; bias=; "
     "refuse top-k|is|2 weight=[[1]]; weight=[[0,3,1,4]]; 1; > 0 3 1 4 3 4 3 3 1"},
};

static void
assert_beta (Stream *stream, gdouble expected)
{
  gdouble beta;

  g_object_get (stream->element, "beta", &beta, NULL);
  g_assert_cmpfloat (beta, ==, expected);
}

static void
test_beta (void)
{
  g_autoptr (Stream) alone = stream_new ("gemmcl weight=[2]");
  g_autoptr (Stream) idle = stream_start (ONE, "gemmcl beta=0 weight=[2] addend=[10]");

  assert_beta (alone, 0);
  g_object_set (alone->element, "addend", "[10]", NULL);
  assert_beta (alone, 1);
  g_object_set (alone->element, "addend", "", NULL);
  assert_beta (alone, 0);
  assert_beta (idle, 0);
  stream_assert_message (idle, GST_MESSAGE_WARNING, NULL, "beta is 0|addend is not added|beta=1");
}

/* A flow of downstream's is returned. */
static void
test_downstream_fails (void)
{
  g_autoptr (Stream) stream = stream_start (ONE, "gemmcl weight=[2] queue-depth=2");
  GstFlowReturn flow = GST_FLOW_OK;

  gst_pad_set_active (stream->harness->sinkpad, FALSE);
  for (guint i = 0; flow == GST_FLOW_OK && i < 1000; i++)
    flow = gst_harness_push (stream->harness, gst_buffer_new_memdup ("1234", 4));
  g_assert_cmpint (flow, ==, GST_FLOW_FLUSHING);
}

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
    g_assert_true (gst_pad_query_position (GST_BASE_TRANSFORM_SRC_PAD (stream->element),
                                           GST_FORMAT_TIME, &position));
    g_assert_cmpint (position, ==, i * GST_SECOND + GST_SECOND / 2);
  }
}

/* Matrices from code are shared; what does not fit is refused, and the old one stays. */
static void
test_values (void)
{
  static const gint8 bytes[2] = {3, 4};
  static const gfloat ones[2] = {1, 1};
  g_autoptr (GemmclMatrix) weight = gemmcl_matrix_new (GEMMCL_TYPE_I8, 2, 1, bytes, NULL);
  g_autoptr (GemmclMatrix) vector = gemmcl_matrix_new (GEMMCL_TYPE_I8, 1, 1, bytes, NULL);
  g_autoptr (Stream) stream = stream_new ("gemmcl");
  const GemmclMatrix *found;
  g_autofree gchar *text = NULL;
  GParamSpec *spec =
      g_object_class_find_property (G_OBJECT_GET_CLASS (stream->element), "weight-matrix");
  g_auto (GValue) rows = G_VALUE_INIT, expected = G_VALUE_INIT;

  g_object_set (stream->element, "weight-boxed", weight, "bias-boxed", vector, NULL);
  g_assert_true (stream_play (stream, PAIR, NULL));
  for (guint i = 0; i < 3; i++) {
    g_autoptr (GstBuffer) output = stream_run (stream, gst_buffer_new_memdup (ones, sizeof ones));

    assert_floats (output, (gdouble[]){10}, 1, 0);
    if (i == 0) {
      g_object_set (stream->element, "weight-boxed", vector, NULL);
      stream_assert_message (stream, GST_MESSAGE_WARNING, NULL, "K = 2|has K = 1");
    } else if (i == 1) {
      gst_util_set_object_arg (G_OBJECT (stream->element), "weight-matrix", "<<1>,<2,3>>");
      stream_assert_message (stream, GST_MESSAGE_WARNING, NULL,
                             "weight-matrix|old one stays|Row 1");
    }
  }
  g_object_get (stream->element, "weight-boxed", &found, "weight", &text, NULL);
  g_assert_true (found == weight);
  gemmcl_matrix_unref ((GemmclMatrix *)found);
  g_assert_null (text);
  g_value_init (&rows, GST_TYPE_ARRAY);
  g_object_get_property (G_OBJECT (stream->element), "weight-matrix", &rows);
  g_value_init (&expected, GST_TYPE_ARRAY);
  g_assert_true (gst_value_deserialize_with_pspec (&expected, "<<3>,<4>>", spec));
  g_assert_cmpint (gst_value_compare (&rows, &expected), ==, GST_VALUE_EQUAL);
}

static void
assert_stats (const GstStructure *stats, guint64 n)
{
  guint64 buffers, bytes, compile_time, kernel_time, run_time;

  g_assert_true (gst_structure_get (stats, "buffers", G_TYPE_UINT64, &buffers, "bytes",
                                    G_TYPE_UINT64, &bytes, "kernel-time", G_TYPE_UINT64,
                                    &kernel_time, "compile-time", G_TYPE_UINT64, &compile_time,
                                    "run-time-max", G_TYPE_UINT64, &run_time, NULL));
  g_assert_cmpuint (buffers, ==, n);
  g_assert_cmpuint (bytes, ==, n * 8);
  g_assert_cmpuint (kernel_time, >, 0);
  g_assert_cmpuint (compile_time, >, 0);
  g_assert_cmpuint (run_time, >, 0);
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

static void
push_numbers (Stream *stream, guint n)
{
  for (guint i = 0; i < n; i++)
    stream_push (stream, gst_buffer_new_memdup ("1234", 4));
}

/* The stats are reported once at EOS, with all runs counted, and equal the property. */
static void
test_stats_at_eos (void)
{
  g_autoptr (Stream) stream =
      stream_start (ONE, "gemmcl weight=[2] kernel=gemm_naive batch-size=3 batch-timeout=0");
  g_autoptr (GstStructure) stats = NULL;
  g_autoptr (GstMessage) message = NULL;

  push_numbers (stream, 4);
  g_assert_null (pop_report (stream));
  stream_push_event (stream, gst_event_new_eos ());
  message = pop_report (stream);
  g_assert_nonnull (message);
  stats = stream_get_stats (stream, "a");
  g_assert_true (gst_structure_is_equal (gst_message_get_structure (message), stats));
  assert_stats (stats, 4);
  stream_set_state (stream, GST_STATE_READY);
  g_assert_null (pop_report (stream));
}

/* A stream that ends without EOS reports its stats on the way to READY; the next one begins anew.
 */
static void
test_stats_at_ready (void)
{
  g_autoptr (Stream) stream = stream_start (ONE, "gemmcl weight=[2] kernel=gemm_naive");

  for (guint i = 0; i < 2; i++) {
    g_autoptr (GstMessage) message = NULL;

    if (i == 1) {
      stream_set_state (stream, GST_STATE_PLAYING);
      stream_begin (stream, ONE);
    }
    push_numbers (stream, 1);
    stream_set_state (stream, GST_STATE_READY);
    message = pop_report (stream);
    g_assert_nonnull (message);
    assert_stats (gst_message_get_structure (message), 1);
  }
  stream_set_state (stream, GST_STATE_PLAYING);
  stream_set_state (stream, GST_STATE_NULL);
  g_assert_null (pop_report (stream));
}

/* A problem that is unlike those of other tests, which share the file of tuning. */
#define TUNED_M 5
#define TUNED_N 37
#define TUNED_K 29

/* Asserts the source of the element's choice, and the kernel; both stand in the log, once a plan,
 * with the other @names. */
static void
assert_choice (GemmclChoiceSource source, const gchar *kernel, const GStrv names)
{
  static const gchar *const reasons[] = {"choice: named", "choice: tuned", "choice: shipped",
                                         "choice: rules"};
  g_autofree gchar *chosen = g_strdup_printf ("by %s, ", kernel);
  gdouble b[TUNED_K * TUNED_N];
  g_autofree gchar *weight = NULL;
  g_autoptr (Stream) stream = NULL;
  g_autoptr (GstStructure) stats = NULL;
  g_auto (GStrv) lines = NULL;

  fill_values (b, G_N_ELEMENTS (b), 1);
  weight = literal (b, TUNED_K, TUNED_N);
  log_begin ("gemmcl", GST_LEVEL_INFO);
  stream = stream_start (TENSOR ("29:5"), "gemmcl weight=%s kernel=%s", weight,
                         source == GEMMCL_CHOICE_NAMED ? kernel : "auto");
  for (guint i = 0; i < 2; i++) {
    GstBuffer *output = stream_run (stream, noise_bytes (TUNED_M * TUNED_K * sizeof (gfloat), i));

    gst_buffer_unref (output);
  }
  lines = log_end ();
  stats = stream_get_stats (stream, "a");
  g_assert_cmpstr (gst_structure_get_string (stats, "kernel-source"), ==,
                   gemmcl_choice_source_get_name (source));
  g_assert_cmpstr (gst_structure_get_string (stats, "kernel"), ==, kernel);
  g_assert_cmpuint (log_count (lines, chosen), ==, 1);
  for (guint i = 0; i < G_N_ELEMENTS (reasons); i++)
    g_assert_cmpuint (log_count (lines, reasons[i]), ==, i == source);
  g_assert_cmpuint (log_count (lines, "other candidates: "), ==, 1);
  for (guint i = 0; lines[i]; i++) {
    g_auto (GStrv) words = g_strsplit_set (lines[i], " ,", -1);

    if (!g_str_has_prefix (lines[i], "other candidates: "))
      continue;
    for (guint j = 0; names[j]; j++)
      g_assert_cmpint (g_strv_contains ((const gchar *const *)words, names[j]), ==,
                       !g_str_equal (names[j], kernel));
  }
}

/* A named kernel comes first, then one that was tuned on this machine, then the library's own
 * choice. */
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
  names = gemmcl_tuning_list_candidates (context, &gemm);
  g_assert_cmpuint (g_strv_length (names), >, 1);
  assert_choice (untuned, gemmcl_plan_get_kernel (plan), names);
  assert_choice (GEMMCL_CHOICE_NAMED, "gemm_naive", names);
  g_assert_true (gemmcl_tuning_store (context, &gemm, names[1], 1.0, &error));
  assert_choice (GEMMCL_CHOICE_TUNED, names[1], names);
  g_assert_true (gemmcl_tuning_forget (context, &error));
  assert_choice (untuned, gemmcl_plan_get_kernel (plan), names);
}

int
main (int argc, char **argv)
{
  stream_test_init (&argc, &argv);
  script_add_tests (scripts, G_N_ELEMENTS (scripts));
  stream_add_test ("/flow/beta", test_beta);
  stream_add_test ("/flow/downstream-fails", test_downstream_fails);
  stream_add_test ("/flow/choice", test_choice);
  stream_add_test ("/flow/position", test_position);
  stream_add_test ("/change/boxed", test_values);
  stream_add_test ("/stats/at-eos", test_stats_at_eos);
  stream_add_test ("/stats/at-ready", test_stats_at_ready);
  return g_test_run ();
}
