/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Frames as matrices. Any thread.
 */
#pragma once

#include <glib.h>

#include "gemmcl-error.h"
#include "gemmcl-matrix.h"

GEMMCL_BEGIN_DECLS

/**
 * GemmclPixelFormat:
 *
 * The pixel format of a frame; the names are GStreamer's.
 *
 * A kernel reads a pixel as its channels, in the order Y or R, G, B, A whatever their order in
 * memory. Values are the stored integers: 0 to 255, or 0 to 65535 for GRAY16_LE. The x of RGBx and
 * similar formats is skipped when read and written as 255.
 *
 * NV12, I420 and P010_10LE can only be read. They are converted to R, G, B (see #GemmclFrame); a
 * chroma sample applies to its 2 x 2 pixels, in interlaced frames to those of its field. Samples of
 * P010_10LE, ten bits at the top of sixteen, give values of 0 to 255 in finer steps, so that one
 * weight serves all three formats.
 */
typedef enum {
  GEMMCL_PIXEL_GRAY8,
  GEMMCL_PIXEL_GRAY16_LE,
  GEMMCL_PIXEL_RGB,
  GEMMCL_PIXEL_BGR,
  GEMMCL_PIXEL_RGBA,
  GEMMCL_PIXEL_BGRA,
  GEMMCL_PIXEL_RGBX,
  GEMMCL_PIXEL_BGRX,
  GEMMCL_PIXEL_XRGB,
  GEMMCL_PIXEL_XBGR,
  GEMMCL_PIXEL_NV12,
  GEMMCL_PIXEL_I420,
  GEMMCL_PIXEL_P010_10LE,
} GemmclPixelFormat;

/**
 * GEMMCL_N_PIXEL_FORMATS:
 *
 * The number of pixel formats.
 */
#define GEMMCL_N_PIXEL_FORMATS (GEMMCL_PIXEL_P010_10LE + 1)

/**
 * GEMMCL_MAX_PLANES:
 *
 * The largest number of planes of a frame.
 */
#define GEMMCL_MAX_PLANES 3

/**
 * GemmclFeatureMode:
 * @GEMMCL_FEATURE_PIXEL: a row is a pixel: M = width x height, K = channels;
 *   row m is pixel (m % width, m / width)
 * @GEMMCL_FEATURE_ROW: a row is a row of the frame: M = height, K = width x channels; column k is
 *   channel k % channels of pixel k / channels
 * @GEMMCL_FEATURE_FRAME: a row is the frame: M = 1, K = height x width x channels, nested in that
 *   order
 * @GEMMCL_FEATURE_PATCH: a row is a patch of p x q pixels, as a convolution reads them: K = q x p x
 *   channels, nested in that order, and M = across x down, from left to right, then down. Pixel (i,
 *   j) of patch (x, y) is pixel (x s + i d - e, y t + j d - e) of the frame, with strides s and t,
 *   dilation d and padding e, so that across = (width + 2 e - d (p - 1) - 1) / s + 1, rounded down.
 *   Padding makes elements of A that are 0 after a_scale and a_shift, so if a_scale is 0, a_shift
 *   must be 0, too. Pixels at the right and bottom that fill no patch are ignored
 *
 * The part of a frame that makes a row of A.
 */
typedef enum {
  GEMMCL_FEATURE_PIXEL,
  GEMMCL_FEATURE_ROW,
  GEMMCL_FEATURE_FRAME,
  GEMMCL_FEATURE_PATCH,
} GemmclFeatureMode;

