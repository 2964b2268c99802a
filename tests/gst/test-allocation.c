/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include <gemmcl.h>
#include <gst/video/video.h>
#include <math.h>
#include <string.h>

#include "copies.h"
#include "memory/gstgemmclmemory.h"
#include "stream.h"

/* The memory that the element offers upstream, which the device uses without a copy, and that of
 * its outputs, which come from pools and which beta may come to scale. */

#define RGB    VIDEO ("RGB", "width=53,height=9")
#define BYTES  (53 * 9 * 3)
#define STEREO AUDIO ("S16LE", "2")
#define WEIGHT "gemmcl name=a weight=[[.5,.2,0],[.25,.5,.1],[0,.25,.75]] "
#define TWO    TENSORS ("2", "3:5,7", "float32,uint8", "0/1")
#define PAGE   4096
#define N      12

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

/* Whether it does that also where there is little of it: only of such devices is known what they
 * copy. */
static gboolean
is_shared_cpu (void)
{
  const GemmclDeviceInfo info = get_device ();

  return info.host_unified && info.type == GEMMCL_DEVICE_TYPE_CPU;
}

/* What the element answers whoever asks for caps as @text. */
static GstQuery *
ask (Stream *stream, const gchar *text)
{
  g_autoptr (GstCaps) caps = gst_caps_from_string (text);
  GstQuery *query = gst_query_new_allocation (caps, TRUE);

  g_assert_true (gst_pad_peer_query (stream->harness->srcpad, query));
  return query;
}

/* The pool that is offered, active; for give_pool(). */
static GstBufferPool *
take_pool (Stream *stream, gboolean with_meta)
{
  g_autoptr (GstQuery) query = ask (stream, RGB);
  g_autoptr (GstCaps) caps = gst_caps_from_string (RGB);
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
  if (pool)
    gst_buffer_pool_set_active (pool, FALSE);
  gst_clear_object (&pool);
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

/* The frame of noise_bytes(), as the rows of @to lie. */
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
}

static GstBuffer *
acquire (gpointer pool)
{
  GstBuffer *buffer = NULL;

  g_assert_cmpint (gst_buffer_pool_acquire_buffer (pool, &buffer, NULL), ==, GST_FLOW_OK);
  return buffer;
}

static void
assert_tight (GstBuffer *buffer)
{
  const GstVideoMeta *meta = gst_buffer_get_video_meta (buffer);

  assert_pages (buffer);
  g_assert_nonnull (meta);
  g_assert_cmpint (meta->stride[0], ==, 53 * 3);
}

