/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Frames and tensors: formats, shapes as matrices, layout in device memory, and the compiler's
 * options that describe them.
 */
#include "problem/frame.h"

#include "device/base.h"
#include "matrix/matrix.h"

/* Planes after the first hold chroma, at half the width and height (see get_chroma_size()). */
typedef struct {
  const gchar *name;
  guint channels;     /* channels that a kernel reads */
  guint samples;      /* samples per pixel in the first plane */
  guint sample_bytes; /* 1, or 2 little-endian */
  guint order;        /* hexadecimal digit c from the right: the sample of channel c */
  gint x;             /* the sample that is not a channel; -1: none */
  guint n_planes;
  guint chroma_samples; /* samples at each position of a chroma plane */
} Format;

static const Format formats[GEMMCL_N_PIXEL_FORMATS] = {
    [GEMMCL_PIXEL_GRAY8] = {"GRAY8", 1, 1, 1, 0x0, -1, 1, 0},
    [GEMMCL_PIXEL_GRAY16_LE] = {"GRAY16_LE", 1, 1, 2, 0x0, -1, 1, 0},
    [GEMMCL_PIXEL_RGB] = {"RGB", 3, 3, 1, 0x210, -1, 1, 0},
    [GEMMCL_PIXEL_BGR] = {"BGR", 3, 3, 1, 0x012, -1, 1, 0},
    [GEMMCL_PIXEL_RGBA] = {"RGBA", 4, 4, 1, 0x3210, -1, 1, 0},
    [GEMMCL_PIXEL_BGRA] = {"BGRA", 4, 4, 1, 0x3012, -1, 1, 0},
    [GEMMCL_PIXEL_RGBX] = {"RGBx", 3, 4, 1, 0x210, 3, 1, 0},
    [GEMMCL_PIXEL_BGRX] = {"BGRx", 3, 4, 1, 0x012, 3, 1, 0},
    [GEMMCL_PIXEL_XRGB] = {"xRGB", 3, 4, 1, 0x321, 0, 1, 0},
    [GEMMCL_PIXEL_XBGR] = {"xBGR", 3, 4, 1, 0x123, 0, 1, 0},
    [GEMMCL_PIXEL_NV12] = {"NV12", 3, 1, 1, 0x0, -1, 2, 2},
    [GEMMCL_PIXEL_I420] = {"I420", 3, 1, 1, 0x0, -1, 3, 1},
    [GEMMCL_PIXEL_P010_10LE] = {"P010_10LE", 3, 1, 2, 0x0, -1, 2, 2},
};

static const Format *
get_format (GemmclPixelFormat format)
{
  static const Format none = {0};

  return (guint)format < GEMMCL_N_PIXEL_FORMATS ? &formats[format] : &none;
}

const gchar *
gemmcl_pixel_format_get_name (GemmclPixelFormat format)
{
  return get_format (format)->name;
}

guint
gemmcl_pixel_format_get_channels (GemmclPixelFormat format)
{
  return get_format (format)->channels;
}

guint
gemmcl_pixel_format_get_n_planes (GemmclPixelFormat format)
{
  return get_format (format)->n_planes;
}

guint
gemmcl_frame_get_channels (const GemmclFrame *frame)
{
  return frame->channels > 0 ? frame->channels : get_format (frame->format)->channels;
}

GemmclType
gemmcl_frame_get_sample_type (const GemmclFrame *frame)
{
  if (frame->channels > 0)
    return frame->type;
  return get_format (frame->format)->sample_bytes == 2 ? GEMMCL_TYPE_U16 : GEMMCL_TYPE_U8;
}

gboolean
gemmcl_frame_is_matrix (const GemmclFrame *frame)
{
  const GemmclPixelFormat format = frame->format;

  if (frame->channels > 0)
    return frame->features != GEMMCL_FEATURE_PATCH;
  return (frame->features == GEMMCL_FEATURE_ROW || frame->features == GEMMCL_FEATURE_FRAME) &&
         (format == GEMMCL_PIXEL_GRAY8 || format == GEMMCL_PIXEL_GRAY16_LE ||
          format == GEMMCL_PIXEL_RGB || format == GEMMCL_PIXEL_RGBA);
}

gsize
gemmcl_frame_count_samples (const GemmclFrame *frame)
{
  return gemmcl_frame_get_planes (frame, NULL) /
         gemmcl_type_get_size (gemmcl_frame_get_sample_type (frame));
}

