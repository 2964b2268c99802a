/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "memory/drm.h"

#include "element/tensors.h"

#if !GST_CHECK_VERSION(1, 24, 0)
  /* No format has a name in DRM: 0 is the unknown one. */
  #define gst_video_dma_drm_fourcc_from_string(name, modifier) ((void)(name), 0)
  #define gst_video_dma_drm_fourcc_to_format(fourcc)           ((GstVideoFormat)(fourcc))
  #define gst_video_dma_drm_fourcc_from_format(format)         ((void)(format), 0)
  #define gst_video_dma_drm_fourcc_to_string(fourcc, modifier) NULL
  #define GST_VIDEO_FORMAT_DMA_DRM                             ((GstVideoFormat)-1)
#endif

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

static void
to_plain (GValue *list, const gchar *name)
{
  guint64 modifier = LINEAR;
  const guint32 fourcc = gst_video_dma_drm_fourcc_from_string (name, &modifier);
  const GstVideoFormat format = gst_video_dma_drm_fourcc_to_format (fourcc);

  if (format != GST_VIDEO_FORMAT_UNKNOWN &&
      (modifier == LINEAR || is_known_tiling (format, modifier)))
    gst_gemmcl_list_append_once (list, g_strdup (gst_video_format_to_string (format)));
}

static void
append_in_drm (GValue *list, const gchar *name, guint64 modifier)
{
  const GstVideoFormat format = gst_video_format_from_string (name);
  const guint32 fourcc = gst_video_dma_drm_fourcc_from_format (format);

  if (fourcc != 0 && (modifier == LINEAR || is_known_tiling (format, modifier)))
    gst_gemmcl_list_append_once (list, gst_video_dma_drm_fourcc_to_string (fourcc, modifier));
}

static void
to_linear (GValue *list, const gchar *name)
{
  append_in_drm (list, name, LINEAR);
}

static void
to_tiled (GValue *list, const gchar *name)
{
  for (guint i = 0; i < G_N_ELEMENTS (tilings); i++)
    append_in_drm (list, name, tilings[i]);
}

/* Name @i of a field's, which are one or a list; NULL behind the last. */
static const gchar *
get_name (const GValue *names, guint i)
{
  if (GST_VALUE_HOLDS_LIST (names))
    names = i < gst_value_list_get_size (names) ? gst_value_list_get_value (names, i) : NULL;
  else if (i > 0)
    names = NULL;
  return names && G_VALUE_HOLDS_STRING (names) ? g_value_get_string (names) : NULL;
}

/* Sets @to to what @rename makes of @names; returns how many there are. */
static guint
rename_all (GstStructure *structure, const GValue *names, const gchar *to, Rename rename)
{
  GValue list = G_VALUE_INIT;
  const gchar *name;
  guint n;

  g_value_init (&list, GST_TYPE_LIST);
  for (guint i = 0; (name = get_name (names, i)); i++)
    rename (&list, name);
  n = gst_value_list_get_size (&list);
  gst_gemmcl_structure_take_list (structure, to, &list);
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

static gboolean
name_in_drm (GstStructure *structure, Rename rename)
{
  const GValue *names = gst_structure_get_value (structure, "format");

  if (!names || rename_all (structure, names, "drm-format", rename) == 0)
    return FALSE;
  gst_structure_set (structure, "format", G_TYPE_STRING, "DMA_DRM", NULL);
  return TRUE;
}

GstStructure *
gst_gemmcl_drm_from_plain (const GstStructure *structure)
{
  g_autoptr (GstStructure) drm = gst_structure_copy (structure);

  return name_in_drm (drm, to_linear) ? g_steal_pointer (&drm) : NULL;
}

gboolean
gst_gemmcl_drm_tile (GstCapsFeatures *features G_GNUC_UNUSED, GstStructure *structure,
                     gpointer data G_GNUC_UNUSED)
{
  return name_in_drm (structure, to_tiled);
}

gboolean
gst_gemmcl_drm_is_tiled (const GstStructure *structure)
{
  const GValue *names = gst_structure_get_value (structure, "drm-format");
  const gchar *name;
  guint n;

  for (n = 0; names && (name = get_name (names, n)); n++) {
    guint64 modifier = LINEAR;

    if (gst_video_dma_drm_fourcc_from_string (name, &modifier) == 0 || modifier == LINEAR)
      return FALSE;
  }
  return n > 0;
}

gboolean
gst_gemmcl_drm_is_hidden (GstVideoFormat format)
{
  return format == GST_VIDEO_FORMAT_DMA_DRM;
}
