/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include <math.h>
#include <string.h>

#include <gemmcl.h>

#include "stream.h"

#define WIDTH  6
#define HEIGHT 4

static const gchar *const formats[] = {"GRAY8", "GRAY16_LE", "RGB",  "BGR",  "RGBA", "BGRA",
                                       "RGBx",  "BGRx",      "xRGB", "xBGR", "NV12", "I420"};

static gchar *
video_caps (const gchar *format, guint width, guint height)
{
  return g_strdup_printf ("video/x-raw,format=%s,width=%u,height=%u,framerate=25/1,"
                          "colorimetry=%s",
                          format, width, height,
                          g_str_equal (format, "NV12") || g_str_equal (format, "I420") ? "bt601"
                                                                                       : "sRGB");
}

static void
video_info (GstVideoInfo *info, const gchar *caps_text)
{
  g_autoptr (GstCaps) caps = gst_caps_from_string (caps_text);

  g_assert_true (gst_video_info_from_caps (info, caps));
}

/* All pixels of a buffer, row by row, with their channels together. */
static gdouble *
read_pixels (GstBuffer *buffer, const GstVideoInfo *info, guint *channels)
{
  gdouble *values = g_new (gdouble, (gsize)info->width * info->height * 4), *next = values;
  GstVideoFrame frame;

  g_assert_true (gst_video_frame_map (&frame, info, buffer, GST_MAP_READ));
  for (gint y = 0; y < info->height; y++) {
    for (gint x = 0; x < info->width; x++) {
      *channels = reference_pixel (&frame, x, y, next);
      next += *channels;
    }
  }
  gst_video_frame_unmap (&frame);
  return values;
}

static gdouble
to_integer (gdouble value, gdouble most)
{
  return CLAMP (rint (value), 0.0, most);
}

/* Each format in, floats out. */
static void
test_formats_to_tensors (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (formats); i++) {
    g_autofree gchar *caps = video_caps (formats[i], WIDTH, HEIGHT), *weight = NULL;
    g_autofree gdouble *a = NULL;
    gdouble b[4 * 2], d[WIDTH * HEIGHT * 2];
    g_autoptr (Stream) stream = NULL;
    g_autoptr (GstBuffer) input = NULL, output = NULL;
    g_autoptr (GstCaps) output_caps = NULL;
    GstVideoInfo info;
    guint channels = 0;

    g_test_message ("%s", formats[i]);
    video_info (&info, caps);
    input = noise_buffer (&info, i);
    a = read_pixels (input, &info, &channels);
    fill_values (b, channels * 2, i);
    weight = literal (b, channels, 2);
    stream = stream_new ("weight", weight, NULL);
    g_assert_true (stream_play (stream, caps, NULL));
    output = stream_run (stream, gst_buffer_ref (input));
    reference_gemm (WIDTH * HEIGHT, 2, channels, 1.0, a, b, 0.0, NULL, NULL, d);
    assert_floats (output, d, WIDTH * HEIGHT * 2, 1e-4);
    output_caps = stream_get_output_caps (stream);
    assert_caps (output_caps, "other/tensors,format=static,num_tensors=1,dimensions=(string)2:24,"
                              "types=(string)float32,framerate=25/1");
    stream_assert_quiet (stream);
  }
}

