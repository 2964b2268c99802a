/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "va-surface.h"

#include <string.h>
#include <va/va_backend_vpp.h>
#include <va/va_vpp.h>

/* The CPU copies surfaces through images, and VideoProc copies one surface to another. */

/* libva fixes the signatures. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

/* A buffer or image; all displays share them. */
typedef struct {
  VABufferType type;
  guint32 fourcc; /* of an image */
  gsize size;
  guint8 *data;
} Buffer;

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

/* Returns: (nullable) (transfer none): the buffer. Needs the lock. */
static Buffer *
find_buffer (VABufferID id)
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
  if (!find_buffer (id))
    return VA_STATUS_ERROR_INVALID_BUFFER;
  g_hash_table_remove (buffers, GUINT_TO_POINTER (id));
  return VA_STATUS_SUCCESS;
}

static VAStatus
map_buffer (VADriverContextP context, VABufferID id, void **data)
{
  DOUBLES_LOCK ();
  Buffer *self = find_buffer (id);

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

/* Copies between surface and image of one layout. @whole: the call does not name parts of them */
static VAStatus
copy (VADriverContextP context, VASurfaceID id, VAImageID image, gboolean whole, gboolean put)
{
  DOUBLES_LOCK ();
  g_autoptr (Surface) surface = surface_get (context->pDisplayContext, id);
  const Buffer *buffer = find_buffer (image);

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

/* IDs of contexts are below this number, and start again at 0 after it. */
#define MAX_CONTEXTS 1024

/* The surface that each context renders to, from vaBeginPicture() to vaEndPicture(). */
static Surface *targets[MAX_CONTEXTS];

static VAStatus
create_context (VADriverContextP context, VAConfigID config, int width, int height, int flags,
                VASurfaceID *surfaces, int n, VAContextID *id)
{
  static gint last;

  *id = (VAContextID)g_atomic_int_add (&last, 1) % MAX_CONTEXTS;
  return VA_STATUS_SUCCESS;
}

static VAStatus
begin_picture (VADriverContextP context, VAContextID id, VASurfaceID surface_id)
{
  DOUBLES_LOCK ();

  targets[id] = surface_get (context->pDisplayContext, surface_id);
  if (!targets[id])
    return VA_STATUS_ERROR_INVALID_SURFACE;
  surface_write (targets[id], "VideoProc");
  return VA_STATUS_SUCCESS;
}

/* TRUE if @area (nullable) is all of a surface. */
static gboolean
is_whole (const VARectangle *area, const Surface *surface)
{
  return !area || (area->x == 0 && area->y == 0 && area->width == surface->width &&
                   area->height == surface->height);
}

/* Copies a surface to another one of the same size and format, and so of the same layout. */
static VAStatus
render (VADriverContextP context, const VAProcPipelineParameterBuffer *parameters, Surface *to)
{
  g_autoptr (Surface) from = surface_get (context->pDisplayContext, parameters->surface);

  if (!from)
    return VA_STATUS_ERROR_INVALID_SURFACE;
  if (from->fourcc != to->fourcc || from->size != to->size ||
      !is_whole (parameters->surface_region, from) || !is_whole (parameters->output_region, to))
    return VA_STATUS_ERROR_UNIMPLEMENTED;
  memcpy (to->data, from->data, to->size);
  return VA_STATUS_SUCCESS;
}

static VAStatus
render_picture (VADriverContextP context, VAContextID id, VABufferID *list, int n)
{
  DOUBLES_LOCK ();

  if (!targets[id])
    return VA_STATUS_ERROR_INVALID_CONTEXT;
  for (int i = 0; i < n; i++) {
    const Buffer *buffer = find_buffer (list[i]);
    VAStatus status = VA_STATUS_SUCCESS;

    if (!buffer)
      return VA_STATUS_ERROR_INVALID_BUFFER;
    if (buffer->type == VAProcPipelineParameterBufferType)
      status = render (context, (const VAProcPipelineParameterBuffer *)(gpointer)buffer->data,
                       targets[id]);
    if (status != VA_STATUS_SUCCESS)
      return status;
  }
  return VA_STATUS_SUCCESS;
}

static VAStatus
end_picture (VADriverContextP context, VAContextID id)
{
  DOUBLES_LOCK ();

  if (!targets[id])
    return VA_STATUS_ERROR_INVALID_CONTEXT;
  targets[id]->is_rendered = TRUE;
  g_clear_pointer (&targets[id], surface_unref);
  return VA_STATUS_SUCCESS;
}

static VAStatus
query_filters (VADriverContextP context, VAContextID id, VAProcFilterType *list, unsigned *n)
{
  *n = 0;
  return VA_STATUS_SUCCESS;
}

static VAStatus
query_pipeline_caps (VADriverContextP context, VAContextID id, VABufferID *filters, unsigned n,
                     VAProcPipelineCaps *caps)
{
  static VAProcColorStandardType standards[] = {VAProcColorStandardBT601, VAProcColorStandardBT709};

  memset (caps, 0, sizeof *caps);
  caps->input_color_standards = caps->output_color_standards = standards;
  caps->num_input_color_standards = caps->num_output_color_standards = G_N_ELEMENTS (standards);
  caps->rotation_flags = 1 << VA_ROTATION_NONE;
  caps->max_input_width = caps->max_input_height = SURFACE_MAX_SIDE;
  caps->max_output_width = caps->max_output_height = SURFACE_MAX_SIDE;
  caps->min_input_width = caps->min_input_height = 1;
  caps->min_output_width = caps->min_output_height = 1;
  return VA_STATUS_SUCCESS;
}

void
va_copies_install (VADriverContextP driver)
{
  struct VADriverVTable *table = driver->vtable;

  table->vaCreateBuffer = create_buffer;
  table->vaDestroyBuffer = destroy_buffer;
  table->vaMapBuffer = map_buffer;
  table->vaQueryImageFormats = query_image_formats;
  table->vaCreateImage = create_image;
  table->vaDestroyImage = destroy_buffer;
  table->vaGetImage = get_image;
  table->vaPutImage = put_image;
  table->vaCreateContext = create_context;
  table->vaBeginPicture = begin_picture;
  table->vaRenderPicture = render_picture;
  table->vaEndPicture = end_picture;
  driver->vtable_vpp->vaQueryVideoProcFilters = query_filters;
  driver->vtable_vpp->vaQueryVideoProcPipelineCaps = query_pipeline_caps;
}
