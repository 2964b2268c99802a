/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gemmcl.h>
#include <gst/video/video.h>

/* Formats of video, as GStreamer, the library and caps of dma-bufs name them, and the memories that
 * caps name. Pure functions.
 *
 * Since GStreamer 1.24, caps with memory:DMABuf name formats as `format=DMA_DRM,
 * drm-format=NV12:0x0100000000000002`. The number is a modifier that says how pixels are tiled;
 * without one they are linear. The media driver of Intel tiles NV12 and P010 only, and tiled frames
 * can be read as VA surfaces only. */

#define GST_GEMMCL_VIDEO_MEDIA "video/x-raw"

/** gst_gemmcl_pixel_format: Returns: whether the library knows @format, as @pixel_format. */
gboolean gst_gemmcl_pixel_format (GstVideoFormat format, GemmclPixelFormat *pixel_format);

/** gst_gemmcl_video_channels: Returns: the channels of a pixel as a kernel sees it; 0 for a format
 * that the library does not know. */
guint gst_gemmcl_video_channels (GstVideoFormat format);

/**
 * gst_gemmcl_output_formats:
 * @input: the format of the sink pad
 * @channels: the channels of a pixel of the output
 * @formats: (out): the formats that can be written with @channels channels, best first: @input
 *   itself, then those with its order of colours in memory, then the rest
 *
 * Returns: the number of formats; 0 unless @channels is 1, 3 or 4.
 */
guint gst_gemmcl_output_formats (GstVideoFormat input, guint channels,
                                 GstVideoFormat formats[GEMMCL_N_PIXEL_FORMATS]);

/** gst_gemmcl_image_init: Describes frames of @info, of a format that gst_gemmcl_pixel_format()
 * knows, to the library. */
void gst_gemmcl_image_init (GemmclImage *image, const GstVideoInfo *info);

/** gst_gemmcl_drm_to_plain: Returns: (transfer full): a copy of @structure, of any caps, with
 * GStreamer's formats in place of its DRM formats. Only linear ones and Intel's tilings have such;
 * the list is empty if there is none. */
GstStructure *gst_gemmcl_drm_to_plain (const GstStructure *structure);

/** gst_gemmcl_drm_from_plain: Returns: (transfer full) (nullable): a copy of @structure, of video,
 * with linear DRM formats in place of GStreamer's; %NULL if there is none, and before
 * GStreamer 1.24. */
GstStructure *gst_gemmcl_drm_from_plain (const GstStructure *structure);

/** gst_gemmcl_drm_tile: A GstCapsFilterMapFunc: renames formats to DRM formats in all tilings of
 * Intel. */
gboolean gst_gemmcl_drm_tile (GstCapsFeatures *features, GstStructure *structure, gpointer data);

/** gst_gemmcl_drm_is_tiled: Returns: whether @structure has DRM formats and none is linear. */
gboolean gst_gemmcl_drm_is_tiled (const GstStructure *structure);

/** gst_gemmcl_drm_is_hidden: Returns: whether @format, of a GstVideoMeta, is DMA_DRM: only caps
 * then tell the format. */
gboolean gst_gemmcl_drm_is_hidden (GstVideoFormat format);

/** gst_gemmcl_list_append_once: Appends @text, which is taken, to @list unless it is in there. */
void gst_gemmcl_list_append_once (GValue *list, gchar *text);

/** gst_gemmcl_structure_take_list: Sets @field to @list, which is taken; to its element if there is
 * one only, so that fixed caps stay fixed. */
void gst_gemmcl_structure_take_list (GstStructure *structure, const gchar *field, GValue *list);

/** GstGemmclMemory: The memory of buffers, by their caps. The last three are for the sink pad. */
typedef enum {
  GST_GEMMCL_MEMORY_OTHER, /* a memory that the element does not take */
  GST_GEMMCL_MEMORY_SYSTEM,
  GST_GEMMCL_MEMORY_OPENCL,
  GST_GEMMCL_MEMORY_VA,
  GST_GEMMCL_MEMORY_TILED, /* dma-bufs that only the media driver can read: surfaces, too */
  GST_GEMMCL_MEMORY_DMABUF,
} GstGemmclMemory;

/** gst_gemmcl_caps_get_memory: Returns: the memory of structure @index; SYSTEM for any features. */
GstGemmclMemory gst_gemmcl_caps_get_memory (const GstCaps *caps, guint index);

/** gst_gemmcl_caps_are_surfaces: Returns: whether structure @index of @caps is of VA surfaces. */
gboolean gst_gemmcl_caps_are_surfaces (const GstCaps *caps, guint index);

/** gst_gemmcl_caps_are_opencl: Returns: whether structure @index of @caps is in OpenCL memory. */
gboolean gst_gemmcl_caps_are_opencl (const GstCaps *caps, guint index);

/** gst_gemmcl_caps_spread: Returns: (transfer full): @caps, of system memory, in each memory that a
 * pad of @direction may have, the preferred one first. */
GstCaps *gst_gemmcl_caps_spread (GstCaps *caps, GstPadDirection direction);

/** gst_gemmcl_caps_offer: Returns: (transfer full): the part of @caps, (transfer full), of the sink
 * pad, that a device can read: surfaces only if @va. Unless @import, dma-bufs come last, since they
 * are mapped and copied. */
GstCaps *gst_gemmcl_caps_offer (GstCaps *caps, gboolean va, gboolean import);