/* One format in, one out, in pixel mode. */
static void
check_media (const gchar *from, const gchar *to, guint n)
{
  g_autofree gchar *caps = video_caps (from, WIDTH, HEIGHT), *weight = NULL;
  g_autofree gchar *to_caps = to ? g_strdup_printf ("video/x-raw,format=%s", to) : NULL;
  g_autofree gdouble *a = NULL, *found = NULL;
  gdouble b[4 * 4], bias[4] = {16.0, 32.0, 48.0, 200.0}, d[WIDTH * HEIGHT * 4];
  g_autofree gchar *bias_text = literal (bias, 1, n);
  g_autoptr (Stream) stream = NULL;
  g_autoptr (GstBuffer) input = NULL, output = NULL;
  g_autoptr (GstCaps) output_caps = NULL;
  GstVideoInfo info, output_info;
  guint channels = 0, output_channels = 0;
  gdouble most;

  g_test_message ("%s to %s, N = %u", from, to ? to : "anything", n);
  video_info (&info, caps);
  input = noise_buffer (&info, n);
  a = read_pixels (input, &info, &channels);
  fill_values (b, channels * n, n);
  weight = literal (b, channels, n);
  stream = stream_new ("weight", weight, "bias", bias_text, NULL);
  g_assert_true (stream_play (stream, caps, to_caps));
  output = stream_run (stream, gst_buffer_ref (input));
  output_caps = stream_get_output_caps (stream);
  g_assert_true (gst_video_info_from_caps (&output_info, output_caps));
  if (to)
    g_assert_cmpstr (GST_VIDEO_INFO_NAME (&output_info), ==, to);
  found = read_pixels (output, &output_info, &output_channels);
  g_assert_cmpuint (output_channels, ==, n);
  reference_gemm (WIDTH * HEIGHT, n, channels, 1.0, a, b, 0.0, NULL, bias, d);
  most = GST_VIDEO_INFO_FORMAT (&output_info) == GST_VIDEO_FORMAT_GRAY16_LE ? 65535.0 : 255.0;
  for (guint i = 0; i < WIDTH * HEIGHT * n; i++) {
    gdouble expected = to_integer (d[i], most);

    /* Colour conversion is not exact in single precision: at a half it may round either way. */
    if (GST_VIDEO_INFO_IS_YUV (&info) && fabs (fabs (d[i] - trunc (d[i])) - 0.5) < 1e-3)
      g_assert_cmpfloat_with_epsilon (found[i], expected, 1.0);
    else
      g_assert_cmpfloat (found[i], ==, expected);
  }
  stream_assert_quiet (stream);
}

static void
test_every_input_stays_video (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (formats); i++)
    check_media (formats[i], NULL, 3);
}

static void
test_every_output (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (formats) - 2; i++) {
    GstVideoFormat format = gst_video_format_from_string (formats[i]);

    check_media ("RGB", formats[i], gst_video_format_get_info (format)->n_components);
  }
}

/* The x of RGBx is no channel, and is written as 255. */
static void
test_padding_channel_is_opaque (void)
{
  static const guint8 pixels[2 * 4] = {1, 2, 3, 77, 4, 5, 6, 78};
  static const guint8 expected[2 * 4] = {1, 2, 3, 255, 4, 5, 6, 255};
  g_autoptr (Stream) stream = stream_new ("weight", "[[1,0,0],[0,1,0],[0,0,1]]", NULL);
  g_autoptr (GstBuffer) output = NULL;

  g_assert_true (stream_play (stream, "video/x-raw,format=RGBx,width=2,height=1,framerate=1/1",
                              "video/x-raw,format=RGBx"));
  output = stream_run (stream, buffer_new (pixels, sizeof pixels));
  g_assert_cmpint (gst_buffer_memcmp (output, 0, expected, sizeof expected), ==, 0);
}

typedef struct {
  const gchar *nick;
  guint patch_width;
  guint patch_height;
  gsize m;
  gsize k;
} Mode;

static const Mode modes[] = {
    {"pixel", 0, 0, WIDTH *HEIGHT, 3},
    {"row", 0, 0, HEIGHT, WIDTH * 3},
    {"frame", 0, 0, 1, WIDTH *HEIGHT * 3},
    {"patch", 4, 2, 1 * 2, 4 * 2 * 3},
};

/* The rows of A for @mode of an RGB picture, by the definition. */
static gdouble *
gather (const Mode *mode, const gdouble *pixels)
{
  gdouble *a = g_new (gdouble, mode->m * mode->k);
  guint w = mode->patch_width, h = mode->patch_height, across;
  gdouble *next = a;

  if (w == 0) {
    memcpy (a, pixels, mode->m * mode->k * sizeof (gdouble));
    return a;
  }
  across = WIDTH / w;
  for (gsize patch = 0; patch < mode->m; patch++) {
    for (guint y = 0; y < h; y++) {
      for (guint x = 0; x < w * 3; x++)
        *next++ = pixels[((patch / across) * h + y) * WIDTH * 3 + (patch % across) * w * 3 + x];
    }
  }
  return a;
}

