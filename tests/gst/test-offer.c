/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include <gemmcl.h>

#include "copies.h"
#include "memory/gstgemmclmemory.h"
#include "line.h"
#include "plugins.h"

/* The system's memory that the element offers upstream, which the device uses without a copy, and
 * the pools that its results come from. */

#define PAGE 4096
#define N    10

/* What the element at the head of @line says to whoever asks for caps as @text. */
static GstQuery *
ask (Line *line, const gchar *text)
{
  g_autoptr (GstCaps) caps = gst_caps_from_string (text);
  GstQuery *query = gst_query_new_allocation (caps, TRUE);

  g_assert_true (gst_pad_peer_query (line->harness->srcpad, query));
  return query;
}

/* The pool that is offered, active; for give_pool(). */
static GstBufferPool *
take_pool (Line *line, const gchar *text, gboolean with_meta)
{
  g_autoptr (GstQuery) query = ask (line, text);
  g_autoptr (GstCaps) caps = gst_caps_from_string (text);
  GstBufferPool *pool = NULL;
  GstStructure *config;
  guint size, min, max;

  g_assert_cmpuint (gst_query_get_n_allocation_pools (query), ==, 1);
  gst_query_parse_nth_allocation_pool (query, 0, &pool, &size, &min, &max);
  g_assert_nonnull (pool);
  config = gst_buffer_pool_get_config (pool);
  gst_buffer_pool_config_set_params (config, caps, size, min, max);
  if (with_meta)
    gst_buffer_pool_config_add_option (config, GST_BUFFER_POOL_OPTION_VIDEO_META);
  g_assert_true (gst_buffer_pool_set_config (pool, config));
  g_assert_true (gst_buffer_pool_set_active (pool, TRUE));
  return pool;
}

static void
give_pool (GstBufferPool *pool)
{
  gst_buffer_pool_set_active (pool, FALSE);
  gst_object_unref (pool);
}

static void
assert_pages (GstBuffer *buffer)
{
  GstMemory *memory = gst_buffer_peek_memory (buffer, 0);
  gsize offset, maxsize;
  GstMapInfo map;

  gst_memory_get_sizes (memory, &offset, &maxsize);
  g_assert_cmpuint (offset, ==, 0);
  g_assert_cmpuint (maxsize, >=, (gst_buffer_get_size (buffer) + PAGE - 1) / PAGE * PAGE);
  g_assert_true (gst_memory_map (memory, &map, GST_MAP_READ));
  g_assert_cmpuint ((guintptr)map.data % PAGE, ==, 0);
  gst_memory_unmap (memory, &map);
}

/* The picture of noise_bytes(), as the rows of @to lie. */
static void
draw (GstBuffer *to, guint seed)
{
  g_autoptr (GstCaps) caps = gst_caps_from_string (RGB);
  g_autoptr (GstBuffer) from = noise_bytes (9 * 160, seed);
  GstVideoFrame read, written;
  GstVideoInfo info;

  g_assert_true (gst_video_info_from_caps (&info, caps));
  g_assert_true (gst_video_frame_map (&read, &info, from, GST_MAP_READ));
  g_assert_true (gst_video_frame_map (&written, &info, to, GST_MAP_WRITE));
  g_assert_true (gst_video_frame_copy (&written, &read));
  gst_video_frame_unmap (&written);
  gst_video_frame_unmap (&read);
  GST_BUFFER_PTS (to) = GST_BUFFER_PTS (from);
  GST_BUFFER_DURATION (to) = GST_BUFFER_DURATION (from);
}

static GemmclDeviceInfo
get_device (void)
{
  g_autoptr (GemmclContext) context = gemmcl_context_new (NULL, NULL);

  return *gemmcl_context_get_device_info (context);
}

/* Whether the device reads the host's memory; else the test is skipped. */
static gboolean
is_shared (void)
{
  if (get_device ().host_unified)
    return TRUE;
  g_test_skip ("the device has memory of its own");
  return FALSE;
}

/* Whether it does that also where there is little of it: the only ones of which tests know what
 * they copy. */
static gboolean
is_shared_cpu (void)
{
  const GemmclDeviceInfo info = get_device ();

  return info.host_unified && info.type == GEMMCL_DEVICE_TYPE_CPU;
}

static void
assert_writes (const Copies *copies, guint writes)
{
  if (is_shared_cpu ())
    g_assert_cmpuint (copies->writes + copies->copies, ==, writes);
  else
    g_test_message ("copies are not counted on this device");
}

/* Each D is copied on the device to where GStreamer has rows by default, with gaps, since nobody
 * downstream understands a GstVideoMeta. */
#define D_COPIES (N - 1)

