/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include <gemmcl.h>
#include <glib/gstdio.h>
#include <string.h>

#include "stream.h"

/* Every bad setting ends in an error that says what was expected and what was found. */

#define PICTURE "video/x-raw,format=RGB,width=6,height=4,framerate=25/1"

static void
test_no_weight (void)
{
  g_autoptr (Stream) stream = stream_new (NULL, NULL);

  g_assert_cmpint (gst_element_set_state (stream->element, GST_STATE_READY), ==,
                   GST_STATE_CHANGE_SUCCESS);
  g_assert_cmpint (gst_element_set_state (stream->element, GST_STATE_PAUSED), ==,
                   GST_STATE_CHANGE_FAILURE);
  stream_assert_error (stream, GST_RESOURCE_ERROR, "No weight", "expected", ".npy", "found nothing",
                       NULL);
}

static void
test_k_fits_no_mode (void)
{
  g_autoptr (Stream) stream = stream_new ("weight", "[[1],[2]]", NULL);

  g_assert_false (stream_play (stream, PICTURE, NULL));
  stream_assert_error (stream, GST_STREAM_ERROR, "K = 2", "6x4", "pixel: K = 3", "row: K = 18",
                       "frame: K = 72", "patch", NULL);
  stream_assert_quiet (stream);
}

static void
test_k_fits_several (void)
{
  g_autoptr (Stream) stream = stream_new ("weight", "[[1],[2],[3]]", NULL);

  g_assert_false (
      stream_play (stream, "video/x-raw,format=RGB,width=1,height=4,framerate=25/1", NULL));
  stream_assert_error (stream, GST_STREAM_ERROR, "several", "pixel, row", "feature-mode", NULL);
}

static void
test_named_mode (void)
{
  g_autoptr (Stream) stream = stream_new ("weight", "[[1],[2],[3]]", NULL);

  gst_util_set_object_arg (G_OBJECT (stream->element), "feature-mode", "row");
  g_assert_false (stream_play (stream, PICTURE, NULL));
  stream_assert_error (stream, GST_STREAM_ERROR, "feature-mode=row", "K = 18", "has K = 3", NULL);
}

static void
test_k_of_audio (void)
{
  g_autoptr (Stream) stream = stream_new ("weight", "[[1],[2],[3]]", NULL);

  g_assert_false (stream_play (stream,
                               "audio/x-raw,format=S16LE,rate=8000,channels=2,"
                               "channel-mask=(bitmask)3,layout=interleaved",
                               NULL));
  stream_assert_error (stream, GST_STREAM_ERROR, "2 channels", "K = 2", "has K = 3", NULL);
}

static void
test_tensor_index (void)
{
  g_autoptr (Stream) stream = stream_new ("weight", "[[1],[2],[3]]", "tensor-index", 4, NULL);

  g_assert_false (stream_play (stream,
                               "other/tensors,format=static,num_tensors=1,"
                               "dimensions=(string)3,types=(string)float32,framerate=0/1",
                               NULL));
  stream_assert_error (stream, GST_STREAM_ERROR, "tensor-index is 4", "1 tensor.", "0 to 0", NULL);
}

static void
test_bad_dimensions (void)
{
  g_autoptr (Stream) stream = stream_new ("weight", "[[1],[2],[3]]", NULL);

  g_assert_false (stream_play (stream,
                               "other/tensors,format=static,num_tensors=1,"
                               "dimensions=(string)3:zero,types=(string)float32,framerate=0/1",
                               NULL));
  stream_assert_error (stream, GST_RESOURCE_ERROR, "3:zero", "zero", "expected a number", NULL);
}

static void
test_n_downstream_cannot_take (void)
{
  g_autoptr (Stream) stream = stream_new ("weight", "[[1,2],[3,4],[5,6]]", NULL);

  g_assert_false (stream_play (stream, PICTURE, "video/x-raw"));
  stream_assert_error (stream, GST_STREAM_ERROR, "N = 2", "dimensions=(string){ 2:24",
                       "downstream expects video/x-raw", "N = 1", "3 (RGB", NULL);
}