static void
check_mode (const Mode *mode, gboolean named, gboolean transpose)
{
  g_autofree gchar *caps = video_caps ("BGR", WIDTH, HEIGHT), *weight = NULL, *dimensions = NULL;
  g_autofree gdouble *pixels = NULL, *a = NULL, *b = NULL, *swapped = NULL, *d = NULL;
  g_autoptr (Stream) stream = NULL;
  g_autoptr (GstBuffer) input = NULL, output = NULL;
  g_autoptr (GstCaps) output_caps = NULL;
  const gsize n = 5;
  GstVideoInfo info;
  guint channels;

  video_info (&info, caps);
  input = noise_buffer (&info, 3);
  pixels = read_pixels (input, &info, &channels);
  a = gather (mode, pixels);
  b = g_new (gdouble, mode->k * n);
  swapped = g_new (gdouble, mode->k * n);
  d = g_new (gdouble, mode->m * n);
  fill_values (b, mode->k * n, 4);
  for (gsize i = 0; i < mode->k * n; i++)
    swapped[(i % n) * mode->k + i / n] = b[i];
  weight = transpose ? literal (swapped, n, mode->k) : literal (b, mode->k, n);
  stream = stream_new ("weight", weight, "transpose-weight", transpose, "patch-width",
                       mode->patch_width, "patch-height", mode->patch_height, "input-scale",
                       1.0 / 64, "input-offset", -1.0, NULL);
  if (named)
    gst_util_set_object_arg (G_OBJECT (stream->element), "feature-mode", mode->nick);
  g_assert_true (stream_play (stream, caps, NULL));
  output = stream_run (stream, g_steal_pointer (&input));
  for (gsize i = 0; i < mode->m * mode->k; i++)
    a[i] = a[i] / 64.0 - 1.0;
  reference_gemm (mode->m, n, mode->k, 1.0, a, b, 0.0, NULL, NULL, d);
  assert_floats (output, d, mode->m * n, 1e-5);
  output_caps = stream_get_output_caps (stream);
  dimensions = g_strdup_printf ("other/tensors,dimensions=(string)5:%" G_GSIZE_FORMAT, mode->m);
  assert_caps (output_caps, dimensions);
}

