/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "element/caps.h"
#include "memory/caps.h"

#define VIDEO(format) "video/x-raw,format=" format ",width=4,height=2,framerate=30/1"
#define STEREO                                                                                     \
  "audio/x-raw,format=S16LE,rate=8000,channels=2,channel-mask=(bitmask)3,layout=interleaved"
#define SURROUND                                                                                   \
  "audio/x-raw,format=S16LE,rate=8000,channels=6,channel-mask=(bitmask)0x3f,layout=interleaved"

static const GstGemmclSettings automatic = {.batch_size = 1};

/* Returns: the caps @text of one pad as they are at the other. */
static GstCaps *
transform (GstPadDirection direction, const gchar *text, const gchar *filter, gsize k, gsize n)
{
  g_autoptr (GstCaps) caps = gst_caps_from_string (text);
  g_autoptr (GstCaps) filter_caps = filter ? gst_caps_from_string (filter) : NULL;
  GstCaps *result =
      gst_gemmcl_caps_transform (direction, caps, filter_caps, &automatic, k, n, NULL);
  g_autofree gchar *result_text = gst_caps_to_string (result);

  g_test_message ("%s -> %s", text, result_text);
  return result;
}

static gboolean
has (GstCaps *caps, const gchar *text)
{
  g_autoptr (GstCaps) wanted = gst_caps_from_string (text);

  return gst_caps_can_intersect (caps, wanted);
}

static gchar *
fixate (const gchar *input, const gchar *downstream, gsize k, gsize n)
{
  g_autoptr (GstCaps) in = gst_caps_from_string (input);
  g_autoptr (GstCaps) peer = gst_caps_from_string (downstream);
  g_autoptr (GstCaps) offered =
      gst_gemmcl_caps_transform (GST_PAD_SINK, in, NULL, &automatic, k, n, NULL);
  g_autoptr (GstCaps) fixed = NULL;

  fixed = gst_gemmcl_caps_fixate (
      in, gst_caps_intersect_full (peer, offered, GST_CAPS_INTERSECT_FIRST), FALSE);
  g_assert_true (gst_caps_is_fixed (fixed));
  return gst_caps_to_string (fixed);
}

static void
test_templates (void)
{
  g_autoptr (GstCaps) sink = gst_gemmcl_caps_new_template (GST_PAD_SINK);
  g_autoptr (GstCaps) src = gst_gemmcl_caps_new_template (GST_PAD_SRC);

  g_assert_true (has (sink, "video/x-raw,format=NV12"));
  g_assert_false (has (src, "video/x-raw,format=NV12"));
  g_assert_false (has (src, "video/x-raw,format=I420"));
  g_assert_false (has (sink, "audio/x-raw,layout=non-interleaved"));
  g_assert_true (has (sink, "other/tensors,format=flexible"));
  g_assert_false (has (sink, "other/tensors,format=sparse"));
  for (guint i = 0; i < GEMMCL_N_PIXEL_FORMATS; i++) {
    g_autofree gchar *text =
        g_strdup_printf ("video/x-raw,format=%s", gemmcl_pixel_format_get_name (i));

    g_assert_true (has (sink, text));
  }
}

static void
test_no_weight (void)
{
  g_autoptr (GstCaps) any = transform (GST_PAD_SINK, VIDEO ("RGB"), NULL, 0, 0);
  g_autoptr (GstCaps) sink = transform (GST_PAD_SRC, "other/tensors", NULL, 0, 0);

  g_assert_true (has (any, "video/x-raw,format=GRAY8"));
  g_assert_true (has (any, "video/x-raw,format=RGBA"));
  g_assert_true (has (any, "other/tensors"));
  g_assert_true (has (sink, "video/x-raw,format=I420"));
  g_assert_true (has (sink, "other/tensors"));
}