static void
test_audio_is_no_tensor (void)
{
  g_autoptr (Stream) stream = stream_new ("weight", "[1]", NULL);

  g_assert_false (stream_play (stream,
                               "audio/x-raw,format=S16LE,rate=8000,channels=1,"
                               "layout=interleaved",
                               "other/tensors"));
  stream_assert_error (stream, GST_STREAM_ERROR, "downstream expects other/tensors",
                       "never as tensors", NULL);
}

static void
test_bias_and_addend (void)
{
  g_autoptr (Stream) bias = stream_new ("weight", "[[1],[2],[3]]", "bias", "[1,2]", NULL);
  g_autoptr (Stream) addend =
      stream_new ("weight", "[[1],[2],[3]]", "addend", "[[1,2],[3,4]]", NULL);

  g_assert_false (stream_play (bias, PICTURE, NULL));
  stream_assert_error (bias, GST_STREAM_ERROR, "bias is 1 x 2", "1 element", NULL);
  g_assert_false (stream_play (addend, PICTURE, NULL));
  stream_assert_error (addend, GST_STREAM_ERROR, "addend is 2 x 2", "D is 24 x 1", "1 x 1", NULL);
}

static void
test_kernel (void)
{
  g_autoptr (Stream) stream = stream_new ("weight", "[1]", "kernel", "gem_naive", NULL);

  g_assert_cmpint (gst_element_set_state (stream->element, GST_STATE_READY), ==,
                   GST_STATE_CHANGE_FAILURE);
  stream_assert_error (stream, GST_LIBRARY_ERROR, "gem_naive", "gemm_naive", NULL);
}

static void
test_device (void)
{
  g_autoptr (Stream) stream = stream_new ("weight", "[1]", "device", "no such thing", NULL);

  g_assert_cmpint (gst_element_set_state (stream->element, GST_STATE_READY), ==,
                   GST_STATE_CHANGE_FAILURE);
  stream_assert_error (stream, GST_RESOURCE_ERROR, "no such thing", NULL);
  g_object_set (stream->element, "device", "0", NULL);
  g_assert_cmpint (gst_element_set_state (stream->element, GST_STATE_READY), ==,
                   GST_STATE_CHANGE_SUCCESS);
}

/* A NumPy file with @header and @n bytes after it. */
static void
write_npy (const gchar *path, const gchar *header, gsize n)
{
  g_autoptr (GByteArray) bytes = g_byte_array_new ();
  guint16 length = GUINT16_TO_LE (strlen (header));
  g_autofree guint8 *zeros = g_malloc0 (n);

  g_byte_array_append (bytes, (const guint8 *)"\x93NUMPY\x01\x00", 8);
  g_byte_array_append (bytes, (const guint8 *)&length, 2);
  g_byte_array_append (bytes, (const guint8 *)header, strlen (header));
  g_byte_array_append (bytes, zeros, n);
  g_assert_true (g_file_set_contents (path, (const gchar *)bytes->data, bytes->len, NULL));
}

static void
check_file (const gchar *path, const gchar *word)
{
  g_autoptr (Stream) stream = stream_new ("weight", path, NULL);

  g_assert_cmpint (gst_element_set_state (stream->element, GST_STATE_READY), ==,
                   GST_STATE_CHANGE_FAILURE);
  stream_assert_error (stream, GST_RESOURCE_ERROR, "weight=", path, word, NULL);
}

static void
test_files (void)
{
  static const struct {
    const gchar *header;
    const gchar *word;
  } files[] = {
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (5, 3), }\n", "60"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (9999999999999, 9999999999999), }\n",
       "9999999999999"},
      {"{'descr': '|O', 'fortran_order': False, 'shape': (3, 1), }\n", "|O"},
      {"{'descr': '>f4', 'fortran_order': False, 'shape': (3, 1), }\n", ">f4"},
      {"not a dictionary\n", ""},
  };
  g_autofree gchar *directory = g_dir_make_tmp ("gemmcl-XXXXXX", NULL);
  g_autofree gchar *path = g_build_filename (directory, "weight.npy", NULL);

  check_file (path, "No such file");
  for (guint i = 0; i < G_N_ELEMENTS (files); i++) {
    write_npy (path, files[i].header, 12);
    check_file (path, files[i].word);
  }
  g_assert_true (g_file_set_contents (path, "\x93NUM", 4, NULL));
  check_file (path, "");
  g_unlink (path);
  g_rmdir (directory);
}