/* N pictures in buffers that @make makes go through @self, and out comes what plain buffers make.
 * Returns: what was copied. */
static Copies
run_drawn (Line *self, GstBuffer *(*make) (gpointer), gpointer data)
{
  g_auto (Line) plain = {NULL};
  Copies found;

  for (guint i = 0; i < N; i++) {
    GstBuffer *buffer = make (data);

    draw (buffer, i);
    line_push (self, buffer);
    line_collect (self);
    if (i == 0) /* with the weights */
      copies_reset ();
  }
  found = copies_get ();
  line_end (self);
  line_run_pictures (&plain, WEIGHT, N);
  line_assert_same (self, &plain);
  return found;
}

static GstBuffer *
acquire (gpointer pool)
{
  GstBuffer *buffer = NULL;

  g_assert_cmpint (gst_buffer_pool_acquire_buffer (pool, &buffer, NULL), ==, GST_FLOW_OK);
  return buffer;
}

static GstBuffer *
acquire_tight (gpointer pool)
{
  GstBuffer *buffer = acquire (pool);
  const GstVideoMeta *meta = gst_buffer_get_video_meta (buffer);

  assert_pages (buffer);
  g_assert_nonnull (meta);
  g_assert_cmpint (meta->stride[0], ==, 53 * 3);
  return buffer;
}

static GstBuffer *
acquire_padded (gpointer pool)
{
  GstBuffer *buffer = acquire (pool);

  assert_pages (buffer);
  g_assert_null (gst_buffer_get_video_meta (buffer));
  g_assert_cmpuint (gst_buffer_get_size (buffer), ==, 9 * 160);
  return buffer;
}

/* Rows without gaps for whoever understands a GstVideoMeta; GStreamer's own for everybody else. */
static void
test_pages (void)
{
  g_auto (Line) tight = {NULL}, padded = {NULL};
  GstBufferPool *pool;
  Copies copies;

  if (!is_shared ())
    return;
  line_init (&tight, WEIGHT, RGB);
  pool = take_pool (&tight, RGB, TRUE);
  copies = run_drawn (&tight, acquire_tight, pool);
  give_pool (pool);
  assert_writes (&copies, D_COPIES);
  line_init (&padded, WEIGHT, RGB);
  pool = take_pool (&padded, RGB, FALSE);
  copies = run_drawn (&padded, acquire_padded, pool);
  give_pool (pool);
  assert_writes (&copies, D_COPIES + N - 1);
}

/* Room before the picture, around its rows, and an address that suits nothing. */
static GstBuffer *
make_strange (gpointer data)
{
  const gint stride = 211;
  const gsize size = 7 + 9 * 211;
  guchar *bytes = g_malloc (size + 1);
  GstBuffer *buffer = gst_buffer_new_wrapped_full (0, bytes, size + 1, 1, size, bytes, g_free);

  (void)data;
  gst_buffer_add_video_meta_full (buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_RGB, 53, 9, 1,
                                  (gsize[GST_VIDEO_MAX_PLANES]){7},
                                  (gint[GST_VIDEO_MAX_PLANES]){stride});
  return buffer;
}

static void
test_strange (void)
{
  g_auto (Line) line = {NULL};
  Copies copies;

  line_init (&line, WEIGHT, RGB);
  copies = run_drawn (&line, make_strange, NULL);
  assert_writes (&copies, D_COPIES + N - 1);
}

/* An upstream that has no use for a pool. */
static void
test_allocator (void)
{
  g_auto (Line) line = {NULL};
  g_autoptr (GstBuffer) buffer = NULL;

  if (!is_shared ())
    return;
  line_init (&line, WEIGHT, RGB);
  buffer = gst_harness_create_buffer (line.harness, 9 * 160);
  assert_pages (buffer);
}

static gboolean
has_meta (GstQuery *query)
{
  return gst_query_find_allocation_meta (query, GST_VIDEO_META_API_TYPE, NULL);
}