static gboolean
check_between (const gchar *what, gsize found, gsize least, gsize most, GError **error)
{
  if (found >= least && found <= most)
    return TRUE;
  return gemmcl_fail (error, GEMMCL_ERROR_INVALID,
                      "A frame's or tensor's %s must be %zu to %zu, not %zu.", what, least, most,
                      found);
}

static gboolean
check_range (const gchar *what, gsize found, gsize least, GError **error)
{
  return check_between (what, found, least, G_MAXUINT16, error);
}

/* The comparison is written so that NaN fails. */
static gboolean
check_colours (const GemmclFrame *frame, GError **error)
{
  if (frame->channels > 0 || formats[frame->format].n_planes == 1 ||
      (frame->kr > 0.0 && frame->kb > 0.0 && frame->kr + frame->kb < 1.0))
    return TRUE;
  return gemmcl_fail (
      error, GEMMCL_ERROR_INVALID,
      "The weights of red and blue in %s's luma must be more than 0 and together less than 1, "
      "as 0.299 and 0.114 are, not %g and %g.",
      formats[frame->format].name, frame->kr, frame->kb);
}

GemmclPatches
gemmcl_frame_get_patches (const GemmclFrame *frame)
{
  const gsize sizes[][2] = {
      [GEMMCL_FEATURE_PIXEL] = {1, 1},
      [GEMMCL_FEATURE_ROW] = {frame->width, 1},
      [GEMMCL_FEATURE_FRAME] = {frame->width, frame->height},
      [GEMMCL_FEATURE_PATCH] = {frame->patch_width, frame->patch_height},
  };
  const gboolean is_patch = frame->features == GEMMCL_FEATURE_PATCH;
  const gsize *size = sizes[frame->features];
  const gsize stride = is_patch ? frame->patch_stride : 0;
  GemmclPatches self = {
      .width = size[0],
      .height = size[1],
      .stride_x = stride > 0 ? stride : size[0],
      .stride_y = stride > 0 ? stride : size[1],
      .padding = is_patch ? frame->patch_padding : 0,
      .dilation = is_patch ? MAX (frame->patch_dilation, 1) : 1,
  };
  const gint64 room_x =
      frame->width + 2 * self.padding - (gint64)self.dilation * (self.width - 1) - 1;
  const gint64 room_y =
      frame->height + 2 * self.padding - (gint64)self.dilation * (self.height - 1) - 1;

  if (room_x >= 0 && room_y >= 0) {
    self.across = room_x / self.stride_x + 1;
    self.down = room_y / self.stride_y + 1;
  }
  return self;
}

static gboolean
check_patches (const GemmclFrame *frame, GError **error)
{
  GemmclPatches patches;

  if (!check_range ("patch width", frame->patch_width, 1, error) ||
      !check_range ("patch height", frame->patch_height, 1, error) ||
      !check_range ("patch stride", frame->patch_stride, 0, error) ||
      !check_range ("patch padding", frame->patch_padding, 0, error) ||
      !check_range ("patch dilation", frame->patch_dilation, 0, error))
    return FALSE;
  patches = gemmcl_frame_get_patches (frame);
  if (patches.across == 0)
    return gemmcl_fail (error, GEMMCL_ERROR_INVALID,
                        "A patch of %zu x %zu pixels with a dilation of %zu does not fit a frame "
                        "of %zu x %zu with %zu pixels of padding on each side.",
                        patches.width, patches.height, patches.dilation, frame->width,
                        frame->height, patches.padding);
  return TRUE;
}

/* im2col counts its work-items in 31 bits in each dimension. */
static gboolean
check_work (const GemmclFrame *frame, const GemmclPatches *patches, GError **error)
{
  const guint channels = MAX (frame->channels, 1);

  if ((guint64)patches->across * patches->width * channels <= G_MAXINT32 &&
      (guint64)patches->down * patches->height <= G_MAXINT32)
    return TRUE;
  return gemmcl_fail (error, GEMMCL_ERROR_TOO_LARGE,
                      "There are %zu x %zu patches of %zu x %zu pixels; the most is %d pixels, or "
                      "elements of a tensor, in each direction. Choose a larger stride.",
                      patches->across, patches->down, patches->width, patches->height, G_MAXINT32);
}

