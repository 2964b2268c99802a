/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include <gemmcl-opencl.h>
#include <gst/video/video.h>
#include <string.h>

#include "copies.h"
#include "memory/gstgemmclmemory.h"
#include "stream.h"

/* OpenCL memory that elements between change, that comes late, and that is never there;
 * opencl-memory.py has what it saves. */

#define RGB        VIDEO ("RGB", "width=53,height=9")
#define OPENCL_RGB "video/x-raw" OPENCL ",format=RGB,width=53,height=9,framerate=10/1"
#define BYTES      (53 * 9 * 3)
#define WEIGHT     "gemmcl weight=[[.5,.2,0],[.25,.5,.1],[0,.25,.75]] "
#define HOST       "! video/x-raw ! "
#define N          12

/* An element that knows nothing of OpenCL and works in place. */
static GstPadProbeReturn
invert (GstPad *pad G_GNUC_UNUSED, GstPadProbeInfo *info, gpointer data)
{
  GstBuffer *buffer = gst_buffer_make_writable (GST_PAD_PROBE_INFO_BUFFER (info));
  guint *n = data;
  GstMapInfo map;

  g_assert_true (gst_buffer_map (buffer, &map, GST_MAP_READWRITE));
  for (gsize i = 0; i < map.size; i++)
    map.data[i] = ~map.data[i];
  gst_buffer_unmap (buffer, &map);
  GST_PAD_PROBE_INFO_DATA (info) = buffer;
  (*n)++;
  return GST_PAD_PROBE_OK;
}

/* Pushes N frames through elements.
 * @inverted: (nullable): the one whose outputs are inverted
 * @blended: (nullable): the one whose beta is twice 0, then .5 by turns: so outputs of both are
 *   previous ones of both */
static Stream *
run (const gchar *text, const gchar *inverted, const gchar *blended)
{
  Stream *stream = stream_start (RGB, "%s", text);
  guint n = 0;

  if (inverted) {
    g_autoptr (GstPad) pad = gst_element_get_static_pad (stream_get (stream, inverted), "src");

    gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER, invert, &n, NULL);
  }
  for (guint i = 0; i < N; i++) {
    if (blended)
      g_object_set (stream_get (stream, blended), "beta", i % 4 < 2 ? 0.0 : 0.5, NULL);
    stream_push (stream, noise_bytes (9 * 160, i));
    stream_collect (stream);
  }
  stream_end (stream);
  g_assert_cmpuint (n, ==, inverted ? N : 0);
  return stream;
}

static void
test_cpu_between (void)
{
  g_autoptr (Stream) device = run (WEIGHT "! identity name=cpu ! " WEIGHT "name=b", "cpu", NULL);
  g_autoptr (Stream) host = run (WEIGHT HOST "identity name=cpu ! " WEIGHT, "cpu", NULL);

  stream_assert_memory (device, "b", "OpenCL to system", N * BYTES);
  stream_assert_same (device, host);
}

/* One buffer on two ways: what one of them does the other does not see. */
static void
test_tee (void)
{
  g_autoptr (Stream) device =
      run (WEIGHT "! tee name=t ! identity name=cpu ! fakesink async=false sync=false "
                  "t. ! queue ! " WEIGHT "name=b",
           "cpu", NULL);
  g_autoptr (Stream) host = run (WEIGHT HOST WEIGHT, NULL, NULL);

  stream_assert_memory (device, "b", "OpenCL to system", N * BYTES);
  stream_assert_same (device, host);
}

/* The next output does not show changes that others make to this one. */
static void
test_beta (void)
{
  static const gchar *const texts[] = {WEIGHT "name=a queue-depth=1", WEIGHT "name=a queue-depth=4",
                                       WEIGHT "name=a queue-depth=2 " FORCE ("video/x-raw" OPENCL)};

  for (guint i = 0; i < G_N_ELEMENTS (texts); i++) {
    g_autoptr (Stream) plain = run (texts[i], NULL, "a"), inverted = run (texts[i], "a", "a");

    for (guint j = 0; j < inverted->bytes->len; j++)
      inverted->bytes->data[j] = ~inverted->bytes->data[j];
    stream_assert_same (plain, inverted);
  }
}

/* The memory that the first element offers upstream. */
static GstAllocator *
get_allocator (Stream *stream)
{
  g_autoptr (GstCaps) caps = gst_pad_get_current_caps (stream->harness->srcpad);
  g_autoptr (GstQuery) query = gst_query_new_allocation (caps, TRUE);
  GstAllocator *allocator = NULL;

  g_assert_true (gst_pad_peer_query (stream->harness->srcpad, query));
  g_assert_cmpuint (gst_query_get_n_allocation_params (query), >, 0);
  gst_query_parse_nth_allocation_param (query, 0, &allocator, NULL);
  g_assert_nonnull (allocator);
  return allocator;
}

/* Frame @seed in the memory that the element offers. */
static GstBuffer *
new_frame (Stream *stream, guint seed)
{
  g_autoptr (GstAllocator) allocator = get_allocator (stream);
  GstBuffer *buffer = gst_buffer_new_allocate (allocator, BYTES, NULL);
  GstMapInfo map;

  g_assert_nonnull (buffer);
  gst_buffer_add_video_meta_full (buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_RGB, 53, 9, 1,
                                  (gsize[GST_VIDEO_MAX_PLANES]){0},
                                  (gint[GST_VIDEO_MAX_PLANES]){53 * 3});
  g_assert_true (gst_buffer_map (buffer, &map, GST_MAP_WRITE));
  for (guint i = 0; i < BYTES; i++)
    map.data[i] = (seed * 31 + i * 7) % 251;
  gst_buffer_unmap (buffer, &map);
  return buffer;
}

