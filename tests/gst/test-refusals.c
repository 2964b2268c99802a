/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "stream.h"

/* Settings, caps and buffers that are refused leave no memory behind, which LeakSanitizer sees in
 * tools/test.sh --ci. errors.py, negotiation.py and flexible.py, where it is off because of Python,
 * have the words of more refusals. */

#define FRAME    VIDEO ("RGB", "width=6,height=4")
#define THREE    TENSOR ("3:2")
#define FLEXIBLE "other/tensors,format=flexible,num_tensors=1,framerate=10/1"
#define COLUMN   "weight=[[1],[2],[3]] "

/**
 * Refusal:
 * @settings: of gemmcl
 * @caps: caps that come in; %NULL: READY or PAUSED is not reached
 * @output: (nullable): what downstream takes
 * @size: bytes of a buffer that is refused; 0: the caps are
 * @words: of the error
 */
typedef struct {
  const gchar *name, *settings, *caps, *output;
  gsize size;
  const gchar *words;
} Refusal;

static const Refusal refusals[] = {
    {"k", "weight=[[1],[2]]", FRAME, NULL, 0, "K = 2|pixel: K = 3"},
    {"patch", COLUMN "feature-mode=patch", FRAME, NULL, 0, "needs patch-width"},
    {"dimensions", COLUMN, TENSOR ("3:zero"), NULL, 0, "3:zero|expected a number"},
    {"type", COLUMN, TENSORS ("1", "3", "bfloat16", "10/1"), NULL, 0, "contain \"bfloat16\""},
    {"flexible", COLUMN, FLEXIBLE, "other/tensors,dimensions=(string)2:1", 0, "in their buffers"},
    {"input-scale", COLUMN "input-scale=<1,x>", FRAME, NULL, 0, "input-scale=<1,x>"},
    {"input-offset", COLUMN "input-offset=<1,2>", FRAME, NULL, 0, "2 numbers"},
    {"literal", "weight=[[1],[x]]", NULL, NULL, 0, "weight=|x"},
    {"file", "weight=/none.npy", NULL, NULL, 0, "/none.npy|No such file"},
    {"device", "weight=[1] device=nothing", NULL, NULL, 0, "nothing"},
    {"n", "weight=[[1,2],[3,4],[5,6]]", FRAME, "video/x-raw", 0, "N = 2|downstream expects"},
    {"bias", COLUMN "bias=[1,2]", FRAME, NULL, 0, "bias is 1 x 2"},
    {"addend", COLUMN "addend=[[1,2],[3,4]]", FRAME, NULL, 0, "addend is 2 x 2"},
    {"buffer", COLUMN, THREE, NULL, 7, "7 bytes|expected 24"},
    {"frame", COLUMN, FRAME, NULL, 7, "7 bytes"},
    {"header", COLUMN, FLEXIBLE, NULL, 140, "header of a flexible tensor"},
    {"short-header", COLUMN, FLEXIBLE, NULL, 7, "7 bytes|header of 128 bytes"},
#ifndef GEMMCL_HAVE_ANALYTICS
    {"meta", COLUMN "input=meta", NULL, NULL, 0, "gstreamer-analytics-1.0"},
#endif
};

static void
test_refusal (gconstpointer data)
{
  const Refusal *self = data;
  g_autoptr (Stream) stream = stream_new ("gemmcl %s", self->settings);

  if (!self->caps) {
    g_assert_cmpint (gst_element_set_state (stream->element, GST_STATE_PAUSED), ==,
                     GST_STATE_CHANGE_FAILURE);
  } else {
    g_assert_cmpint (stream_play (stream, self->caps, self->output), ==, self->size > 0);
    if (self->size > 0)
      g_assert_cmpstr (
          gst_flow_get_name (gst_harness_push (
              stream->harness, gst_buffer_new_memdup ((const guint8[140]){0}, self->size))),
          ==, "error");
  }
  stream_assert_message (stream, GST_MESSAGE_ERROR, self->words);
  stream_assert_quiet (stream);
}

/* An operand that does not fit is refused while the old one stays. */
static void
test_operands (void)
{
  static const gchar *const settings[][3] = {{"weight", "[[1],[2]]", "K = 3"},
                                             {"weight", "[[1],[x]]", "x"},
                                             {"weight", "/none.npy", "No such file"},
                                             {"bias", "[1,2]", "bias is 1 x 2"},
                                             {"addend", "[[1,2],[3,4],[5,6]]", "addend is 3 x 2"}};
  g_autoptr (Stream) stream = stream_start (THREE, "gemmcl " COLUMN);

  for (guint i = 0; i < G_N_ELEMENTS (settings); i++) {
    g_object_set (stream->element, settings[i][0], settings[i][1], NULL);
    gst_buffer_unref (stream_run (stream, gst_buffer_new_memdup ((const guint8[24]){0}, 24)));
    stream_assert_message (stream, GST_MESSAGE_WARNING, settings[i][2]);
  }
  stream_assert_quiet (stream);
}

int
main (int argc, char **argv)
{
  stream_test_init (&argc, &argv);
  for (guint i = 0; i < G_N_ELEMENTS (refusals); i++) {
    g_autofree gchar *path = g_strconcat ("/refusals/", refusals[i].name, NULL);

    stream_add_data_test (path, &refusals[i], test_refusal);
  }
  stream_add_test ("/refusals/operands", test_operands);
  return g_test_run ();
}