static gboolean
check_content (const GemmclFrame *frame, GError **error)
{
  if (frame->channels > 0 && frame->format != 0)
    return gemmcl_fail (error, GEMMCL_ERROR_INVALID,
                        "A tensor has no pixel format; expected the number 0, found %d.",
                        (gint)frame->format);
  if ((guint)frame->format >= GEMMCL_N_PIXEL_FORMATS)
    return gemmcl_fail (error, GEMMCL_ERROR_INVALID,
                        "Expected a pixel format's number, 0 to %d, found %d.",
                        GEMMCL_N_PIXEL_FORMATS - 1, (gint)frame->format);
  if (frame->channels > 0 && (guint)frame->type >= GEMMCL_N_TYPES)
    return gemmcl_fail (error, GEMMCL_ERROR_INVALID,
                        "Expected the number of a tensor's type, 0 to %d, found %d.",
                        GEMMCL_N_TYPES - 1, (gint)frame->type);
  return check_range ("number of channels", frame->channels, 0, error);
}

static gboolean
check_frame (const GemmclFrame *frame, GError **error)
{
  if (!check_content (frame, error))
    return FALSE;
  if ((guint)frame->features > GEMMCL_FEATURE_PATCH)
    return gemmcl_fail (error, GEMMCL_ERROR_INVALID,
                        "Expected a feature mode's number, %d to %d, found %d.",
                        GEMMCL_FEATURE_PIXEL, GEMMCL_FEATURE_PATCH, (gint)frame->features);
  return check_range ("width", frame->width, 1, error) &&
         check_range ("height", frame->height, 1, error) &&
         (frame->features != GEMMCL_FEATURE_PATCH || check_patches (frame, error)) &&
         check_colours (frame, error) && check_between ("left", frame->left, 0, 1, error) &&
         check_between ("top", frame->top, 0, frame->interlaced ? 3 : 1, error);
}

/* The samples of a chroma plane. In an interlaced frame each field has rows for its pairs of rows:
 * of six rows the first field has three, and so has the second, which makes four rows of chroma. */
static void
get_chroma_size (const GemmclFrame *frame, gsize *columns, gsize *rows)
{
  const gsize height = frame->height + frame->top;

  *columns = (frame->width + frame->left + 1) / 2;
  *rows = (height + 1) / 2 + (frame->interlaced && height % 4 == 2);
}

guint64
gemmcl_frame_get_planes (const GemmclFrame *frame, GemmclPlane planes[GEMMCL_MAX_PLANES])
{
  const Format *format = &formats[frame->format];
  GemmclPlane unused[GEMMCL_MAX_PLANES];
  gsize chroma_columns, chroma_rows;
  guint64 bytes = 0;

  if (planes == NULL)
    planes = unused;
  if (frame->channels > 0) {
    bytes = (guint64)frame->width * frame->height * frame->channels *
            gemmcl_type_get_size (frame->type);
    planes[0] = (GemmclPlane){0, (gsize)bytes, 1};
    planes[1] = planes[2] = (GemmclPlane){0};
    return bytes;
  }
  get_chroma_size (frame, &chroma_columns, &chroma_rows);
  for (guint i = 0; i < GEMMCL_MAX_PLANES; i++) {
    const guint samples = i == 0 ? format->samples : format->chroma_samples;
    const guint64 columns = i == 0 ? frame->width : chroma_columns;
    const guint64 rows = i == 0 ? frame->height : chroma_rows;
    const guint64 row_bytes = columns * samples * format->sample_bytes;

    planes[i] = i < format->n_planes ? (GemmclPlane){bytes, row_bytes, rows} : (GemmclPlane){0};
    bytes += (guint64)planes[i].row_bytes * planes[i].rows;
  }
  return bytes;
}

gboolean
gemmcl_frame_get_shape (const GemmclFrame *frame, gsize *m, gsize *k, GError **error)
{
  GemmclPatches patches;
  guint64 rows, columns;

  if (!check_frame (frame, error))
    return FALSE;
  patches = gemmcl_frame_get_patches (frame);
  if (!check_work (frame, &patches, error))
    return FALSE;
  rows = (guint64)patches.across * patches.down;
  columns = (guint64)patches.width * patches.height * gemmcl_frame_get_channels (frame);
  if (rows > G_MAXINT32 || columns > G_MAXINT32)
    return gemmcl_fail (error, GEMMCL_ERROR_TOO_LARGE,
                        "A frame of %zu x %zu is a matrix of %" G_GUINT64_FORMAT
                        " x %" G_GUINT64_FORMAT
                        "; the most is %d each way. Choose another feature mode, or scale it down.",
                        frame->width, frame->height, rows, columns, G_MAXINT32);
  if (gemmcl_frame_get_planes (frame, NULL) > G_MAXSIZE)
    return gemmcl_fail (
        error, GEMMCL_ERROR_TOO_LARGE,
        "A frame of %zu x %zu has more bytes than this host can address. Scale it down.",
        frame->width, frame->height);
  if (m)
    *m = rows;
  if (k)
    *k = columns;
  return TRUE;
}

