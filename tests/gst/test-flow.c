/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include <gst/audio/audio.h>

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

    /* Integers are rounded, halves to even, and saturated. */
    {"/audio/rounding", "gemmcl weight=[.5]", AUDIO ("S16LE", "1"), NULL,
     "1 3 5 -1 -3 32767 -32768 0; > 0 2 2 0 -2 16384 -16384 0"},
    {"/audio/saturation", "gemmcl weight=[1e6]", AUDIO ("S16LE", "1"), NULL,
     "1 3 -1 32767 -32768 0; > 32767 32767 -32768 32767 -32768 0"},
    /* Buffers of any length, also longer than the first guess. */
    {"/audio/any-length", "gemmcl weight=[[.5],[.25]]", AUDIO ("F32LE", "2"), NULL,
     "10*2; > 5*1.5; 2048*4; > 1024*3; 2050*2; > 1025*1.5; 6*4; > 3*3; 10000*2; > 5000*1.5; 2 4; "
     "> 2"},
    /* The result of a convolution is the input of the next one. */
    {"/video/convolutions",
     "gemmcl feature-mode=patch patch-width=2 patch-height=2 weight=[[1,2],[1,2],[1,2],[1,2]] ! "
     "gemmcl feature-mode=patch patch-width=2 patch-height=1 weight=[[1],[0],[10],[100]]",
     VIDEO ("GRAY8", "width=4,height=2"), NULL, "1 2 3 4 5 6 7 8; > 4634"},

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
    {"/rows/second-tensors-in-batch", "gemmcl weight=[[1,1],[1,0]] tensor-index=1 batch-size=2",
     TENSORS ("2", "2:1,2:1", "float32,float32", "10/1"), NULL,
     "7 8 1 2; 0 9 -4 5; > 7 8 3 1; > 0 9 1 -4"},
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

/* A buffer whose samples change while it waits in a batch is refused. */
static void
test_changed_samples (void)
{
  g_autoptr (Stream) stream = stream_start (MONO, "gemmcl weight=[2] batch-size=2");
  g_autoptr (GstBuffer) first = NULL;
  GstBuffer *second = gst_buffer_new_memdup ("12345678", 8);
  GstAudioInfo info;

  gst_audio_info_set_format (&info, GST_AUDIO_FORMAT_F32, 8000, 1, NULL);
  gst_buffer_add_audio_meta (second, &info, 1, NULL);
  first = gst_buffer_copy (second);
  stream_push (stream, gst_buffer_ref (first));
  gst_buffer_get_audio_meta (first)->samples = 2;
  g_assert_cmpstr (gst_flow_get_name (gst_harness_push (stream->harness, second)), ==, "error");
  stream_assert_message (stream, GST_MESSAGE_ERROR, "has 2 samples|had 1|no element writes");
}

int
main (int argc, char **argv)
{
  stream_test_init (&argc, &argv);
  script_add_tests (scripts, G_N_ELEMENTS (scripts));
  stream_add_test ("/flow/position", test_position);
  stream_add_test ("/batch/lengths", test_batch_of_lengths);
  stream_add_test ("/batch/changed-samples", test_changed_samples);
  return g_test_run ();
}
