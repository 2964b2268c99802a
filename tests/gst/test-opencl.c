/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Elements that hand on OpenCL memory: the same results as through the system's, and no copies. */

#include <gemmcl-opencl.h>
#include <string.h>

#include "gstgemmclmemory.h"
#include "stream.h"

#define RGB          "video/x-raw,format=RGB,width=53,height=9,framerate=10/1"
#define PIXELS       (53 * 9)
#define STEREO       "audio/x-raw,format=S16LE,rate=8000,channels=2,layout=interleaved"
#define OPENCL       "(memory:OpenCL)"
#define OPENCL_RGB   "video/x-raw" OPENCL ",format=RGB,width=53,height=9,framerate=10/1"
#define FORCE(media) "! capsfilter caps=\"" media "\" "
#define WEIGHT       "gemmcl weight=[[.5,.2,0],[.25,.5,.1],[0,.25,.75]] "

/* Elements in a row, and what came out of them. */
typedef struct {
  GstHarness *harness;
  GstBus *bus;
  GByteArray *bytes;
  guint n;
} Line;

static void
line_clear (Line *self)
{
  if (self->harness) {
    gst_element_set_bus (self->harness->element, NULL);
    gst_harness_teardown (self->harness);
  }
  gst_clear_object (&self->bus);
  g_clear_pointer (&self->bytes, g_byte_array_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Line, line_clear)

static void
line_init (Line *self, const gchar *text, const gchar *caps)
{
  self->bytes = g_byte_array_new ();
  self->bus = gst_bus_new ();
  self->harness = gst_harness_new_parse (text);
  g_assert_nonnull (self->harness);
  gst_element_set_bus (self->harness->element, self->bus);
  gst_harness_set_src_caps_str (self->harness, caps);
}

/* Rows of pictures as if they had no gaps. */
static void
collect_frame (Line *self, GstBuffer *buffer, const GstVideoInfo *info)
{
  GstVideoFrame frame;

  g_assert_true (gst_video_frame_map (&frame, info, buffer, GST_MAP_READ));
  for (gint y = 0; y < GST_VIDEO_FRAME_HEIGHT (&frame); y++)
    g_byte_array_append (self->bytes,
                         (guint8 *)GST_VIDEO_FRAME_PLANE_DATA (&frame, 0) +
                             y * GST_VIDEO_FRAME_PLANE_STRIDE (&frame, 0),
                         GST_VIDEO_FRAME_WIDTH (&frame) * GST_VIDEO_FRAME_COMP_PSTRIDE (&frame, 0));
  gst_video_frame_unmap (&frame);
}

static void
collect (Line *self)
{
  g_autoptr (GstCaps) caps = gst_pad_get_current_caps (self->harness->sinkpad);
  GstBuffer *buffer;
  GstVideoInfo info;
  GstMapInfo map;

  while ((buffer = gst_harness_try_pull (self->harness))) {
    if (gst_video_info_from_caps (&info, caps)) {
      collect_frame (self, buffer, &info);
    } else {
      g_assert_true (gst_buffer_map (buffer, &map, GST_MAP_READ));
      g_byte_array_append (self->bytes, map.data, map.size);
      gst_buffer_unmap (buffer, &map);
    }
    gst_buffer_unref (buffer);
    self->n++;
  }
}

static GstBuffer *
noise (gsize size, guint seed)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  GstBuffer *buffer = gst_buffer_new_allocate (NULL, size, NULL);
  GstMapInfo map;

  gst_buffer_map (buffer, &map, GST_MAP_WRITE);
  for (gsize i = 0; i < size; i++)
    map.data[i] = g_rand_int (rand) >> 24;
  gst_buffer_unmap (buffer, &map);
  GST_BUFFER_PTS (buffer) = seed * GST_SECOND / 10;
  GST_BUFFER_DURATION (buffer) = GST_SECOND / 10;
  return buffer;
}

static void
push (Line *self, GstBuffer *buffer)
{
  g_assert_cmpstr (gst_flow_get_name (gst_harness_push (self->harness, buffer)), ==, "ok");
}

