/* gemmcl: an application and a pipeline share an OpenCL context, and so buffers and events.
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include <gstgemmclmemory.h>

#define PIPELINE                                                                                   \
  "videotestsrc pattern=solid-color foreground-color=0xff204060 num-buffers=2 "                    \
  "! video/x-raw,format=RGB,width=4,height=2 "                                                     \
  "! gemmcl weight=[[0.25],[0.5],[0.25]] feature-mode=pixel "                                      \
  "! video/x-raw(memory:OpenCL),format=GRAY8 ! appsink name=sink sync=false"

/* From now on the elements of @pipeline use @context, which must live as long as @pipeline. */
static void
share_context (GstElement *pipeline, cl_context context)
{
  GstContext *shared = gst_context_new ("OpenCL", TRUE);

  gst_structure_set (gst_context_writable_structure (shared), "cl_context", G_TYPE_POINTER, context,
                     NULL);
  gst_element_set_context (pipeline, shared);
  gst_context_unref (shared);
}

/* Copies @memory to @pixels by a command in @queue, which waits for the element's commands. */
static gboolean
read_on_device (cl_command_queue queue, GstMemory *memory, guint8 *pixels, gsize size)
{
  cl_event wait[GST_GEMMCL_MAX_EVENTS], done;
  GstMapInfo map;
  gsize offset;
  guint n;
  cl_int status;

  if (!gst_memory_map (memory, &map, GST_MAP_READ | GST_GEMMCL_MAP_OPENCL))
    return FALSE;
  gst_memory_get_sizes (memory, &offset, NULL);
  n = gst_gemmcl_memory_get_events (memory, GST_MAP_READ, wait);
  status = clEnqueueReadBuffer (queue, (cl_mem)map.data, CL_FALSE, offset, MIN (size, map.size),
                                pixels, n, n > 0 ? wait : NULL, &done);
  gst_gemmcl_release_events (n, wait);
  if (status == CL_SUCCESS) {
    clFlush (queue);
    gst_gemmcl_memory_add_event (memory, GST_MAP_READ, done);
    status = clWaitForEvents (1, &done);
    clReleaseEvent (done);
  }
  gst_memory_unmap (memory, &map);
  return status == CL_SUCCESS;
}

/* Prints the first pixel of each frame. Returns: FALSE if a frame is not in memory of @context. */
static gboolean
read_frames (GstElement *pipeline, cl_context context, cl_command_queue queue)
{
  GstElement *sink = gst_bin_get_by_name (GST_BIN (pipeline), "sink");
  gboolean ok = TRUE;
  GstSample *sample;

  for (g_signal_emit_by_name (sink, "pull-sample", &sample); sample;
       g_signal_emit_by_name (sink, "pull-sample", &sample)) {
    GstMemory *memory = gst_buffer_peek_memory (gst_sample_get_buffer (sample), 0);
    guint8 pixels[8] = {0};

    ok = ok && gst_gemmcl_memory_get_cl_context (memory) == context &&
         read_on_device (queue, memory, pixels, sizeof (pixels));
    g_print ("%d\n", pixels[0]);
    gst_sample_unref (sample);
  }
  gst_object_unref (sink);
  return ok;
}

int
main (int argc, char **argv)
{
  cl_platform_id platform;
  cl_device_id device;
  cl_context context;
  cl_command_queue queue;
  GstElement *pipeline;
  gboolean ok;

  gst_init (&argc, &argv);
  if (clGetPlatformIDs (1, &platform, NULL) != CL_SUCCESS ||
      clGetDeviceIDs (platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != CL_SUCCESS ||
      !(context = clCreateContext (NULL, 1, &device, NULL, NULL, NULL)) ||
      !(queue = clCreateCommandQueueWithProperties (context, device, NULL, NULL)) ||
      !(pipeline = gst_parse_launch (PIPELINE, NULL)))
    return 1;
  share_context (pipeline, context);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  ok = read_frames (pipeline, context, queue);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (pipeline);
  clReleaseCommandQueue (queue);
  clReleaseContext (context);
  return ok ? 0 : 1;
}