static GstBuffer *
acquire_tight (gpointer pool)
{
  GstBuffer *buffer = acquire (pool);

  assert_tight (buffer);
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

static GstBuffer *
acquire_pinned (gpointer pool)
{
  GstBuffer *buffer = acquire (pool);

  g_assert_true (
      gst_memory_is_type (gst_buffer_peek_memory (buffer, 0), GST_OPENCL_MEMORY_TYPE_NAME));
  return buffer;
}

/* Room before the frame, around its rows, and an address that suits nothing. */
static GstBuffer *
make_strange (gpointer unused G_GNUC_UNUSED)
{
  const gsize size = 7 + 9 * 211;
  guchar *bytes = g_malloc (size + 1);
  GstBuffer *buffer = gst_buffer_new_wrapped_full (0, bytes, size + 1, 1, size, bytes, g_free);

  gst_buffer_add_video_meta_full (buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_RGB, 53, 9, 1,
                                  (gsize[GST_VIDEO_MAX_PLANES]){7},
                                  (gint[GST_VIDEO_MAX_PLANES]){211});
  return buffer;
}

/* Pushes N frames in buffers that @make makes. Returns: what was copied after the first one. */
static Copies
run_drawn (Stream *stream, GstBuffer *(*make) (gpointer), gpointer data)
{
  Copies found;

  for (guint i = 0; i < N; i++) {
    GstBuffer *buffer = make (data);

    draw (buffer, i);
    stream_push (stream, buffer);
    stream_collect (stream);
    if (i == 0) /* with the weights */
      copies_reset ();
  }
  found = copies_get ();
  stream_end (stream);
  return found;
}

static GstBuffer *
make_plain (gpointer unused G_GNUC_UNUSED)
{
  return gst_buffer_new_allocate (NULL, 9 * 160, NULL);
}

/**
 * What frames in memory of some kind give is what plain buffers give, and so much is copied of each:
 * @a copies of it, and @writes of these by the allocator of pinned memory. Each D is copied once on
 * the device, to where GStreamer has rows by default, since nobody downstream knows a GstVideoMeta.
 */
static const struct {
  const gchar *path;
  gboolean discrete, pool, meta;
  GstBuffer *(*make) (gpointer);
  guint a, writes;
} inputs[] = {
    /* Rows without gaps for whoever understands a GstVideoMeta; GStreamer's own for others. */
    {"/offer/tight-rows", FALSE, TRUE, TRUE, acquire_tight, 0, 0},
    {"/offer/padded-rows", FALSE, TRUE, FALSE, acquire_padded, 1, 0},
    {"/offer/strange-rows", FALSE, FALSE, FALSE, make_strange, 1, 0},
    /* A device with memory of its own fetches what upstream wrote into pinned memory. */
    {"/offer/pinned-tight", TRUE, TRUE, TRUE, acquire_pinned, 1, 1},
    {"/offer/pinned-padded", TRUE, TRUE, FALSE, acquire_pinned, 2, 1},
};

static void
test_input (gconstpointer data)
{
  const guint i = GPOINTER_TO_UINT (data);
  g_autoptr (Stream) stream = NULL, plain = NULL;
  GstBufferPool *pool = NULL;
  Copies copies;

  if (inputs[i].pool && !inputs[i].discrete && !is_shared ())
    return;
  copies_pretend_discrete (inputs[i].discrete);
  stream = stream_start (RGB, WEIGHT "queue-depth=3");
  if (inputs[i].pool)
    pool = take_pool (stream, inputs[i].meta);
  copies = run_drawn (stream, inputs[i].make, pool);
  give_pool (pool);
  copies_pretend_discrete (FALSE);
  if (inputs[i].discrete) {
    stream_assert_memory (stream, "a", "OpenCL to system", N * BYTES);
    g_assert_cmpuint (copies.writes, ==, inputs[i].writes * (N - 1));
  }
  if (inputs[i].discrete || is_shared_cpu ())
    g_assert_cmpuint (copies.writes + copies.copies, ==, (1 + inputs[i].a) * (N - 1));
  plain = stream_start (RGB, WEIGHT);
  run_drawn (plain, make_plain, NULL);
  stream_assert_same (stream, plain);
}

/* A pool of upstream of few buffers: the element leaves one to it, in batches, too. */
static void
test_small_pool (void)
{
  g_autoptr (GstCaps) caps = gst_caps_from_string (RGB);
  g_autoptr (Stream) stream =
      stream_start (RGB, WEIGHT "batch-size=3 queue-depth=3 batch-timeout=0");
  GstBufferPool *pool = gst_buffer_pool_new ();
  GstBufferPoolAcquireParams params = {.flags = GST_BUFFER_POOL_ACQUIRE_FLAG_DONTWAIT};
  GstStructure *config = gst_buffer_pool_get_config (pool);

  gst_buffer_pool_config_set_params (config, caps, 9 * 160, 2, 2);
  g_assert_true (gst_buffer_pool_set_config (pool, config));
  g_assert_true (gst_buffer_pool_set_active (pool, TRUE));
  for (guint i = 0; i < N; i++) {
    GstBuffer *buffer = NULL;

    g_assert_cmpint (gst_buffer_pool_acquire_buffer (pool, &buffer, &params), ==, GST_FLOW_OK);
    stream_push (stream, buffer);
  }
  stream_end (stream);
  g_assert_cmpuint (stream->n, ==, N);
  give_pool (pool);
}

/* An upstream that has no use for a pool. */
static void
test_allocator (void)
{
  g_autoptr (Stream) stream = NULL;
  g_autoptr (GstBuffer) buffer = NULL;

  if (!is_shared ())
    return;
  stream = stream_start (RGB, WEIGHT);
  buffer = gst_harness_create_buffer (stream->harness, 9 * 160);
  assert_pages (buffer);
}

/* Nobody knows how long buffers of audio are; one tensor has a size, several have a memory each; and
 * of memory that others make there is no more to say than how much of it is held, and that strides
 * may be any. */
static void
test_other_media (void)
{
  static const struct {
    const gchar *weight, *caps, *asked;
    guint params, pools, size;
    gboolean meta;
  } cases[] = {
      {"[[1],[2]]", STEREO, STEREO, 1, 0, 0, FALSE},
      {"[[1],[2],[3]]", TENSOR ("3:5"), TENSOR ("3:5"), 1, 1, 60, FALSE},
      {"[[1],[2],[3]]", TWO, TWO, 1, 0, 0, FALSE},
      {"[[1],[2],[3]]", RGB,
       "video/x-raw(memory:VAMemory),format=NV12,width=64,height=8,framerate=10/1", 0, 1,
       64 * 8 * 3 / 2, TRUE},
  };

  if (!is_shared ())
    return;
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (Stream) stream = stream_start (cases[i].caps, "gemmcl weight=%s", cases[i].weight);
    g_autoptr (GstQuery) query = ask (stream, cases[i].asked);
    g_autoptr (GstBufferPool) pool = NULL;
    guint size = 0, min = 2;
    GstAllocationParams params;

    g_assert_cmpuint (gst_query_get_n_allocation_params (query), ==, cases[i].params);
    if (cases[i].params > 0) {
      gst_query_parse_nth_allocation_param (query, 0, NULL, &params);
      g_assert_cmpuint (params.align, ==, PAGE - 1);
    }
    g_assert_cmpuint (gst_query_get_n_allocation_pools (query), ==, cases[i].pools);
    if (cases[i].pools > 0)
      gst_query_parse_nth_allocation_pool (query, 0, &pool, &size, &min, NULL);
    g_assert_cmpuint (size, ==, cases[i].size);
    g_assert_cmpuint (min, ==, 2);
    g_assert_cmpint (pool != NULL, ==, cases[i].pools > 0 && !cases[i].meta);
    g_assert_cmpint (gst_query_find_allocation_meta (query, GST_VIDEO_META_API_TYPE, NULL), ==,
                     cases[i].meta);
  }
}