/* Returns: (transfer full): an event before which @input is not written. */
static cl_event
hold (GstBuffer *input)
{
  GstMemory *memory = gst_buffer_peek_memory (input, 0);
  cl_event gate = clCreateUserEvent (gst_gemmcl_memory_get_cl_context (memory), NULL);
  GstMapInfo map;

  g_assert_nonnull (gate);
  g_assert_true (gst_memory_map (memory, &map, GST_MAP_WRITE | GST_GEMMCL_MAP_OPENCL));
  gst_gemmcl_memory_add_event (memory, GST_MAP_WRITE, gate);
  gst_memory_unmap (memory, &map);
  return gate;
}

static gint gates_opened;

static gpointer
open_gate (gpointer gate)
{
  g_usleep (20000);
  g_atomic_int_inc (&gates_opened);
  g_assert_cmpint (clSetUserEventStatus (gate, CL_COMPLETE), ==, CL_SUCCESS);
  return NULL;
}

/* The host does not wait for what the device has still to do; what fails there is an error. Whoever
 * maps the output waits: the host, and DL Streamer, which maps with a flag of the same value as
 * gemmcl's, alone, and asks for no events: it gets the cl_mem after the last write. */
static void
test_late_input (gconstpointer flags)
{
  for (guint fails = 0; fails < 2; fails++) {
    g_autoptr (Stream) stream = stream_start (
        OPENCL_RGB, WEIGHT "queue-depth=2 ! " WEIGHT "queue-depth=2 " FORCE ("video/x-raw" OPENCL));
    g_autoptr (GstMessage) message = NULL;
    GstBuffer *input = new_frame (stream, 1);
    cl_event gate = hold (input);
    g_autoptr (GstBuffer) output = stream_run (stream, input);
    GstMemory *memory = gst_buffer_peek_memory (output, 0);
    g_autoptr (GThread) opener = NULL;
    GstMapInfo map;

    gates_opened = 0;
    if (fails)
      g_assert_cmpint (clSetUserEventStatus (gate, -1), ==, CL_SUCCESS);
    else
      opener = g_thread_new ("gate", open_gate, gate);
    g_assert_cmpint (gst_memory_map (memory, &map, GPOINTER_TO_UINT (flags)), ==, !fails);
    g_assert_cmpint (g_atomic_int_get (&gates_opened), ==, !fails);
    if (!fails && GPOINTER_TO_UINT (flags) == GST_GEMMCL_MAP_OPENCL) {
      cl_context context = NULL;

      clGetMemObjectInfo ((cl_mem)map.data, CL_MEM_CONTEXT, sizeof context, &context, NULL);
      g_assert_true (context == gst_gemmcl_memory_get_cl_context (memory));
    }
    if (!fails) {
      gst_memory_unmap (memory, &map);
      g_thread_join (g_steal_pointer (&opener));
    }
    clReleaseEvent (gate);
    gst_harness_push_event (stream->harness, gst_event_new_eos ());
    message = gst_bus_pop_filtered (stream->bus, GST_MESSAGE_ERROR);
    g_assert_cmpint (message != NULL, ==, fails);
  }
}

#define LONG 40 /* runs, two of them timed after the first: 16 and 32 */

/* Each frame adds to the previous result. The last run before a change of queues is late if the
 * device @is_discrete. */
static Stream *
run_long (gboolean is_discrete)
{
  Stream *stream = stream_start (OPENCL_RGB, WEIGHT "alpha=.5 beta=.5 queue-depth=3 auto-tune=off");
  GstBuffer *frames[LONG];
  cl_event gate = NULL;

  for (guint i = 0; i < LONG; i++)
    frames[i] = new_frame (stream, i);
  for (guint i = 0; i < LONG; i++) {
    if (is_discrete && (i == 15 || i == 32))
      gate = hold (frames[i]);
    stream_push (stream, frames[i]);
    if (is_discrete && (i == 16 || i == 33)) {
      open_gate (gate);
      clReleaseEvent (gate);
    }
    /* Outputs return to their pool. To make more of them would wait for the late run, as would
     * more frames. */
    if (i % 13 == 12)
      stream_collect (stream);
    if (i == 0)
      copies_reset ();
  }
  stream_end (stream);
  return stream;
}

/* On a device with memory of its own one run of 16 is timed, in another queue than the rest. The
 * runs follow one another in both. */
static void
test_untimed (void)
{
  g_autoptr (Stream) discrete = NULL, shared = NULL;
  Copies kernels;

  copies_pretend_discrete (TRUE);
  discrete = run_long (TRUE);
  kernels = copies_get ();
  copies_pretend_discrete (FALSE);
  g_assert_cmpuint (kernels.timed, >, 0);
  g_assert_cmpuint (kernels.untimed * 2, ==, kernels.timed * 37);
  shared = run_long (FALSE);
  stream_assert_same (discrete, shared);
}

int
main (int argc, char **argv)
{
  stream_test_init (&argc, &argv);
  stream_add_test ("/opencl/cpu-between", test_cpu_between);
  stream_add_test ("/opencl/tee", test_tee);
  stream_add_test ("/opencl/beta", test_beta);
  stream_add_data_test ("/opencl/late-input", GUINT_TO_POINTER (GST_MAP_READ), test_late_input);
  stream_add_data_test ("/opencl/map-without-events", GUINT_TO_POINTER (GST_GEMMCL_MAP_OPENCL),
                        test_late_input);
  stream_add_test ("/opencl/untimed", test_untimed);
  return g_test_run ();
}