static void
end (Line *self)
{
  g_autoptr (GstMessage) message = NULL;
  GstEventType type;

  g_assert_true (gst_harness_push_event (self->harness, gst_event_new_eos ()));
  do { /* behind a queue that takes a while */
    g_autoptr (GstEvent) event = gst_harness_pull_event (self->harness);

    g_assert_nonnull (event);
    type = GST_EVENT_TYPE (event);
  } while (type != GST_EVENT_EOS);
  collect (self);
  message = gst_bus_pop_filtered (self->bus, GST_MESSAGE_ERROR | GST_MESSAGE_WARNING);
  g_assert_null (message);
}

/* @n buffers of @size bytes of noise through @text. */
static void
run (Line *self, const gchar *text, const gchar *caps, gsize size, guint n)
{
  line_init (self, text, caps);
  for (guint i = 0; i < n; i++) {
    push (self, noise (size, i));
    collect (self);
  }
  end (self);
}

/* RGB pictures, whose rows GStreamer pads. */
static void
run_pictures (Line *self, const gchar *text, guint n)
{
  run (self, text, RGB, 9 * 160, n);
}

static void
assert_same (const Line *one, const Line *other)
{
  g_assert_cmpuint (one->n, ==, other->n);
  g_assert_cmpuint (one->bytes->len, >, 0);
  g_assert_cmpmem (one->bytes->data, one->bytes->len, other->bytes->data, other->bytes->len);
}

/* Where A and D of an element were, and what it moved through the host. */
static void
assert_memory (Line *self, const gchar *name, const gchar *memory, guint64 bytes)
{
  g_autoptr (GstElement) element = gst_bin_get_by_name (GST_BIN (self->harness->element), name);
  g_autoptr (GstStructure) stats = NULL;
  guint64 found;

  g_object_get (element, "stats", &stats, NULL);
  g_assert_cmpstr (gst_structure_get_string (stats, "memory"), ==, memory);
  g_assert_true (gst_structure_get_uint64 (stats, "bytes", &found));
  g_assert_cmpuint (found, ==, bytes);
}

static void
assert_feature (Line *self, const gchar *name, const gchar *pad_name, gboolean opencl)
{
  g_autoptr (GstElement) element = gst_bin_get_by_name (GST_BIN (self->harness->element), name);
  g_autoptr (GstPad) pad = gst_element_get_static_pad (element, pad_name);
  g_autoptr (GstCaps) caps = gst_pad_get_current_caps (pad);

  g_assert_nonnull (caps);
  g_assert_cmpint (
      gst_caps_features_contains (gst_caps_get_features (caps, 0), GST_CAPS_FEATURE_MEMORY_OPENCL),
      ==, opencl);
}

static void
test_chain (void)
{
  for (guint depth = 1; depth <= 4; depth *= 2) {
    g_autofree gchar *element = g_strdup_printf (WEIGHT "queue-depth=%u", depth);
    g_autofree gchar *chain =
        g_strdup_printf ("%s name=a ! %s name=b ! %s name=c", element, element, element);
    g_autofree gchar *system = g_strdup_printf (
        "%s name=a ! video/x-raw ! %s name=b ! video/x-raw ! %s name=c", element, element, element);
    g_auto (Line) device = {NULL}, host = {NULL};

    run_pictures (&device, chain, 20);
    run_pictures (&host, system, 20);
    assert_same (&device, &host);
    assert_memory (&device, "a", "system to OpenCL", 20 * PIXELS * 3);
    assert_memory (&device, "b", "OpenCL", 0);
    assert_memory (&device, "c", "OpenCL to system", 20 * PIXELS * 3);
    assert_memory (&host, "b", "system", 2 * 20 * PIXELS * 3);
  }
}