/**
 * GemmclFrame:
 * @format: the pixel format
 * @width: pixels in a row, 1 to 65535
 * @height: rows, 1 to 65535
 * @features: the feature mode
 * @patch_width: p of %GEMMCL_FEATURE_PATCH; else 0
 * @patch_height: q of %GEMMCL_FEATURE_PATCH; else 0
 * @patch_stride: s and t; 0: the size of a patch
 * @patch_padding: e: pixels around the frame, on each side; at most 65535
 * @patch_dilation: d: the distance of a patch's pixels; 0 means 1
 * @kr: for NV12, I420 and P010_10LE: the weight of red in luma (BT.601: 0.299)
 * @kb: the weight of blue in luma (BT.601: 0.114)
 * @full_range: for these formats: %TRUE: luma is 0 to 255 and chroma 128 +- 127.5; %FALSE: 16 to
 *   235 and 128 +- 112. With ten bits: 0 to 1023 and 512 +- 511.5, or four times the numbers of the
 *   limited range
 * @interlaced: for these formats: %TRUE: the rows of two fields alternate, in luma and in chroma:
 *   row y has row 2 (y / 4) + y % 2 of the chroma planes, where y / 4 is rounded down, and not row
 *   y / 2. A run of progressive frames sets progressive of #GemmclRun
 * @left: for these formats: the number of columns, 0 or 1, that were cut off after the first column
 *   of chroma: pixel (x, y) has the chroma of pixel (x + left, y + top) of the whole frame
 * @top: the same for rows: 0 or 1, or 0 to 3 if @interlaced
 * @channels: 0: a frame of @format. 1 to 65535: a tensor of height x width x channels elements,
 *   nested in that order, without gaps; @format is 0 then. Only for A
 * @type: the type of a tensor's elements
 *
 * A frame or tensor whose pixels make the rows of A, or a frame whose pixels are the rows of D.
 * With Y, Cb, Cr normalized by the range, the channels of a pixel are the following, times 255,
 * clamped to 0 to 255 and not rounded (ITU-R BT.601-7 section 2.5, BT.709-6 section 3):
 *
 * - R = Y + 2 (1 - kr) Cr
 * - B = Y + 2 (1 - kb) Cb
 * - G = (Y - kr R - kb B) / (1 - kr - kb)
 */
typedef struct {
  GemmclPixelFormat format;
  gsize width;
  gsize height;
  GemmclFeatureMode features;
  gsize patch_width;
  gsize patch_height;
  gsize patch_stride;
  gsize patch_padding;
  gsize patch_dilation;
  gdouble kr;
  gdouble kb;
  gboolean full_range;
  gboolean interlaced;
  guint left;
  guint top;
  guint channels;
  GemmclType type;
  /*< private >*/
  gpointer _reserved[4];
} GemmclFrame;

/**
 * gemmcl_pixel_format_get_name:
 *
 * Returns: GStreamer's name of @format, "RGBx" for example; static.
 */
const gchar *gemmcl_pixel_format_get_name (GemmclPixelFormat format);

/**
 * gemmcl_pixel_format_get_channels:
 *
 * Returns: the number of channels that a kernel reads of a pixel: 1, 3 or 4.
 */
guint gemmcl_pixel_format_get_channels (GemmclPixelFormat format);

/**
 * gemmcl_pixel_format_get_n_planes:
 *
 * Returns: 1; 2 for NV12 and P010_10LE; 3 for I420.
 */
guint gemmcl_pixel_format_get_n_planes (GemmclPixelFormat format);

/**
 * gemmcl_frame_get_channels:
 *
 * Returns: the number of channels of the tensor, or else of the format.
 */
guint gemmcl_frame_get_channels (const GemmclFrame *frame);

/**
 * gemmcl_frame_get_shape:
 * @frame: a frame or tensor
 * @m: (out) (optional): rows of its matrix (see #GemmclFeatureMode)
 * @k: (out) (optional): columns of its matrix
 *
 * Returns: %FALSE with %GEMMCL_ERROR_INVALID or %GEMMCL_ERROR_TOO_LARGE if a field of @frame is out
 *   of range.
 */
gboolean gemmcl_frame_get_shape (const GemmclFrame *frame, gsize *m, gsize *k, GError **error);

/**
 * gemmcl_frame_get_grid:
 * @frame: a frame that gemmcl_frame_get_shape() accepts
 * @across: (out): the number of patches, or of the parts of another feature mode, side by side
 * @down: (out): the number of rows of patches; m is across x down
 */
void gemmcl_frame_get_grid (const GemmclFrame *frame, gsize *across, gsize *down);

/**
 * GemmclPlane:
 * @offset: bytes from the start of the buffer
 * @row_bytes: bytes per row; rows have no gaps between them
 * @rows: the number of rows
 *
 * The place of a plane in a device buffer.
 */
typedef struct {
  gsize offset;
  gsize row_bytes;
  gsize rows;
  /*< private >*/
  gpointer _reserved[4];
} GemmclPlane;

/**
 * gemmcl_frame_get_planes:
 * @frame: a frame that gemmcl_frame_get_shape() accepts
 * @planes: (out) (optional) (array fixed-size=3): the planes of @frame in a device buffer; a tensor
 *   is a plane of one row
 *
 * Returns: the size of that buffer in bytes, at most 2^36 for a frame and 2^51 for a tensor.
 */
guint64 gemmcl_frame_get_planes (const GemmclFrame *frame, GemmclPlane planes[GEMMCL_MAX_PLANES]);

GEMMCL_END_DECLS
