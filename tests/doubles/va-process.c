/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "va-driver.h"

#include <string.h>
#include <va/va_backend_vpp.h>
#include <va/va_vpp.h>

/* libva fixes the signatures. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

/* The surface that each context renders to, from vaBeginPicture() to vaEndPicture(). */
static Surface *targets[VA_MAX_CONTEXTS];

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
    const Buffer *buffer = va_buffer_find (list[i]);
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