void
gemmcl_frame_get_grid (const GemmclFrame *frame, gsize *across, gsize *down)
{
  const GemmclPatches patches = gemmcl_frame_get_patches (frame);

  *across = patches.across;
  *down = patches.down;
}

/* Defines the conversion of stored luma and chroma to values of 0 to 255, see #GemmclFrame:
 *
 *   (luma - LUMA_ZERO) * LUMA_SCALE + (chroma - CHROMA_ZERO) * the other factors
 *
 * A sample of two bytes has ten bits, at the top. */
static void
define_colours (GString *options, const GemmclFrame *frame)
{
  const gboolean wide = formats[frame->format].sample_bytes == 2;
  const gdouble step = wide ? 256.0 : 1.0; /* stored value of one step of eight bits */
  const gdouble full =
      wide ? 255.0 / (1023.0 * 64) : 1.0; /* eight-bit value of one stored step, full range */
  const gdouble luma = frame->full_range ? full : 255.0 / 219.0 / step;
  const gdouble chroma = frame->full_range ? full : 255.0 / 224.0 / step;
  const gdouble zero = frame->full_range ? 0.0 : 16.0 * step;
  const gdouble red = 2.0 * (1.0 - frame->kr) * chroma;
  const gdouble blue = 2.0 * (1.0 - frame->kb) * chroma;
  const gdouble kg = 1.0 - frame->kr - frame->kb;

  g_string_append_printf (options,
                          " -D@LUMA_ZERO=0x%x -D@CHROMA_ZERO=0x%x -D@LUMA_SCALE=0x%x -D@RED_CR=0x%x"
                          " -D@GREEN_CR=0x%x -D@GREEN_CB=0x%x -D@BLUE_CB=0x%x",
                          gemmcl_f32_get_bits (zero), gemmcl_f32_get_bits (128.0 * step),
                          gemmcl_f32_get_bits (luma), gemmcl_f32_get_bits (red),
                          gemmcl_f32_get_bits (-red * frame->kr / kg),
                          gemmcl_f32_get_bits (-blue * frame->kb / kg), gemmcl_f32_get_bits (blue));
}

static void
define_format (GString *options, const GemmclFrame *frame)
{
  const Format *format = &formats[frame->format];
  const guint bytes = format->sample_bytes;
  GemmclPlane planes[GEMMCL_MAX_PLANES];

  g_string_append_printf (options,
                          " -D@FRAME -D@ORDER=0x%x -D@X=%d -D@SAMPLES=%u -D@SAMPLE_BYTES=%u",
                          format->order, format->x, format->samples, bytes);
  if (format->n_planes == 1)
    return;
  gemmcl_frame_get_planes (frame, planes);
  g_string_append_printf (
      options,
      " -D@CHROMA -D@CB_OFFSET=%zu -D@CR_OFFSET=%zu -D@CHROMA_STEP=%u -D@CHROMA_ROW=%zu"
      " -D@INTERLACED=%d -D@LEFT=%u -D@TOP=%u",
      planes[1].offset, format->n_planes == 2 ? planes[1].offset + bytes : planes[2].offset,
      format->chroma_samples * bytes, planes[1].row_bytes, frame->interlaced != FALSE, frame->left,
      frame->top);
  define_colours (options, frame);
}

gchar *
gemmcl_frame_get_defines (const GemmclFrame *frame, const gchar *prefix)
{
  const GemmclPatches patches = gemmcl_frame_get_patches (frame);
  GString *options = g_string_new (NULL);

  g_string_printf (options,
                   " -D@WIDTH=%zu -D@HEIGHT=%zu -D@CHANNELS=%u -D@PATCH_WIDTH=%zu"
                   " -D@PATCH_HEIGHT=%zu -D@STRIDE_X=%zu -D@STRIDE_Y=%zu -D@PADDING=%zu"
                   " -D@DILATION=%zu -D@ACROSS=%zu -D@DOWN=%zu",
                   frame->width, frame->height, gemmcl_frame_get_channels (frame), patches.width,
                   patches.height, patches.stride_x, patches.stride_y, patches.padding,
                   patches.dilation, patches.across, patches.down);
  if (frame->channels > 0)
    g_string_append_printf (options, " -D@TENSOR -D@TYPE=%s", gemmcl_type_get_dtype (frame->type));
  else
    define_format (options, frame);
  g_string_replace (options, "@", prefix, 0);
  return g_string_free (options, FALSE);
}