static void
test_pixel_keeps_video (void)
{
  g_autoptr (GstCaps) three = transform (GST_PAD_SINK, VIDEO ("NV12"), NULL, 3, 3);
  g_autoptr (GstCaps) two = transform (GST_PAD_SINK, VIDEO ("NV12"), NULL, 3, 2);

  g_assert_true (gst_structure_has_name (gst_caps_get_structure (three, 0), "video/x-raw"));
  g_assert_true (has (three, VIDEO ("BGRx")));
  g_assert_false (has (three, VIDEO ("RGBA")));
  g_assert_false (has (three, "video/x-raw,width=5"));
  g_assert_true (has (three, "other/tensors,dimensions=(string)3:8,types=float32,framerate=30/1"));
  g_assert_false (has (two, "video/x-raw"));
  g_assert_true (has (two, "other/tensors,dimensions=(string)2:8"));
}

static void
test_frame_makes_tensors (void)
{
  g_autoptr (GstCaps) caps = transform (GST_PAD_SINK, VIDEO ("RGB"), NULL, 24, 3);

  g_assert_false (has (caps, "video/x-raw"));
  g_assert_true (has (caps, "other/tensors,dimensions=(string)3:1"));
  g_assert_true (has (caps, "other/tensors,dimensions=(string)3"));
  g_assert_true (has (caps, "other/tensors,dimensions=(string)3:1:1:1"));
  g_assert_false (has (caps, "other/tensors,dimensions=(string)1:3"));
}

/* K narrows what upstream is asked for; what does not fit at all is let in, to be explained. */
static void
test_sink_is_narrowed (void)
{
  g_autoptr (GstCaps) four = transform (GST_PAD_SRC, "video/x-raw", NULL, 4, 3);
  g_autoptr (GstCaps) wrong =
      transform (GST_PAD_SRC, "video/x-raw", "video/x-raw,format=RGB", 4, 3);
  g_autoptr (GstCaps) wrong_n = transform (GST_PAD_SRC, "video/x-raw", NULL, 4, 2);

  g_assert_true (has (four, "video/x-raw,format=RGBA"));
  g_assert_false (has (four, "video/x-raw,format=RGB"));
  g_assert_true (has (wrong, "video/x-raw,format=RGB"));
  g_assert_true (has (wrong_n, "video/x-raw,format=RGBA"));
}

/* K narrows the formats of patches, too. */
static void
test_patches_narrow (void)
{
  const GstGemmclSettings settings = {.batch_size = 1,
                                      .feature_mode = GST_GEMMCL_FEATURE_MODE_PATCH,
                                      .patch_width = 4,
                                      .patch_height = 2};
  g_autoptr (GstCaps) any = gst_caps_from_string ("other/tensors");
  g_autoptr (GstCaps) caps =
      gst_gemmcl_caps_transform (GST_PAD_SRC, any, NULL, &settings, 4 * 2 * 3, 5, NULL);

  g_assert_true (has (caps, "video/x-raw,format=RGB"));
  g_assert_false (has (caps, "video/x-raw,format=RGBA"));
  g_assert_false (has (caps, "video/x-raw,format=GRAY8"));
}

/* The result of patches has the dimensions that the next convolution needs, and upon request
 * NNStreamer's of a matrix. */
