/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gemmcl.h>
#include <gst/video/video.h>

/* Translates video formats between GStreamer, the library and caps of dma-bufs, and reads the kind
 * of memory from caps. Pure functions.
 *
 * Since GStreamer 1.24, caps with memory:DMABuf name formats as `format=DMA_DRM,
 * drm-format=NV12:0x0100000000000002`. The number is a modifier, which defines the tiling; without
 * a modifier pixels are linear. Intel's media driver tiles only NV12 and P010. Tiled frames can
 * only be read as VA surfaces. */

#define GST_GEMMCL_VIDEO_MEDIA "video/x-raw"

/* The format in the video metas of such buffers. Only their caps name the real format. */
#if !GST_CHECK_VERSION(1, 24, 0)
  #define GST_VIDEO_FORMAT_DMA_DRM ((GstVideoFormat)-1)
#endif

/** gst_gemmcl_frame_init: Sets @frame to the library's description of frames of @info. Returns:
 * %FALSE if the library does not support the format. */
gboolean gst_gemmcl_frame_init (GemmclFrame *frame, const GstVideoInfo *info);

/** gst_gemmcl_drm_to_plain: Returns: (transfer full): a copy of @structure, of any caps, with
 * GStreamer's formats in place of DRM formats. Only linear formats and Intel's tilings without
 * compression are translated; with other DRM formats alone the list is empty. */
GstStructure *gst_gemmcl_drm_to_plain (const GstStructure *structure);

/** gst_gemmcl_values_add: Adds @text, (transfer full), to @values unless it is there. @values is
 * G_VALUE_INIT at first, a string with one text (fixed caps stay fixed), then a list. */
void gst_gemmcl_values_add (GValue *values, gchar *text);

/** gst_gemmcl_values_get: @values: (nullable): values as above, or a field of caps. Returns:
 * (nullable): text @i; %NULL after the last text, and if the values are not strings. */
const gchar *gst_gemmcl_values_get (const GValue *values, guint i);

/** gst_gemmcl_add_output_formats: Adds the output formats with @channels to @values; 0: any number.
 * @input: the format of the sink pad. For each number of channels @input itself is first, then come
 * formats with the same order of colours in memory, then other formats. */
void gst_gemmcl_add_output_formats (GValue *values, GstVideoFormat input, gsize channels);

/** GstGemmclMemoryKind: The kind of memory, by caps. Only the sink pad has the last three. */
typedef enum {
  GST_GEMMCL_MEMORY_OTHER, /* not supported */
  GST_GEMMCL_MEMORY_SYSTEM,
  GST_GEMMCL_MEMORY_OPENCL,
  GST_GEMMCL_MEMORY_VA,
  GST_GEMMCL_MEMORY_TILED, /* tiled dma-bufs, which are read as VA surfaces */
  GST_GEMMCL_MEMORY_DMABUF,
} GstGemmclMemoryKind;

/** gst_gemmcl_caps_get_memory: Returns: that of structure @index; SYSTEM for the features ANY. */
GstGemmclMemoryKind gst_gemmcl_caps_get_memory (const GstCaps *caps, guint index);

/** gst_gemmcl_memory_is_surface: Returns: %TRUE for VA and TILED. */
static inline gboolean
gst_gemmcl_memory_is_surface (GstGemmclMemoryKind memory)
{
  return memory == GST_GEMMCL_MEMORY_VA || memory == GST_GEMMCL_MEMORY_TILED;
}

/** gst_gemmcl_caps_spread: Returns: (transfer full): @caps, of system memory, in each kind of
 * memory that a pad of @direction may have, the preferred kind first. */
GstCaps *gst_gemmcl_caps_spread (GstCaps *caps, GstPadDirection direction);

/** gst_gemmcl_caps_offer: @caps: (transfer full): of the sink pad. Returns: (transfer full): the
 * caps that a device can read: surfaces only with @va, dma-bufs last without @import. */
GstCaps *gst_gemmcl_caps_offer (GstCaps *caps, gboolean va, gboolean import);

/** gst_gemmcl_caps_allow_format: Returns: %TRUE if the field `format` of @structure is absent, is
 * @name, or is a list with @name. */
gboolean gst_gemmcl_caps_allow_format (const GstStructure *structure, const gchar *name);

/** gst_gemmcl_caps_get_first_format: Returns: the first format of video; UNKNOWN without one. */
GstVideoFormat gst_gemmcl_caps_get_first_format (const GstStructure *structure);