/* Downstream says what it wants; one that takes all gets what others can read, too. */
static void
test_negotiation (void)
{
  g_auto (Line) open = {NULL}, forced = {NULL}, system = {NULL}, any = {NULL};

  run_pictures (&open, WEIGHT "name=a", 1);
  assert_feature (&open, "a", "src", FALSE);
  run_pictures (&forced, WEIGHT "name=a " FORCE ("video/x-raw" OPENCL), 1);
  assert_feature (&forced, "a", "src", TRUE);
  run_pictures (&system, WEIGHT "name=a ! video/x-raw ! " WEIGHT "name=b", 1);
  assert_feature (&system, "a", "src", FALSE);
  run_pictures (&any, WEIGHT "name=a ! identity ! queue ! " WEIGHT "name=b ! identity", 1);
  assert_feature (&any, "a", "src", TRUE);
  assert_feature (&any, "b", "sink", TRUE);
  assert_feature (&any, "b", "src", FALSE);
  assert_same (&open, &forced);
  assert_same (&system, &any);
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

static void
run_inverted (Line *self, const gchar *text)
{
  g_autoptr (GstElement) identity = NULL;
  g_autoptr (GstPad) pad = NULL;
  guint n = 0;

  line_init (self, text, RGB);
  identity = gst_bin_get_by_name (GST_BIN (self->harness->element), "cpu");
  pad = gst_element_get_static_pad (identity, "src");
  gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER, invert, &n, NULL);
  for (guint i = 0; i < 10; i++)
    push (self, noise (9 * 160, i));
  end (self);
  g_assert_cmpuint (n, ==, 10);
}

static void
test_cpu_between (void)
{
  g_auto (Line) device = {NULL}, host = {NULL};

  run_inverted (&device, WEIGHT "name=a ! identity name=cpu ! " WEIGHT "name=b");
  run_inverted (&host, WEIGHT "name=a ! video/x-raw ! identity name=cpu ! " WEIGHT "name=b");
  assert_feature (&device, "a", "src", TRUE);
  assert_memory (&device, "b", "OpenCL to system", 10 * PIXELS * 3);
  assert_same (&device, &host);
}

/* One buffer on two ways: what one of them does the other does not see. */
static void
test_tee (void)
{
  static const gchar text[] =
      WEIGHT "name=a ! tee name=t ! identity name=cpu ! fakesink async=false sync=false "
             "t. ! queue ! " WEIGHT "name=b";
  g_auto (Line) device = {NULL}, host = {NULL};

  run_inverted (&device, text);
  run_pictures (&host, WEIGHT "! video/x-raw ! " WEIGHT, 10);
  assert_memory (&device, "b", "OpenCL to system", 10 * PIXELS * 3);
  assert_same (&device, &host);
}

/* What comes in stays as it was, though its owner has more than one use for it. */
static void
test_inputs_stay (void)
{
  g_auto (Line) first = {NULL}, again = {NULL};
  GstBuffer *input;

  line_init (&first, WEIGHT FORCE ("video/x-raw" OPENCL), RGB);
  push (&first, noise (9 * 160, 1));
  input = gst_harness_pull (first.harness);
  line_init (&again, WEIGHT "! " WEIGHT "name=b " FORCE ("video/x-raw" OPENCL), OPENCL_RGB);
  for (guint i = 0; i < 3; i++)
    push (&again, gst_buffer_ref (input));
  end (&again);
  g_assert_cmpuint (again.n, ==, 3);
  g_assert_cmpmem (again.bytes->data, PIXELS * 3, again.bytes->data + 2 * PIXELS * 3, PIXELS * 3);
  assert_memory (&again, "b", "OpenCL", 0);
  gst_buffer_unref (input);
}

/* The previous output is where the next run needs it, whoever has it meanwhile. */
static void
test_previous_output (void)
{
  static const gchar *const settings[] = {"queue-depth=1", "queue-depth=2", "queue-depth=4"};

  for (guint i = 0; i < G_N_ELEMENTS (settings); i++) {
    g_autofree gchar *device_text =
        g_strdup_printf (WEIGHT "alpha=0.25 beta=0.75 %s ! " WEIGHT "alpha=0.5 beta=0.5 %s name=b",
                         settings[i], settings[i]);
    g_autofree gchar *host_text = g_strdup_printf (
        WEIGHT "alpha=0.25 beta=0.75 %s ! video/x-raw ! " WEIGHT "alpha=0.5 beta=0.5 %s name=b",
        settings[i], settings[i]);
    g_auto (Line) device = {NULL}, host = {NULL};

    run_pictures (&device, device_text, 20);
    run_pictures (&host, host_text, 20);
    assert_same (&device, &host);
    assert_memory (&device, "b", "OpenCL to system", 20 * PIXELS * 3);
  }
}