static GstPadProbeReturn
look (GstPad *pad G_GNUC_UNUSED, GstPadProbeInfo *info, gpointer n)
{
  assert_tight (GST_PAD_PROBE_INFO_BUFFER (info));
  if ((*(guint *)n)++ == 0)
    copies_reset ();
  return GST_PAD_PROBE_OK;
}

/* An element that writes into the memory that it is offered. */
static void
test_videotestsrc (void)
{
  g_autoptr (GstPlugin) plugin = plugins_load ("videotestsrc");
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
  pipeline =
      gst_parse_launch ("videotestsrc num-buffers=10 ! " RGB " ! " WEIGHT " ! fakesink", NULL);
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
  g_assert_cmpuint (n, ==, 10);
  /* The weight is written when the first buffer was seen. */
  if (is_shared_cpu ())
    g_assert_cmpuint (copies.writes, <, 9);
}

/* Caps of the system's memory between two elements: the first one's outputs are for the host, too,
 * and the second one finds them on the device. */
static void
test_forced (void)
{
  g_autoptr (Stream) stream = NULL;

  copies_pretend_discrete (TRUE);
  stream = stream_start (RGB, WEIGHT "! video/x-raw ! gemmcl name=b weight=[[1],[1],[1]]");
  run_drawn (stream, make_plain, NULL);
  copies_pretend_discrete (FALSE);
  stream_assert_memory (stream, "a", "system", 2 * N * BYTES);
  stream_assert_memory (stream, "b", "OpenCL to system", N * BYTES / 3);
}

/* Memory @index of each output of 30 buffers like @input comes from a pool: none is new after the
 * first three, when a pool that was too small is gone. */
static void
check_reuse (const gchar *text, const gchar *caps, GstBuffer *input, guint index)
{
  const GQuark seen = g_quark_from_static_string ("seen");
  g_autoptr (Stream) stream = stream_start (caps, "%s", text);

  for (guint i = 0; i < 30; i++) {
    g_autoptr (GstBuffer) output = stream_run (stream, gst_buffer_copy_deep (input));
    GstMiniObject *memory = GST_MINI_OBJECT (gst_buffer_peek_memory (output, index));

    g_assert_true (i < 3 || gst_mini_object_get_qdata (memory, seen));
    gst_mini_object_set_qdata (memory, seen, stream, NULL);
  }
}