static void
test_feature_modes (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (modes); i++) {
    g_test_message ("%s", modes[i].nick);
    check_mode (&modes[i], TRUE, FALSE);
    check_mode (&modes[i], FALSE, TRUE);
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
  pool = g_object_new (padded_pool_get_type (), NULL);
  gst_object_ref_sink (pool);
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

/* A 5x3 picture in rows of 40 bytes, which begin 7 bytes into the buffer. */
static GstBuffer *
padded_input (const GstVideoInfo *info, const guint8 *pixels)
{
  const gsize offset = 7;
  const gint stride = 40;
  GstBuffer *buffer = gst_buffer_new_allocate (NULL, offset + stride * info->height, NULL);
  gsize offsets[GST_VIDEO_MAX_PLANES] = {offset};
  gint strides[GST_VIDEO_MAX_PLANES] = {stride};

  gst_buffer_memset (buffer, 0, SENTINEL, -1);
  for (gint y = 0; y < info->height; y++)
    gst_buffer_fill (buffer, offset + y * stride, pixels + y * info->width * 3, info->width * 3);
  gst_buffer_add_video_meta_full (buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_INFO_FORMAT (info),
                                  info->width, info->height, 1, offsets, strides);
  return buffer;
}

static void
test_strides (void)
{
  g_autofree gchar *caps = video_caps ("RGB", 5, 3);
  g_autoptr (Stream) stream = stream_new ("weight", "[[0,0,1],[0,1,0],[1,0,0]]", NULL);
  g_autoptr (GstBuffer) input = NULL, output = NULL, before = NULL;
  g_autoptr (GemmclContext) context = NULL;
  guint8 pixels[5 * 3 * 3];
  const GstVideoMeta *meta;
  gsize touched = 0;
  GstMapInfo map;
  GstVideoInfo info;

  video_info (&info, caps);
  for (guint i = 0; i < sizeof pixels; i++)
    pixels[i] = i + 1;
  input = padded_input (&info, pixels);
  before = gst_buffer_copy_deep (input);
  stream->harness = gst_harness_new_with_element (stream->element, "sink", "src");
  gst_harness_set_sink_caps_str (stream->harness, "video/x-raw,format=RGB");
  gst_pad_add_probe (stream->harness->sinkpad, GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM,
                     offer_padded_pool, NULL, NULL);
  g_assert_true (stream_push_caps (stream, caps));
  output = stream_run (stream, gst_buffer_ref (input));

  g_assert_true (gst_buffer_map (before, &map, GST_MAP_READ));
  g_assert_cmpint (gst_buffer_memcmp (input, 0, map.data, map.size), ==, 0);
  gst_buffer_unmap (before, &map);
  meta = gst_buffer_get_video_meta (output);
  g_assert_nonnull (meta);
  context = gemmcl_context_new (NULL, NULL);
  if (!gemmcl_context_get_device_info (context)->host_unified) {
    g_assert_cmpint (meta->stride[0], ==, 15);
    g_test_skip ("a device with memory of its own writes into the element's pool");
    return;
  }
  g_assert_cmpint (meta->stride[0], >, 15);
  g_assert_cmpuint (meta->offset[0], >, 0);
  g_assert_true (gst_buffer_map (output, &map, GST_MAP_READ));
  for (guint i = 0; i < sizeof pixels; i++) {
    gsize place = meta->offset[0] + (i / 15) * meta->stride[0] + i % 15;

    g_assert_cmpuint (map.data[place], ==, pixels[i / 3 * 3 + 2 - i % 3]);
  }
  for (gsize i = 0; i < map.size; i++)
    touched += map.data[i] != SENTINEL;
  g_assert_cmpuint (touched, ==, sizeof pixels);
  gst_buffer_unmap (output, &map);
}

static void
test_wrong_sizes (void)
{
  static const guint8 bytes[4] = {0};
  g_autoptr (Stream) stream = stream_new ("weight", "[[1,0,0],[0,1,0],[0,0,1]]", NULL);
  g_autofree gchar *caps = video_caps ("RGB", 5, 3);
  GstFlowReturn flow;

  g_assert_true (stream_play (stream, caps, NULL));
  flow = gst_harness_push (stream->harness, buffer_new (bytes, sizeof bytes));
  g_assert_cmpint (flow, ==, GST_FLOW_ERROR);
  stream_assert_error (stream, GST_RESOURCE_ERROR, "4 bytes", "5x3 RGB", "48 bytes", NULL);
}

static void
test_crop_meta_and_colorimetry (void)
{
  g_autoptr (Stream) stream = stream_new ("weight", "[[1,0,0],[0,1,0],[0,0,1]]", NULL);
  g_autofree gchar *caps = video_caps ("RGB", 4, 2);
  g_autoptr (GstBuffer) input = gst_buffer_new_allocate (NULL, 24, NULL), output = NULL;
  g_autoptr (GstCaps) output_caps = NULL, stamp = gst_caps_new_empty_simple ("timestamp/x-test");

  gst_buffer_add_video_crop_meta (input)->x = 1;
  gst_buffer_add_reference_timestamp_meta (input, stamp, 5, GST_CLOCK_TIME_NONE);
  g_assert_true (stream_play (stream, caps, "video/x-raw"));
  output = stream_run (stream, g_steal_pointer (&input));
  g_assert_nonnull (gst_buffer_get_video_crop_meta (output));
  g_assert_nonnull (gst_buffer_get_reference_timestamp_meta (output, stamp));
  output_caps = stream_get_output_caps (stream);
  assert_caps (output_caps, "video/x-raw,colorimetry=sRGB,framerate=25/1");
}

static void
test_metas_of_tensors (void)
{
  g_autoptr (Stream) stream = stream_new ("weight", "[[1,0],[0,1],[0,0]]", NULL);
  g_autofree gchar *caps = video_caps ("RGB", 4, 2);
  g_autoptr (GstBuffer) input = gst_buffer_new_allocate (NULL, 24, NULL), output = NULL;
  g_autoptr (GstCaps) stamp = gst_caps_new_empty_simple ("timestamp/x-test");

  gst_buffer_add_video_crop_meta (input);
  gst_buffer_add_reference_timestamp_meta (input, stamp, 5, GST_CLOCK_TIME_NONE);
  g_assert_true (stream_play (stream, caps, NULL));
  output = stream_run (stream, g_steal_pointer (&input));
  g_assert_null (gst_buffer_get_video_crop_meta (output));
  g_assert_nonnull (gst_buffer_get_reference_timestamp_meta (output, stamp));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  gst_init (&argc, &argv);
  stream_add_test ("/video/formats-to-tensors", test_formats_to_tensors);
  stream_add_test ("/video/every-input-stays-video", test_every_input_stays_video);
  stream_add_test ("/video/every-output", test_every_output);
  stream_add_test ("/video/padding-channel-is-opaque", test_padding_channel_is_opaque);
  stream_add_test ("/video/feature-modes", test_feature_modes);
  stream_add_test ("/video/strides", test_strides);
  stream_add_test ("/video/wrong-sizes", test_wrong_sizes);
  stream_add_test ("/video/crop-meta-and-colorimetry", test_crop_meta_and_colorimetry);
  stream_add_test ("/video/metas-of-tensors", test_metas_of_tensors);
  return g_test_run ();
}
