/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "element/caps.h"
#include "memory/caps.h"

#define VIDEO(format) "video/x-raw,format=" format ",width=4,height=2,framerate=30/1"
#define STEREO                                                                                     \
  "audio/x-raw,format=S16LE,rate=8000,channels=2,channel-mask=(bitmask)3,layout=interleaved"
#define SURROUND                                                                                   \
  "audio/x-raw,format=S16LE,rate=8000,channels=6,channel-mask=(bitmask)0x3f,layout=interleaved"

#define TENSORS(n, dimensions, types)                                                              \
  STATIC ",num_tensors=" n ",dimensions=(string)\"" dimensions "\",types=(string)\"" types         \
         "\",framerate=0/1"
#define ONE(dimensions, type) TENSORS ("1", dimensions, type)
#define STATIC                "other/tensors,format=static"
#define FLEXIBLE              "other/tensors,format=flexible"
#define DIMS(dimensions)      "other/tensors,dimensions=(string)" dimensions
#define SINK                  GST_PAD_SINK
#define SRC                   GST_PAD_SRC

static const GstGemmclSettings automatic = {.batch_size = 1};
static const GstGemmclSettings second = {.batch_size = 1, .tensor_index = 1};
static const GstGemmclSettings flexible = {.batch_size = 1, .output = GST_GEMMCL_OUTPUT_FLEXIBLE};
static const GstGemmclSettings to_media = {.batch_size = 1, .output = GST_GEMMCL_OUTPUT_MEDIA};
static const GstGemmclSettings to_tensors = {.batch_size = 1, .output = GST_GEMMCL_OUTPUT_TENSORS};
static const GstGemmclSettings wide = {.batch_size = 1, .patch_width = 3, .patch_height = 2};
static const GstGemmclSettings patches = {.batch_size = 1,
                                          .feature_mode = GST_GEMMCL_FEATURE_MODE_PATCH,
                                          .patch_width = 3,
                                          .patch_height = 2,
                                          .patch_stride = 1,
                                          .patch_padding = 1};

static GstCaps *
transform (GstPadDirection direction, const gchar *text, const gchar *filter,
           const GstGemmclSettings *settings, gsize k, gsize n)
{
  g_autoptr (GstCaps) caps = gst_caps_from_string (text);
  g_autoptr (GstCaps) filter_caps = filter ? gst_caps_from_string (filter) : NULL;

  return gst_gemmcl_caps_transform (direction, caps, filter_caps, settings ? settings : &automatic,
                                    k, n, NULL);
}

static gboolean
has (GstCaps *caps, const gchar *text)
{
  g_autoptr (GstCaps) wanted = gst_caps_from_string (text);

  g_assert_nonnull (wanted);
  return gst_caps_can_intersect (caps, wanted);
}

/* Asserts that @caps have each structure of @text, or none of them. @text: (nullable) */
static void
check (GstCaps *caps, const gchar *text, gboolean there)
{
  g_autoptr (GstCaps) all = gst_caps_from_string (text ? text : "NONE");
  g_autofree gchar *found = gst_caps_to_string (caps);

  for (guint i = 0; i < gst_caps_get_size (all); i++) {
    g_autoptr (GstCaps) one = gst_caps_copy_nth (all, i);
    g_autofree gchar *wanted = gst_caps_to_string (one);

    if (gst_caps_can_intersect (caps, one) != there)
      g_error ("%s is %s %s", wanted, there ? "not in" : "in", found);
  }
}

/**
 * Caps of the pad @of with a weight of @k x @n, and caps that the other pad can then have, and that
 * it cannot have. @lacks, @settings, @filter: (nullable)
 */
