/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gst/gst.h>
#include <gst/video/video.h>

/* Buffers of audio, tensors and video as matrices: a row is a moment's samples, the innermost
 * dimension, or a pixel's channels. */

typedef enum {
  SAMPLE_F32,
  SAMPLE_F64,
  SAMPLE_S16,
  SAMPLE_U8,
} SampleType;

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

/** shape_init: Asserts that @caps are audio, tensors of float32, or video of 8 bits in one plane.
 * Several tensors count as one row, behind one another. */
void shape_init (Shape *self, const GstCaps *caps);

/** shape_write: Returns: (transfer full): a buffer with @n numbers, for video a whole frame. */
GstBuffer *shape_write (const Shape *self, gsize n, const gdouble *values);

/**
 * shape_read:
 * @n: (out): how many numbers @buffer has
 *
 * Returns: (transfer full) (nullable): the numbers; %NULL if @buffer cannot be mapped
 */
gdouble *shape_read (const Shape *self, GstBuffer *buffer, gsize *n);
