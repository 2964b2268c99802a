/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "va-driver.h"

#include <string.h>

/* libva fixes the signatures. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

/* Buffers by their IDs, which are never reused. A VAImage has the ID of its buffer. No image shows
 * the memory of a surface (vaDeriveImage()), so that each access of the CPU is a call. */
static GHashTable *buffers;

static void
buffer_free (gpointer data)
{
  Buffer *self = data;

  g_free (self->data);
  g_free (self);
}

Buffer *
va_buffer_find (VABufferID id)
{
  return buffers ? g_hash_table_lookup (buffers, GUINT_TO_POINTER (id)) : NULL;
}

static Buffer *
add_buffer (VABufferType type, gsize size, VABufferID *id)
{
  static guint last_id;
  Buffer *self = g_new0 (Buffer, 1);

  if (!buffers)
    buffers = g_hash_table_new_full (NULL, NULL, NULL, buffer_free);
  self->type = type;
  self->size = size;
  self->data = g_malloc0 (size);
  *id = ++last_id;
  g_hash_table_insert (buffers, GUINT_TO_POINTER (*id), self);
  return self;
}

static VAStatus
create_buffer (VADriverContextP context, VAContextID which, VABufferType type, unsigned size,
               unsigned n, void *data, VABufferID *id)
{
  DOUBLES_LOCK ();
  Buffer *self = add_buffer (type, (gsize)size * n, id);

  if (data)
    memcpy (self->data, data, self->size);
  return VA_STATUS_SUCCESS;
}

static VAStatus
destroy_buffer (VADriverContextP context, VABufferID id)
{
  DOUBLES_LOCK ();
  if (!va_buffer_find (id))
    return VA_STATUS_ERROR_INVALID_BUFFER;
  g_hash_table_remove (buffers, GUINT_TO_POINTER (id));
  return VA_STATUS_SUCCESS;
}

static VAStatus
map_buffer (VADriverContextP context, VABufferID id, void **data)
{
  DOUBLES_LOCK ();
  Buffer *self = va_buffer_find (id);

  if (!self)
    return VA_STATUS_ERROR_INVALID_BUFFER;
  *data = self->data;
  return VA_STATUS_SUCCESS;
}

static VAImageFormat
get_format (guint32 fourcc)
{
  return (VAImageFormat){.fourcc = fourcc,
                         .byte_order = VA_LSB_FIRST,
                         .bits_per_pixel = fourcc == VA_FOURCC_P010 ? 24 : 12};
}

static VAStatus
query_image_formats (VADriverContextP context, VAImageFormat *list, int *n)
{
  list[0] = get_format (VA_FOURCC_NV12);
  list[1] = get_format (VA_FOURCC_P010);
  *n = 2;
  return VA_STATUS_SUCCESS;
}

static VAStatus
create_image (VADriverContextP context, VAImageFormat *format, int width, int height,
              VAImage *image)
{
  DOUBLES_LOCK ();
  SurfacePlane planes[SURFACE_PLANES];

  *image = (VAImage){.width = (guint16)width, .height = (guint16)height};
  image->data_size = (guint32)surface_lay_out (format->fourcc, (guint)width, (guint)height, planes);
  if (image->data_size == 0)
    return VA_STATUS_ERROR_INVALID_IMAGE_FORMAT;
  image->format = get_format (format->fourcc);
  image->num_planes = SURFACE_PLANES;
  for (guint i = 0; i < SURFACE_PLANES; i++) {
    image->offsets[i] = (guint32)planes[i].offset;
    image->pitches[i] = (guint32)planes[i].pitch;
  }
  add_buffer (VAImageBufferType, image->data_size, &image->buf)->fourcc = format->fourcc;
  image->image_id = image->buf;
  return VA_STATUS_SUCCESS;
}

/* Copies between a surface and an image of the same size and format, and so of the same layout.
 * @whole: the call does not name parts of them */
static VAStatus
copy (VADriverContextP context, VASurfaceID id, VAImageID image, gboolean whole, gboolean put)
{
  DOUBLES_LOCK ();
  g_autoptr (Surface) surface = surface_get (context->pDisplayContext, id);
  const Buffer *buffer = va_buffer_find (image);

  if (!surface)
    return VA_STATUS_ERROR_INVALID_SURFACE;
  if (!whole || !buffer || buffer->fourcc != surface->fourcc || buffer->size != surface->size)
    return VA_STATUS_ERROR_INVALID_IMAGE;
  if (put) {
    surface_write (surface, "vaPutImage");
    surface->is_rendered = FALSE;
  } else if (surface->is_rendered) {
    g_atomic_int_inc (&doubles_counts.surface_readbacks);
  }
  memcpy (put ? surface->data : buffer->data, put ? buffer->data : surface->data, surface->size);
  return VA_STATUS_SUCCESS;
}

static VAStatus
get_image (VADriverContextP context, VASurfaceID id, int x, int y, unsigned width, unsigned height,
           VAImageID image)
{
  return copy (context, id, image, x == 0 && y == 0, FALSE);
}

static VAStatus
put_image (VADriverContextP context, VASurfaceID id, VAImageID image, int x, int y, unsigned width,
           unsigned height, int to_x, int to_y, unsigned to_width, unsigned to_height)
{
  return copy (context, id, image, !(x || y || to_x || to_y) && to_width == width, TRUE);
}

void
va_images_install (struct VADriverVTable *table)
{
  table->vaCreateBuffer = create_buffer;
  table->vaDestroyBuffer = destroy_buffer;
  table->vaMapBuffer = map_buffer;
  table->vaQueryImageFormats = query_image_formats;
  table->vaCreateImage = create_image;
  table->vaDestroyImage = destroy_buffer;
  table->vaGetImage = get_image;
  table->vaPutImage = put_image;
}
