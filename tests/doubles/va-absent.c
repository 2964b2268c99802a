/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "va-driver.h"

/* libva fixes the signatures. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

/* What libva requires to be there, and the double has not: windows, subpictures, attributes of the
 * display. */

static VAStatus
put_surface (VADriverContextP context, VASurfaceID surface, void *draw, short x, short y,
             unsigned short width, unsigned short height, short to_x, short to_y,
             unsigned short to_width, unsigned short to_height, VARectangle *clips, unsigned n,
             unsigned flags)
{
  return VA_STATUS_ERROR_UNIMPLEMENTED;
}

static VAStatus
query_subpicture_formats (VADriverContextP context, VAImageFormat *list, unsigned *flags,
                          unsigned *n)
{
  *n = 0;
  return VA_STATUS_SUCCESS;
}

static VAStatus
create_subpicture (VADriverContextP context, VAImageID image, VASubpictureID *id)
{
  return VA_STATUS_ERROR_UNIMPLEMENTED;
}

static VAStatus
destroy_subpicture (VADriverContextP context, VASubpictureID id)
{
  return VA_STATUS_ERROR_UNIMPLEMENTED;
}

static VAStatus
set_subpicture_image (VADriverContextP context, VASubpictureID id, VAImageID image)
{
  return VA_STATUS_ERROR_UNIMPLEMENTED;
}

static VAStatus
set_subpicture_key (VADriverContextP context, VASubpictureID id, unsigned low, unsigned high,
                    unsigned mask)
{
  return VA_STATUS_ERROR_UNIMPLEMENTED;
}

static VAStatus
set_subpicture_alpha (VADriverContextP context, VASubpictureID id, float alpha)
{
  return VA_STATUS_ERROR_UNIMPLEMENTED;
}

static VAStatus
add_subpicture (VADriverContextP context, VASubpictureID id, VASurfaceID *surfaces, int n, short x,
                short y, unsigned short width, unsigned short height, short to_x, short to_y,
                unsigned short to_width, unsigned short to_height, unsigned flags)
{
  return VA_STATUS_ERROR_UNIMPLEMENTED;
}

static VAStatus
remove_subpicture (VADriverContextP context, VASubpictureID id, VASurfaceID *surfaces, int n)
{
  return VA_STATUS_ERROR_UNIMPLEMENTED;
}

static VAStatus
query_attributes (VADriverContextP context, VADisplayAttribute *list, int *n)
{
  *n = 0;
  return VA_STATUS_SUCCESS;
}

static VAStatus
refuse_attributes (VADriverContextP context, VADisplayAttribute *list, int n)
{
  for (int i = 0; i < n; i++)
    list[i].flags = VA_DISPLAY_ATTRIB_NOT_SUPPORTED;
  return VA_STATUS_SUCCESS;
}

void
va_absent_install (struct VADriverVTable *table)
{
  table->vaPutSurface = put_surface;
  table->vaQuerySubpictureFormats = query_subpicture_formats;
  table->vaCreateSubpicture = create_subpicture;
  table->vaDestroySubpicture = destroy_subpicture;
  table->vaSetSubpictureImage = set_subpicture_image;
  table->vaSetSubpictureChromakey = set_subpicture_key;
  table->vaSetSubpictureGlobalAlpha = set_subpicture_alpha;
  table->vaAssociateSubpicture = add_subpicture;
  table->vaDeassociateSubpicture = remove_subpicture;
  table->vaQueryDisplayAttributes = query_attributes;
  table->vaGetDisplayAttributes = refuse_attributes;
  table->vaSetDisplayAttributes = refuse_attributes;
}
