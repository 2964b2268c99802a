/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include <gemmcl-opencl.h>
#include <gst/video/video.h>
#include <string.h>

#include "memory/gstgemmclmemory.h"
#include "log.h"
#include "stream.h"

/* OpenCL memory between elements: the same results as through the system's, and no copies; and
 * that of others, which is laid out strangely, from elsewhere, late, or never there. */

#define RGB        VIDEO ("RGB", "width=53,height=9")
#define OPENCL_RGB "video/x-raw" OPENCL ",format=RGB,width=53,height=9,framerate=10/1"
#define STEREO     AUDIO ("S16LE", "2")
#define BYTES      (53 * 9 * 3)
#define WEIGHT     "gemmcl weight=[[.5,.2,0],[.25,.5,.1],[0,.25,.75]] "
#define HOST       "! video/x-raw ! "

/* Pushes @n buffers: frames, whose rows GStreamer pads, or audio of all lengths, of which some are
 * longer than a pool's. */
static void
run_on (Stream *stream, const gchar *caps, guint n)
{
  for (guint i = 0; i < n; i++) {
    stream_push (stream,
                 noise_bytes (g_str_equal (caps, STEREO) ? 4 * (1 + 331 * (i % 7)) : 9 * 160, i));
    stream_collect (stream);
  }
  stream_end (stream);
}

static Stream *
run (const gchar *text, const gchar *caps, guint n)
{
  Stream *stream = stream_start (caps, "%s", text);

  run_on (stream, caps, n);
  return stream;
}

static void
assert_opencl (Stream *stream, const gchar *name, const gchar *pad, gboolean opencl)
{
  g_autoptr (GstCaps) caps = stream_get_caps (stream, name, pad);

  g_assert_cmpint (
      gst_caps_features_contains (gst_caps_get_features (caps, 0), GST_GEMMCL_CAPS_FEATURE_OPENCL),
      ==, opencl);
}

/* The same elements twice, the second time with "@" replaced by what forces system memory. */
static const struct {
  const gchar *path, *caps, *text, *force;
  guint n;
  guint64 bytes; /* of a buffer, that "b" hands to the host; 0: it has OpenCL memory behind it */
} chains[] = {
    {"/opencl/chain-1", RGB,
     WEIGHT "queue-depth=1 @ " WEIGHT "queue-depth=1 name=b @ " WEIGHT "queue-depth=1", HOST, 20,
     0},
    {"/opencl/chain-4", RGB,
     WEIGHT "queue-depth=4 @ " WEIGHT "queue-depth=4 name=b @ " WEIGHT "queue-depth=4", HOST, 20,
     0},
    {"/opencl/batches", RGB,
     WEIGHT "batch-size=3 @ " WEIGHT "batch-size=4 name=b @ " WEIGHT "batch-size=2", HOST, 20, 0},
    {"/opencl/through", RGB, WEIGHT "! identity ! queue @ " WEIGHT "name=b ! identity", HOST, 5,
     BYTES},
    /* The previous output is where the next run needs it, whoever has it meanwhile. */
    {"/opencl/previous-output-1", RGB,
     WEIGHT "alpha=.25 beta=.75 queue-depth=1 @ " WEIGHT "alpha=.5 beta=.5 queue-depth=1 name=b",
     HOST, 20, BYTES},
    {"/opencl/previous-output-4", RGB,
     WEIGHT "alpha=.25 beta=.75 queue-depth=4 @ " WEIGHT "alpha=.5 beta=.5 queue-depth=4 name=b",
     HOST, 20, BYTES},
    {"/opencl/audio", STEREO,
     "gemmcl weight=[[.5,.25],[.25,.5]] @ gemmcl weight=[[.5,1],[1,.5]] name=b", "! audio/x-raw ! ",
     30, G_MAXUINT64},
    {"/opencl/tensors", RGB,
     "gemmcl weight=[[.5,.2],[.25,.5],[0,.25]] @ gemmcl weight=[[1],[-1]] name=b activation=relu",
     "! other/tensors ! ", 5, 53 * 9 * sizeof (gfloat)},
};

static Stream *
run_chain (guint i, const gchar *between)
{
  g_auto (GStrv) parts = g_strsplit (chains[i].text, "@", -1);
  g_autofree gchar *text = g_strjoinv (between, parts);

  return run (text, chains[i].caps, chains[i].n);
}

