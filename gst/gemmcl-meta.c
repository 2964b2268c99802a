/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gemmcl-meta.h"

/* What a meta may be tied to for each medium that is kept. */
static const gchar *const kept_video[] = {GST_META_TAG_VIDEO_STR, GST_META_TAG_VIDEO_SIZE_STR,
                                          GST_META_TAG_VIDEO_ORIENTATION_STR, NULL};
static const gchar *const kept_audio[] = {GST_META_TAG_AUDIO_STR, GST_META_TAG_AUDIO_RATE_STR,
                                          NULL};
static const gchar *const kept_otherwise[] = {NULL};

gboolean
gst_gemmcl_meta_survives (GType api, GstGemmclMedium input, GstGemmclMedium output)
{
  const gchar *const *tags = gst_meta_api_type_get_tags (api);
  const gchar *const *kept = kept_otherwise;

  /* It has no tags, yet says how loud the input is. */
  if (api == GST_AUDIO_LEVEL_META_API_TYPE)
    return FALSE;
  if (input == GST_GEMMCL_MEDIUM_VIDEO && output == GST_GEMMCL_MEDIUM_VIDEO)
    kept = kept_video;
  else if (input == GST_GEMMCL_MEDIUM_AUDIO)
    kept = kept_audio;
  for (; tags && *tags; tags++) {
    if (!g_strv_contains (kept, *tags))
      return FALSE;
  }
  return TRUE;
}
