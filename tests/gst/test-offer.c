/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include <gemmcl.h>
#include <gst/video/video.h>

#include "copies.h"
#include "log.h"
#include "memory/gstgemmclmemory.h"
#include "stream.h"

/* The memory that the element offers upstream, which the device uses without a copy. */

#define RGB       VIDEO ("RGB", "width=53,height=9")
#define BYTES     (53 * 9 * 3)
#define STEREO    AUDIO ("S16LE", "2")
#define WEIGHT    "gemmcl name=a weight=[[.5,.2,0],[.25,.5,.1],[0,.25,.75]] "
#define TWO       TENSORS ("2", "3:5,7", "float32,uint8", "0/1")
#define PAGE      4096
#define TO_OPENCL FORCE ("other/tensors" OPENCL)
#define A_GAPS    "inputs are copied because their rows have gaps"
#define D_GAPS    "outputs are copied because their rows have gaps"
#define N         12

static GemmclDeviceInfo
get_device (void)
{
  g_autoptr (GemmclContext) context = gemmcl_context_new (NULL, NULL);

  return *gemmcl_context_get_device_info (context);
}

/* Returns: whether the device reads the memory of the host; skips the test if not. */
static gboolean
is_shared (void)
{
  if (get_device ().host_unified)
    return TRUE;
  g_test_skip ("the device has memory of its own");
  return FALSE;
}

/* Returns: whether it does that for small buffers, too: the copies of such devices are known. */
static gboolean
is_shared_cpu (void)
{
  const GemmclDeviceInfo info = get_device ();

  return info.host_unified && info.type == GEMMCL_DEVICE_TYPE_CPU;
}

/* Returns: (transfer full): the answer of the element to an allocation query with caps @text. */
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

