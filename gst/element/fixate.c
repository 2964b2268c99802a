/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The choice among the caps that the source pad can have.
 */
#include "element/caps.h"
#include "memory/caps.h"

static gboolean
is_rgb (const GstStructure *structure)
{
  return GST_VIDEO_FORMAT_INFO_IS_RGB (
      gst_video_format_get_info (gst_gemmcl_caps_get_first_format (structure)));
}

static void
fixate_video (const GstStructure *input, GstStructure *output)
{
  const gchar *colorimetry = gst_structure_get_string (input, "colorimetry");
  g_auto (GValue) formats = G_VALUE_INIT;
  const gchar *format;

  gst_gemmcl_add_output_formats (&formats, gst_gemmcl_caps_get_first_format (input), 0);
  for (guint i = 0; (format = gst_gemmcl_values_get (&formats, i)); i++)
    if (gst_gemmcl_caps_allow_format (output, format))
      gst_structure_set (output, "format", G_TYPE_STRING, format, NULL);
  if (colorimetry && !gst_structure_has_field (output, "colorimetry") && is_rgb (input) &&
      is_rgb (output))
    gst_structure_set (output, "colorimetry", G_TYPE_STRING, colorimetry, NULL);
}

/* Two channels are left and right; more have GStreamer's fallback positions, or none. */
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

/* Returns: the index of the first structure of the medium of the input, or else the first, in the
 * wanted memory if there is such a structure. */
static guint
choose_structure (const GstStructure *input, const GstCaps *output, gboolean opencl)
{
  guint best = 0, best_points = 0;

  for (guint i = 0; i < gst_caps_get_size (output); i++) {
    const GstStructure *structure = gst_caps_get_structure (output, i);
    const gboolean same = gst_structure_has_name (structure, gst_structure_get_name (input));
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
gst_gemmcl_caps_fixate (const GstCaps *input, GstCaps *output, gboolean opencl)
{
  g_autoptr (GstStructure) from = gst_gemmcl_drm_to_plain (gst_caps_get_structure (input, 0));
  GstCaps *result = gst_caps_copy_nth (output, choose_structure (from, output, opencl));
  GstStructure *structure = gst_caps_get_structure (result, 0);

  if (gst_structure_has_name (structure, GST_GEMMCL_VIDEO_MEDIA))
    fixate_video (from, structure);
  else if (gst_structure_has_name (structure, GST_GEMMCL_AUDIO_MEDIA))
    fixate_audio (from, structure);
  gst_structure_fixate (structure);
  gst_caps_unref (output);
  return result;
}
