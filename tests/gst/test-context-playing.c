/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Pipelines that play in the application's OpenCL context. */

#include <gemmcl-opencl.h>
#include <gemmcl.h>

#include "memory/gstgemmclmemory.h"
#include "line.h"
#include "sharing-example.h"

G_DEFINE_AUTO_CLEANUP_FREE_FUNC (cl_context, clReleaseContext, NULL)

/* The application's, made without the library as far as can be. */
static cl_context
make_context (void)
{
  g_autoptr (GemmclContext) made = gemmcl_context_new (NULL, NULL);
  const cl_device_id device = gemmcl_context_get_cl_device (made);
  cl_context context = clCreateContext (NULL, 1, &device, NULL, NULL, NULL);

  g_assert_nonnull (context);
  return context;
}

/* Counts buffers whose memory is of the context that data says. */
static GstPadProbeReturn
count_shared (GstPad *pad G_GNUC_UNUSED, GstPadProbeInfo *info, gpointer data)
{
  GstMemory *memory = gst_buffer_peek_memory (GST_PAD_PROBE_INFO_BUFFER (info), 0);
  guint *n = g_object_get_data (G_OBJECT (pad), "n");

  *n += gst_opencl_memory_get_context (memory) == data;
  return GST_PAD_PROBE_OK;
}

/* Through a pipeline until its end, which then plays still. */
static GstElement *
play (cl_context context, guint *n_shared)
{
  GstElement *pipeline = gst_parse_launch (
      "fakesrc num-buffers=5 sizetype=fixed sizemax=16 filltype=zero ! other/tensors,format=static,"
      "num_tensors=1,dimensions=(string)2:2,types=(string)float32,framerate=0/1 ! "
      "gemmcl weight=[[1,2],[3,4]] name=a ! identity ! gemmcl weight=[[1,2],[3,4]] name=b ! "
      "fakesink",
      NULL);
  g_autoptr (GstElement) element = gst_bin_get_by_name (GST_BIN (pipeline), "b");
  g_autoptr (GstPad) pad = gst_element_get_static_pad (element, "sink");
  g_autoptr (GstBus) bus = gst_element_get_bus (pipeline);
  g_autoptr (GstMessage) message = NULL;

  g_object_set_data (G_OBJECT (pad), "n", n_shared);
  gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER, count_shared, context, NULL);
  share_context (pipeline, context);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  message =
      gst_bus_timed_pop_filtered (bus, GST_CLOCK_TIME_NONE, GST_MESSAGE_EOS | GST_MESSAGE_ERROR);
  g_assert_cmpint (GST_MESSAGE_TYPE (message), ==, GST_MESSAGE_EOS);
  return pipeline;
}

/* Two pipelines that play, and the application: one context, which each element and each buffer
 * between them has. */
static void
test_playing (void)
{
  g_auto (cl_context) context = make_context ();
  GstElement *pipelines[2];
  guint n_shared = 0;

  for (guint i = 0; i < G_N_ELEMENTS (pipelines); i++)
    pipelines[i] = play (context, &n_shared);
  for (guint i = 0; i < G_N_ELEMENTS (pipelines); i++) {
    for (const gchar *name = "ab"; *name; name++) {
      g_autoptr (GstElement) element =
          gst_bin_get_by_name (GST_BIN (pipelines[i]), (const gchar[]){*name, '\0'});
      g_auto (cl_context) found = get_context (element);

      g_assert_true (found == context);
    }
  }
  g_assert_cmpuint (n_shared, ==, 10);
  for (guint i = 0; i < G_N_ELEMENTS (pipelines); i++) {
    gst_element_set_state (pipelines[i], GST_STATE_NULL);
    gst_object_unref (pipelines[i]);
  }
}

int
main (int argc, char **argv)
{
  line_test_init (&argc, &argv);
  stream_add_test ("/context-playing/two-pipelines", test_playing);
  return g_test_run ();
}
