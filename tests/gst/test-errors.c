/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include <gemmcl.h>
#include <glib/gstdio.h>
#include <string.h>

#include "../lib/files.h"
#include "stream.h"

/* Every bad setting, and every bad buffer, ends in one error that says what was expected and what
 * was found. */

#define FRAME       VIDEO ("RGB", "width=6,height=4")
#define TWO         TENSORS ("2", "1,1", "int8,int8", "0/1")
#define FLEXIBLE(n) "other/tensors,format=flexible,num_tensors=" n ",framerate=10/1"
#define SIXTEEN     "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1"
#define SIXTEEN_8   "int8,int8,int8,int8,int8,int8,int8,int8"

/* Domains of errors. */
#define LIBRARY  "gst-library-error-quark"
#define RESOURCE "gst-resource-error-quark"
#define STREAM   "gst-stream-error-quark"

/**
 * Case:
 * @domain: (nullable)
 * @caps: %NULL: the element fails on the way to @size as a state
 * @output: (nullable): caps that downstream takes
 * @size: of a buffer that fails; 0: the caps do
 */
static const struct {
  const gchar *path, *settings, *caps, *domain, *words, *output;
  gsize size;
} cases[] = {
    {"no-weight", "", NULL, RESOURCE, "No weight|expected|.npy|found nothing", NULL,
     GST_STATE_PAUSED},
    {"kernel", "weight=[1] kernel=gem_naive", NULL, LIBRARY, "gem_naive|gemm_naive", NULL,
     GST_STATE_READY},
    {"device", "weight=[1] device=nothing", NULL, RESOURCE, "nothing", NULL, GST_STATE_READY},
    {"k-fits-no-mode", "weight=[[1],[2]]", FRAME, STREAM,
     "K = 2|6x4|pixel: K = 3|row: K = 18|frame: K = 72|patch: needs patch-width"},
    {"k-fits-no-patch", "weight=[[1],[2]] patch-width=4 patch-height=2", FRAME, STREAM,
     "K = 2|6x4|patch: K = 24"},
    {"k-fits-all", "weight=[1]", VIDEO ("GRAY8", "width=1,height=1"), STREAM,
     "several|(pixel, row, frame)|feature-mode"},
    {"no-patch", "weight=[[1],[2],[3]] feature-mode=patch", FRAME, STREAM,
     "patch-width and patch-height"},
    {"large-patch", "weight=[[1],[2]] patch-width=7 patch-height=1", FRAME, STREAM,
     "K = 2|patch: the patch is larger"},
    {"patch-apart", "weight=[1] feature-mode=patch patch-width=3 patch-height=2 patch-dilation=4",
     VIDEO ("GRAY8", "width=8,height=5"), STREAM, "3x2|patch-dilation=4|8x5|patch-padding=0"},
    {"large-k", "weight=[1] feature-mode=frame", TENSOR ("4:65535:65535"), RESOURCE,
     "1 x 17179344900|another feature mode"},
    {"named-mode", "weight=[[1],[2],[3]] feature-mode=row", FRAME, STREAM,
     "K = 3 does not fit feature-mode=row|row: K = 18"},
    {"rgb-weight-of-rgba", "weight=[[1,2,3],[4,5,6],[7,8,9]]", VIDEO ("RGBA", "width=6,height=4"),
     STREAM, "4 channels|row for alpha|4 x 4|[[a,b,c,0],[d,e,f,0],[g,h,i,0],[0,0,0,1]]"},
    {"rgb-weight-of-bgra-pixels", "weight=[[1,2,3],[4,5,6],[7,8,9]] feature-mode=pixel",
     VIDEO ("BGRA", "width=6,height=4"), STREAM, "K = 4|row for alpha"},
    {"k-of-audio", "weight=[[1],[2],[3]]", AUDIO ("S16LE", "2"), STREAM,
     "all channels, int16 of 2|K = 2|has K = 3"},
    {"tensor-index", "weight=[[1],[2],[3]] tensor-index=4", TENSOR ("3"), STREAM,
     "tensor-index is 4|1 tensor.|0 to 0"},
    {"patch-of-4-dimensions",
     "weight=[[1],[2],[3]] feature-mode=patch patch-width=1 patch-height=1", TENSOR ("3:4:4:2"),
     STREAM,
     "feature-mode=patch|float32 of 2 x 4 x 4 x 3|channels:width:height|feature-mode=pixel"},
    {"patch-of-tensor", "weight=[1] feature-mode=patch patch-width=3 patch-height=1",
     TENSOR ("1:2:2"), STREAM, "3x1|the 2x2 tensor|a larger tensor"},
    {"k-of-patch", "weight=[1] feature-mode=patch patch-width=2 patch-height=1", TENSOR ("5:2:2:1"),
     STREAM, "K = 1|2x2 tensor with 5 channels|patch: K = 10|frame: K = 20"},
    {"wide-tensor", "weight=[1] feature-mode=frame", TENSOR ("1:65536"), LIBRARY,
     "width must be 1 to 65535, not 65536"},
    {"dimensions", "weight=[[1],[2],[3]]", TENSOR ("3:zero"), RESOURCE,
     "3:zero|zero|expected a number"},
    {"n-downstream-cannot-take", "weight=[[1,2],[3,4],[5,6]]", FRAME, STREAM,
     "N = 2|dimensions=(string){ 2:24|downstream expects video/x-raw|N = 1|3 (RGB", "video/x-raw"},
    {"audio-is-no-tensor", "weight=[1]", AUDIO ("S16LE", "1"), STREAM,
     "downstream expects other/tensors|audio stays audio", "other/tensors"},
    {"bias", "weight=[[1],[2],[3]] bias=[1,2]", FRAME, STREAM, "bias is 1 x 2|1 element"},
    {"addend", "weight=[[1],[2],[3]] addend=[[1,2],[3,4]]", FRAME, STREAM,
     "addend is 2 x 2|D is 24 x 1|1 x 1"},
    {"rows-of-audio", "weight=[1] row-outputs=sum", AUDIO ("F32LE", "1"), STREAM,
     "row-outputs|Audio leaves as audio"},
    {"no-number", "weight=[[1],[1],[1]] input-scale=<1,x>", FRAME, RESOURCE,
     "input-scale=<1,x>|such as 0.5|<0.5,0.25,1>"},
    {"short-list", "weight=[[1],[1],[1]] input-offset=<1,2>", FRAME, STREAM,
     "input-offset has 2 numbers|each channel|K = 3"},
    {"offsets-and-padding",
     "weight=[[1],[1],[1]] feature-mode=patch patch-width=1 patch-height=1 patch-padding=1 "
     "input-scale=<1,2,3> input-offset=1",
     FRAME, LIBRARY, "patch-padding is 1|patch-padding=0|input-offset=0"},
    {"norm-of-lists", "weight=[[1],[1],[1]] normalize=input row-outputs=sum input-scale=<1,2,3>",
     FRAME, LIBRARY, "normalize=input|input-scale|a number for each"},
    {"top-k", "weight=[[1,2]] row-outputs=top-k top-k=3", TENSOR ("1"), STREAM,
     "top-k is 3|N = 2|at most 2"},
    {"scaled-floats", "weight=[[1],[2],[3]] output-type=f16 output-scale=2", TENSOR ("3"), LIBRARY,
     "output-scale=2|float16|output-type=i8 or u8"},
    {"scaled-audio", "weight=[1] output-offset=2", AUDIO ("S16LE", "1"), LIBRARY,
     "output-offset=2|no tensor"},
    {"type-of-audio", "weight=[1] output-type=f16", AUDIO ("S16LE", "1"), LIBRARY,
     "output-type is set|no tensor"},
    {"type-downstream", "weight=[[1],[2],[3]] output-type=f16", TENSOR ("3:1"), STREAM,
     "types=(string)float16|types=(string)int8", "other/tensors,types=(string)int8"},
    {"rows-of-many", "weight=[1] row-outputs=sum",
     TENSORS ("16", SIXTEEN, SIXTEEN_8 "," SIXTEEN_8, "0/1"), STREAM, "16 tensors|row-outputs=0"},
#ifdef GEMMCL_HAVE_ANALYTICS
    {"tensor-id", "weight=[1] output=meta tensor-id=\"a b\"", NULL, NULL, "tensor-id|a b", NULL,
     GST_STATE_READY},
#else
    {"output-meta", "weight=[1] output=meta", NULL, NULL, "output=meta|gstreamer-analytics-1.0",
     NULL, GST_STATE_READY},
    {"input-meta", "weight=[1] input=meta", NULL, NULL, "input=meta|gstreamer-analytics-1.0", NULL,
     GST_STATE_READY},
    {"input-id", "weight=[1] input-tensor-id=a", NULL, NULL, "input=meta|gstreamer-analytics-1.0",
     NULL, GST_STATE_READY},
#endif
    {"media-of-2", "weight=[[1,0],[0,1],[0,0]] output=media", FRAME, STREAM, "output=media|N = 2"},
    {"media-of-rows", "weight=[[1],[1],[1]] row-outputs=max output=media", FRAME, STREAM,
     "output=media|row-outputs"},
    {"tensors-of-audio", "weight=[1] output=tensors", AUDIO ("S16LE", "1"), RESOURCE,
     "output=tensors|audio"},
    {"flexible-of-two", "weight=[[1],[2],[3]] output=flexible",
     TENSORS ("2", "3,3", "int8,int8", "10/1"), RESOURCE, "output=flexible"},
    {"flexible-of-audio", "weight=[1] output=flexible", AUDIO ("S16LE", "1"), RESOURCE,
     "output=flexible"},
    {"flexible-dimensions", "weight=[[1],[2],[3]]", FLEXIBLE ("1"), RESOURCE,
     "dimensions|in their buffers", "other/tensors,dimensions=(string)2:1"},
    {"flexible-index", "weight=[[1],[2],[3]] tensor-index=2", FLEXIBLE ("2"), STREAM,
     "tensor-index is 2|2 tensors"},
    {"flexible-rows", "weight=[[1],[2],[3]] row-outputs=sum", FLEXIBLE ("16"), STREAM,
     "16 tensors already"},
    {"frame-size", "weight=[[1],[1],[1]]", VIDEO ("RGB", "width=5,height=3"), RESOURCE,
     "4 bytes|5x3 RGB|48 bytes", NULL, 4},
    {"half-a-sample", "weight=[[1],[1]]", AUDIO ("S16LE", "2"), RESOURCE, "7 bytes|a multiple of 4",
     NULL, 7},
    {"tensor-size", "weight=[2]", TENSOR ("1:1"), RESOURCE, "8 bytes|expected 4", NULL, 8},
    {"missing-tensor", "weight=[2]", TWO, RESOURCE, "Tensor 1|0 bytes|expected 1", NULL, 1},
    {"inner-zero", "weight=[[1],[2],[3]]", TENSOR ("3:0:2"), RESOURCE, "3:0:2|0 behind the last"},
    {"no-string", "weight=[[1],[2],[3]]",
     "other/tensors,format=static,num_tensors=1,dimensions=3,types=(string)float32,framerate=0/1",
     RESOURCE, "dimensions=3 of type gint|(string)"},
    {"no-string-downstream", "weight=[[1],[2],[3]]", TENSOR ("3:2"), RESOURCE,
     "of type GstFlagSet|(string)", "other/tensors,dimensions=1:2"},
};