static void
test_patches_out (void)
{
  const GstGemmclSettings settings = {.batch_size = 1,
                                      .feature_mode = GST_GEMMCL_FEATURE_MODE_PATCH,
                                      .patch_width = 3,
                                      .patch_height = 2,
                                      .patch_stride = 1,
                                      .patch_padding = 1};
  static const gchar *const inputs[] = {
      VIDEO ("RGB"), "other/tensors,format=static,num_tensors=1,dimensions=(string)3:4:2,"
                     "types=(string)uint8,framerate=0/1"};

  for (guint i = 0; i < G_N_ELEMENTS (inputs); i++) {
    g_autoptr (GstCaps) in = gst_caps_from_string (inputs[i]);
    GstCaps *out = gst_gemmcl_caps_transform (GST_PAD_SINK, in, NULL, &settings, 18, 5, NULL);
    g_autoptr (GstCaps) fixed = NULL;
    g_autofree gchar *text = NULL;

    g_assert_true (has (out, "other/tensors,dimensions=(string)5:4:3"));
    g_assert_true (has (out, "other/tensors,dimensions=(string)5:4:3:1"));
    g_assert_true (has (out, "other/tensors,dimensions=(string)5:12"));
    g_assert_false (has (out, "other/tensors,dimensions=(string)5:3:4"));
    fixed = gst_gemmcl_caps_fixate (in, out, FALSE);
    text = gst_caps_to_string (fixed);
    g_test_message ("%s", text);
    g_assert_nonnull (strstr (text, "dimensions=(string)5:4:3,"));
  }
}

static void
test_audio (void)
{
  g_autoptr (GstCaps) out = transform (GST_PAD_SINK, STEREO, NULL, 2, 6);
  g_autoptr (GstCaps) in = transform (GST_PAD_SRC, STEREO, NULL, 6, 2);

  g_assert_true (has (out, "audio/x-raw,format=S16LE,channels=6,rate=8000"));
  g_assert_false (has (out, "audio/x-raw,format=F32LE"));
  g_assert_false (has (out, "other/tensors"));
  g_assert_true (has (in, "audio/x-raw,format=S16LE,channels=6,rate=8000"));
  g_assert_false (has (in, "audio/x-raw,channels=2"));
}

static void
check_fixed (const gchar *input, const gchar *downstream, gsize k, gsize n, const gchar *part)
{
  g_autofree gchar *text = fixate (input, downstream, k, n);

  if (!strstr (text, part))
    g_error ("%s has no %s", text, part);
}

static void
test_fixate (void)
{
  check_fixed (VIDEO ("BGR"), "video/x-raw", 3, 3, "format=(string)BGR,");
  check_fixed (VIDEO ("BGRA"), "video/x-raw", 4, 3, "format=(string)BGR");
  check_fixed (VIDEO ("RGB"), "video/x-raw", 3, 4, "format=(string)RGBA");
  check_fixed (VIDEO ("BGRx"), "video/x-raw", 3, 4, "format=(string)BGRA");
  check_fixed (VIDEO ("RGB"), "video/x-raw,format={xBGR,GRAY8}", 3, 3, "format=(string)xBGR");
  check_fixed (VIDEO ("RGB"), "video/x-raw", 3, 1, "format=(string)GRAY8");
  check_fixed (VIDEO ("GRAY16_LE"), "video/x-raw", 1, 1, "format=(string)GRAY16_LE");
  check_fixed (VIDEO ("GRAY8"), "video/x-raw,format=GRAY16_LE", 1, 1, "format=(string)GRAY16_LE");
  /* The medium, even where downstream likes tensors better. */
  check_fixed (VIDEO ("RGB"), "other/tensors;video/x-raw", 3, 3, "video/x-raw");
  check_fixed (VIDEO ("RGB"), "other/tensors", 3, 3, "dimensions=(string)3:8");
  check_fixed (VIDEO ("RGB") ",colorimetry=sRGB", "video/x-raw", 3, 3, "colorimetry=(string)sRGB");
  check_fixed (STEREO, "audio/x-raw", 2, 6, "channel-mask=(bitmask)0x000000000000003f");
  check_fixed (SURROUND, "audio/x-raw", 6, 2, "channel-mask=(bitmask)0x0000000000000003");
  check_fixed (STEREO, "audio/x-raw,channel-mask=(bitmask)0", 2, 4,
               "channel-mask=(bitmask)0x0000000000000000");
  check_fixed (STEREO, "audio/x-raw", 2, 9, "channel-mask=(bitmask)0x0000000000000000");
}

