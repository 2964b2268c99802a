/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Which of the caps that the source pad can have it gets.
 */
#include "gemmcl-caps.h"
#include "gemmcl-drm.h"
#include "gstgemmclmemory.h"

static gboolean
allows_format (const GstStructure *structure, const gchar *name)
{
  const GValue *formats = gst_structure_get_value (structure, "format");
  g_auto (GValue) wanted = G_VALUE_INIT;

  g_value_init (&wanted, G_TYPE_STRING);
  g_value_set_static_string (&wanted, name);
  return !formats || gst_value_intersect (NULL, formats, &wanted);
}

static gboolean
is_rgb (const GstStructure *structure)
{
  const gchar *name = gst_structure_get_string (structure, "format");
  GstVideoFormat format = name ? gst_video_format_from_string (name) : GST_VIDEO_FORMAT_UNKNOWN;

  return GST_VIDEO_FORMAT_INFO_IS_RGB (gst_video_format_get_info (format));
}

static void
fixate_video (const GstStructure *input, GstStructure *output)
{
  const gchar *name = gst_structure_get_string (input, "format");
  GstVideoFormat own = name ? gst_video_format_from_string (name) : GST_VIDEO_FORMAT_UNKNOWN;
  GstVideoFormat formats[GEMMCL_N_PIXEL_FORMATS];
  const gchar *colorimetry = gst_structure_get_string (input, "colorimetry");

  for (guint channels = 1; channels <= 4; channels++) {
    guint n = gst_gemmcl_output_formats (own, channels, formats);

    for (guint i = 0; i < n; i++) {
      if (allows_format (output, gst_video_format_to_string (formats[i]))) {
        gst_structure_set (output, "format", G_TYPE_STRING, gst_video_format_to_string (formats[i]),
                           NULL);
        break;
      }
    }
  }
  if (colorimetry && !gst_structure_has_field (output, "colorimetry") && is_rgb (input) &&
      is_rgb (output))
    gst_structure_set (output, "colorimetry", G_TYPE_STRING, colorimetry, NULL);
}

/* Two channels are left and right, more are what GStreamer takes them for, or nothing. */
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

/* The first of the input's medium, or else the first; of these one of the memory that is wanted, if
 * there is one. */
static guint
choose_structure (const GstStructure *input, const GstCaps *output, gboolean opencl)
{
  guint best = 0, best_points = 0;

  for (guint i = 0; i < gst_caps_get_size (output); i++) {
    const GstStructure *structure = gst_caps_get_structure (output, i);
    const gboolean same = gst_structure_has_name (structure, gst_structure_get_name (input));
    const guint points = 1 + 2 * same + (gst_gemmcl_caps_are_opencl (output, i) == opencl);

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
  const guint index = choose_structure (from, output, opencl);
  GstStructure *structure = gst_structure_copy (gst_caps_get_structure (output, index));
  GstCaps *result = gst_caps_new_empty ();

  if (gst_structure_has_name (structure, GST_GEMMCL_VIDEO_MEDIA))
    fixate_video (from, structure);
  else if (gst_structure_has_name (structure, GST_GEMMCL_AUDIO_MEDIA))
    fixate_audio (from, structure);
  gst_structure_fixate (structure);
  gst_caps_append_structure_full (result, structure,
                                  gst_gemmcl_caps_are_opencl (output, index)
                                      ? gst_caps_features_new (GST_CAPS_FEATURE_MEMORY_OPENCL, NULL)
                                      : NULL);
  gst_caps_unref (output);
  return result;
}
