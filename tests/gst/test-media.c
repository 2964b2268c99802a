/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include <gemmcl.h>
#include <gst/audio/audio.h>
#include <gst/video/video.h>

#include "script.h"

/* Frames and samples: how they lie in memory, their metas, and how integers are rounded. Their
 * formats are compared with NumPy (launch-numpy.py). */

#define IDENTITY "gemmcl weight=[[1,0,0],[0,1,0],[0,0,1]]"
#define MONO     AUDIO ("F32LE", "1")
#define STEREO   AUDIO ("F32LE", "2")

static const Script scripts[] = {
    /* Integers are rounded, halves to even, and saturated. */
    {"/audio/rounding", "gemmcl weight=[.5]", AUDIO ("S16LE", "1"), NULL,
     "1 3 5 -1 -3 32767 -32768 0; > 0 2 2 0 -2 16384 -16384 0"},
    {"/audio/saturation", "gemmcl weight=[1e6]", AUDIO ("S16LE", "1"), NULL,
     "1 3 -1 32767 -32768 0; > 32767 32767 -32768 32767 -32768 0"},
    /* Buffers of any length, also longer than the first guess. */
    {"/audio/any-length", "gemmcl weight=[[.5],[.25]]", AUDIO ("F32LE", "2"), NULL,
     "10*2; > 5*1.5; 2048*4; > 1024*3; 2050*2; > 1025*1.5; 6*4; > 3*3; 10000*2; > 5000*1.5; 2 4; "
     "> 2"},
    {"/video/row-mode", "gemmcl weight=[[1],[2]] input-scale=.5 input-offset=1",
     VIDEO ("GRAY8", "width=2,height=2"), NULL, "2 4 6 8; > 8 14"},
    /* The result of a convolution is the input of the next one. */
    {"/video/convolutions",
     "gemmcl feature-mode=patch patch-width=2 patch-height=2 weight=[[1,2],[1,2],[1,2],[1,2]] ! "
     "gemmcl feature-mode=patch patch-width=2 patch-height=1 weight=[[1],[0],[10],[100]]",
     VIDEO ("GRAY8", "width=4,height=2"), NULL, "1 2 3 4 5 6 7 8; > 4634"},
};

/* Samples need not lie where their type wants them. */
static void
test_unaligned (void)
{
  const gfloat values[] = {1, 2, 3, 4};
  g_autoptr (Stream) stream = stream_start (MONO, "gemmcl weight=[2]");
  g_autoptr (GstBuffer) output = NULL;
  GstBuffer *input = gst_buffer_new_allocate (NULL, 17, NULL);

  gst_buffer_fill (input, 1, values, sizeof values);
  gst_buffer_resize (input, 1, 16);
  output = stream_run (stream, input);
  assert_floats (output, (gdouble[]){2, 4, 6, 8}, 4, 0);
}

/* Buffers of as many bytes but not as many samples, by their metas: no batch has both. */
static void
test_batch_of_lengths (void)
{
  const guint samples[] = {5000, 4, 4};
  g_autoptr (Stream) stream = stream_start (MONO, "gemmcl weight=[2] batch-size=2");
  g_autofree gdouble *values = g_new (gdouble, 5000), *doubled = g_new (gdouble, 5000);
  g_autofree gfloat *floats = g_new (gfloat, 5000);
  GstAudioInfo info;

  gst_audio_info_set_format (&info, GST_AUDIO_FORMAT_F32, 8000, 1, NULL);
  fill_values (values, 5000, 1);
  for (guint i = 0; i < 5000; i++) {
    floats[i] = values[i];
    doubled[i] = 2 * values[i];
  }
  for (guint i = 0; i < G_N_ELEMENTS (samples); i++) {
    GstBuffer *input = gst_buffer_new_memdup (floats, 5000 * sizeof *floats);

    gst_buffer_add_audio_meta (input, &info, samples[i], NULL);
    stream_push (stream, input);
  }
  stream_push_event (stream, gst_event_new_eos ());
  for (guint i = 0; i < G_N_ELEMENTS (samples); i++) {
    g_autoptr (GstBuffer) output = gst_harness_pull (stream->harness);

    assert_floats (output, doubled, samples[i], 0);
  }
  stream_assert_quiet (stream);
}