static void
test_mono_has_no_mask (void)
{
  g_autofree gchar *text = fixate (STEREO, "audio/x-raw", 2, 1);

  g_assert_null (strstr (text, "channel-mask"));
}

static void
test_several_tensors (void)
{
  const GstGemmclSettings second = {.batch_size = 1, .tensor_index = 1};
  g_autoptr (GstCaps) in = gst_caps_from_string (
      "other/tensors,format=static,num_tensors=2,dimensions=(string)\"7,3:4:5\","
      "types=(string)\"uint8,int16\",framerate=0/1");
  g_autoptr (GstCaps) out = gst_gemmcl_caps_transform (GST_PAD_SINK, in, NULL, &second, 3, 2, NULL);

  g_assert_true (has (out, "other/tensors,num_tensors=2,dimensions=(string)\"7,2:20\","
                           "types=(string)\"uint8,float32\""));
  g_assert_true (has (out, "other/tensors,dimensions=(string)\"7:1:1:1.2:20:1:1\""));
}

#define SURFACE "video/x-raw(memory:VAMemory),format=NV12"

#ifdef GEMMCL_HAVE_VA
  #define HAVE_VA TRUE
#else
  #define HAVE_VA FALSE
#endif
#define DMABUF "video/x-raw(memory:DMABuf),format=BGRx"

static void
assert_memory (const gchar *text, GstGemmclMemory memory)
{
  g_autoptr (GstCaps) caps = gst_caps_from_string (text);

  g_assert_cmpint (gst_gemmcl_caps_get_memory (caps, 0), ==, memory);
}

/* Memory of others comes in, and never goes out; what the device cannot do is not offered. */
static void
test_memories (void)
{
  g_autoptr (GstCaps) src = gst_gemmcl_caps_new_template (GST_PAD_SRC);
  g_autoptr (GstCaps) from = transform (GST_PAD_SINK, SURFACE, NULL, 3, 3);
  g_autoptr (GstCaps) sink = gst_gemmcl_caps_new_template (GST_PAD_SINK);
  g_autoptr (GstCaps) import = NULL, map = NULL;

  /* Intel's driver has no whole chroma of odd sizes. */
  g_assert_cmpint (has (sink, SURFACE ",width=64,height=2"), ==, HAVE_VA);
  g_assert_false (has (sink, SURFACE ",width=63,height=2"));
  g_assert_false (has (sink, SURFACE ",width=64,height=3"));
  assert_memory ("video/x-raw", GST_GEMMCL_MEMORY_SYSTEM);
  assert_memory ("video/x-raw(memory:OpenCL)", GST_GEMMCL_MEMORY_OPENCL);
  assert_memory (SURFACE, GST_GEMMCL_MEMORY_VA);
  assert_memory (DMABUF, GST_GEMMCL_MEMORY_DMABUF);
  assert_memory ("video/x-raw(memory:DMABuf,memory:Other)", GST_GEMMCL_MEMORY_OTHER);
  g_assert_false (has (src, SURFACE));
  g_assert_false (has (src, DMABUF));
  g_assert_true (has (from, "video/x-raw,format=BGR"));
  import = gst_gemmcl_caps_offer (gst_gemmcl_caps_new_template (GST_PAD_SINK), FALSE, TRUE);
  map = gst_gemmcl_caps_offer (gst_gemmcl_caps_new_template (GST_PAD_SINK), FALSE, FALSE);
  g_assert_false (has (import, SURFACE));
  g_assert_true (has (import, DMABUF));
  g_assert_true (has (map, DMABUF));
  g_assert_cmpint (gst_gemmcl_caps_get_memory (import, gst_caps_get_size (import) - 1), ==,
                   GST_GEMMCL_MEMORY_SYSTEM);
  g_assert_cmpint (gst_gemmcl_caps_get_memory (map, gst_caps_get_size (map) - 1), ==,
                   GST_GEMMCL_MEMORY_DMABUF);
}

