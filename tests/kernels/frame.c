/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "frame.h"

#include <math.h>
#include <string.h>

#include "elements.h"

#define FILLER  0xa5
#define PADDING 13 /* bytes between rows */

static gboolean
is_chroma (GemmclPixelFormat format)
{
  return format >= GEMMCL_PIXEL_NV12;
}

static gboolean
is_paired (GemmclPixelFormat format)
{
  return format == GEMMCL_PIXEL_NV12 || format == GEMMCL_PIXEL_P010_10LE;
}

static gsize
count_channels (const GemmclImage *image)
{
  return image->channels > 0 ? image->channels : gemmcl_pixel_format_get_channels (image->format);
}

/* Returns: the place of channel @c of pixel (@x, @y) of a tensor. */
static gsize
get_index (const GemmclImage *image, gsize x, gsize y, gsize c)
{
  return (y * image->width + x) * image->channels + c;
}

static gsize
sample_bytes (GemmclPixelFormat format)
{
  return format == GEMMCL_PIXEL_GRAY16_LE || format == GEMMCL_PIXEL_P010_10LE ? 2 : 1;
}

/* Returns: the letters of a pixel's samples in memory: "xRGB"; "Y" for luma. */
static const gchar *
get_letters (GemmclPixelFormat format)
{
  return format <= GEMMCL_PIXEL_GRAY16_LE || is_chroma (format)
             ? "Y"
             : gemmcl_pixel_format_get_name (format);
}

typedef struct {
  gsize row_bytes, rows;
} Plane;

static Plane
get_plane (const GemmclImage *image, guint index)
{
  if (image->channels > 0)
    return (Plane){
        image->width * image->height * image->channels * gemmcl_type_get_size (image->type), 1};
  if (index == 0)
    return (Plane){image->width * strlen (get_letters (image->format)) *
                       sample_bytes (image->format),
                   image->height};
  return (Plane){(image->width + 1) / 2 * (is_paired (image->format) ? 2 : 1) *
                     sample_bytes (image->format),
                 (image->height + 1) / 2};
}

void
frame_init (Frame *self, const GemmclImage *image, FrameRows rows, guint32 seed)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  const guint n_planes = gemmcl_pixel_format_get_n_planes (image->format);
  const gsize padding = rows == FRAME_TIGHT ? 0 : PADDING + PADDING % sample_bytes (image->format);
  const gint low = gemmcl_type_get_name (image->type)[0] == 'u' ? 0 : -100;
  gsize start = padding;

  *self = (Frame){.image = *image};
  for (guint i = 0; i < n_planes; i++) {
    const Plane plane = get_plane (image, i);
    self->n_bytes += plane.rows * (plane.row_bytes + padding) + 2 * padding;
  }
  self->bytes = g_malloc (self->n_bytes);
  memset (self->bytes, FILLER, self->n_bytes);
  for (guint i = 0; i < n_planes; i++) {
    const Plane plane = get_plane (image, i);
    const gsize stride = plane.row_bytes + padding;

    for (gsize y = 0; y < plane.rows; y++)
      for (gsize x = 0; x < plane.row_bytes; x++)
        self->bytes[start + y * stride + x] = g_rand_int_range (rand, 0, 256);
    self->host.host[i] = self->bytes + start;
    self->host.stride[i] = stride;
    if (rows == FRAME_UPSIDE_DOWN) {
      self->host.host[i] = self->bytes + start + (plane.rows - 1) * stride;
      self->host.stride[i] = -(gssize)stride;
    }
    start += plane.rows * stride + padding;
  }
  for (gsize i = 0; i < image->width * image->height * image->channels; i++)
    element_set (image->type, self->host.host[0], i,
                 element_is_integer (image->type) ? g_rand_int_range (rand, low, 101)
                                                  : g_rand_double_range (rand, low, 100));
}

void
frame_clear (Frame *self)
{
  g_clear_pointer (&self->bytes, g_free);
}

static guint
get_sample (const Frame *self, guint plane, gsize x, gsize y)
{
  const guint8 *row = (const guint8 *)self->host.host[plane] + (gssize)y * self->host.stride[plane];

  return sample_bytes (self->image.format) == 2 ? row[2 * x] | row[2 * x + 1] << 8 : row[x];
}

/* Returns: the range of samples for luma or chroma of 0 to 1; 10-bit samples are the upper bits of
 * 16. */