static void
test_chain (gconstpointer data)
{
  const guint i = GPOINTER_TO_UINT (data);
  g_autoptr (Stream) device = run_chain (i, "! "), host = run_chain (i, chains[i].force);

  stream_assert_same (device, host);
  assert_opencl (device, "b", "sink", TRUE);
  assert_opencl (host, "b", "sink", FALSE);
  if (chains[i].bytes == 0)
    stream_assert_memory (device, "b", "OpenCL", 0);
  else if (chains[i].bytes < G_MAXUINT64)
    stream_assert_memory (device, "b", "OpenCL to system", chains[i].n * chains[i].bytes);
}

/* Downstream says what it wants; one that takes all gets what others can read, too. */
static void
test_negotiation (void)
{
  g_autoptr (Stream) open = run (WEIGHT "name=a", RGB, 1);
  g_autoptr (Stream) forced = run (WEIGHT "name=a " FORCE ("video/x-raw" OPENCL), RGB, 1);

  assert_opencl (open, "a", "src", FALSE);
  assert_opencl (forced, "a", "src", TRUE);
  stream_assert_same (open, forced);
  stream_assert_memory (forced, "a", "system to OpenCL", BYTES);
}

/* An element that knows nothing of OpenCL. */
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

static Stream *
run_inverted (const gchar *text)
{
  Stream *stream = stream_start (RGB, "%s", text);
  g_autoptr (GstPad) pad = gst_element_get_static_pad (stream_get (stream, "cpu"), "src");
  guint n = 0;

  gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER, invert, &n, NULL);
  run_on (stream, RGB, 10);
  g_assert_cmpuint (n, ==, 10);
  return stream;
}

static void
test_cpu_between (void)
{
  g_autoptr (Stream) device = run_inverted (WEIGHT "name=a ! identity name=cpu ! " WEIGHT "name=b");
  g_autoptr (Stream) host =
      run_inverted (WEIGHT "name=a " HOST "identity name=cpu ! " WEIGHT "name=b");

  assert_opencl (device, "a", "src", TRUE);
  stream_assert_memory (device, "b", "OpenCL to system", 10 * BYTES);
  stream_assert_same (device, host);
}

/* One buffer on two ways: what one of them does the other does not see. */
static void
test_tee (void)
{
  g_autoptr (Stream) device =
      run_inverted (WEIGHT "! tee name=t ! identity name=cpu ! fakesink async=false sync=false "
                           "t. ! queue ! " WEIGHT "name=b");
  g_autoptr (Stream) host = run (WEIGHT HOST WEIGHT, RGB, 10);

  stream_assert_memory (device, "b", "OpenCL to system", 10 * BYTES);
  stream_assert_same (device, host);
}