#if GST_CHECK_VERSION(1, 24, 0)
  #define DRM_DMABUF(format)                                                                       \
    "video/x-raw(memory:DMABuf),format=DMA_DRM,drm-format=" format                                 \
    ",width=4,height=2,framerate=30/1"

/* If surfaces are shared, the tiles of Intel's media drivers are known, too. */
static void
check_tiled (const gchar *text, GstVideoFormat expected)
{
  g_autoptr (GstCaps) sink = gst_gemmcl_caps_new_template (GST_PAD_SINK);
  g_autoptr (GstCaps) va = gst_gemmcl_caps_offer (gst_caps_copy (sink), TRUE, TRUE);
  g_autoptr (GstCaps) no_va = gst_gemmcl_caps_offer (gst_caps_copy (sink), FALSE, TRUE);
  g_autoptr (GstCaps) caps = gst_caps_from_string (text);
  g_autoptr (GError) error = NULL;
  GstGemmclFormat format;

  assert_memory (text, GST_GEMMCL_MEMORY_TILED);
  g_assert_false (has (no_va, text));
  g_assert_cmpint (gst_caps_is_subset (caps, va), ==, expected != GST_VIDEO_FORMAT_UNKNOWN);
  if (expected != GST_VIDEO_FORMAT_UNKNOWN) {
    g_assert_true (gst_gemmcl_format_from_caps (&format, caps, &error));
    g_assert_cmpint (GST_VIDEO_INFO_FORMAT (&format.video), ==, expected);
  } else {
    g_assert_false (gst_gemmcl_format_from_caps (&format, caps, &error));
    g_assert_error (error, GEMMCL_ERROR, GEMMCL_ERROR_FORMAT);
  }
}

#endif

/* Since GStreamer 1.24 dma-bufs have formats of another name. */
static void
test_drm_formats (void)
{
#if GST_CHECK_VERSION(1, 24, 0)
  const gchar *linear = DRM_DMABUF ("NV12");
  g_autoptr (GstCaps) sink = gst_gemmcl_caps_new_template (GST_PAD_SINK);
  g_autoptr (GstCaps) out = transform (GST_PAD_SINK, linear, NULL, 3, 3);
  g_autoptr (GstCaps) of_tiles =
      transform (GST_PAD_SINK, DRM_DMABUF ("NV12:0x0100000000000002"), NULL, 3, 3);
  g_autoptr (GstCaps) caps = gst_caps_from_string (linear);
  g_autoptr (GError) error = NULL;
  GstGemmclFormat format;

  assert_memory (linear, GST_GEMMCL_MEMORY_DMABUF);
  assert_memory (DRM_DMABUF ("{ NV12, NV12:0x0100000000000002 }"), GST_GEMMCL_MEMORY_DMABUF);
  g_assert_true (has (sink, linear));
  g_assert_true (has (out, VIDEO ("BGR")));
  g_assert_true (has (of_tiles, VIDEO ("BGR")));
  g_assert_true (gst_gemmcl_format_from_caps (&format, caps, &error));
  g_assert_cmpint (GST_VIDEO_INFO_FORMAT (&format.video), ==, GST_VIDEO_FORMAT_NV12);
  if (HAVE_VA) {
    check_tiled (DRM_DMABUF ("NV12:0x0100000000000002"), GST_VIDEO_FORMAT_NV12);
    check_tiled (DRM_DMABUF ("P010:0x0100000000000009"), GST_VIDEO_FORMAT_P010_10LE);
  }
  check_tiled (DRM_DMABUF ("XR24:0x0100000000000002"), GST_VIDEO_FORMAT_UNKNOWN);
  check_tiled (DRM_DMABUF ("NV12:0x0200000000000001"), GST_VIDEO_FORMAT_UNKNOWN);
#else
  g_test_skip ("GStreamer before 1.24 has no DRM formats.");
#endif
}

/* With output=meta caps pass in every memory, with the tensors of upstream but without those of
 * downstream. */
