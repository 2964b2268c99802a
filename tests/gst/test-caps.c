/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "element/caps.h"
#include "memory/caps.h"

/* The caps of memories that no device of a test shares, and of GstTensorMeta, which GStreamer has
 * since 1.26: negotiation.py has those that the element negotiates with any device and version. */

#define VIDEO(format) "video/x-raw,format=" format ",width=4,height=2,framerate=30/1"
#define STEREO                                                                                     \
  "audio/x-raw,format=S16LE,rate=8000,channels=2,channel-mask=(bitmask)3,layout=interleaved"

static const GstGemmclTerms automatic = {.k = 3, .n = 3};

/* Returns: the caps of the other pad. */
static GstCaps *
transform (GstPadDirection direction, const gchar *text, const GstGemmclTerms *terms)
{
  g_autoptr (GstCaps) caps = gst_caps_from_string (text);

  return gst_gemmcl_caps_transform (direction, caps, NULL, terms);
}

static gboolean
has (GstCaps *caps, const gchar *text)
{
  g_autoptr (GstCaps) wanted = gst_caps_from_string (text);

  g_assert_nonnull (wanted);
  return gst_caps_can_intersect (caps, wanted);
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
  g_autoptr (GstCaps) from = transform (GST_PAD_SINK, SURFACE, &automatic);
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
  g_autoptr (GstCaps) out = transform (GST_PAD_SINK, linear, &automatic);
  g_autoptr (GstCaps) of_tiles =
      transform (GST_PAD_SINK, DRM_DMABUF ("NV12:0x0100000000000002"), &automatic);
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
  const GstGemmclTerms terms = {
      .settings = {.output = GST_GEMMCL_OUTPUT_META, .tensor_id = "id"}, .k = 3, .n = 5};
  g_autoptr (GstCaps) up =
      transform (GST_PAD_SRC, VIDEO ("RGB") ",tensors=(structure)[wanted]", &terms);
  g_autoptr (GstCaps) none =
      transform (GST_PAD_SINK, "video/x-raw(memory:GLMemory),format=RGB", &terms);

  for (guint i = 0; i < G_N_ELEMENTS (inputs); i++) {
    g_autoptr (GstCaps) caps = gst_caps_from_string (inputs[i]);
    g_autoptr (GstCaps) down = transform (GST_PAD_SINK, inputs[i], &terms);

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
  GstGemmclTerms terms = {
      .settings = {.input = GST_GEMMCL_INPUT_META, .tensor_id = "id"}, .k = 3, .n = 5};
  GstGemmclTerms learned = terms;
  g_autoptr (GstCaps) tensors = gst_caps_from_string (result);
  g_autoptr (GstCaps) up = transform (GST_PAD_SRC, result, &terms);

  learned.learned = (GstGemmclTensor){.rank = 2, .dims = {3, 2}};

  for (guint i = 0; i < G_N_ELEMENTS (inputs); i++) {
    g_autoptr (GstCaps) caps = gst_caps_from_string (inputs[i]), known = NULL, unknown = NULL,
                        up_meta = NULL, down_meta = NULL;

    learned.settings.output = terms.settings.output = GST_GEMMCL_OUTPUT_AUTO;
    known = transform (GST_PAD_SINK, inputs[i], &learned);
    unknown = transform (GST_PAD_SINK, inputs[i], &terms);
    learned.settings.output = terms.settings.output = GST_GEMMCL_OUTPUT_META;
    up_meta = transform (GST_PAD_SRC, inputs[i], &terms);
    down_meta = transform (GST_PAD_SINK, inputs[i], &learned);
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
  g_test_add_func ("/caps/memories", test_memories);
  g_test_add_func ("/caps/drm-formats", test_drm_formats);
  g_test_add_func ("/caps/meta", test_meta);
  g_test_add_func ("/caps/tensor", test_tensor);
  g_test_add_func ("/caps/carriers", test_carriers);
  return g_test_run ();
}