/* An input stays as it was, though its owner uses it more than once. */
static void
test_inputs_stay (void)
{
  g_autoptr (Stream) first = stream_start (RGB, WEIGHT FORCE ("video/x-raw" OPENCL));
  g_autoptr (Stream) again =
      stream_start (OPENCL_RGB, WEIGHT "! " WEIGHT "name=b " FORCE ("video/x-raw" OPENCL));
  g_autoptr (GstBuffer) input = stream_run (first, noise_bytes (9 * 160, 1));

  for (guint i = 0; i < 3; i++)
    stream_push (again, gst_buffer_ref (input));
  stream_end (again);
  g_assert_cmpuint (again->n, ==, 3);
  g_assert_cmpmem (again->bytes->data, BYTES, again->bytes->data + 2 * BYTES, BYTES);
  stream_assert_memory (again, "b", "OpenCL", 0);
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

/* A frame in @allocator's memory, its rows @stride bytes apart and behind @offset bytes. */
static GstBuffer *
new_frame (GstAllocator *allocator, gsize offset, gint stride)
{
  gsize offsets[GST_VIDEO_MAX_PLANES] = {offset};
  gint strides[GST_VIDEO_MAX_PLANES] = {stride};
  GstBuffer *buffer = gst_buffer_new_allocate (allocator, offset + 9 * stride, NULL);
  GstMapInfo map;

  g_assert_nonnull (buffer);
  gst_buffer_add_video_meta_full (buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_RGB, 53, 9, 1,
                                  offsets, strides);
  g_assert_true (gst_buffer_map (buffer, &map, GST_MAP_WRITE));
  memset (map.data, 255, map.size);
  for (guint y = 0; y < 9; y++)
    for (guint i = 0; i < 53 * 3; i++)
      map.data[offset + y * stride + i] = (y * 31 + i * 7) % 251;
  gst_buffer_unmap (buffer, &map);
  return buffer;
}

/* An element with a context of its own. */
static Stream *
start_stranger (GemmclContext *context)
{
  Stream *stream = stream_new (WEIGHT);

  share_context (stream->element, gemmcl_context_get_cl_context (context));
  g_assert_true (stream_play (stream, OPENCL_RGB, NULL));
  return stream;
}

/* Strange layouts are copied on the device; memory of another context by the host. The log says
 * why, once. */
static void
test_strange_inputs (void)
{
  static const struct {
    gsize offset;
    gint stride;
  } layouts[] = {{0, 159}, {0, 160}, {7, 159}, {64, 200}};
  g_autoptr (GemmclContext) context = gemmcl_context_new (NULL, NULL);
  g_autoptr (Stream) stream = stream_start (OPENCL_RGB, WEIGHT "name=a");
  g_autoptr (Stream) stranger = start_stranger (context);
  g_autoptr (GstAllocator) own = get_allocator (stream), foreign = get_allocator (stranger);
  guint n = 0;

  log_begin ("GST_PERFORMANCE", GST_LEVEL_INFO);
  for (guint i = 0; i < G_N_ELEMENTS (layouts); i++, n++)
    stream_push (stream, new_frame (own, layouts[i].offset, layouts[i].stride));
  stream_push_event (stream, gst_event_new_gap (0, 0));
  stream_assert_memory (stream, "a", "OpenCL to system", n * BYTES);
  for (guint i = 0; i < G_N_ELEMENTS (layouts); i++, n++)
    stream_push (stream, new_frame (foreign, layouts[i].offset, layouts[i].stride));
  stream_end (stream);
  log_assert ("would save that",
              "inputs are copied because their rows have gaps|A does not begin at the start|"
              "another context|outputs are copied because their rows have gaps",
              1);
  stream_assert_memory (stream, "a", "system", (n + 4) * BYTES);
  g_assert_cmpuint (stream->n, ==, n);
  for (guint i = 1; i < n; i++)
    g_assert_cmpmem (stream->bytes->data, BYTES, stream->bytes->data + i * BYTES, BYTES);
}

/* Pushes a frame that is not written before @gate. Returns: the output. */
static GstBuffer *
run_late (Stream *stream, cl_event *gate)
{
  g_autoptr (GstAllocator) allocator = get_allocator (stream);
  GstBuffer *input = new_frame (allocator, 0, 159);
  GstMapInfo map;

  *gate = clCreateUserEvent (gst_gemmcl_memory_get_cl_context (gst_buffer_peek_memory (input, 0)),
                             NULL);
  g_assert_true (gst_buffer_map (input, &map, GST_MAP_WRITE | GST_GEMMCL_MAP_OPENCL));
  gst_gemmcl_memory_add_event (map.memory, GST_MAP_WRITE, *gate);
  gst_buffer_unmap (input, &map);
  return stream_run (stream, input);
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
    cl_event gate;
    g_autoptr (GstBuffer) output = run_late (stream, &gate);
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

int
main (int argc, char **argv)
{
  stream_test_init (&argc, &argv);
  for (guint i = 0; i < G_N_ELEMENTS (chains); i++)
    stream_add_data_test (chains[i].path, GUINT_TO_POINTER (i), test_chain);
  stream_add_test ("/opencl/negotiation", test_negotiation);
  stream_add_test ("/opencl/cpu-between", test_cpu_between);
  stream_add_test ("/opencl/tee", test_tee);
  stream_add_test ("/opencl/inputs-stay", test_inputs_stay);
  stream_add_test ("/opencl/strange-inputs", test_strange_inputs);
  stream_add_data_test ("/opencl/late-input", GUINT_TO_POINTER (GST_MAP_READ), test_late_input);
  stream_add_data_test ("/opencl/map-without-events", GUINT_TO_POINTER (GST_GEMMCL_MAP_OPENCL),
                        test_late_input);
  return g_test_run ();
}