/* beta is set when the output that it scales was made already. */
static void
run_with_beta (Line *self, const gchar *text)
{
  g_autoptr (GstElement) element = NULL;

  line_init (self, text, RGB);
  element = gst_bin_get_by_name (GST_BIN (self->harness->element), "a");
  for (guint i = 0; i < 12; i++) {
    if (i % 4 == 3)
      g_object_set (element, "beta", i % 8 == 3 ? 0.5 : 0.0, NULL);
    push (self, noise (9 * 160, i));
    collect (self);
  }
  end (self);
}

static void
test_beta_while_playing (void)
{
  g_auto (Line) device = {NULL}, host = {NULL};

  run_with_beta (&device, WEIGHT "name=a " FORCE ("video/x-raw" OPENCL));
  run_with_beta (&host, WEIGHT "name=a " FORCE ("video/x-raw"));
  assert_same (&device, &host);
}

/* Several buffers at once are gathered and scattered on the device. */
static void
test_batches (void)
{
  g_auto (Line) device = {NULL}, host = {NULL};

  run_pictures (&device,
                WEIGHT "batch-size=3 ! " WEIGHT "batch-size=4 name=b ! " WEIGHT "batch-size=2", 20);
  run_pictures (&host, WEIGHT "! video/x-raw ! " WEIGHT "! video/x-raw ! " WEIGHT, 20);
  assert_same (&device, &host);
  assert_memory (&device, "b", "OpenCL", 0);
}

static void
run_audio (Line *self, const gchar *text)
{
  line_init (self, text, STEREO);
  for (guint i = 0; i < 30; i++)
    push (self, noise (4 * (1 + 331 * (i % 7)), i));
  end (self);
}

/* Buffers of all lengths, of which some are longer than those that a pool has. */
static void
test_audio (void)
{
  g_auto (Line) device = {NULL}, host = {NULL};

  run_audio (&device, "gemmcl weight=[[.5,.25],[.25,.5]] ! gemmcl weight=[[.5,1],[1,.5]] name=b");
  run_audio (&host, "gemmcl weight=[[.5,.25],[.25,.5]] ! audio/x-raw ! "
                    "gemmcl weight=[[.5,1],[1,.5]]");
  assert_same (&device, &host);
  assert_feature (&device, "b", "sink", TRUE);
}

/* Pictures become tensors, and tensors others, on the device. */
static void
test_tensors (void)
{
  static const gchar format[] = "gemmcl weight=%s name=a feature-mode=row ! %s"
                                "gemmcl weight=[[1],[-1]] name=b activation=relu";
  g_autoptr (GString) weight = g_string_new ("[");
  g_autofree gchar *device_text = NULL, *host_text = NULL;
  g_auto (Line) device = {NULL}, host = {NULL};

  for (guint i = 0; i < 53 * 3; i++)
    g_string_append_printf (weight, "%s[%u,%u]", i ? "," : "", i % 3, i % 4);
  g_string_append (weight, "]");
  device_text = g_strdup_printf (format, weight->str, "");
  host_text = g_strdup_printf (format, weight->str, "other/tensors ! ");
  run_pictures (&device, device_text, 5);
  run_pictures (&host, host_text, 5);
  assert_same (&device, &host);
  assert_memory (&device, "b", "OpenCL to system", 5 * 9 * sizeof (gfloat));
}

