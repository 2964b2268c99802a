/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "memory/memory-caps.h"

#include "memory/gstgemmclmemory.h"

#if !GST_CHECK_VERSION(1, 24, 0)
  /* GStreamer before 1.24 has no DRM formats; 0 is the unknown format. */
  #define gst_video_dma_drm_fourcc_from_string(name, modifier) ((void)(name), 0)
  #define gst_video_dma_drm_fourcc_to_format(fourcc)           ((GstVideoFormat)(fourcc))
  #define gst_video_dma_drm_fourcc_from_format(format)         ((void)(format), 0)
  #define gst_video_dma_drm_fourcc_to_string(fourcc, modifier) NULL
#endif

#define VA_FEATURE     "memory:VAMemory"
#define DMABUF_FEATURE "memory:DMABuf"

/* Weights of BT.601, for YUV whose caps do not name a matrix with weights. */
#define DEFAULT_KR 0.299
#define DEFAULT_KB 0.114

#define LINEAR 0 /* DRM_FORMAT_MOD_LINEAR */
#define INTEL  (G_GUINT64_CONSTANT (1) << 56)

void
gst_gemmcl_values_add (GValue *values, gchar *text)
{
  GValue value = G_VALUE_INIT, all = G_VALUE_INIT;

  g_value_init (&value, G_TYPE_STRING);
  g_value_take_string (&value, text);
  if (!G_IS_VALUE (values)) {
    *values = value;
    return;
  }
  gst_value_list_merge (&all, values, &value);
  g_value_unset (values);
  g_value_unset (&value);
  *values = all;
}

const gchar *
gst_gemmcl_values_get (const GValue *values, guint i)
{
  if (values && GST_VALUE_HOLDS_LIST (values))
    values = i < gst_value_list_get_size (values) ? gst_value_list_get_value (values, i) : NULL;
  else if (i > 0)
    values = NULL;
  return values && G_VALUE_HOLDS_STRING (values) ? g_value_get_string (values) : NULL;
}

/* TRUE if blue lies before red in memory. */
static gboolean
is_blue_first (GstVideoFormat format)
{
  const GstVideoFormatInfo *info = gst_video_format_get_info (format);

  return GST_VIDEO_FORMAT_INFO_IS_RGB (info) &&
         GST_VIDEO_FORMAT_INFO_POFFSET (info, 2) < GST_VIDEO_FORMAT_INFO_POFFSET (info, 0);
}

void
gst_gemmcl_add_output_formats (GValue *values, GstVideoFormat input, gsize channels)
{
  /* For each number of channels, three rounds over the table add formats, the best first. */
  for (gsize n = channels > 0 ? channels : 1; n <= (channels > 0 ? channels : 4); n++)
    for (guint round = 0; round < 3; round++)
      for (guint i = 0; i < GEMMCL_N_PIXEL_FORMATS; i++) {
        const gchar *name = gemmcl_pixel_format_get_name (i);
        GstVideoFormat format = gst_video_format_from_string (name);
        guint rank = format == input ? 0 : is_blue_first (format) == is_blue_first (input) ? 1 : 2;

        if (rank == round && gemmcl_pixel_format_get_channels (i) == n &&
            gemmcl_pixel_format_get_n_planes (i) == 1)
          gst_gemmcl_values_add (values, g_strdup (name));
      }
}

gboolean
gst_gemmcl_frame_init (GemmclFrame *frame, const GstVideoInfo *info)
{
  const GstVideoColorimetry *colorimetry = &info->colorimetry;
  GemmclPixelFormat format = 0;

  while (g_strcmp0 (gemmcl_pixel_format_get_name (format), GST_VIDEO_INFO_NAME (info)) != 0)
    if (++format == GEMMCL_N_PIXEL_FORMATS)
      return FALSE;
  *frame = (GemmclFrame){
      .format = format,
      .width = GST_VIDEO_INFO_WIDTH (info),
      .height = GST_VIDEO_INFO_HEIGHT (info),
      .full_range = colorimetry->range == GST_VIDEO_COLOR_RANGE_0_255,
      .interlaced = GST_VIDEO_INFO_IS_INTERLACED (info),
  };
  if (!gst_video_color_matrix_get_Kr_Kb (colorimetry->matrix, &frame->kr, &frame->kb)) {
    frame->kr = DEFAULT_KR;
    frame->kb = DEFAULT_KB;
  }
  return TRUE;
}

/* From drm_fourcc.h: linear, and Intel's tilings X, Y and Tile4. Tilings with compression are
 * absent: Intel's OpenCL driver does not learn from libva that a surface is compressed. */
