/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gemmcl-drm.h"

#if GST_CHECK_VERSION(1, 24, 0)

  #define LINEAR 0 /* DRM_FORMAT_MOD_LINEAR */
  #define INTEL  (G_GUINT64_CONSTANT (1) << 56)

/* Intel's tilings, as drm_fourcc.h numbers them, with and without compression. Left out are those
 * that keep a colour besides the picture (8, 12, 15), which only renderers make. */
static const guint64 tilings[] = {
    INTEL | 1, INTEL | 2,  INTEL | 3,  INTEL | 4,  INTEL | 5,  INTEL | 6,  INTEL | 7,
    INTEL | 9, INTEL | 10, INTEL | 11, INTEL | 13, INTEL | 14, INTEL | 16, INTEL | 17,
};

static gboolean
is_known_tiling (GstVideoFormat format, guint64 modifier)
{
  if (format != GST_VIDEO_FORMAT_NV12 && format != GST_VIDEO_FORMAT_P010_10LE)
    return FALSE;
  for (guint i = 0; i < G_N_ELEMENTS (tilings); i++)
    if (tilings[i] == modifier)
      return TRUE;
  return FALSE;
}

/* Appends the other names of a format; nothing if there are none. */
typedef void (*Rename) (GValue *list, const gchar *name);

/* Takes @name, which may be NULL. */
static void
append_once (GValue *list, gchar *name)
{
  GValue value = G_VALUE_INIT;

  for (guint i = 0; name && i < gst_value_list_get_size (list); i++)
    if (g_str_equal (g_value_get_string (gst_value_list_get_value (list, i)), name))
      g_clear_pointer (&name, g_free);
  if (!name)
    return;
  g_value_init (&value, G_TYPE_STRING);
  g_value_take_string (&value, name);
  gst_value_list_append_and_take_value (list, &value);
}

static void
to_plain (GValue *list, const gchar *name)
{
  guint64 modifier = LINEAR;
  const guint32 fourcc = gst_video_dma_drm_fourcc_from_string (name, &modifier);
  const GstVideoFormat format = gst_video_dma_drm_fourcc_to_format (fourcc);

  if (format != GST_VIDEO_FORMAT_UNKNOWN &&
      (modifier == LINEAR || is_known_tiling (format, modifier)))
    append_once (list, g_strdup (gst_video_format_to_string (format)));
}

static void
from_plain (GValue *list, const gchar *name)
{
  const GstVideoFormat format = gst_video_format_from_string (name);
  const guint32 fourcc = gst_video_dma_drm_fourcc_from_format (format);

  if (fourcc != 0)
    append_once (list, gst_video_dma_drm_fourcc_to_string (fourcc, LINEAR));
}

static void
to_tiled (GValue *list, const gchar *name)
{
  const GstVideoFormat format = gst_video_format_from_string (name);
  const guint32 fourcc = gst_video_dma_drm_fourcc_from_format (format);

  for (guint i = 0; i < G_N_ELEMENTS (tilings); i++)
    if (is_known_tiling (format, tilings[i]))
      append_once (list, gst_video_dma_drm_fourcc_to_string (fourcc, tilings[i]));
}

static void
append (GValue *list, const GValue *name, Rename rename)
{
  if (G_VALUE_HOLDS_STRING (name) && g_value_get_string (name))
    rename (list, g_value_get_string (name));
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
  append (&list, names, rename);
  for (guint i = 0; GST_VALUE_HOLDS_LIST (names) && i < gst_value_list_get_size (names); i++)
    append (&list, gst_value_list_get_value (names, i), rename);
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

/* (transfer full) (nullable) */
static GstStructure *
name_in_drm (const GstStructure *structure, Rename rename)
{
  const GValue *names = gst_structure_get_value (structure, "format");
  g_autoptr (GstStructure) drm = gst_structure_copy (structure);

  if (!names || rename_all (drm, names, "drm-format", rename) == 0)
    return NULL;
  gst_structure_set (drm, "format", G_TYPE_STRING, "DMA_DRM", NULL);
  return g_steal_pointer (&drm);
}

GstStructure *
gst_gemmcl_drm_from_plain (const GstStructure *structure)
{
  return name_in_drm (structure, from_plain);
}

GstStructure *
gst_gemmcl_drm_tile (const GstStructure *structure)
{
  return name_in_drm (structure, to_tiled);
}

static gboolean
names_tiling (const GValue *name)
{
  guint64 modifier = LINEAR;

  return G_VALUE_HOLDS_STRING (name) && g_value_get_string (name) &&
         gst_video_dma_drm_fourcc_from_string (g_value_get_string (name), &modifier) != 0 &&
         modifier != LINEAR;
}

gboolean
gst_gemmcl_drm_is_tiled (const GstStructure *structure)
{
  const GValue *names = gst_structure_get_value (structure, "drm-format");

  if (!names || !GST_VALUE_HOLDS_LIST (names))
    return names && names_tiling (names);
  for (guint i = 0; i < gst_value_list_get_size (names); i++)
    if (!names_tiling (gst_value_list_get_value (names, i)))
      return FALSE;
  return gst_value_list_get_size (names) > 0;
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

GstStructure *
gst_gemmcl_drm_tile (const GstStructure *structure G_GNUC_UNUSED)
{
  return NULL;
}

gboolean
gst_gemmcl_drm_is_tiled (const GstStructure *structure G_GNUC_UNUSED)
{
  return FALSE;
}

gboolean
gst_gemmcl_drm_is_hidden (GstVideoFormat format G_GNUC_UNUSED)
{
  return FALSE;
}

#endif
