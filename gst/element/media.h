/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gemmcl.h>
#include <gst/audio/audio.h>
#include <gst/gst.h>
#include <gst/video/video.h>

#include "element/shapes.h"
#include "element/tensors.h"

/* What flows, between GStreamer's words for it and the library's. */

#define GST_GEMMCL_VIDEO_MEDIA "video/x-raw"
#define GST_GEMMCL_AUDIO_MEDIA "audio/x-raw"

typedef enum {
  GST_GEMMCL_MEDIUM_VIDEO,
  GST_GEMMCL_MEDIUM_AUDIO,
  GST_GEMMCL_MEDIUM_TENSORS,
} GstGemmclMedium;

/** GstGemmclFormat: Fixed caps, read. A plain value: nothing in it is owned. */
typedef struct {
  GstGemmclMedium medium; /* which of the others means something */
  GstVideoInfo video;
  GstAudioInfo audio;
  GstGemmclTensors tensors;
} GstGemmclFormat;

/** gst_gemmcl_format_from_caps: Reads @caps, which are fixed. Returns: %FALSE with
 * #GEMMCL_ERROR_FORMAT or #GEMMCL_ERROR_TOO_LARGE; @format is undefined then. */
gboolean gst_gemmcl_format_from_caps (GstGemmclFormat *format, const GstCaps *caps, GError **error);

/** gst_gemmcl_pixel_format: Returns: whether the library knows @format, as @pixel_format. */
gboolean gst_gemmcl_pixel_format (GstVideoFormat format, GemmclPixelFormat *pixel_format);

/** gst_gemmcl_video_channels: Returns: what a kernel sees of a pixel; 0 for an unknown format. */
guint gst_gemmcl_video_channels (GstVideoFormat format);

/**
 * gst_gemmcl_output_formats:
 * @input: what comes in
 * @channels: what a pixel should have
 * @formats: (out): the formats that can be written with @channels channels, best first: @input's
 *   own, then those in whose memory the colours have its order, then the rest
 *
 * Returns: how many; 0 unless @channels is 1, 3 or 4.
 */
guint gst_gemmcl_output_formats (GstVideoFormat input, guint channels,
                                 GstVideoFormat formats[GEMMCL_N_PIXEL_FORMATS]);

/** gst_gemmcl_image_init: Makes @image what the library should know of pictures with @info, of a
 * format that gst_gemmcl_pixel_format() knows. */
void gst_gemmcl_image_init (GemmclImage *image, const GstVideoInfo *info);

/** gst_gemmcl_audio_type: Returns: what a sample is; of the formats in the pad templates only. */
GemmclType gst_gemmcl_audio_type (GstAudioFormat format);
