/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record.h"
#include "va-driver.h"

#include <string.h>
#include <va/va_backend_vpp.h>
#include <va/va_vpp.h>

/* libva fixes the signatures. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

/* The surface that each context renders to, from vaBeginPicture() to vaEndPicture(). */
static GHashTable *targets;

static Surface *
find_target (VAContextID id)
{
  return targets ? g_hash_table_lookup (targets, GUINT_TO_POINTER (id)) : NULL;
}

static void
set_target (VAContextID id, Surface *surface)
{
  if (!targets)
    targets = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify)surface_unref);
  g_hash_table_insert (targets, GUINT_TO_POINTER (id), surface_ref (surface));
}

static VAStatus
begin_picture (VADriverContextP context, VAContextID id, VASurfaceID surface_id)
{
  RECORD_LOCK ();
  g_autoptr (Surface) surface = surface_get (context->pDisplayContext, surface_id);

  if (!surface)
    return VA_STATUS_ERROR_INVALID_SURFACE;
  surface_check_unused (surface, "VideoProc");
  if (!surface->rendered)
    surface->rendered = g_memdup2 (surface->data, surface->size);
  set_target (id, surface);
  return VA_STATUS_SUCCESS;
}

/* Returns: an element of a plane in 16 bits. Bytes of NV12 are the upper half of P010's words. */
static guint
load (const guint8 *data, const SurfacePlane *plane, guint x, guint y, guint channel)
{
  const guint8 *from =
      data + plane->offset + y * plane->pitch + (x * plane->channels + channel) * plane->size;

  return plane->size == 2 ? (guint)from[0] | (guint)from[1] << 8 : (guint)*from << 8;
}

static void
store (guint8 *data, const SurfacePlane *plane, guint x, guint y, guint channel, guint value)
{
  guint8 *to =
      data + plane->offset + y * plane->pitch + (x * plane->channels + channel) * plane->size;

  if (plane->size == 2)
    *to++ = (guint8)value;
  *to = (guint8)(value >> 8);
}

/* @shift: 1 for chroma, which has half of the columns and rows */
static void
render_plane (const Surface *from, const VARectangle *crop, Surface *to, const VARectangle *place,
              guint which)
{
  const SurfacePlane *source = &from->planes[which], *target = &to->planes[which];
  const guint shift = which > 0 ? 1 : 0;
  const guint columns = MIN ((place->width + shift) >> shift, target->columns);
  const guint rows = MIN ((place->height + shift) >> shift, target->rows);

  for (guint y = 0; y < rows; y++)
    for (guint x = 0; x < columns; x++) {
      const guint from_x = (guint)(crop->x >> shift) + x * crop->width / place->width;
      const guint from_y = (guint)(crop->y >> shift) + y * crop->height / place->height;

      for (guint c = 0; c < target->channels; c++)
        store (to->rendered, target, (guint)(place->x >> shift) + x, (guint)(place->y >> shift) + y,
               c, load (from->data, source, from_x, from_y, c));
    }
}

/* TRUE if @area is a part of @surface and not empty. */
static gboolean
is_inside (const VARectangle *area, const Surface *surface)
{
  return area->x >= 0 && area->y >= 0 && area->width > 0 && area->height > 0 &&
         (guint)area->x + area->width <= surface->width &&
         (guint)area->y + area->height <= surface->height;
}

static VAStatus
render (VADriverContextP context, const VAProcPipelineParameterBuffer *parameters, Surface *to)
{
  g_autoptr (Surface) from = surface_get (context->pDisplayContext, parameters->surface);
  VARectangle crop, place = {0, 0, (guint16)to->width, (guint16)to->height};

  if (!from)
    return VA_STATUS_ERROR_INVALID_SURFACE;
  crop = (VARectangle){0, 0, (guint16)from->width, (guint16)from->height};
  if (parameters->surface_region)
    crop = *parameters->surface_region;
  if (parameters->output_region)
    place = *parameters->output_region;
  if (!is_inside (&crop, from) || !is_inside (&place, to))
    return VA_STATUS_ERROR_INVALID_PARAMETER;
  surface_wait (from);
  for (guint i = 0; i < SURFACE_PLANES; i++)
    render_plane (from, &crop, to, &place, i);
  return VA_STATUS_SUCCESS;
}

static VAStatus
render_picture (VADriverContextP context, VAContextID id, VABufferID *list, int n)
{
  RECORD_LOCK ();
  Surface *to = find_target (id);

  if (!to)
    return VA_STATUS_ERROR_INVALID_CONTEXT;
  for (int i = 0; i < n; i++) {
    const Buffer *buffer = va_buffer_find (list[i]);
    VAStatus status = VA_STATUS_SUCCESS;

    if (!buffer)
      return VA_STATUS_ERROR_INVALID_BUFFER;
    if (buffer->type == VAProcPipelineParameterBufferType)
      status = render (context, (const VAProcPipelineParameterBuffer *)(gpointer)buffer->data, to);
    if (status != VA_STATUS_SUCCESS)
      return status;
  }
  return VA_STATUS_SUCCESS;
}

static VAStatus
end_picture (VADriverContextP context, VAContextID id)
{
  RECORD_LOCK ();
  Surface *to = find_target (id);

  if (!to)
    return VA_STATUS_ERROR_INVALID_CONTEXT;
  to->is_rendered = TRUE;
  if (to->is_exported)
    surface_wait (to);
  g_hash_table_remove (targets, GUINT_TO_POINTER (id));
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
  caps->max_input_width = caps->max_input_height = 16384;
  caps->max_output_width = caps->max_output_height = 16384;
  caps->min_input_width = caps->min_input_height = 1;
  caps->min_output_width = caps->min_output_height = 1;
  return VA_STATUS_SUCCESS;
}

void
va_process_install (VADriverContextP context)
{
  context->vtable->vaBeginPicture = begin_picture;
  context->vtable->vaRenderPicture = render_picture;
  context->vtable->vaEndPicture = end_picture;
  context->vtable_vpp->vaQueryVideoProcFilters = query_filters;
  context->vtable_vpp->vaQueryVideoProcPipelineCaps = query_pipeline_caps;
}