static void
test_case (gconstpointer data)
{
  const guint i = GPOINTER_TO_UINT (data);
  g_autoptr (Stream) stream = stream_new ("gemmcl %s", cases[i].settings);

  if (!cases[i].caps) {
    for (GstState state = GST_STATE_READY; state < cases[i].size; state++)
      stream_set_state (stream, state);
    g_assert_cmpint (gst_element_set_state (stream->element, (GstState)cases[i].size), ==,
                     GST_STATE_CHANGE_FAILURE);
  } else {
    g_assert_cmpint (stream_play (stream, cases[i].caps, cases[i].output), ==, cases[i].size > 0);
    if (cases[i].size > 0)
      g_assert_cmpint (gst_harness_push (stream->harness, noise_bytes (cases[i].size, 1)), ==,
                       GST_FLOW_ERROR);
  }
  stream_assert_message (stream, GST_MESSAGE_ERROR, cases[i].domain, cases[i].words);
  stream_assert_quiet (stream);
}

/* After a device that is not there another one can be set. */
static void
test_other_device (void)
{
  g_autoptr (Stream) stream = stream_new ("gemmcl weight=[1] device=nothing");

  g_assert_cmpint (gst_element_set_state (stream->element, GST_STATE_READY), ==,
                   GST_STATE_CHANGE_FAILURE);
  g_object_set (stream->element, "device", "0", NULL);
  stream_set_state (stream, GST_STATE_READY);
}

