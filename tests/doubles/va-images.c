/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record.h"
#include "va-driver.h"

#include <string.h>

/* libva fixes the signatures. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

/* Buffers and VAImages by their IDs, which are never reused. */
static GHashTable *buffers, *images;
static guint last_id;

static void
buffer_free (gpointer data)
{
  Buffer *self = data;

  if (self->surface)
    surface_unref (self->surface);
  else
    g_free (self->data);
  g_free (self);
}

static void
make_tables (void)
{
  if (buffers)
    return;
  buffers = g_hash_table_new_full (NULL, NULL, NULL, buffer_free);
  images = g_hash_table_new_full (NULL, NULL, NULL, g_free);
}

Buffer *
va_buffer_find (VABufferID id)
{
  make_tables ();
  return g_hash_table_lookup (buffers, GUINT_TO_POINTER (id));
}

static VAImage *
find_image (VAImageID id)
{
  make_tables ();
  return g_hash_table_lookup (images, GUINT_TO_POINTER (id));
}

static Buffer *
add_buffer (VABufferType type, gsize size, Surface *surface, VABufferID *id)
{
  Buffer *self = g_new0 (Buffer, 1);

  make_tables ();
  self->type = type;
  self->size = size;
  self->surface = surface ? surface_ref (surface) : NULL;
  self->data = surface ? surface->data : g_malloc0 (size);
  *id = ++last_id;
  g_hash_table_insert (buffers, GUINT_TO_POINTER (*id), self);
  return self;
}

static VAStatus
create_buffer (VADriverContextP context, VAContextID which, VABufferType type, unsigned size,
               unsigned n, void *data, VABufferID *id)
{
  RECORD_LOCK ();
  Buffer *self = add_buffer (type, (gsize)size * n, NULL, id);

  if (data)
    memcpy (self->data, data, self->size);
  return VA_STATUS_SUCCESS;
}

static VAStatus
destroy_buffer (VADriverContextP context, VABufferID id)
{
  RECORD_LOCK ();
  if (!va_buffer_find (id))
    return VA_STATUS_ERROR_INVALID_BUFFER;
  g_hash_table_remove (buffers, GUINT_TO_POINTER (id));
  return VA_STATUS_SUCCESS;
}

static VAStatus
map_buffer (VADriverContextP context, VABufferID id, void **data)
{
  RECORD_LOCK ();
  Buffer *self = va_buffer_find (id);

  if (!self)
    return VA_STATUS_ERROR_INVALID_BUFFER;
  if (self->surface) {
    surface_wait (self->surface);
    surface_count_readback (self->surface);
    self->surface->maps++;
    record_count (COUNT_LIVE_SURFACE_MAPS, 1);
  }
  self->maps++;
  *data = self->data;
  return VA_STATUS_SUCCESS;
}

static VAStatus
unmap_buffer (VADriverContextP context, VABufferID id)
{
  RECORD_LOCK ();
  Buffer *self = va_buffer_find (id);

  if (!self || self->maps == 0)
    return VA_STATUS_ERROR_INVALID_BUFFER;
  self->maps--;
  if (self->surface) {
    self->surface->maps--;
    record_count (COUNT_LIVE_SURFACE_MAPS, -1);
  }
  return VA_STATUS_SUCCESS;
}

static VAStatus
query_image_formats (VADriverContextP context, VAImageFormat *list, int *n)
{
  *n = (int)va_list_formats (list);
  return VA_STATUS_SUCCESS;
}

/* @surface: (nullable): the surface whose memory the image shows */
static VAStatus
add_image (guint32 fourcc, guint width, guint height, Surface *surface, VAImage *image)
{
  SurfacePlane planes[SURFACE_PLANES];
  VAImageFormat formats[SURFACE_FORMATS];

  *image = (VAImage){.width = (guint16)width, .height = (guint16)height};
  image->data_size = (guint32)surface_lay_out (fourcc, width, height, planes);
  if (image->data_size == 0)
    return VA_STATUS_ERROR_INVALID_IMAGE_FORMAT;
  va_list_formats (formats);
  for (guint i = 0; i < SURFACE_FORMATS; i++)
    if (formats[i].fourcc == fourcc)
      image->format = formats[i];
  image->image_id = ++last_id;
  image->num_planes = SURFACE_PLANES;
  for (guint i = 0; i < SURFACE_PLANES; i++) {
    image->offsets[i] = (guint32)planes[i].offset;
    image->pitches[i] = (guint32)planes[i].pitch;
  }
  add_buffer (VAImageBufferType, image->data_size, surface, &image->buf);
  g_hash_table_insert (images, GUINT_TO_POINTER (image->image_id),
                       g_memdup2 (image, sizeof *image));
  return VA_STATUS_SUCCESS;
}

static VAStatus
create_image (VADriverContextP context, VAImageFormat *format, int width, int height,
              VAImage *image)
{
  RECORD_LOCK ();
  return add_image (format->fourcc, (guint)width, (guint)height, NULL, image);
}

static VAStatus
derive_image (VADriverContextP context, VASurfaceID id, VAImage *image)
{
  RECORD_LOCK ();
  g_autoptr (Surface) surface = surface_get (context->pDisplayContext, id);

  if (!surface)
    return VA_STATUS_ERROR_INVALID_SURFACE;
  return add_image (surface->fourcc, surface->width, surface->height, surface, image);
}

static VAStatus
destroy_image (VADriverContextP context, VAImageID id)
{
  RECORD_LOCK ();
  const VAImage *self = find_image (id);

  if (!self)
    return VA_STATUS_ERROR_INVALID_IMAGE;
  destroy_buffer (context, self->buf);
  g_hash_table_remove (images, GUINT_TO_POINTER (id));
  return VA_STATUS_SUCCESS;
}

/* Copies between a surface and an image, which must have the same size and format, and so the same
 * layout. @whole: the call names no part of either. */
static VAStatus
copy (VADriverContextP context, VASurfaceID id, VAImageID image_id, gboolean whole, gboolean put)
{
  RECORD_LOCK ();
  g_autoptr (Surface) surface = surface_get (context->pDisplayContext, id);
  const VAImage *image = find_image (image_id);
  const Buffer *buffer = image ? va_buffer_find (image->buf) : NULL;

  if (!surface)
    return VA_STATUS_ERROR_INVALID_SURFACE;
  if (!buffer)
    return VA_STATUS_ERROR_INVALID_IMAGE;
  if (!whole || image->format.fourcc != surface->fourcc || image->width != surface->width ||
      image->height != surface->height)
    return VA_STATUS_ERROR_UNIMPLEMENTED;
  surface_wait (surface);
  if (put) {
    surface_check_unused (surface, "vaPutImage");
    surface->is_rendered = FALSE;
  } else {
    surface_count_readback (surface);
    record_count (COUNT_SURFACE_GETS, 1);
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
  return copy (
      context, id, image,
      x == 0 && y == 0 && to_x == 0 && to_y == 0 && to_width == width && to_height == height, TRUE);
}

void
va_images_install (struct VADriverVTable *table)
{
  table->vaCreateBuffer = create_buffer;
  table->vaDestroyBuffer = destroy_buffer;
  table->vaMapBuffer = map_buffer;
  table->vaUnmapBuffer = unmap_buffer;
  table->vaQueryImageFormats = query_image_formats;
  table->vaCreateImage = create_image;
  table->vaDeriveImage = derive_image;
  table->vaDestroyImage = destroy_image;
  table->vaGetImage = get_image;
  table->vaPutImage = put_image;
}