static const struct {
  GstPadDirection of;
  const gchar *caps;
  gsize k, n;
  const gchar *has, *lacks;
  const GstGemmclSettings *settings;
  const gchar *filter;
} transforms[] = {
    /* Without a weight all is possible. */
    {SINK, VIDEO ("RGB"), 0, 0, "video/x-raw,format=GRAY8; video/x-raw,format=RGBA; other/tensors"},
    {SRC, "other/tensors", 0, 0, "video/x-raw,format=I420; other/tensors"},
    /* Pixels stay video if a format has as many channels. */
    {SINK, VIDEO ("NV12"), 3, 3, VIDEO ("BGRx") ";" DIMS ("3:8") ",types=float32,framerate=30/1",
     VIDEO ("RGBA") "; video/x-raw,width=5"},
    {SINK, VIDEO ("NV12"), 3, 2, DIMS ("2:8"), "video/x-raw"},
    /* Rows and frames do not. Ones at the end of dimensions may be left out. */
    {SINK, VIDEO ("RGB"), 12, 5, DIMS ("5:2"), "video/x-raw"},
    {SINK, VIDEO ("RGB"), 24, 3,
     DIMS ("3:1") ";" DIMS ("3") ";" DIMS ("3:1:1:1") ";" DIMS ("3:1:0:0"),
     "video/x-raw;" DIMS ("1:3")},
    /* K narrows the formats that upstream is asked for. If none fits, all are let in, so that the
     * element can say why. */
    {SRC, "video/x-raw", 4, 3, "video/x-raw,format=RGBA", "video/x-raw,format=RGB"},
    {SRC, "video/x-raw", 4, 3, "video/x-raw,format=RGB", NULL, NULL, "video/x-raw,format=RGB"},
    {SRC, "video/x-raw", 4, 2, "video/x-raw,format=RGBA"},
    {SRC, "other/tensors", 18, 5, "video/x-raw,format=RGB",
     "video/x-raw,format=RGBA; video/x-raw,format=GRAY8", &patches},
    /* The result of patches has the dimensions that the next convolution needs, and upon request
     * those of a matrix. */
    {SINK, VIDEO ("RGB"), 18, 5, DIMS ("5:4:3") ";" DIMS ("5:4:3:1") ";" DIMS ("5:12"),
     DIMS ("5:3:4"), &patches},
    {SINK, ONE ("3:4:2", "uint8"), 18, 5, DIMS ("5:4:3") ";" DIMS ("5:12"), DIMS ("5:3:4"),
     &patches},
    /* K tells the mode, also beside a patch that would fit, and as many patches as have room. */
    {SINK, VIDEO ("RGB"), 12, 5, DIMS ("5:2"), "video/x-raw", &wide},
    {SINK, VIDEO ("RGB"), 18, 5, DIMS ("5:1:1"), "video/x-raw", &wide},
    /* output=media and output=tensors leave one of the two. */
    {SINK, VIDEO ("RGB"), 3, 3, VIDEO ("RGB"), "other/tensors", &to_media},
    {SINK, VIDEO ("RGB"), 3, 3, DIMS ("3:8"), "video/x-raw", &to_tensors},
    {SINK, STEREO, 2, 6, "audio/x-raw,format=S16LE,channels=6,rate=8000",
     "audio/x-raw,format=F32LE; other/tensors"},
    {SRC, STEREO, 6, 2, "audio/x-raw,format=S16LE,channels=6,rate=8000", "audio/x-raw,channels=2"},
    /* Tensors, however they are written. */
    {SINK, TENSORS ("2", "7,3:4:5", "uint8,int16"), 3, 2,
     DIMS ("\"7,2:20\"") ",num_tensors=2,types=(string)\"uint8,float32\"", NULL, &second},
    {SINK, TENSORS ("2", "7:1,3:4:5", "uint8,int16"), 3, 2,
     DIMS ("\"7:1:1:1.2:20:1:1\"") ";" DIMS ("\"7:1:0:0,2:20:0:0\""), NULL, &second},
    {SINK, TENSORS ("3", "3:224:2.10, 4:1:1:1", "uint8,float32 . float16"), 3, 2,
     DIMS ("\"2:448,10,4:1:1:1\"") ",types=(string)\"float32,float32,float16\""},
    {SINK, ONE ("5:2:0", "int8"), 5, 1, DIMS ("1:2")},
    {SINK, ONE ("5:2:0:0:0:0:0:0:0:0:0:0:0:0:0: 0", "int8"), 5, 1, DIMS ("1:2")},
    /* Static and flexible tensors are alternatives in each direction. output=flexible makes both,
     * and frames, flexible. */
    {SINK, ONE ("3:2", "int16"), 3, 2, STATIC, FLEXIBLE "; video/x-raw"},
    {SINK, FLEXIBLE ",framerate=10/1", 3, 2, FLEXIBLE, STATIC "; video/x-raw"},
    {SINK, "other/tensors", 3, 2, STATIC ";" FLEXIBLE, "video/x-raw"},
    {SRC, STATIC, 3, 2, STATIC "; video/x-raw", FLEXIBLE},
    {SRC, FLEXIBLE, 3, 2, FLEXIBLE, STATIC "; video/x-raw"},
    {SRC, "other/tensors", 3, 2, STATIC ";" FLEXIBLE "; video/x-raw"},
    {SINK, ONE ("3:2", "int16"), 3, 2, FLEXIBLE, STATIC "; video/x-raw", &flexible},
    {SINK, "other/tensors", 3, 2, FLEXIBLE, STATIC "; video/x-raw", &flexible},
    {SINK, VIDEO ("RGB"), 3, 2, FLEXIBLE, STATIC "; video/x-raw", &flexible},
    {SRC, FLEXIBLE, 3, 2, STATIC ";" FLEXIBLE "; video/x-raw", NULL, &flexible},
    {SRC, FLEXIBLE ",num_tensors=2", 3, 2, FLEXIBLE, STATIC ",num_tensors=1; video/x-raw",
     &flexible},
};