static void
check_file (const gchar *path, const gchar *word)
{
  g_autoptr (Stream) stream = stream_new ("gemmcl weight=%s", path);
  g_autofree gchar *words = g_strdup_printf ("weight=|%s|%s", path, word);

  g_assert_cmpint (gst_element_set_state (stream->element, GST_STATE_READY), ==,
                   GST_STATE_CHANGE_FAILURE);
  stream_assert_message (stream, GST_MESSAGE_ERROR, RESOURCE, words);
}

/* The library says what is wrong with a file; the element names the property. */
static void
test_files (void)
{
  g_auto (Files) files = {NULL};
  g_autofree gchar *missing = NULL, *bad = NULL;

  files_init (&files);
  missing = files_path (&files, "missing.npy");
  bad = files_write (&files, "bad.npy", "no array", 8);
  check_file (missing, "No such file");
  check_file (bad, "does not start with");
}

/* Run by test_no_device() in a process that finds no OpenCL platform. */
static void
without_device (void)
{
  g_autoptr (Stream) stream = stream_new ("gemmcl weight=[1]");

  g_assert_cmpint (gst_element_set_state (stream->element, GST_STATE_READY), ==,
                   GST_STATE_CHANGE_FAILURE);
  stream_assert_message (stream, GST_MESSAGE_ERROR, RESOURCE, "OpenCL|device");
}

