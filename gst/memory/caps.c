/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "memory/caps.h"

#include "memory/drm.h"
#include "element/media.h"
#include "memory/gstgemmclmemory.h"

#define VA_FEATURE     "memory:VAMemory"
#define DMABUF_FEATURE "memory:DMABuf"

#ifdef GEMMCL_HAVE_VA
  #define HAVE_VA TRUE
#else
  #define HAVE_VA FALSE
#endif

/* Takes @structure. */
static void
append_in (GstCaps *result, GstStructure *structure, const gchar *feature)
{
  gst_caps_append_structure_full (result, structure, gst_caps_features_new (feature, NULL));
}

/* Takes @caps. */
static void
append_all_in (GstCaps *result, GstCaps *caps, const gchar *feature)
{
  for (guint i = 0; i < gst_caps_get_size (caps); i++)
    gst_caps_set_features (caps, i, gst_caps_features_new (feature, NULL));
  gst_caps_append (result, caps);
}

/* Those formats whose planes media drivers and OpenCL both know. Of odd sizes Intel's driver leaves
 * out the last column, or row, of chroma. */
static void
append_surfaces (GstCaps *result, GstCaps *caps)
{
  g_autoptr (GstCaps) video =
      gst_caps_from_string (GST_GEMMCL_VIDEO_MEDIA
                            ", format = (string) { NV12, P010_10LE }, width = (int) [ 2, 65534, 2 ]"
                            ", height = (int) [ 2, 65534, 2 ]");
  GstCaps *surfaces = gst_caps_intersect_full (caps, video, GST_CAPS_INTERSECT_FIRST);
  GstCaps *tiled = gst_caps_copy (surfaces);

  gst_caps_filter_and_map_in_place (tiled, gst_gemmcl_drm_tile, NULL);
  append_all_in (result, surfaces, VA_FEATURE);
  append_all_in (result, tiled, DMABUF_FEATURE);
}

static void
append_dmabufs (GstCaps *result, GstCaps *caps)
{
  for (guint i = 0; i < gst_caps_get_size (caps); i++) {
    const GstStructure *video = gst_caps_get_structure (caps, i);
    GstStructure *drm;

    if (!gst_structure_has_name (video, GST_GEMMCL_VIDEO_MEDIA))
      continue;
    drm = gst_gemmcl_drm_from_plain (video);
    if (drm)
      append_in (result, drm, DMABUF_FEATURE);
    append_in (result, gst_structure_copy (video), DMABUF_FEATURE);
  }
}

GstCaps *
gst_gemmcl_caps_spread (GstCaps *caps, GstPadDirection direction)
{
  GstCaps *result = gst_caps_new_empty ();

  if (direction == GST_PAD_SRC)
    gst_caps_append (result, gst_caps_copy (caps));
  append_all_in (result, gst_caps_copy (caps), GST_CAPS_FEATURE_MEMORY_OPENCL);
  if (direction == GST_PAD_SRC)
    return result;
  if (HAVE_VA)
    append_surfaces (result, caps);
  append_dmabufs (result, caps);
  gst_caps_append (result, gst_caps_copy (caps));
  return result;
}

gboolean
gst_gemmcl_caps_are_surfaces (const GstCaps *caps, guint index)
{
  const GstGemmclMemory memory = gst_gemmcl_caps_get_memory (caps, index);

  return memory == GST_GEMMCL_MEMORY_VA || memory == GST_GEMMCL_MEMORY_TILED;
}

gboolean
gst_gemmcl_caps_are_opencl (const GstCaps *caps, guint index)
{
  return gst_gemmcl_caps_get_memory (caps, index) == GST_GEMMCL_MEMORY_OPENCL;
}

GstGemmclMemory
gst_gemmcl_caps_get_memory (const GstCaps *caps, guint index)
{
  static const struct {
    const gchar *feature;
    GstGemmclMemory memory;
  } memories[] = {
      {GST_CAPS_FEATURE_MEMORY_SYSTEM_MEMORY, GST_GEMMCL_MEMORY_SYSTEM},
      {GST_CAPS_FEATURE_MEMORY_OPENCL, GST_GEMMCL_MEMORY_OPENCL},
      {VA_FEATURE, GST_GEMMCL_MEMORY_VA},
      {DMABUF_FEATURE, GST_GEMMCL_MEMORY_DMABUF},
  };
  const GstCapsFeatures *features = gst_caps_get_features (caps, index);

  if (!features || gst_caps_features_is_any (features))
    return GST_GEMMCL_MEMORY_SYSTEM;
  for (guint i = 0; i < G_N_ELEMENTS (memories); i++)
    if (gst_caps_features_get_size (features) == 1 &&
        gst_caps_features_contains (features, memories[i].feature))
      return memories[i].memory == GST_GEMMCL_MEMORY_DMABUF &&
                     gst_gemmcl_drm_is_tiled (gst_caps_get_structure (caps, index))
                 ? GST_GEMMCL_MEMORY_TILED
                 : memories[i].memory;
  return GST_GEMMCL_MEMORY_OTHER;
}

GstCaps *
gst_gemmcl_caps_offer (GstCaps *caps, gboolean va, gboolean import)
{
  GstCaps *first = gst_caps_new_empty (), *last = gst_caps_new_empty ();

  for (guint i = 0; i < gst_caps_get_size (caps); i++) {
    const GstGemmclMemory memory = gst_gemmcl_caps_get_memory (caps, i);
    const gboolean is_last = memory == GST_GEMMCL_MEMORY_DMABUF && !import;

    if (!gst_gemmcl_caps_are_surfaces (caps, i) || va)
      gst_caps_append_structure_full (is_last ? last : first,
                                      gst_structure_copy (gst_caps_get_structure (caps, i)),
                                      gst_caps_features_copy (gst_caps_get_features (caps, i)));
  }
  gst_caps_append (first, last);
  gst_caps_unref (caps);
  return first;
}