/* Of audio nobody knows how long buffers are; one tensor has a size, several have a memory each. */
static void
test_other_media (void)
{
  static const struct {
    const gchar *weight, *caps;
    guint size;
  } cases[] = {
      {"[[1],[2]]", STEREO, 0},
      {"[[1],[2],[3]]",
       "other/tensors,format=static,num_tensors=1,dimensions=(string)3:5,types=(string)float32,"
       "framerate=0/1",
       60},
      {"[[1],[2],[3]]",
       "other/tensors,format=static,num_tensors=2,dimensions=(string)\"3:5,7\",types=(string)"
       "\"float32,uint8\",framerate=0/1",
       0},
  };

  if (!is_shared ())
    return;
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autofree gchar *text = g_strdup_printf ("gemmcl weight=%s", cases[i].weight);
    g_auto (Line) line = {NULL};
    g_autoptr (GstQuery) query = NULL;
    GstAllocationParams params;
    guint size = 0;

    line_init (&line, text, cases[i].caps);
    query = ask (&line, cases[i].caps);
    g_assert_cmpuint (gst_query_get_n_allocation_params (query), ==, 1);
    gst_query_parse_nth_allocation_param (query, 0, NULL, &params);
    g_assert_cmpuint (params.align, ==, PAGE - 1);
    g_assert_cmpuint (gst_query_get_n_allocation_pools (query), ==, cases[i].size > 0);
    if (cases[i].size > 0)
      gst_query_parse_nth_allocation_pool (query, 0, NULL, &size, NULL, NULL);
    g_assert_cmpuint (size, ==, cases[i].size);
    g_assert_false (has_meta (query));
  }
}

/* For memory that others make there is no more to say than how many are held, and that strides may
 * be any. */
static void
test_other_memory (void)
{
  g_auto (Line) line = {NULL};
  g_autoptr (GstQuery) query = NULL;
  g_autoptr (GstBufferPool) pool = NULL;
  guint size, min;

  line_init (&line, WEIGHT, RGB);
  query = ask (&line, "video/x-raw(memory:VAMemory),format=NV12,width=64,height=8,framerate=10/1");
  g_assert_cmpuint (gst_query_get_n_allocation_pools (query), ==, 1);
  gst_query_parse_nth_allocation_pool (query, 0, &pool, &size, &min, NULL);
  g_assert_null (pool);
  g_assert_cmpuint (size, ==, 64 * 8 * 3 / 2);
  g_assert_cmpuint (min, ==, 2);
  g_assert_cmpuint (gst_query_get_n_allocation_params (query), ==, 0);
  g_assert_true (has_meta (query));
}

static GstPadProbeReturn
look (GstPad *pad G_GNUC_UNUSED, GstPadProbeInfo *info, gpointer data)
{
  GstBuffer *buffer = GST_PAD_PROBE_INFO_BUFFER (info);
  const GstVideoMeta *meta = gst_buffer_get_video_meta (buffer);
  guint *n = data;

  assert_pages (buffer);
  g_assert_nonnull (meta);
  g_assert_cmpint (meta->stride[0], ==, 53 * 3);
  if ((*n)++ == 0)
    copies_reset ();
  return GST_PAD_PROBE_OK;
}

/* An element that writes into what it is offered. */
static void
test_videotestsrc (void)
{
  g_autoptr (GstPlugin) plugin = plugins_load ("videotestsrc", NULL);
  g_autoptr (GstElement) pipeline = NULL, element = NULL;
  g_autoptr (GstPad) pad = NULL;
  g_autoptr (GstBus) bus = NULL;
  g_autoptr (GstMessage) message = NULL;
  Copies copies;
  guint n = 0;

  if (!is_shared ())
    return;
  if (!plugin) {
    g_test_skip ("there is no videotestsrc");
    return;
  }
  pipeline = gst_parse_launch (
      "videotestsrc num-buffers=10 ! " RGB " ! " WEIGHT "name=a ! fakesink", NULL);
  g_assert_nonnull (pipeline);
  element = gst_bin_get_by_name (GST_BIN (pipeline), "a");
  pad = gst_element_get_static_pad (element, "sink");
  gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER, look, &n, NULL);
  bus = gst_element_get_bus (pipeline);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  message =
      gst_bus_timed_pop_filtered (bus, GST_CLOCK_TIME_NONE, GST_MESSAGE_EOS | GST_MESSAGE_ERROR);
  g_assert_cmpint (GST_MESSAGE_TYPE (message), ==, GST_MESSAGE_EOS);
  copies = copies_get ();
  gst_element_set_state (pipeline, GST_STATE_NULL);
  g_assert_cmpuint (n, ==, N);
  /* The weight is written when the first buffer was seen. */
  if (is_shared_cpu ())
    g_assert_cmpuint (copies.writes, <, N - 1);
}

static GstBuffer *
acquire_pinned (gpointer pool)
{
  GstBuffer *buffer = acquire (pool);

  g_assert_true (
      gst_memory_is_type (gst_buffer_peek_memory (buffer, 0), GST_OPENCL_MEMORY_TYPE_NAME));
  return buffer;
}

/* A device with memory of its own fetches what upstream wrote into pinned memory: a write for each
 * buffer, of the allocator's, and nothing for which the streaming thread waits. */