static void
test_no_device (void)
{
  g_autofree gchar *self = g_file_read_link ("/proc/self/exe", NULL);
  g_auto (GStrv) environment =
      g_environ_setenv (g_get_environ (), "OCL_ICD_VENDORS", "/nonexistent", TRUE);
  gchar *command[] = {self, (gchar *)"without-device", NULL};
  g_autofree gchar *output = NULL;
  g_autoptr (GError) error = NULL;
  gint status;

  g_assert_true (g_spawn_sync (NULL, command, environment, G_SPAWN_STDOUT_TO_DEV_NULL, NULL, NULL,
                               NULL, &output, &status, &error));
  g_assert_true (g_spawn_check_wait_status (status, &error));
  g_assert_no_error (error);
}

/* After a buffer that needs more than the device has room for, smaller ones are run. */
static void
test_after_too_much (void)
{
  g_autoptr (GemmclContext) context = gemmcl_context_new (NULL, NULL);
  const guint64 most = gemmcl_context_get_device_info (context)->max_alloc_bytes;
  g_autofree gdouble *values = NULL;
  g_autofree gchar *weight = NULL;
  g_autoptr (Stream) stream = NULL;
  gsize n;

  if (most > G_GUINT64_CONSTANT (1) << 32) {
    g_test_skip ("the device has more room than the host has for what fills it");
    return;
  }
  /* Softmax of 2048 samples, but not of 1024, is of more floats than a buffer holds. */
  n = most / (2048 * sizeof (gfloat)) + 1;
  values = g_new0 (gdouble, n);
  weight = literal (values, 1, n);
  stream = stream_new ("gemmcl queue-depth=1 activation=softmax");
  g_object_set (stream->element, "weight", weight, NULL);
  g_assert_true (stream_play (stream, AUDIO ("S16LE", "1"), NULL));
  g_assert_cmpint (gst_harness_push (stream->harness, noise_bytes (1025 * 2, 1)), ==,
                   GST_FLOW_ERROR);
  stream_assert_message (stream, GST_MESSAGE_ERROR, RESOURCE, "D before softmax or norms|allows");
  stream_push (stream, noise_bytes (2, 1));
  stream_assert_quiet (stream);
}

int
main (int argc, char **argv)
{
  gboolean child = argc == 2 && strcmp (argv[1], "without-device") == 0;

  stream_test_init (&argc, &argv);
  if (child) {
    without_device ();
    return 0;
  }
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autofree gchar *path = g_strconcat ("/errors/", cases[i].path, NULL);

    stream_add_data_test (path, GUINT_TO_POINTER (i), test_case);
  }
  stream_add_test ("/errors/other-device", test_other_device);
  stream_add_test ("/errors/after-too-much", test_after_too_much);
  g_test_add_func ("/errors/files", test_files);
  g_test_add_func ("/errors/no-device", test_no_device);
  return g_test_run ();
}