static void
test_metas_of_audio (void)
{
  g_autoptr (Stream) stream = stream_start (MONO, "gemmcl weight=[2]");
  GstBuffer *input = gst_buffer_new_memdup ("12345678", 8);
  g_autoptr (GstBuffer) output = NULL;

  gst_buffer_add_audio_clipping_meta (input, GST_FORMAT_DEFAULT, 1, 0);
  gst_buffer_add_audio_level_meta (input, 30, TRUE);
  output = stream_run (stream, input);
  g_assert_nonnull (gst_buffer_get_audio_clipping_meta (output));
  g_assert_null (gst_buffer_get_audio_level_meta (output));
}

/* Asserts that the element doubles a buffer of @n floats, which reaches it without its caps. */
static void
assert_doubles (Stream *stream, gsize n)
{
  static const gfloat values[] = {1, 2, 3, 4, 5, 6, 7};
  g_autoptr (GstPad) pad = gst_element_get_static_pad (stream->element, "sink");
  GstBuffer *input = gst_buffer_new_memdup (values, n * sizeof *values);
  g_autoptr (GstBuffer) output = NULL;

  g_assert_cmpstr (gst_flow_get_name (gst_pad_chain (pad, input)), ==, "ok");
  output = gst_harness_pull (stream->harness);
  assert_floats (output, (gdouble[]){2, 4, 6, 8, 10, 12, 14}, n, 0);
}

static void
refuse_stereo (Stream *stream)
{
  g_assert_false (stream_push_caps (stream, STEREO));
  stream_assert_message (stream, GST_MESSAGE_ERROR, "K = 2|has K = 1");
}

/* After caps that are refused those before them hold, also if they come again, and a weight that
 * fits the refused ones lets them in. */
static void
test_refused_caps (void)
{
  g_autoptr (Stream) stream = stream_start (MONO, "gemmcl weight=[2]");

  assert_doubles (stream, 3);
  refuse_stereo (stream);
  assert_doubles (stream, 5);
  refuse_stereo (stream);
  g_assert_true (stream_push_caps (stream, MONO));
  assert_doubles (stream, 7);
  refuse_stereo (stream);
  g_object_set (stream->element, "weight", "[[2,0],[0,2]]", NULL);
  g_assert_true (stream_push_caps (stream, STEREO));
  assert_doubles (stream, 6);
  stream_assert_quiet (stream);
}

/* A buffer whose samples change while it waits in a batch is refused. */
static void
test_changed_samples (void)
{
  g_autoptr (Stream) stream = stream_start (MONO, "gemmcl weight=[2] batch-size=2");
  g_autoptr (GstBuffer) first = NULL;
  GstBuffer *second = gst_buffer_new_memdup ("12345678", 8);
  GstAudioInfo info;

  gst_audio_info_set_format (&info, GST_AUDIO_FORMAT_F32, 8000, 1, NULL);
  gst_buffer_add_audio_meta (second, &info, 1, NULL);
  first = gst_buffer_copy (second);
  stream_push (stream, gst_buffer_ref (first));
  gst_buffer_get_audio_meta (first)->samples = 2;
  g_assert_cmpstr (gst_flow_get_name (gst_harness_push (stream->harness, second)), ==, "error");
  stream_assert_message (stream, GST_MESSAGE_ERROR, "has 2 samples|had 1|no element writes");
}