static void
test_meta (void)
{
  static const gchar *const inputs[] = {
    VIDEO ("RGB"),
    "video/x-raw(memory:OpenCL),format=NV12,width=4,height=2",
    "video/x-raw(memory:VAMemory),format=NV12,width=4,height=2",
#if GST_CHECK_VERSION(1, 24, 0)
    "video/x-raw(memory:DMABuf),format=DMA_DRM,drm-format=NV12:0x0100000000000002,width=4,"
    "height=2",
#endif
    STEREO ",tensors=(structure)[before]",
    "other/tensors,format=static,num_tensors=1,dimensions=(string)3:2,types=(string)uint8",
  };
  const GstGemmclSettings settings = {
      .batch_size = 1, .output = GST_GEMMCL_OUTPUT_META, .tensor_id = "id"};
  g_autoptr (GstCaps) asked = gst_caps_from_string (VIDEO ("RGB") ",tensors=(structure)[wanted]");
  g_autoptr (GstCaps) other = gst_caps_from_string ("video/x-raw(memory:GLMemory),format=RGB");
  g_autoptr (GstCaps) up =
      gst_gemmcl_caps_transform (GST_PAD_SRC, asked, NULL, &settings, 3, 5, NULL);
  g_autoptr (GstCaps) none =
      gst_gemmcl_caps_transform (GST_PAD_SINK, other, NULL, &settings, 3, 5, NULL);

  for (guint i = 0; i < G_N_ELEMENTS (inputs); i++) {
    g_autoptr (GstCaps) caps = gst_caps_from_string (inputs[i]);
    g_autoptr (GstCaps) down =
        gst_gemmcl_caps_transform (GST_PAD_SINK, caps, NULL, &settings, 3, 5, NULL);

    g_test_message ("%s", inputs[i]);
    g_assert_true (gst_caps_is_fixed (down));
    g_assert_true (gst_caps_is_subset (down, caps));
  }
  g_assert_true (gst_caps_is_empty (none));
  g_assert_true (gst_caps_is_fixed (up));
  g_assert_true (has (up, VIDEO ("RGB")));
  g_assert_false (gst_structure_has_field (gst_caps_get_structure (up, 0), "tensors"));
}

/* Nothing of a tensor in metadata is trusted. */
static void
test_tensor (void)
{
  static const struct {
    const gchar *type;
    gsize rank, dims[3];
    const gchar *words; /* NULL: it is right */
  } tensors[] = {
      {"float16", 3, {2, 3, 4}, NULL},
      {"int8", 1, {7}, NULL},
      {"bfloat16", 1, {7}, "bfloat16"},
      {NULL, 1, {7}, "types"},
      {"int8", 0, {0}, "0 dimensions"},
      {"int8", 17, {0}, "17 dimensions"},
      {"int8", 2, {0, 4}, "Dimension 0 of a tensor is 0"},
      {"int8", 2, {4, (gsize)G_MAXINT32 + 1}, "Dimension 1"},
      {"int8", 3, {G_MAXINT32, G_MAXINT32, G_MAXINT32}, "larger than memory"},
  };

  for (guint i = 0; i < G_N_ELEMENTS (tensors); i++) {
    g_autoptr (GError) error = NULL;
    GstGemmclTensor tensor;
    const gboolean is_right =
        gst_gemmcl_tensor_init (&tensor, tensors[i].type, tensors[i].rank, tensors[i].dims, &error);

    g_assert_cmpint (is_right, ==, !tensors[i].words);
    if (is_right) {
      gsize m, k;

      gst_gemmcl_tensor_get_shape (&tensor, &m, &k);
      g_assert_cmpuint (m, ==, i == 0 ? 6 : 1);
      g_assert_cmpuint (k, ==, i == 0 ? 4 : 7);
    } else {
      g_assert_nonnull (strstr (error->message, tensors[i].words));
    }
  }
}