static void
test_reuse (void)
{
  static const gchar *const memories[] = {"", FORCE ("other/tensors" OPENCL)};
  static const gchar *const settings[] = {"weight=[[1],[2],[3]]",
                                          "weight=[[1],[2],[3],[4],[5],[6],[7]] tensor-index=1",
                                          "weight=[[1],[2],[3]] row-outputs=sum"};
  g_autoptr (GstBuffer) shorter = noise_bytes (4 * 100, 1), longer = noise_bytes (4 * 5000, 1);
  g_autoptr (GstBuffer) tensors = noise_bytes (60, 1), other = noise_bytes (7, 2);

  check_reuse ("gemmcl weight=[[1],[2]]", STEREO, shorter, 0);
  check_reuse ("gemmcl weight=[[1],[2]]", STEREO, longer, 0);
  gst_buffer_append_memory (tensors, gst_buffer_get_memory (other, 0));
  for (guint i = 0; i < G_N_ELEMENTS (memories) * G_N_ELEMENTS (settings); i++) {
    g_autofree gchar *text = g_strdup_printf ("gemmcl %s %s", settings[i / 2], memories[i % 2]);

    check_reuse (text, TWO, tensors, i / 2);
  }
}

/* Outputs that beta scales, or may yet. */
#define LARGE       VIDEO ("RGB", "width=160,height=120")
#define LARGE_BYTES (160 * 120 * 3)
#define HALVE       "gemmcl name=a weight=[[.5,0,0],[0,.5,0],[0,0,.5]] "

/* Twice 0, then .5 by turns: so outputs of both are previous ones of both. */
static gdouble
get_beta (guint i)
{
  return i % 4 < 2 ? 0.0 : 0.5;
}

/* Compares outputs of HALVE. Each adds to the one before as that was before it was rounded, from the
 * first beta other than 0 on; that one finds the output as it was pushed. */
static void
assert_halves (GByteArray *found)
{
  g_autofree gdouble *last = g_new0 (gdouble, LARGE_BYTES);
  gboolean kept = FALSE;

  g_assert_cmpuint (found->len, ==, N * LARGE_BYTES);
  for (guint i = 0; i < N; i++) {
    g_autoptr (GstBuffer) input = noise_bytes (LARGE_BYTES, i);
    GstMapInfo map;

    kept |= get_beta (i) != 0;
    g_assert_true (gst_buffer_map (input, &map, GST_MAP_READ));
    for (guint j = 0; j < LARGE_BYTES; j++) {
      guchar out;

      last[j] = 0.5 * map.data[j] + get_beta (i) * last[j];
      out = (guchar)MIN (rint (last[j]), 255.0);
      g_assert_cmpuint (found->data[i * LARGE_BYTES + j], ==, out);
      last[j] = kept ? last[j] : out;
    }
    gst_buffer_unmap (input, &map);
  }
}

/* An element behind that works in place: it keeps what it finds for itself, and leaves ones. */
static GstPadProbeReturn
overwrite (GstPad *pad G_GNUC_UNUSED, GstPadProbeInfo *info, gpointer bytes)
{
  GstBuffer *buffer = gst_buffer_make_writable (GST_PAD_PROBE_INFO_BUFFER (info));
  GstMapInfo map;

  g_assert_true (gst_buffer_map (buffer, &map, GST_MAP_READWRITE));
  g_byte_array_append (bytes, map.data, map.size);
  memset (map.data, 1, map.size);
  gst_buffer_unmap (buffer, &map);
  GST_PAD_PROBE_INFO_DATA (info) = buffer;
  return GST_PAD_PROBE_OK;
}

static void
test_beta (void)
{
  static const gchar *const texts[] = {HALVE "queue-depth=1", HALVE "queue-depth=4",
                                       HALVE "queue-depth=2 " FORCE ("video/x-raw" OPENCL)};

  for (guint i = 0; i < 2 * G_N_ELEMENTS (texts); i++) {
    g_autoptr (Stream) stream = stream_start (LARGE, "%s", texts[i / 2]);
    g_autoptr (GByteArray) overwritten = g_byte_array_new ();
    g_autoptr (GstPad) pad = gst_element_get_static_pad (stream_get (stream, "a"), "src");

    if (i % 2)
      gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER, overwrite, overwritten, NULL);
    for (guint j = 0; j < N; j++) {
      g_object_set (stream_get (stream, "a"), "beta", get_beta (j), NULL);
      stream_push (stream, noise_bytes (LARGE_BYTES, j));
      stream_collect (stream);
    }
    stream_end (stream);
    assert_halves (i % 2 ? overwritten : stream->bytes);
  }
}