static void
test_transforms (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (transforms); i++) {
    g_autoptr (GstCaps) result =
        transform (transforms[i].of, transforms[i].caps, transforms[i].filter,
                   transforms[i].settings, transforms[i].k, transforms[i].n);

    g_test_message ("%s", transforms[i].caps);
    check (result, transforms[i].has, TRUE);
    check (result, transforms[i].lacks, FALSE);
  }
}

/* Fixed caps that come in, caps of downstream, and a part of those that go out. */
static const struct {
  const gchar *input, *downstream;
  gsize k, n;
  const gchar *part;
  const GstGemmclSettings *settings;
} fixations[] = {
    {VIDEO ("BGR"), "video/x-raw", 3, 3, "video/x-raw,format=BGR"},
    {VIDEO ("BGRA"), "video/x-raw", 4, 3, "video/x-raw,format=BGR"},
    {VIDEO ("RGB"), "video/x-raw", 3, 4, "video/x-raw,format=RGBA"},
    {VIDEO ("BGRx"), "video/x-raw", 3, 4, "video/x-raw,format=BGRA"},
    {VIDEO ("RGB"), "video/x-raw,format={xBGR,GRAY8}", 3, 3, "video/x-raw,format=xBGR"},
    {VIDEO ("RGB"), "video/x-raw", 3, 1, "video/x-raw,format=GRAY8"},
    {VIDEO ("GRAY16_LE"), "video/x-raw", 1, 1, "video/x-raw,format=GRAY16_LE"},
    {VIDEO ("GRAY8"), "video/x-raw,format=GRAY16_LE", 1, 1, "video/x-raw,format=GRAY16_LE"},
    /* The medium, even where downstream likes tensors better. */
    {VIDEO ("RGB"), "other/tensors;video/x-raw", 3, 3, "video/x-raw"},
    {VIDEO ("RGB"), "other/tensors", 3, 3, DIMS ("3:8")},
    {VIDEO ("RGB"), "other/tensors", 18, 5, DIMS ("5:4:3"), &patches},
    {ONE ("3:4:2", "uint8"), "other/tensors", 18, 5, DIMS ("5:4:3"), &patches},
    {VIDEO ("RGB") ",colorimetry=sRGB", "video/x-raw", 3, 3, "video/x-raw,colorimetry=sRGB"},
    {STEREO, "audio/x-raw", 2, 6, "audio/x-raw,channel-mask=(bitmask)0x3f"},
    {SURROUND, "audio/x-raw", 6, 2, "audio/x-raw,channel-mask=(bitmask)0x3"},
    {STEREO, "audio/x-raw,channel-mask=(bitmask)0", 2, 4, "audio/x-raw,channel-mask=(bitmask)0"},
    {STEREO, "audio/x-raw", 2, 9, "audio/x-raw,channel-mask=(bitmask)0"},
    {STEREO, "audio/x-raw", 2, 1, "audio/x-raw,channels=1"},
    /* Downstream chooses the type, or the first one is taken; the plain spelling is the first. */
    {ONE ("3:2", "int16"), "other/tensors", 3, 2, DIMS ("2:2") ",types=(string)float32"},
    {ONE ("3:1", "int16"), "other/tensors", 3, 2, DIMS ("2:1")},
    {ONE ("3:2", "int16"), "other/tensors,types=(string)uint8", 3, 2,
     "other/tensors,types=(string)uint8"},
    {ONE ("3:2", "int16"), "other/tensors,types=(string){int32,int8,float16}", 3, 2,
     "other/tensors,types=(string){float16,int8}"},
    {ONE ("3:2", "int16"), "other/tensors,types=(string){int8,float32}", 3, 2,
     "other/tensors,types=(string){int8,float32}"},
};