/* All memories of a buffer are what its caps say, those that pass through, too. */
static void
test_passed_tensors (void)
{
  g_auto (Line) self = {NULL};
  GstBuffer *input = gst_buffer_new (), *output;
  gfloat row[2] = {1, 2};

  line_init (&self, "gemmcl weight=[[1],[1]] tensor-index=1 " FORCE ("other/tensors" OPENCL),
             "other/tensors,format=static,num_tensors=3,framerate=1/1,"
             "dimensions=(string)\"2:1,2:1,2:1\",types=(string)\"float32,float32,float32\"");
  for (guint i = 0; i < 3; i++)
    gst_buffer_append_memory (input,
                              gst_memory_new_wrapped (0, g_memdup2 (row, sizeof row), sizeof row, 0,
                                                      sizeof row, NULL, NULL));
  push (&self, input);
  output = gst_harness_pull (self.harness);
  g_assert_cmpuint (gst_buffer_n_memory (output), ==, 3);
  for (guint i = 0; i < 3; i++) {
    GstMemory *memory = gst_buffer_peek_memory (output, i);
    GstMapInfo map;

    g_assert_true (gst_memory_is_type (memory, GST_OPENCL_MEMORY_TYPE_NAME));
    g_assert_true (gst_memory_map (memory, &map, GST_MAP_READ));
    g_assert_cmpuint (map.size, ==, i == 1 ? 4 : 8);
    g_assert_cmpfloat (((gfloat *)(gpointer)map.data)[0], ==, i == 1 ? 3 : 1);
    gst_memory_unmap (memory, &map);
  }
  gst_buffer_unref (output);
}

/* The memory that the first element of @line offers upstream. */
static GstAllocator *
get_allocator (Line *line)
{
  g_autoptr (GstCaps) caps = gst_pad_get_current_caps (line->harness->srcpad);
  g_autoptr (GstQuery) query = gst_query_new_allocation (caps, TRUE);
  GstAllocator *allocator = NULL;

  g_assert_true (gst_pad_peer_query (line->harness->srcpad, query));
  g_assert_cmpuint (gst_query_get_n_allocation_params (query), >, 0);
  gst_query_parse_nth_allocation_param (query, 0, &allocator, NULL);
  g_assert_nonnull (allocator);
  return allocator;
}

/* Makes elements of @line use @context. */
static void
set_context (Line *line, GemmclContext *context)
{
  g_autoptr (GstContext) shared = gst_context_new ("OpenCL", TRUE);

  gst_structure_set (gst_context_writable_structure (shared), "cl_context", G_TYPE_POINTER,
                     gemmcl_context_get_cl_context (context), NULL);
  gst_element_set_state (line->harness->element, GST_STATE_NULL);
  gst_element_set_context (line->harness->element, shared);
  gst_element_set_state (line->harness->element, GST_STATE_PLAYING);
}

/* A picture in @allocator's memory, its rows @stride bytes apart and behind @offset bytes. */
static GstBuffer *
new_picture (GstAllocator *allocator, gsize offset, gint stride)
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

/* Strange layouts are copied on the device; memory of another context by the host. */
static void
test_strange_inputs (void)
{
  static const struct {
    gsize offset;
    gint stride;
  } layouts[] = {{0, 159}, {0, 160}, {7, 159}, {64, 200}};
  g_autoptr (GemmclContext) context = gemmcl_context_new (NULL, NULL);
  g_auto (Line) self = {NULL}, stranger = {NULL};
  g_autoptr (GstAllocator) allocator = NULL, foreign = NULL;
  guint n = 0;

  line_init (&self, WEIGHT "name=a", OPENCL_RGB);
  line_init (&stranger, WEIGHT, OPENCL_RGB);
  set_context (&stranger, context);
  allocator = get_allocator (&self);
  foreign = get_allocator (&stranger);
  for (guint i = 0; i < G_N_ELEMENTS (layouts); i++, n++)
    push (&self, new_picture (allocator, layouts[i].offset, layouts[i].stride));
  g_assert_true (gst_harness_push_event (self.harness, gst_event_new_gap (0, 0)));
  assert_memory (&self, "a", "OpenCL to system", n * PIXELS * 3);
  for (guint i = 0; i < G_N_ELEMENTS (layouts); i++, n++)
    push (&self, new_picture (foreign, layouts[i].offset, layouts[i].stride));
  end (&self);
  assert_memory (&self, "a", "system", (n + 4) * PIXELS * 3);
  g_assert_cmpuint (self.n, ==, n);
  for (guint i = 1; i < n; i++)
    g_assert_cmpmem (self.bytes->data, PIXELS * 3, self.bytes->data + i * PIXELS * 3, PIXELS * 3);
}