/* A meta about the frame goes along with a frame, one about the stream with tensors, too. */
static void
test_metas_of_video (void)
{
  for (guint frames = 0; frames <= 1; frames++) {
    g_autoptr (Stream) stream =
        stream_start (VIDEO ("RGB", "width=4,height=2") ",colorimetry=sRGB",
                      frames ? IDENTITY : "gemmcl weight=[[1,0],[0,1],[0,0]]");
    GstBuffer *input = gst_buffer_new_allocate (NULL, 24, NULL);
    g_autoptr (GstCaps) stamp = gst_caps_new_empty_simple ("timestamp/x-test");
    g_autoptr (GstBuffer) output = NULL;

    gst_buffer_add_video_crop_meta (input)->x = 1;
    gst_buffer_add_reference_timestamp_meta (input, stamp, 5, GST_CLOCK_TIME_NONE);
    output = stream_run (stream, input);
    g_assert_cmpint (gst_buffer_get_video_crop_meta (output) != NULL, ==, frames);
    g_assert_nonnull (gst_buffer_get_reference_timestamp_meta (output, stamp));
    assert_caps (stream_get_caps (stream, "a", "src"),
                 frames ? "video/x-raw,colorimetry=sRGB,framerate=10/1"
                        : "other/tensors,dimensions=(string)2:8,framerate=10/1");
  }
}

/* A pool of downstream's whose buffers have padding that must stay as it is. */
typedef struct {
  GstVideoBufferPool parent;
} PaddedPool;
typedef GstVideoBufferPoolClass PaddedPoolClass;
static GType padded_pool_get_type (void);
G_DEFINE_TYPE (PaddedPool, padded_pool, GST_TYPE_VIDEO_BUFFER_POOL)

#define SENTINEL 0xa5

static GstFlowReturn
padded_pool_alloc (GstBufferPool *pool, GstBuffer **buffer, GstBufferPoolAcquireParams *params)
{
  GstFlowReturn flow =
      GST_BUFFER_POOL_CLASS (padded_pool_parent_class)->alloc_buffer (pool, buffer, params);

  if (flow == GST_FLOW_OK)
    gst_buffer_memset (*buffer, 0, SENTINEL, -1);
  return flow;
}

static void
padded_pool_class_init (PaddedPoolClass *klass)
{
  GST_BUFFER_POOL_CLASS (klass)->alloc_buffer = padded_pool_alloc;
}

static void
padded_pool_init (PaddedPool *self G_GNUC_UNUSED)
{
}

static GstPadProbeReturn
offer_padded_pool (GstPad *pad G_GNUC_UNUSED, GstPadProbeInfo *info, gpointer data G_GNUC_UNUSED)
{
  GstQuery *query = GST_PAD_PROBE_INFO_QUERY (info);
  g_autoptr (GstBufferPool) pool = NULL;
  GstVideoAlignment alignment;
  GstStructure *config;
  GstVideoInfo video;
  GstCaps *caps;

  if (GST_QUERY_TYPE (query) != GST_QUERY_ALLOCATION)
    return GST_PAD_PROBE_OK;
  gst_query_parse_allocation (query, &caps, NULL);
  g_assert_true (gst_video_info_from_caps (&video, caps));
  pool = gst_object_ref_sink (g_object_new (padded_pool_get_type (), NULL));
  config = gst_buffer_pool_get_config (pool);
  gst_buffer_pool_config_set_params (config, caps, video.size, 0, 0);
  gst_buffer_pool_config_add_option (config, GST_BUFFER_POOL_OPTION_VIDEO_META);
  gst_buffer_pool_config_add_option (config, GST_BUFFER_POOL_OPTION_VIDEO_ALIGNMENT);
  gst_video_alignment_reset (&alignment);
  alignment.padding_left = 4;
  alignment.padding_right = 9;
  alignment.padding_top = 2;
  alignment.padding_bottom = 1;
  gst_buffer_pool_config_set_video_alignment (config, &alignment);
  g_assert_true (gst_buffer_pool_set_config (pool, config));
  gst_query_add_allocation_meta (query, GST_VIDEO_META_API_TYPE, NULL);
  gst_query_add_allocation_pool (query, pool, video.size, 0, 0);
  return GST_PAD_PROBE_HANDLED;
}