static gdouble
get_span (const GemmclImage *image, gdouble limited)
{
  const gboolean wide = sample_bytes (image->format) == 2;

  if (image->full_range)
    return wide ? 1023 * 64 : 255;
  return wide ? limited * 256 : limited;
}

static gdouble
get_colour (const Frame *self, gsize x, gsize y, gsize c)
{
  const GemmclImage *image = &self->image;
  const gboolean paired = is_paired (image->format);
  const gdouble step = sample_bytes (image->format) == 2 ? 256 : 1;
  const gdouble cb_code = get_sample (self, 1, paired ? x / 2 * 2 : x / 2, y / 2);
  const gdouble cr_code = get_sample (self, paired ? 1 : 2, paired ? x / 2 * 2 + 1 : x / 2, y / 2);
  const gdouble luma_code = get_sample (self, 0, x, y);
  const gdouble zero = image->full_range ? 0 : 16 * step;
  const gdouble luma = (luma_code - zero) / get_span (image, 219);
  const gdouble cb = (cb_code - 128 * step) / get_span (image, 224);
  const gdouble cr = (cr_code - 128 * step) / get_span (image, 224);
  const gdouble red = luma + 2 * (1 - image->kr) * cr;
  const gdouble blue = luma + 2 * (1 - image->kb) * cb;
  const gdouble green = (luma - image->kr * red - image->kb * blue) / (1 - image->kr - image->kb);
  const gdouble rgb[] = {red, green, blue};

  return CLAMP (255 * rgb[c], 0, 255);
}

gdouble
frame_get (const Frame *self, gsize x, gsize y, gsize c)
{
  const gchar *letters = get_letters (self->image.format);
  const gchar *channels = *letters == 'Y' ? "Y" : "RGBA";

  if (self->image.channels > 0)
    return element_get (self->image.type, self->host.host[0], get_index (&self->image, x, y, c));
  if (is_chroma (self->image.format))
    return get_colour (self, x, y, c);
  return get_sample (self, 0, x * strlen (letters) + (strchr (letters, channels[c]) - letters), y);
}

gdouble
frame_get_feature (const Frame *self, gsize m, gsize k)
{
  const GemmclImage *image = &self->image;
  const gsize channels = count_channels (image);
  const gsize w = image->width, p = image->patch_width, q = image->patch_height;
  const gsize pixel = k / channels, c = k % channels;
  const gssize d = image->patch_dilation ? image->patch_dilation : 1, e = image->patch_padding;
  const gssize s = image->patch_stride ? image->patch_stride : p;
  const gssize t = image->patch_stride ? image->patch_stride : q;
  gssize across, x, y;

  switch (image->features) {
  case GEMMCL_FEATURE_PIXEL:
    return frame_get (self, m % w, m / w, c);
  case GEMMCL_FEATURE_ROW:
    return frame_get (self, pixel, m, c);
  case GEMMCL_FEATURE_FRAME:
    return frame_get (self, pixel % w, pixel / w, c);
  default:
    across = ((gssize)w + 2 * e - d * ((gssize)p - 1) - 1) / s + 1;
    x = (gssize)m % across * s + (gssize)(pixel % p) * d - e;
    y = (gssize)m / across * t + (gssize)(pixel / p) * d - e;
    if (x < 0 || y < 0 || x >= (gssize)w || y >= (gssize)image->height)
      return NAN;
    return frame_get (self, x, y, c);
  }
}

gboolean
frame_check_rest (const Frame *self)
{
  const gchar *letters = get_letters (self->image.format);
  const gchar *x_letter = strchr (letters, 'x');
  const Plane plane = get_plane (&self->image, 0);
  g_autofree guint8 *is_pixel = g_malloc0 (self->n_bytes);

  for (gsize y = 0; y < plane.rows; y++) {
    const gsize row =
        (const guint8 *)self->host.host[0] - self->bytes + (gssize)y * self->host.stride[0];

    memset (is_pixel + row, TRUE, plane.row_bytes);
    for (gsize x = 0; x_letter != NULL && x < self->image.width; x++)
      if (get_sample (self, 0, x * 4 + (x_letter - letters), y) != 255)
        return FALSE;
  }
  for (gsize i = 0; i < self->n_bytes; i++)
    if (!is_pixel[i] && self->bytes[i] != FILLER)
      return FALSE;
  return TRUE;
}
