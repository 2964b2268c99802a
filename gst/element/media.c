/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "element/media.h"

#include "memory/drm.h"
#include "memory/fail.h"

/* BT.601's, for YUV whose caps name no matrix that has such weights. */
#define DEFAULT_KR 0.299
#define DEFAULT_KB 0.114

gboolean
gst_gemmcl_pixel_format (GstVideoFormat format, GemmclPixelFormat *pixel_format)
{
  const gchar *name = gst_video_format_to_string (format);

  for (guint i = 0; i < GEMMCL_N_PIXEL_FORMATS; i++) {
    if (g_strcmp0 (gemmcl_pixel_format_get_name (i), name) == 0) {
      *pixel_format = i;
      return TRUE;
    }
  }
  return FALSE;
}

guint
gst_gemmcl_video_channels (GstVideoFormat format)
{
  GemmclPixelFormat pixel_format;

  if (!gst_gemmcl_pixel_format (format, &pixel_format))
    return 0;
  return gemmcl_pixel_format_get_channels (pixel_format);
}

static gboolean
read_video (GstVideoInfo *info, const GstStructure *structure)
{
  g_autoptr (GstCaps) plain = gst_caps_new_full (gst_gemmcl_drm_to_plain (structure), NULL);

  return gst_caps_is_fixed (plain) && gst_video_info_from_caps (info, plain) &&
         gst_gemmcl_video_channels (GST_VIDEO_INFO_FORMAT (info)) > 0;
}

gboolean
gst_gemmcl_format_from_caps (GstGemmclFormat *format, const GstCaps *caps, GError **error)
{
  const GstStructure *structure = gst_caps_get_structure (caps, 0);
  g_autofree gchar *text = NULL;
  const gchar *medium;

  if (gst_structure_has_name (structure, GST_GEMMCL_VIDEO_MEDIA)) {
    format->medium = GST_GEMMCL_MEDIUM_VIDEO;
    if (read_video (&format->video, structure))
      return TRUE;
    medium = "a video";
  } else if (gst_structure_has_name (structure, GST_GEMMCL_AUDIO_MEDIA)) {
    format->medium = GST_GEMMCL_MEDIUM_AUDIO;
    if (gst_audio_info_from_caps (&format->audio, caps) &&
        GST_AUDIO_INFO_LAYOUT (&format->audio) == GST_AUDIO_LAYOUT_INTERLEAVED)
      return TRUE;
    medium = "interleaved audio";
  } else {
    format->medium = GST_GEMMCL_MEDIUM_TENSORS;
    return gst_gemmcl_tensors_from_structure (&format->tensors, structure, error);
  }
  text = gst_caps_to_string (caps);
  return gst_gemmcl_fail (error, GEMMCL_ERROR_FORMAT, "Not caps of %s that gemmcl can read: %s.",
                          medium, text);
}

/* Whether blue lies before red: the order in memory that other programs care about. */
static gboolean
is_blue_first (GstVideoFormat format)
{
  const GstVideoFormatInfo *info = gst_video_format_get_info (format);

  return GST_VIDEO_FORMAT_INFO_IS_RGB (info) &&
         GST_VIDEO_FORMAT_INFO_POFFSET (info, 2) < GST_VIDEO_FORMAT_INFO_POFFSET (info, 0);
}

guint
gst_gemmcl_output_formats (GstVideoFormat input, guint channels,
                           GstVideoFormat formats[GEMMCL_N_PIXEL_FORMATS])
{
  guint n = 0;

  /* Three rounds over the library's table, the best candidates first. */
  for (guint round = 0; round < 3; round++) {
    for (guint i = 0; i < GEMMCL_N_PIXEL_FORMATS; i++) {
      GstVideoFormat format = gst_video_format_from_string (gemmcl_pixel_format_get_name (i));
      guint rank = format == input ? 0 : is_blue_first (format) == is_blue_first (input) ? 1 : 2;

      if (rank == round && gemmcl_pixel_format_get_channels (i) == channels &&
          gemmcl_pixel_format_get_n_planes (i) == 1)
        formats[n++] = format;
    }
  }
  return n;
}

void
gst_gemmcl_image_init (GemmclImage *image, const GstVideoInfo *info)
{
  const GstVideoColorimetry *colorimetry = &info->colorimetry;
  GemmclPixelFormat format = GEMMCL_PIXEL_GRAY8;

  gst_gemmcl_pixel_format (GST_VIDEO_INFO_FORMAT (info), &format);
  *image = (GemmclImage){
      .format = format,
      .width = GST_VIDEO_INFO_WIDTH (info),
      .height = GST_VIDEO_INFO_HEIGHT (info),
      .full_range = colorimetry->range == GST_VIDEO_COLOR_RANGE_0_255,
  };
  if (!gst_video_color_matrix_get_Kr_Kb (colorimetry->matrix, &image->kr, &image->kb)) {
    image->kr = DEFAULT_KR;
    image->kb = DEFAULT_KB;
  }
}

GemmclType
gst_gemmcl_audio_type (GstAudioFormat format)
{
  switch (format) {
  case GST_AUDIO_FORMAT_F64LE:
    return GEMMCL_TYPE_F64;
  case GST_AUDIO_FORMAT_S16LE:
    return GEMMCL_TYPE_I16;
  case GST_AUDIO_FORMAT_S32LE:
    return GEMMCL_TYPE_I32;
  default:
    return GEMMCL_TYPE_F32;
  }
}