/* Nothing waits on the host for what the device has still to do; what fails there is an error. */
static void
test_late_input (void)
{
  for (guint i = 0; i < 2; i++) {
    g_auto (Line) self = {NULL};
    g_autoptr (GstAllocator) allocator = NULL;
    g_autoptr (GstMessage) message = NULL;
    g_autoptr (GstBuffer) output = NULL;
    GstBuffer *input;
    cl_event gate;
    GstMapInfo map;

    line_init (&self,
               WEIGHT "queue-depth=2 ! " WEIGHT "queue-depth=2 " FORCE ("video/x-raw" OPENCL),
               OPENCL_RGB);
    allocator = get_allocator (&self);
    input = new_picture (allocator, 0, 159);
    gate =
        clCreateUserEvent (gst_opencl_memory_get_context (gst_buffer_peek_memory (input, 0)), NULL);
    g_assert_true (gst_buffer_map (input, &map, GST_MAP_WRITE | GST_MAP_OPENCL));
    gst_opencl_memory_add_event (map.memory, GST_MAP_WRITE, gate);
    gst_buffer_unmap (input, &map);
    push (&self, input);
    output = gst_harness_pull (self.harness);
    g_assert_cmpint (clSetUserEventStatus (gate, i == 0 ? CL_COMPLETE : -1), ==, CL_SUCCESS);
    clReleaseEvent (gate);
    g_assert_cmpint (gst_buffer_map (output, &map, GST_MAP_READ), ==, i == 0);
    if (i == 0)
      gst_buffer_unmap (output, &map);
    gst_harness_push_event (self.harness, gst_event_new_eos ());
    message = gst_bus_pop_filtered (self.bus, GST_MESSAGE_ERROR);
    g_assert_cmpint (message != NULL, ==, i == 1);
  }
}

/* Caps, flushes and states change while buffers are on the device. */
static void
test_changes (void)
{
  g_auto (Line) self = {NULL};

  line_init (&self, WEIGHT "queue-depth=4 ! " WEIGHT "queue-depth=3 batch-size=2 ! " WEIGHT, RGB);
  for (guint i = 0; i < 100; i++) {
    if (i % 10 == 5)
      gst_harness_set_src_caps_str (self.harness, i % 20 == 5
                                                      ? "video/x-raw,format=RGB,width=20,height=30,"
                                                        "framerate=10/1"
                                                      : RGB);
    if (i % 14 == 9) {
      gst_harness_push_event (self.harness, gst_event_new_flush_start ());
      gst_harness_push_event (self.harness, gst_event_new_flush_stop (TRUE));
      gst_harness_set_src_caps_str (self.harness, RGB);
    }
    push (&self, noise (1800, i)); /* enough for either */
  }
  end (&self);
  g_assert_cmpuint (self.n, >, 50);
}

int
main (int argc, char **argv)
{
  g_autoptr (GstPlugin) core = NULL;
  g_autoptr (GError) error = NULL;

  g_test_init (&argc, &argv, NULL);
  gst_init (&argc, &argv);
  core = gst_plugin_load_file (CORE_ELEMENTS, &error);
  g_assert_no_error (error);
  stream_add_test ("/opencl/chain", test_chain);
  stream_add_test ("/opencl/negotiation", test_negotiation);
  stream_add_test ("/opencl/cpu-between", test_cpu_between);
  stream_add_test ("/opencl/tee", test_tee);
  stream_add_test ("/opencl/inputs-stay", test_inputs_stay);
  stream_add_test ("/opencl/previous-output", test_previous_output);
  stream_add_test ("/opencl/beta-while-playing", test_beta_while_playing);
  stream_add_test ("/opencl/batches", test_batches);
  stream_add_test ("/opencl/audio", test_audio);
  stream_add_test ("/opencl/tensors", test_tensors);
  stream_add_test ("/opencl/passed-tensors", test_passed_tensors);
  stream_add_test ("/opencl/strange-inputs", test_strange_inputs);
  stream_add_test ("/opencl/late-input", test_late_input);
  stream_add_test ("/opencl/changes", test_changes);
  return g_test_run ();
}
