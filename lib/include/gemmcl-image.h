/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

#include "gemmcl-error.h"

GEMMCL_BEGIN_DECLS

/**
 * GemmclPixelFormat:
 *
 * How a picture's pixels lie in memory; the names are GStreamer's. A kernel sees every format as
 * channels in the order Y or R, G, B, A, whatever the order in memory, as the integers that are
 * stored (0 to 255; 0 to 65535 for GRAY16_LE). The x of RGBx and friends is no channel: skipped
 * when read, 255 when written. NV12, I420 and P010_10LE are read as R, G, B (see #GemmclImage) with
 * each chroma sample used for its 2 x 2 pixels, and are never written. P010_10LE, ten bits at the
 * top of each sixteen, makes 0 to 255 too, in finer steps: one weight suits all three.
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

#define GEMMCL_N_PIXEL_FORMATS (GEMMCL_PIXEL_P010_10LE + 1)
#define GEMMCL_MAX_PLANES      3

/**
 * GemmclFeatureMode:
 * @GEMMCL_FEATURE_PIXEL: M = width x height, K = channels; row m is pixel (m % width, m / width)
 * @GEMMCL_FEATURE_ROW: M = height, K = width x channels; column k is channel k % channels of pixel
 *   k / channels of the row
 * @GEMMCL_FEATURE_FRAME: M = 1, K = height x width x channels, in that nesting
 * @GEMMCL_FEATURE_PATCH: M = (width / p)(height / q), K = q x p x channels in that nesting, patches
 *   from left to right, then down; what is left over at the right and the bottom is not read
 *
 * What of a picture makes a row of A.
 */
typedef enum {
  GEMMCL_FEATURE_PIXEL,
  GEMMCL_FEATURE_ROW,
  GEMMCL_FEATURE_FRAME,
  GEMMCL_FEATURE_PATCH,
} GemmclFeatureMode;

/**
 * GemmclImage:
 * @format: the pixels
 * @width, @height: in pixels, 1 to 65535 each
 * @features: how its pixels make rows
 * @patch_width, @patch_height: p and q of #GEMMCL_FEATURE_PATCH, at most @width and @height; 0
 *   otherwise
 * @kr, @kb: for NV12, I420 and P010_10LE: the weights of red and blue in luma (BT.601: 0.299,
 *   0.114)
 * @full_range: for the same: luma is 0 to 255 and chroma 128 +- 127.5 rather than 16 to 235 and
 *   128 +- 112; of ten bits 0 to 1023 and 512 +- 511.5 rather than four times these
 *
 * A picture whose pixels are the rows of A or of D. From luma and chroma to colour, with
 * Y, Cb, Cr normalised by the range: R = Y + 2 (1 - kr) Cr, B = Y + 2 (1 - kb) Cb,
 * G = (Y - kr R - kb B) / (1 - kr - kb), times 255 and limited to 0 to 255, not rounded
 * (ITU-R BT.601-7 section 2.5, BT.709-6 section 3).
 */
typedef struct {
  GemmclPixelFormat format;
  gsize width;
  gsize height;
  GemmclFeatureMode features;
  gsize patch_width;
  gsize patch_height;
  gdouble kr;
  gdouble kb;
  gboolean full_range;
} GemmclImage;

/** gemmcl_pixel_format_get_name: Returns: GStreamer's name of @format, "RGBx" say; static. */
const gchar *gemmcl_pixel_format_get_name (GemmclPixelFormat format);

/** gemmcl_pixel_format_get_channels: Returns: what a kernel sees of a pixel: 1, 3 or 4. */
guint gemmcl_pixel_format_get_channels (GemmclPixelFormat format);

/** gemmcl_pixel_format_get_n_planes: Returns: 1, 2 (NV12, P010_10LE) or 3 (I420). */
guint gemmcl_pixel_format_get_n_planes (GemmclPixelFormat format);

/**
 * gemmcl_image_get_shape:
 * @m, @k: (out) (optional): rows and columns of the matrix that @image stands for
 *
 * Returns: %FALSE with #GEMMCL_ERROR_INVALID or #GEMMCL_ERROR_TOO_LARGE, when a size is out of its
 *   range.
 */
gboolean gemmcl_image_get_shape (const GemmclImage *image, gsize *m, gsize *k, GError **error);

/**
 * GemmclPlane:
 * @offset: bytes from the start of the device buffer
 * @row_bytes: bytes in a row; rows follow one another with nothing between
 * @rows: rows
 */
typedef struct {
  gsize offset;
  gsize row_bytes;
  gsize rows;
} GemmclPlane;

/**
 * gemmcl_image_get_planes:
 * @image: one that gemmcl_image_get_shape() accepts
 * @planes: (out) (array fixed-size=3): how the planes of @image lie in a device buffer
 *
 * Returns: the size of that buffer in bytes.
 */
gsize gemmcl_image_get_planes (const GemmclImage *image, GemmclPlane planes[GEMMCL_MAX_PLANES]);

GEMMCL_END_DECLS