static const guint64 modifiers[] = {LINEAR, INTEL | 1, INTEL | 2, INTEL | 9};

static gboolean
is_known (GstVideoFormat format, guint64 modifier)
{
  const gboolean may_tile = format == GST_VIDEO_FORMAT_NV12 || format == GST_VIDEO_FORMAT_P010_10LE;

  for (guint i = 0; i < (may_tile ? G_N_ELEMENTS (modifiers) : 1); i++)
    if (modifiers[i] == modifier)
      return TRUE;
  return FALSE;
}

GstStructure *
gst_gemmcl_drm_to_plain (const GstStructure *structure)
{
  const GValue *names = gst_structure_get_value (structure, "drm-format");
  GstStructure *plain = gst_structure_copy (structure);
  GValue values = G_VALUE_INIT;
  const gchar *name;

  if (names) {
    for (guint i = 0; (name = gst_gemmcl_values_get (names, i)); i++) {
      guint64 modifier = LINEAR;
      const guint32 fourcc = gst_video_dma_drm_fourcc_from_string (name, &modifier);
      const GstVideoFormat format = gst_video_dma_drm_fourcc_to_format (fourcc);

      if (format != GST_VIDEO_FORMAT_UNKNOWN && is_known (format, modifier))
        gst_gemmcl_values_add (&values, g_strdup (gst_video_format_to_string (format)));
    }
    if (!G_IS_VALUE (&values))
      g_value_init (&values, GST_TYPE_LIST);
    gst_structure_take_value (plain, "format", &values);
  } else if (g_strcmp0 (gst_structure_get_string (structure, "format"), "DMA_DRM") == 0) {
    gst_structure_remove_field (plain, "format");
  }
  gst_structure_remove_field (plain, "drm-format");
  return plain;
}

/* A GstCapsFilterMapFunc: replaces GStreamer's formats by linear DRM formats or, if @tiled is not
 * NULL, by DRM formats in all of Intel's tilings. FALSE if no format has a DRM format. */
static gboolean
name_in_drm (GstCapsFeatures *features G_GNUC_UNUSED, GstStructure *structure, gpointer tiled)
{
  const GValue *names = gst_structure_get_value (structure, "format");
  GValue values = G_VALUE_INIT;
  const gchar *name;

  for (guint i = 0; (name = gst_gemmcl_values_get (names, i)); i++) {
    const GstVideoFormat format = gst_video_format_from_string (name);
    const guint32 fourcc = gst_video_dma_drm_fourcc_from_format (format);

    for (guint j = tiled ? 1 : 0; j < (tiled ? G_N_ELEMENTS (modifiers) : 1); j++)
      if (fourcc != 0 && is_known (format, modifiers[j]))
        gst_gemmcl_values_add (&values, gst_video_dma_drm_fourcc_to_string (fourcc, modifiers[j]));
  }
  if (!G_IS_VALUE (&values))
    return FALSE;
  gst_structure_take_value (structure, "drm-format", &values);
  gst_structure_set (structure, "format", G_TYPE_STRING, "DMA_DRM", NULL);
  return TRUE;
}

/* TRUE if @structure has DRM formats, but no linear one. */
static gboolean
is_tiled (const GstStructure *structure)
{
  const GValue *names = gst_structure_get_value (structure, "drm-format");
  const gchar *name;
  guint n;

  for (n = 0; (name = gst_gemmcl_values_get (names, n)); n++) {
    guint64 modifier = LINEAR;

    if (gst_video_dma_drm_fourcc_from_string (name, &modifier) == 0 || modifier == LINEAR)
      return FALSE;
  }
  return n > 0;
}

/* Appends @caps, which it takes, in memory of @feature. */
static void
append_in (GstCaps *result, GstCaps *caps, const gchar *feature)
{
  caps = gst_caps_make_writable (caps);
  gst_caps_set_features_simple (caps, gst_caps_features_new (feature, NULL));
  gst_caps_append (result, caps);
}

/* Appends surfaces in the formats that both media drivers and OpenCL support. Sizes are even, since
 * Intel's driver drops the last column or row of chroma of odd sizes. */
static void
append_surfaces (GstCaps *result, GstCaps *caps)
{
  g_autoptr (GstCaps) video =
      gst_caps_from_string (GST_GEMMCL_VIDEO_MEDIA
                            ", format = (string) { NV12, P010_10LE }, width = (int) [ 2, 65534, 2 ]"
                            ", height = (int) [ 2, 65534, 2 ]");
  GstCaps *surfaces = gst_caps_intersect_full (caps, video, GST_CAPS_INTERSECT_FIRST);
  GstCaps *tiled = gst_caps_copy (surfaces);

  gst_caps_filter_and_map_in_place (tiled, name_in_drm, GINT_TO_POINTER (TRUE));
  append_in (result, surfaces, VA_FEATURE);
  append_in (result, tiled, DMABUF_FEATURE);
}