#define WIDTH  5
#define HEIGHT 3
#define ROW    (3 * WIDTH)

/* Frames in rows of 40 bytes, which begin 7 bytes into the buffer. */
static GstBuffer *
padded_input (const guint8 *pixels)
{
  GstBuffer *buffer = gst_buffer_new_allocate (NULL, 7 + 40 * HEIGHT, NULL);
  gsize offsets[GST_VIDEO_MAX_PLANES] = {7};
  gint strides[GST_VIDEO_MAX_PLANES] = {40};

  gst_buffer_memset (buffer, 0, SENTINEL, -1);
  for (gint y = 0; y < HEIGHT; y++)
    gst_buffer_fill (buffer, 7 + y * 40, pixels + y * ROW, ROW);
  gst_buffer_add_video_meta_full (buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_RGB, WIDTH,
                                  HEIGHT, 1, offsets, strides);
  return buffer;
}

/* Input and output have rows with gaps, of which nothing is read or written. */
static void
test_strides (void)
{
  g_autoptr (Stream) stream = stream_new ("gemmcl weight=[[0,0,1],[0,1,0],[1,0,0]]");
  g_autoptr (GemmclContext) context = gemmcl_context_new (NULL, NULL);
  g_autoptr (GstBuffer) input = NULL, before = NULL, output = NULL;
  guint8 pixels[ROW * HEIGHT];
  const GstVideoMeta *meta;
  gsize touched = 0;
  GstMapInfo map;

  for (guint i = 0; i < sizeof pixels; i++)
    pixels[i] = i + 1;
  input = padded_input (pixels);
  before = padded_input (pixels);
  stream->harness = gst_harness_new_with_element (stream->element, "sink", "src");
  gst_harness_set_sink_caps_str (stream->harness, "video/x-raw,format=RGB");
  gst_pad_add_probe (stream->harness->sinkpad, GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM,
                     offer_padded_pool, NULL, NULL);
  g_assert_true (stream_push_caps (stream, VIDEO ("RGB", "width=5,height=3")));
  output = stream_run (stream, gst_buffer_ref (input));

  g_assert_true (gst_buffer_map (before, &map, GST_MAP_READ));
  g_assert_cmpint (gst_buffer_memcmp (input, 0, map.data, map.size), ==, 0);
  gst_buffer_unmap (before, &map);
  meta = gst_buffer_get_video_meta (output);
  g_assert_nonnull (meta);
  if (!gemmcl_context_get_device_info (context)->host_unified) {
    g_assert_cmpint (meta->stride[0], ==, ROW);
    g_test_skip ("a device with memory of its own writes into the element's pool");
    return;
  }
  g_assert_cmpint (meta->stride[0], >, ROW);
  g_assert_cmpuint (meta->offset[0], >, 0);
  g_assert_true (gst_buffer_map (output, &map, GST_MAP_READ));
  for (guint i = 0; i < sizeof pixels; i++)
    g_assert_cmpuint (map.data[meta->offset[0] + i / ROW * meta->stride[0] + i % ROW], ==,
                      pixels[i / 3 * 3 + 2 - i % 3]);
  for (gsize i = 0; i < map.size; i++)
    touched += map.data[i] != SENTINEL;
  g_assert_cmpuint (touched, ==, sizeof pixels);
  gst_buffer_unmap (output, &map);
}

int
main (int argc, char **argv)
{
  stream_test_init (&argc, &argv);
  script_add_tests (scripts, G_N_ELEMENTS (scripts));
  stream_add_test ("/audio/unaligned", test_unaligned);
  stream_add_test ("/audio/batch-of-lengths", test_batch_of_lengths);
  stream_add_test ("/audio/metas", test_metas_of_audio);
  stream_add_test ("/audio/refused-caps", test_refused_caps);
  stream_add_test ("/audio/changed-samples", test_changed_samples);
  stream_add_test ("/video/metas", test_metas_of_video);
  stream_add_test ("/video/strides", test_strides);
  return g_test_run ();
}