static void
test_fixations (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (fixations); i++) {
    g_autoptr (GstCaps) in = gst_caps_from_string (fixations[i].input);
    g_autoptr (GstCaps) peer = gst_caps_from_string (fixations[i].downstream);
    g_autoptr (GstCaps) offered = transform (GST_PAD_SINK, fixations[i].input, NULL,
                                             fixations[i].settings, fixations[i].k, fixations[i].n);
    g_autoptr (GstCaps) fixed = gst_gemmcl_caps_fixate (
        in, gst_caps_intersect_full (peer, offered, GST_CAPS_INTERSECT_FIRST), FALSE);
    const GstStructure *structure = gst_caps_get_structure (fixed, 0);
    gint channels = 0;

    g_assert_true (gst_caps_is_fixed (fixed));
    check (fixed, fixations[i].part, TRUE);
    /* Mono has no mask. */
    if (gst_structure_get_int (structure, "channels", &channels))
      g_assert_cmpint (gst_structure_has_field (structure, "channel-mask"), ==, channels > 1);
  }
}

/* Caps of tensors that say nothing of use, or too much. */
static void
test_refused_tensors (void)
{
#define SIXTEEN(one, by)                                                                           \
  one by one by one by one by one by one by one by one by one by one by one by one by one by one   \
      by one by one
  static const gchar *const refused[] = {
      "other/tensors",
      "other/tensors,format=sparse",
      FLEXIBLE ",num_tensors=17",
      STATIC ",num_tensors=1,types=float32",
      STATIC ",num_tensors=1,dimensions=(string)3",
      ONE ("", "float32"),
      ONE ("0", "float32"),
      ONE ("3:0:2", "float32"),
      ONE ("3:-1", "float32"),
      ONE ("3:x", "float32"),
      ONE ("3::2", "float32"),
      ONE ("3", "bfloat16"),
      ONE ("3", ""),
      TENSORS ("2", "3", "float32"),
      TENSORS ("2", "3,4", "float32"),
      ONE (SIXTEEN ("1", ":") ":1", "int8"),
      TENSORS ("17", SIXTEEN ("1", ",") ",1", SIXTEEN ("int8", ",") ",int8"),
      ONE ("2147483648", "int8"),
      ONE ("2147483647:2147483647:2147483647", "int8"),
  };

  for (guint i = 0; i < G_N_ELEMENTS (refused); i++) {
    g_autoptr (GstCaps) caps = gst_caps_from_string (refused[i]);
    g_autoptr (GError) error = NULL;
    GstGemmclFormat format;

    g_test_message ("%s", refused[i]);
    g_assert_false (gst_gemmcl_format_from_caps (&format, caps, &error));
    g_assert_error (
        error, GEMMCL_ERROR,
        (gint)(i + 1 < G_N_ELEMENTS (refused) ? GEMMCL_ERROR_FORMAT : GEMMCL_ERROR_TOO_LARGE));
  }
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
  g_assert_true (has (sink, FLEXIBLE));
  g_assert_false (has (sink, "other/tensors,format=sparse"));
  for (guint i = 0; i < GEMMCL_N_PIXEL_FORMATS; i++) {
    g_autofree gchar *text =
        g_strdup_printf ("video/x-raw,format=%s", gemmcl_pixel_format_get_name (i));

    g_assert_true (has (sink, text));
  }
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
  g_autoptr (GstCaps) from = transform (GST_PAD_SINK, SURFACE, NULL, NULL, 3, 3);
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
  g_autoptr (GstCaps) out = transform (GST_PAD_SINK, linear, NULL, NULL, 3, 3);
  g_autoptr (GstCaps) of_tiles =
      transform (GST_PAD_SINK, DRM_DMABUF ("NV12:0x0100000000000002"), NULL, NULL, 3, 3);
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
      {"float16", 3, {4, 3, 2}, NULL},
      {"int8", 1, {7}, NULL},
      {"bfloat16", 1, {7}, "bfloat16"},
      {NULL, 1, {7}, "types"},
      {"int8", 0, {0}, "0 dimensions"},
      {"int8", 17, {0}, "17 dimensions"},
      {"int8", 2, {0, 4}, "Dimension 0 of a tensor"},
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

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  gst_init (&argc, &argv);
  g_test_add_func ("/caps/templates", test_templates);
  g_test_add_func ("/caps/transforms", test_transforms);
  g_test_add_func ("/caps/fixations", test_fixations);
  g_test_add_func ("/caps/refused-tensors", test_refused_tensors);
  g_test_add_func ("/caps/memories", test_memories);
  g_test_add_func ("/caps/drm-formats", test_drm_formats);
  g_test_add_func ("/caps/meta", test_meta);
  g_test_add_func ("/caps/tensor", test_tensor);
  g_test_add_func ("/caps/carriers", test_carriers);
  return g_test_run ();
}
