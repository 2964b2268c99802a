/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gst/video/video.h>

/* How caps with memory:DMABuf name formats since GStreamer 1.24: `format=DMA_DRM,
 * drm-format=NV12:0x0100000000000002`, with the modifier that says how pixels lie; without
 * one they are linear. What Intel's media driver tiles is NV12 and P010 here, and can be read as VA
 * surfaces only. */

/** gst_gemmcl_drm_to_plain: Returns: (transfer full): @structure, of any caps, with its DRM formats
 * as GStreamer's, of those that are linear or tiled as Intel does, an empty list if it has none; a
 * copy if it has no DRM formats. */
GstStructure *gst_gemmcl_drm_to_plain (const GstStructure *structure);

/** gst_gemmcl_drm_from_plain: Returns: (transfer full): @structure, of video, with its formats as
 * linear DRM formats; %NULL if it has none of them, or before GStreamer 1.24. */
GstStructure *gst_gemmcl_drm_from_plain (const GstStructure *structure);

/** gst_gemmcl_drm_tile: A GstCapsFilterMapFunc: makes them DRM formats in all of Intel's tilings.
 */
gboolean gst_gemmcl_drm_tile (GstCapsFeatures *features, GstStructure *structure, gpointer data);

/** gst_gemmcl_drm_is_tiled: Returns: whether @structure has DRM formats, none of them linear. */
gboolean gst_gemmcl_drm_is_tiled (const GstStructure *structure);

/** gst_gemmcl_drm_is_hidden: Returns: whether a GstVideoMeta's @format says that caps tell it. */
gboolean gst_gemmcl_drm_is_hidden (GstVideoFormat format);