/* With input=meta any video and audio comes in. Tensors leave, or the same with output=meta. */
static void
test_carriers (void)
{
  static const gchar *const inputs[] = {
      VIDEO ("YUY2"), STEREO, "video/x-raw(memory:GLMemory),format=RGBA,width=4,height=2"};
  const gchar *result = "other/tensors,num_tensors=1,dimensions=(string)5:2,types=(string)float32";
  GstGemmclSettings settings = {.batch_size = 1, .input = GST_GEMMCL_INPUT_META, .tensor_id = "id"};
  const GstGemmclTensor learned = {.rank = 2, .dims = {3, 2}};
  g_autoptr (GstCaps) tensors = gst_caps_from_string (result);
  g_autoptr (GstCaps) up =
      gst_gemmcl_caps_transform (GST_PAD_SRC, tensors, NULL, &settings, 3, 5, NULL);

  for (guint i = 0; i < G_N_ELEMENTS (inputs); i++) {
    g_autoptr (GstCaps) caps = gst_caps_from_string (inputs[i]), known = NULL, unknown = NULL,
                        up_meta = NULL, down_meta = NULL;

    settings.output = GST_GEMMCL_OUTPUT_AUTO;
    known = gst_gemmcl_caps_transform (GST_PAD_SINK, caps, NULL, &settings, 3, 5, &learned);
    unknown = gst_gemmcl_caps_transform (GST_PAD_SINK, caps, NULL, &settings, 3, 5, NULL);
    settings.output = GST_GEMMCL_OUTPUT_META;
    up_meta = gst_gemmcl_caps_transform (GST_PAD_SRC, caps, NULL, &settings, 3, 5, NULL);
    down_meta = gst_gemmcl_caps_transform (GST_PAD_SINK, caps, NULL, &settings, 3, 5, &learned);
    g_assert_true (has (up, inputs[i]));
    g_assert_true (gst_caps_can_intersect (known, tensors));
    g_assert_false (gst_caps_is_any (known));
    g_assert_true (gst_caps_can_intersect (unknown, tensors));
    g_assert_true (has (unknown, "other/tensors,format=static,num_tensors=1,framerate=30/1,"
                                 "dimensions=(string)5:9,types=(string)float32"));
    g_assert_false (has (known, "other/tensors,format=static,num_tensors=1,framerate=30/1,"
                                "dimensions=(string)5:9,types=(string)float32"));
    g_assert_true (gst_caps_is_equal (up_meta, caps));
    g_assert_true (gst_caps_is_subset (down_meta, caps));
    g_assert_true (gst_caps_is_fixed (down_meta));
  }
}

#define STATIC   "other/tensors,format=static"
#define ONE      STATIC ",num_tensors=1,dimensions=(string)3:2,types=(string)int16,framerate=10/1"
#define FLEXIBLE "other/tensors,format=flexible"

/* Downstream chooses the type, or the first one is taken. */
static void
test_types (void)
{
  static const gchar *const cases[][2] = {
      {"other/tensors", "types=(string)float32"},
      {"other/tensors,types=(string)uint8", "types=(string)uint8"},
      {"other/tensors,types=(string){int32,int8,float16}", "types=(string){float16,int8}"},
      {"other/tensors,types=(string){int8,float32}", "types=(string){int8,float32}"},
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autofree gchar *fixed = fixate (ONE, cases[i][0], 3, 2);
    g_autofree gchar *expected = g_strconcat (STATIC ",", cases[i][1], NULL);
    g_autoptr (GstCaps) caps = gst_caps_from_string (fixed);

    g_test_message ("%s", fixed);
    g_assert_true (has (caps, expected));
  }
}

/* Static and flexible tensors are alternatives in each direction; output=flexible makes both, and
 * frames, flexible. */