static void
test_pinned (void)
{
  for (guint with_meta = 0; with_meta <= 1; with_meta++) {
    g_auto (Line) line = {NULL};
    GstBufferPool *pool;
    Copies copies;

    copies_pretend_discrete (TRUE);
    line_init (&line, WEIGHT "queue-depth=3 name=a", RGB);
    pool = take_pool (&line, RGB, with_meta);
    copies = run_drawn (&line, acquire_pinned, pool);
    give_pool (pool);
    copies_pretend_discrete (FALSE);
    line_assert_memory (&line, "a", "OpenCL to system", N * PIXELS * 3);
    g_assert_cmpuint (copies.writes, ==, N - 1);
    g_assert_cmpuint (copies.copies, ==, D_COPIES + (with_meta ? 0 : N - 1));
  }
}

/* Caps of the system's memory between two elements: the first one's outputs are for the host, too,
 * and the second one finds them on the device. */
static void
test_forced (void)
{
  g_auto (Line) line = {NULL};

  copies_pretend_discrete (TRUE);
  line_run_pictures (&line, WEIGHT "name=a ! video/x-raw ! " WEIGHT "name=b", N);
  copies_pretend_discrete (FALSE);
  line_assert_memory (&line, "a", "system", 2 * N * PIXELS * 3);
  line_assert_memory (&line, "b", "OpenCL to system", N * PIXELS * 3);
}

/* How many different memories hold @index of the buffers that @text makes of 30 like @input. */
static guint
count_memories (const gchar *text, const gchar *caps, GstBuffer *input, guint index)
{
  const GQuark seen = g_quark_from_static_string ("seen");
  g_auto (Line) line = {NULL};
  guint n = 0;

  line_init (&line, text, caps);
  for (guint i = 0; i < 30; i++) {
    g_autoptr (GstBuffer) output = NULL;
    GstMiniObject *memory;

    line_push (&line, gst_buffer_copy_deep (input));
    output = gst_harness_pull (line.harness);
    memory = GST_MINI_OBJECT (gst_buffer_peek_memory (output, index));
    /* A pool that was too small is gone by then. */
    n += i >= 3 && !gst_mini_object_get_qdata (memory, seen);
    gst_mini_object_set_qdata (memory, seen, &line, NULL);
  }
  return n;
}

/* Results come from pools, also those of audio and of several tensors. */
static void
test_results (void)
{
  static const gchar two[] =
      "other/tensors,format=static,num_tensors=2,dimensions=(string)\"3:5,7\",types=(string)"
      "\"float32,uint8\",framerate=0/1";
  static const gchar *const memories[] = {"", " ! capsfilter caps=other/tensors" OPENCL};
  g_autoptr (GstBuffer) shorter = noise_bytes (4 * 100, 1), longer = noise_bytes (4 * 5000, 1);
  g_autoptr (GstBuffer) tensors = noise_bytes (60, 1), other = noise_bytes (7, 2);

  g_assert_cmpuint (count_memories ("gemmcl weight=[[1],[2]]", STEREO, shorter, 0), ==, 0);
  g_assert_cmpuint (count_memories ("gemmcl weight=[[1],[2]]", STEREO, longer, 0), ==, 0);
  gst_buffer_append_memory (tensors, gst_buffer_get_memory (other, 0));
  for (guint i = 0; i < G_N_ELEMENTS (memories); i++) {
    g_autofree gchar *rows =
        g_strconcat ("gemmcl weight=[[1],[2],[3]] row-outputs=sum", memories[i], NULL);
    g_autofree gchar *first = g_strconcat ("gemmcl weight=[[1],[2],[3]]", memories[i], NULL);
    g_autofree gchar *second = g_strconcat (
        "gemmcl weight=[[1],[2],[3],[4],[5],[6],[7]] tensor-index=1", memories[i], NULL);

    g_assert_cmpuint (count_memories (first, two, tensors, 0), ==, 0);
    g_assert_cmpuint (count_memories (second, two, tensors, 1), ==, 0);
    g_assert_cmpuint (count_memories (rows, two, tensors, 2), ==, 0);
  }
}

int
main (int argc, char **argv)
{
  line_test_init (&argc, &argv);
  stream_add_test ("/offer/pages", test_pages);
  stream_add_test ("/offer/strange", test_strange);
  stream_add_test ("/offer/allocator", test_allocator);
  stream_add_test ("/offer/other-media", test_other_media);
  stream_add_test ("/offer/other-memory", test_other_memory);
  stream_add_test ("/offer/videotestsrc", test_videotestsrc);
  stream_add_test ("/offer/pinned", test_pinned);
  stream_add_test ("/offer/forced", test_forced);
  stream_add_test ("/offer/results", test_results);
  return g_test_run ();
}