static void
append_dmabufs (GstCaps *result, GstCaps *caps)
{
  for (guint i = 0; i < gst_caps_get_size (caps); i++) {
    GstCaps *drm;

    if (!gst_structure_has_name (gst_caps_get_structure (caps, i), GST_GEMMCL_VIDEO_MEDIA))
      continue;
    drm = gst_caps_copy_nth (caps, i);
    gst_caps_filter_and_map_in_place (drm, name_in_drm, NULL);
    append_in (result, drm, DMABUF_FEATURE);
    append_in (result, gst_caps_copy_nth (caps, i), DMABUF_FEATURE);
  }
}

GstCaps *
gst_gemmcl_caps_spread (GstCaps *caps, GstPadDirection direction)
{
  GstCaps *result = gst_caps_new_empty ();

  if (direction == GST_PAD_SRC)
    gst_caps_append (result, gst_caps_copy (caps));
  append_in (result, gst_caps_copy (caps), GST_GEMMCL_CAPS_FEATURE_OPENCL);
  if (direction == GST_PAD_SRC)
    return result;
  if (GEMMCL_HAVE_VA)
    append_surfaces (result, caps);
  append_dmabufs (result, caps);
  gst_caps_append (result, gst_caps_copy (caps));
  return result;
}

GstGemmclMemoryKind
gst_gemmcl_caps_get_memory (const GstCaps *caps, guint index)
{
  static const struct {
    const gchar *feature;
    GstGemmclMemoryKind memory;
  } memories[] = {
      {GST_CAPS_FEATURE_MEMORY_SYSTEM_MEMORY, GST_GEMMCL_MEMORY_SYSTEM},
      {GST_GEMMCL_CAPS_FEATURE_OPENCL, GST_GEMMCL_MEMORY_OPENCL},
      {VA_FEATURE, GST_GEMMCL_MEMORY_VA},
      {DMABUF_FEATURE, GST_GEMMCL_MEMORY_DMABUF},
  };
  const GstCapsFeatures *features = gst_caps_get_features (caps, index);

  if (gst_caps_features_is_any (features))
    return GST_GEMMCL_MEMORY_SYSTEM;
  for (guint i = 0; i < G_N_ELEMENTS (memories); i++)
    if (gst_caps_features_get_size (features) == 1 &&
        gst_caps_features_contains (features, memories[i].feature))
      return memories[i].memory == GST_GEMMCL_MEMORY_DMABUF &&
                     is_tiled (gst_caps_get_structure (caps, index))
                 ? GST_GEMMCL_MEMORY_TILED
                 : memories[i].memory;
  return GST_GEMMCL_MEMORY_OTHER;
}

GstCaps *
gst_gemmcl_caps_offer (GstCaps *caps, gboolean va, gboolean import)
{
  GstCaps *first = gst_caps_new_empty (), *last = gst_caps_new_empty ();

  for (guint i = 0; i < gst_caps_get_size (caps); i++) {
    const GstGemmclMemoryKind memory = gst_gemmcl_caps_get_memory (caps, i);
    const gboolean is_last = memory == GST_GEMMCL_MEMORY_DMABUF && !import;

    if (!gst_gemmcl_memory_is_surface (memory) || va)
      gst_caps_append_structure_full (is_last ? last : first,
                                      gst_structure_copy (gst_caps_get_structure (caps, i)),
                                      gst_caps_features_copy (gst_caps_get_features (caps, i)));
  }
  gst_caps_append (first, last);
  gst_caps_unref (caps);
  return first;
}

gboolean
gst_gemmcl_caps_allow_format (const GstStructure *structure, const gchar *name)
{
  g_autoptr (GstStructure) wanted =
      gst_structure_new (gst_structure_get_name (structure), "format", G_TYPE_STRING, name, NULL);

  return gst_structure_can_intersect (structure, wanted);
}

GstVideoFormat
gst_gemmcl_caps_get_first_format (const GstStructure *structure)
{
  const gchar *name = gst_gemmcl_values_get (gst_structure_get_value (structure, "format"), 0);

  return name ? gst_video_format_from_string (name) : GST_VIDEO_FORMAT_UNKNOWN;
}
