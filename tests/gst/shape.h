/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gst/audio/audio.h>
#include <gst/gst.h>
#include <gst/video/video.h>

#include "reference.h"

/* Buffers of audio, tensors and video as matrices: a row is a moment's samples, the innermost
 * dimension, or a pixel's channels. */

typedef enum {
  MEDIUM_AUDIO,
  MEDIUM_TENSORS,
  MEDIUM_VIDEO,
} Medium;

/**
 * Shape: what caps say of a buffer
 * @rows: 0 for audio, whose buffers may have any number
 * @columns: those of a row
 * @video: of video
 */
typedef struct {
  Medium medium;
  SampleType type;
  gsize rows, columns;
  GstVideoInfo video;
} Shape;

/** shape_init: Asserts that @caps are audio, one tensor of f32, or video of one plane. */
void shape_init (Shape *self, const GstCaps *caps);

/** shape_write: Returns: (transfer full): a buffer with @rows rows of @values. */
GstBuffer *shape_write (const Shape *self, gsize rows, const gdouble *values);

/**
 * shape_read:
 * @rows: (out): how many rows @buffer has
 *
 * Returns: (transfer full) (nullable): their values; %NULL if @buffer cannot be mapped or has not
 * the size of whole rows
 */
gdouble *shape_read (const Shape *self, GstBuffer *buffer, gsize *rows);