/* Noise where the device can read it. */
static GstBuffer *
aligned_noise (guint seed)
{
  g_autoptr (GstBuffer) noise = noise_bytes (LARGE_BYTES, seed);
  GstAllocationParams params = {.align = 63};
  GstBuffer *buffer = gst_buffer_new_allocate (NULL, LARGE_BYTES, &params);
  GstMapInfo map;

  g_assert_true (gst_buffer_map (noise, &map, GST_MAP_READ));
  gst_buffer_fill (buffer, 0, map.data, map.size);
  gst_buffer_unmap (noise, &map);
  return buffer;
}

/* Nothing of the frames is copied, whatever beta is. */
static void
test_beta_copies (void)
{
  if (get_device ().type != GEMMCL_DEVICE_TYPE_CPU) {
    g_test_skip ("copies are not counted on this device");
    return;
  }
  for (guint i = 0; i < 2; i++) {
    g_autoptr (Stream) stream = stream_start (LARGE, HALVE "beta=%s", i ? "0" : "0.5");
    Copies copies;

    for (guint j = 0; j < N; j++) {
      stream_push (stream, aligned_noise (j));
      if (j == 0)
        copies_reset ();
    }
    copies = copies_get ();
    stream_end (stream);
    g_assert_cmpuint (copies.reads + copies.writes + copies.copies, ==, 0);
  }
}

/* A pool like those of displays, by its type. */
typedef GstBufferPool DisplayPool;
typedef GstBufferPoolClass DisplayPoolClass;
static GType display_pool_get_type (void);
G_DEFINE_TYPE (DisplayPool, display_pool, GST_TYPE_BUFFER_POOL)

static void
display_pool_init (DisplayPool *self G_GNUC_UNUSED)
{
}

static void
display_pool_class_init (DisplayPoolClass *klass G_GNUC_UNUSED)
{
}

static GstPadProbeReturn
offer (GstPad *pad G_GNUC_UNUSED, GstPadProbeInfo *info, gpointer pool)
{
  if (GST_QUERY_TYPE (GST_PAD_PROBE_INFO_QUERY (info)) != GST_QUERY_ALLOCATION)
    return GST_PAD_PROBE_OK;
  gst_query_add_allocation_pool (GST_PAD_PROBE_INFO_QUERY (info), pool, LARGE_BYTES, 0, 2);
  return GST_PAD_PROBE_HANDLED;
}

/* Downstream's own frames are used where the device writes them as they are; a plain pool has
 * nothing that the element's lacks. */
static void
test_peer_pool (void)
{
  const gboolean shared = get_device ().host_unified;

  for (guint own = 0; own <= 1; own++) {
    g_autoptr (GstBufferPool) pool = gst_object_ref_sink (
        g_object_new (own ? display_pool_get_type () : GST_TYPE_BUFFER_POOL, NULL));
    g_autoptr (Stream) stream = stream_start (LARGE, HALVE "beta=0.5");

    gst_pad_add_probe (stream->harness->sinkpad, GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM, offer, pool,
                       NULL);
    g_assert_true (gst_harness_push_upstream_event (stream->harness, gst_event_new_reconfigure ()));
    for (guint i = 0; i < N; i++) {
      g_autoptr (GstBuffer) output = stream_run (stream, noise_bytes (LARGE_BYTES, i));

      g_assert_cmpint (output->pool == pool, ==, own && shared);
    }
    stream_end (stream);
  }
}

int
main (int argc, char **argv)
{
  stream_test_init (&argc, &argv);
  for (guint i = 0; i < G_N_ELEMENTS (inputs); i++)
    stream_add_data_test (inputs[i].path, GUINT_TO_POINTER (i), test_input);
  stream_add_test ("/offer/small-pool", test_small_pool);
  stream_add_test ("/offer/allocator", test_allocator);
  stream_add_test ("/offer/other-media", test_other_media);
  stream_add_test ("/offer/videotestsrc", test_videotestsrc);
  stream_add_test ("/offer/forced", test_forced);
  stream_add_test ("/outputs/reuse", test_reuse);
  stream_add_test ("/outputs/beta", test_beta);
  stream_add_test ("/outputs/beta-copies", test_beta_copies);
  stream_add_test ("/outputs/peer-pool", test_peer_pool);
  return g_test_run ();
}