/* Run by test_no_device() in a process that finds no OpenCL platform. */
static void
without_device (void)
{
  g_autoptr (Stream) stream = stream_new ("weight", "[1]", NULL);

  g_assert_cmpint (gst_element_set_state (stream->element, GST_STATE_READY), ==,
                   GST_STATE_CHANGE_FAILURE);
  stream_assert_error (stream, GST_RESOURCE_ERROR, "OpenCL", "device", NULL);
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

/* "[[1,1,1]]". */
static gchar *
print_ones (gsize n)
{
  GString *text = g_string_new ("[[1");

  for (gsize i = 1; i < n; i++)
    g_string_append (text, ",1");
  g_string_append (text, "]]");
  return g_string_free (text, FALSE);
}

/* Once a buffer was more than the device has room for, others that come all the same are run. */
static void
test_after_too_much (void)
{
  g_autoptr (GemmclContext) context = gemmcl_context_new (NULL, NULL);
  const guint64 most = gemmcl_context_get_device_info (context)->max_alloc_bytes;
  g_autofree gchar *weight = NULL;
  g_autoptr (Stream) stream = NULL;
  GstFlowReturn flow;

  if (most > G_GUINT64_CONSTANT (1) << 32) {
    g_test_skip ("the device has more room than the host has for what fills it");
    return;
  }
  /* Softmax of 2048 samples, but not of 1024, is of more floats than a buffer holds. */
  weight = print_ones (most / (2048 * sizeof (gfloat)) + 1);
  stream = stream_new ("weight", weight, "queue-depth", 1, NULL);
  gst_util_set_object_arg (G_OBJECT (stream->element), "activation", "softmax");
  g_assert_true (stream_play (
      stream, "audio/x-raw,format=S16LE,rate=8000,channels=1,layout=interleaved", NULL));
  flow = gst_harness_push (stream->harness, gst_buffer_new_allocate (NULL, 1025 * 2, NULL));
  g_assert_cmpint (flow, ==, GST_FLOW_ERROR);
  stream_assert_error (stream, GST_RESOURCE_ERROR, "D before softmax", "allows", NULL);
  flow = gst_harness_push (stream->harness, gst_buffer_new_allocate (NULL, 2, NULL));
  g_assert_cmpint (flow, ==, GST_FLOW_OK);
  stream_assert_quiet (stream);
}

int
main (int argc, char **argv)
{
  gboolean child = argc == 2 && strcmp (argv[1], "without-device") == 0;

  g_test_init (&argc, &argv, NULL);
  gst_init (&argc, &argv);
  if (child) {
    without_device ();
    return 0;
  }
  stream_add_test ("/errors/no-weight", test_no_weight);
  stream_add_test ("/errors/k-fits-no-mode", test_k_fits_no_mode);
  stream_add_test ("/errors/k-fits-several", test_k_fits_several);
  stream_add_test ("/errors/named-mode", test_named_mode);
  stream_add_test ("/errors/k-of-audio", test_k_of_audio);
  stream_add_test ("/errors/tensor-index", test_tensor_index);
  stream_add_test ("/errors/bad-dimensions", test_bad_dimensions);
  stream_add_test ("/errors/n-downstream-cannot-take", test_n_downstream_cannot_take);
  stream_add_test ("/errors/audio-is-no-tensor", test_audio_is_no_tensor);
  stream_add_test ("/errors/bias-and-addend", test_bias_and_addend);
  stream_add_test ("/errors/kernel", test_kernel);
  stream_add_test ("/errors/device", test_device);
  stream_add_test ("/errors/after-too-much", test_after_too_much);
  g_test_add_func ("/errors/files", test_files);
  g_test_add_func ("/errors/no-device", test_no_device);
  return g_test_run ();
}