static GstBuffer *
acquire_pinned (gpointer pool)
{
  GstBuffer *buffer = acquire (pool);

  g_assert_true (
      gst_memory_is_type (gst_buffer_peek_memory (buffer, 0), GST_GEMMCL_MEMORY_TYPE_NAME));
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

/* Asserts what the stats say of copies: @expected, or up to @more. */
static void
assert_copies (Stream *stream, gdouble expected, guint more)
{
  g_autoptr (GstStructure) stats = stream_get_stats (stream, "a");
  gdouble found;

  g_assert_true (gst_structure_get_double (stats, "copies-per-buffer", &found));
  g_assert_cmpfloat (found, >=, expected);
  g_assert_cmpfloat (found, <=, expected + more);
}

/**
 * Frames in memory of some kind give the results of plain buffers. So much is copied of each: @a
 * copies of it, and @writes of these by the allocator of pinned memory. Each D is copied once on
 * the device, to where GStreamer has rows by default, since nobody downstream knows a GstVideoMeta.
 * The log says why, as in @noted, once.
 */
static const struct {
  const gchar *path;
  gboolean discrete, pool, meta;
  GstBuffer *(*make) (gpointer);
  guint a, writes;
  const gchar *noted;
} inputs[] = {
    /* Rows without gaps for whoever understands a GstVideoMeta; GStreamer's own for others. */
    {"/offer/tight-rows", FALSE, TRUE, TRUE, acquire_tight, 0, 0, D_GAPS},
    {"/offer/padded-rows", FALSE, TRUE, FALSE, acquire_padded, 1, 0, A_GAPS "|" D_GAPS},
    {"/offer/strange-rows", FALSE, FALSE, FALSE, make_strange, 1, 0, A_GAPS "|" D_GAPS},
    /* A device with memory of its own fetches what upstream wrote into pinned memory. */
    {"/offer/pinned-tight", TRUE, TRUE, TRUE, acquire_pinned, 1, 1, D_GAPS},
    {"/offer/pinned-padded", TRUE, TRUE, FALSE, acquire_pinned, 2, 1, A_GAPS "|" D_GAPS},
    {"/offer/pageable", TRUE, FALSE, FALSE, make_plain, 1, 0, "from pageable memory|" D_GAPS},
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
  log_begin ("GST_PERFORMANCE", GST_LEVEL_INFO);
  stream = stream_start (RGB, WEIGHT "queue-depth=3");
  if (inputs[i].pool)
    pool = take_pool (stream, inputs[i].meta);
  copies = run_drawn (stream, inputs[i].make, pool);
  give_pool (pool);
  copies_pretend_discrete (FALSE);
  if (inputs[i].pool && inputs[i].discrete) {
    stream_assert_memory (stream, "a", "OpenCL to system", N * BYTES);
    g_assert_cmpuint (copies.writes, ==, inputs[i].writes * (N - 1));
  }
  if (inputs[i].discrete || is_shared_cpu ()) {
    g_assert_cmpuint (copies.writes + copies.copies, ==, (1 + inputs[i].a) * (N - 1));
    assert_copies (stream, 1 + inputs[i].a - inputs[i].writes, 0);
    log_assert ("would save that", inputs[i].noted, 1);
  } else {
    g_strfreev (log_end ());
  }
  plain = stream_start (RGB, WEIGHT);
  run_drawn (plain, make_plain, NULL);
  stream_assert_same (stream, plain);
}

/* Returns: a buffer with memories of @sizes, of zeros, at addresses that are @odd or not. */
static GstBuffer *
make_memories (const gsize *sizes, gsize odd)
{
  GstBuffer *buffer = gst_buffer_new ();

  for (guint i = 0; sizes[i] > 0; i++) {
    guint8 *bytes = g_malloc0 (PAGE + sizes[i]);
    guint8 *start = (guint8 *)(((guintptr)bytes + 63) / 64 * 64) + odd;

    gst_buffer_append_memory (buffer, gst_memory_new_wrapped (GST_MEMORY_FLAG_READONLY, bytes,
                                                              PAGE + sizes[i], start - bytes,
                                                              sizes[i], bytes, g_free));
  }
  return buffer;
}

/* Each caps may be a better negotiation. */
static void
check_noted (void)
{
  g_autoptr (Stream) stream = NULL;

  log_begin ("GST_PERFORMANCE", GST_LEVEL_INFO);
  stream = stream_start (RGB, WEIGHT);
  for (guint i = 0; i < 3; i++) {
    g_autofree gchar *caps =
        g_strdup_printf ("video/x-raw,format=RGB,width=53,height=9,framerate=%u/1", 5 + i);

    g_assert_true (stream_push_caps (stream, caps));
    for (guint j = 0; j < N; j++)
      stream_push (stream, make_strange (NULL));
  }
  stream_end (stream);
  log_assert ("would save that", A_GAPS "|" D_GAPS, 3);
}

/* Copies of one buffer of tensors or audio, those that are made before its run, too. One that
 * GStreamer makes may have an address that does not suit the device, and so @more of them. */
static void
test_copies (void)
{
  static const struct {
    const gchar *text, *caps;
    gsize sizes[3]; /* of the memories */
    gsize odd;
    guint copies, more;
    const gchar *noted;
  } cases[] = {
      {"weight=[[1],[2],[3]]", TWO, {60, 7}, 0, 0, 0, ""},
      {"weight=[[1],[2],[3]]", TWO, {60, 7}, 2, 1, 1, "not aligned to their elements"},
      {"weight=[[1],[2],[3]] " TO_OPENCL, TWO, {60, 7}, 0, 1, 0, "tensors that pass"},
      {"weight=[[1],[2]]", STEREO, {64}, 0, 0, 0, ""},
      {"weight=[[1],[2]]", STEREO, {64, 64}, 0, 1, 1, "in several memories"},
      {"weight=[[1],[2]] batch-size=2 batch-timeout=0", STEREO, {64}, 0, 2, 0, ""},
  };

  if (!is_shared_cpu ()) {
    g_test_skip ("copies are not counted on this device");
    return;
  }
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (Stream) stream = NULL;

    log_begin ("GST_PERFORMANCE", GST_LEVEL_INFO);
    stream = stream_start (cases[i].caps, "gemmcl name=a %s", cases[i].text);
    assert_copies (stream, 0, 0);
    for (guint j = 0; j < N; j++)
      stream_push (stream, make_memories (cases[i].sizes, cases[i].odd));
    stream_end (stream);
    assert_copies (stream, cases[i].copies, cases[i].more);
    log_assert (cases[i].more ? cases[i].noted : "would save that", cases[i].noted, 1);
  }
  check_noted ();
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

/* Nobody knows how long buffers of audio are; one tensor has a size, several have a memory each;
 * and of memory that others make there is no more to say than how much of it is held, and that
 * strides may be any. */
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

#define LONG 40 /* runs, two of them timed after the first: 16 and 32 */

/* Sends the frame in @buffer. Returns: (transfer full): an event for which its run waits. */
static cl_event
hold (GstBuffer *buffer)
{
  GstMemory *memory = gst_buffer_peek_memory (buffer, 0);
  cl_event gate = clCreateUserEvent (gst_gemmcl_memory_get_cl_context (memory), NULL);
  GstMapInfo map;

  g_assert_nonnull (gate);
  g_assert_true (gst_memory_map (memory, &map, GST_GEMMCL_MAP_OPENCL));
  gst_memory_unmap (memory, &map);
  gst_gemmcl_memory_add_event (memory, GST_MAP_WRITE, gate);
  return gate;
}

static void
let_go (cl_event gate)
{
  g_usleep (20 * 1000);
  g_assert_cmpint (clSetUserEventStatus (gate, CL_COMPLETE), ==, CL_SUCCESS);
  clReleaseEvent (gate);
}

/* Pushes frames of pinned memory, or plain ones without @take. Each adds to the previous result.
 * In pinned memory, the last run before a change of queues is late. */
static Stream *
run_long (GstBufferPool *(*take) (Stream *), GstBuffer *(*make) (gpointer))
{
  Stream *stream = stream_start (RGB, WEIGHT "alpha=.5 beta=.5 queue-depth=3 auto-tune=off");
  GstBufferPool *pool = take ? take (stream) : NULL;
  cl_event gate = NULL;

  for (guint i = 0; i < LONG; i++) {
    GstBuffer *buffer = make (pool);

    draw (buffer, i);
    if (pool && (i == 15 || i == 32))
      gate = hold (buffer);
    stream_push (stream, buffer);
    if (pool && (i == 16 || i == 33))
      let_go (gate);
    /* Outputs return to their pool: to make more of them would wait for the late run. */
    if (i % 13 == 12)
      stream_collect (stream);
    if (i == 0)
      copies_reset ();
  }
  stream_end (stream);
  give_pool (pool);
  return stream;
}

static GstBufferPool *
take_tight (Stream *stream)
{
  return take_pool (stream, TRUE);
}

/* On a device with memory of its own one run of 16 is timed, in another queue than the rest. The
 * runs follow one another in both. */
static void
test_untimed (void)
{
  g_autoptr (Stream) stream = NULL, plain = NULL;
  Copies kernels;

  copies_pretend_discrete (TRUE);
  stream = run_long (take_tight, acquire_pinned);
  kernels = copies_get ();
  copies_pretend_discrete (FALSE);
  g_assert_cmpuint (kernels.timed, >, 0);
  g_assert_cmpuint (kernels.untimed * 2, ==, kernels.timed * 37);
  plain = run_long (NULL, make_plain);
  stream_assert_same (stream, plain);
}

int
main (int argc, char **argv)
{
  stream_test_init (&argc, &argv);
  for (guint i = 0; i < G_N_ELEMENTS (inputs); i++)
    stream_add_data_test (inputs[i].path, GUINT_TO_POINTER (i), test_input);
  stream_add_test ("/offer/copies", test_copies);
  stream_add_test ("/offer/small-pool", test_small_pool);
  stream_add_test ("/offer/allocator", test_allocator);
  stream_add_test ("/offer/other-media", test_other_media);
  stream_add_test ("/offer/forced", test_forced);
  stream_add_test ("/offer/untimed", test_untimed);
  return g_test_run ();
}
