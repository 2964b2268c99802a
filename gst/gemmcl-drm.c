/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gemmcl-drm.h"

#if GST_CHECK_VERSION(1, 24, 0)

  #define LINEAR 0 /* DRM_FORMAT_MOD_LINEAR */

/* The other name of a format; NULL if there is none. */
typedef gchar *(*Rename) (const gchar *name);

static gchar *
to_plain (const gchar *name)
{
  guint64 modifier = LINEAR;
  const guint32 fourcc = gst_video_dma_drm_fourcc_from_string (name, &modifier);
  const GstVideoFormat format = gst_video_dma_drm_fourcc_to_format (fourcc);

  if (modifier != LINEAR || format == GST_VIDEO_FORMAT_UNKNOWN)
    return NULL;
  return g_strdup (gst_video_format_to_string (format));
}

static gchar *
from_plain (const gchar *name)
{
  const GstVideoFormat format = gst_video_format_from_string (name);
  const guint32 fourcc = gst_video_dma_drm_fourcc_from_format (format);

  return fourcc == 0 ? NULL : gst_video_dma_drm_fourcc_to_string (fourcc, LINEAR);
}

static void
append (GValue *list, const gchar *name, Rename rename)
{
  gchar *renamed = name ? rename (name) : NULL;
  GValue value = G_VALUE_INIT;

  if (!renamed)
    return;
  g_value_init (&value, G_TYPE_STRING);
  g_value_take_string (&value, renamed);
  gst_value_list_append_and_take_value (list, &value);
}

/* Takes @list: one name stands by itself, so that fixed caps stay fixed. */
static void
set_names (GstStructure *structure, const gchar *field, GValue *list)
{
  if (gst_value_list_get_size (list) == 1) {
    gst_structure_set_value (structure, field, gst_value_list_get_value (list, 0));
    g_value_unset (list);
  } else {
    gst_structure_take_value (structure, field, list);
  }
}

/* Sets @to to what @rename makes of the names in @field; returns how many there are. */
static guint
rename_all (GstStructure *structure, const GValue *names, const gchar *to, Rename rename)
{
  GValue list = G_VALUE_INIT;
  guint n;

  g_value_init (&list, GST_TYPE_LIST);
  if (G_VALUE_HOLDS_STRING (names))
    append (&list, g_value_get_string (names), rename);
  for (guint i = 0; GST_VALUE_HOLDS_LIST (names) && i < gst_value_list_get_size (names); i++) {
    const GValue *name = gst_value_list_get_value (names, i);

    append (&list, G_VALUE_HOLDS_STRING (name) ? g_value_get_string (name) : NULL, rename);
  }
  n = gst_value_list_get_size (&list);
  set_names (structure, to, &list);
  return n;
}

GstStructure *
gst_gemmcl_drm_to_plain (const GstStructure *structure)
{
  const GValue *names = gst_structure_get_value (structure, "drm-format");
  const gchar *format = gst_structure_get_string (structure, "format");
  GstStructure *plain = gst_structure_copy (structure);

  if (names)
    rename_all (plain, names, "format", to_plain);
  else if (g_strcmp0 (format, "DMA_DRM") == 0)
    gst_structure_remove_field (plain, "format");
  gst_structure_remove_field (plain, "drm-format");
  return plain;
}

GstStructure *
gst_gemmcl_drm_from_plain (const GstStructure *structure)
{
  const GValue *names = gst_structure_get_value (structure, "format");
  g_autoptr (GstStructure) drm = gst_structure_copy (structure);

  if (!names || rename_all (drm, names, "drm-format", from_plain) == 0)
    return NULL;
  gst_structure_set (drm, "format", G_TYPE_STRING, "DMA_DRM", NULL);
  return g_steal_pointer (&drm);
}

gboolean
gst_gemmcl_drm_is_hidden (GstVideoFormat format)
{
  return format == GST_VIDEO_FORMAT_DMA_DRM;
}

#else

GstStructure *
gst_gemmcl_drm_to_plain (const GstStructure *structure)
{
  return gst_structure_copy (structure);
}

GstStructure *
gst_gemmcl_drm_from_plain (const GstStructure *structure G_GNUC_UNUSED)
{
  return NULL;
}

gboolean
gst_gemmcl_drm_is_hidden (GstVideoFormat format G_GNUC_UNUSED)
{
  return FALSE;
}

#endif
