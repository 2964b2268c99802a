/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "element/fixate.h"

/* Sets the colorimetry of @output, whose format is fixed, as videoconvert does: primaries and
 * transfer are those of the input. Luma and chroma become colours of the full range; samples of
 * other inputs keep their range. */
static void
fixate_colours (const GstStructure *input, GstStructure *output)
{
  const GstVideoFormatInfo *from =
      gst_video_format_get_info (gst_gemmcl_caps_get_first_format (input));
  const GstVideoFormatInfo *to =
      gst_video_format_get_info (gst_gemmcl_caps_get_first_format (output));
  const gchar *text = gst_structure_get_string (input, "colorimetry");
  g_autofree gchar *wanted = NULL;
  GstVideoColorimetry colours;

  if (!text || !gst_video_colorimetry_from_string (&colours, text))
    return;
  if (GST_VIDEO_FORMAT_INFO_IS_YUV (from))
    colours.range = GST_VIDEO_COLOR_RANGE_0_255;
  if (GST_VIDEO_FORMAT_INFO_IS_RGB (to))
    colours.matrix = GST_VIDEO_COLOR_MATRIX_RGB;
  else if (!GST_VIDEO_FORMAT_INFO_IS_GRAY (from))
    colours.matrix = GST_VIDEO_COLOR_MATRIX_BT601;
  wanted = gst_video_colorimetry_to_string (&colours);
  if (!wanted)
    return;
  if (gst_structure_has_field (output, "colorimetry"))
    gst_structure_fixate_field_string (output, "colorimetry", wanted);
  else
    gst_structure_set (output, "colorimetry", G_TYPE_STRING, wanted, NULL);
}

static void
fixate_video (const GstStructure *input, GstStructure *output)
{
  g_auto (GValue) formats = G_VALUE_INIT;
  const gchar *format;

  gst_gemmcl_add_output_formats (&formats, gst_gemmcl_caps_get_first_format (input), 0);
  for (guint i = 0; (format = gst_gemmcl_values_get (&formats, i)); i++)
    if (gst_gemmcl_caps_allow_format (output, format))
      gst_structure_set (output, "format", G_TYPE_STRING, format, NULL);
  fixate_colours (input, output);
}

/* Two channels are left and right. More channels have GStreamer's fallback positions, if any. */
static void
fixate_audio (const GstStructure *input, GstStructure *output)
{
  guint64 mask = 0;
  gint in_channels = 0, channels = 0;

  if (!gst_structure_get_int (output, "channels", &channels) || channels < 2 ||
      gst_structure_has_field (output, "channel-mask"))
    return;
  gst_structure_get_int (input, "channels", &in_channels);
  if (in_channels != channels ||
      !gst_structure_get (input, "channel-mask", GST_TYPE_BITMASK, &mask, NULL))
    mask = gst_audio_channel_get_fallback_mask (channels);
  gst_structure_set (output, "channel-mask", GST_TYPE_BITMASK, mask, NULL);
}

/* Returns: the index of the structure to fixate. Structures of @medium are preferred, then
 * structures in the wanted memory, then the first one. */
static guint
choose_structure (const gchar *medium, const GstCaps *output, gboolean opencl)
{
  guint best = 0, best_points = 0;

  for (guint i = 0; i < gst_caps_get_size (output); i++) {
    const GstStructure *structure = gst_caps_get_structure (output, i);
    const gboolean same = gst_structure_has_name (structure, medium);
    const guint points =
        1 + 2 * same +
        ((gst_gemmcl_caps_get_memory (output, i) == GST_GEMMCL_MEMORY_OPENCL) == opencl);

    if (points > best_points) {
      best = i;
      best_points = points;
    }
  }
  return best;
}

GstCaps *
gst_gemmcl_caps_fixate (const GstCaps *input, GstCaps *output, gboolean opencl,
                        const GstGemmclTerms *terms)
{
  g_autoptr (GstStructure) from = gst_gemmcl_drm_to_plain (gst_caps_get_structure (input, 0));
  g_autoptr (GstCaps) all = gst_gemmcl_caps_transform_leniently (GST_PAD_SINK, input, NULL, terms);
  const gchar *medium = gst_structure_get_name (gst_caps_get_structure (all, 0));
  GstCaps *result = gst_caps_copy_nth (output, choose_structure (medium, output, opencl));
  GstStructure *structure = gst_caps_get_structure (result, 0);

  if (gst_structure_has_name (structure, GST_GEMMCL_VIDEO_MEDIA))
    fixate_video (from, structure);
  else if (gst_structure_has_name (structure, GST_GEMMCL_AUDIO_MEDIA))
    fixate_audio (from, structure);
  gst_structure_fixate (structure);
  gst_caps_unref (output);
  return result;
}