static void
test_flexible (void)
{
  static const struct {
    GstGemmclOutputMode output;
    GstPadDirection direction;
    const gchar *caps;
    gboolean to_static, to_flexible, to_video;
  } cases[] = {
      {GST_GEMMCL_OUTPUT_AUTO, GST_PAD_SINK, ONE, TRUE, FALSE, FALSE},
      {GST_GEMMCL_OUTPUT_AUTO, GST_PAD_SINK, FLEXIBLE ",framerate=10/1", FALSE, TRUE, FALSE},
      {GST_GEMMCL_OUTPUT_AUTO, GST_PAD_SINK, "other/tensors", TRUE, TRUE, FALSE},
      {GST_GEMMCL_OUTPUT_AUTO, GST_PAD_SRC, STATIC, TRUE, FALSE, TRUE},
      {GST_GEMMCL_OUTPUT_AUTO, GST_PAD_SRC, FLEXIBLE, FALSE, TRUE, FALSE},
      {GST_GEMMCL_OUTPUT_AUTO, GST_PAD_SRC, "other/tensors", TRUE, TRUE, TRUE},
      {GST_GEMMCL_OUTPUT_FLEXIBLE, GST_PAD_SINK, ONE, FALSE, TRUE, FALSE},
      {GST_GEMMCL_OUTPUT_FLEXIBLE, GST_PAD_SINK, "other/tensors", FALSE, TRUE, FALSE},
      {GST_GEMMCL_OUTPUT_FLEXIBLE, GST_PAD_SINK, VIDEO ("RGB"), FALSE, TRUE, FALSE},
      {GST_GEMMCL_OUTPUT_FLEXIBLE, GST_PAD_SRC, FLEXIBLE, TRUE, TRUE, TRUE},
      {GST_GEMMCL_OUTPUT_FLEXIBLE, GST_PAD_SRC, FLEXIBLE ",num_tensors=2", FALSE, TRUE, FALSE},
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    const GstGemmclSettings settings = {.batch_size = 1, .output = cases[i].output};
    g_autoptr (GstCaps) caps = gst_caps_from_string (cases[i].caps);
    g_autoptr (GstCaps) result =
        gst_gemmcl_caps_transform (cases[i].direction, caps, NULL, &settings, 3, 2, NULL);
    g_autofree gchar *text = gst_caps_to_string (result);

    g_test_message ("%s -> %s", cases[i].caps, text);
    g_assert_cmpint (has (result, STATIC ",num_tensors=1"), ==, cases[i].to_static);
    g_assert_cmpint (has (result, FLEXIBLE), ==, cases[i].to_flexible);
    g_assert_cmpint (has (result, "video/x-raw"), ==, cases[i].to_video);
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  gst_init (&argc, &argv);
  g_test_add_func ("/caps/templates", test_templates);
  g_test_add_func ("/caps/no-weight", test_no_weight);
  g_test_add_func ("/caps/pixel-keeps-video", test_pixel_keeps_video);
  g_test_add_func ("/caps/frame-makes-tensors", test_frame_makes_tensors);
  g_test_add_func ("/caps/sink-is-narrowed", test_sink_is_narrowed);
  g_test_add_func ("/caps/patches-narrow", test_patches_narrow);
  g_test_add_func ("/caps/patches-out", test_patches_out);
  g_test_add_func ("/caps/audio", test_audio);
  g_test_add_func ("/caps/fixate", test_fixate);
  g_test_add_func ("/caps/mono-has-no-mask", test_mono_has_no_mask);
  g_test_add_func ("/caps/several-tensors", test_several_tensors);
  g_test_add_func ("/caps/memories", test_memories);
  g_test_add_func ("/caps/drm-formats", test_drm_formats);
  g_test_add_func ("/caps/meta", test_meta);
  g_test_add_func ("/caps/tensor", test_tensor);
  g_test_add_func ("/caps/carriers", test_carriers);
  g_test_add_func ("/caps/types", test_types);
  g_test_add_func ("/caps/flexible", test_flexible);
  return g_test_run ();
}
