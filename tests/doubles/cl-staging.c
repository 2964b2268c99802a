/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cl-staging.h"

#include "record.h"

#include <string.h>

#define CHANNELS   4
#define SPOIL_BYTE 0x5a

cl_mem
cl_staging_new_image (cl_context context, cl_mem_flags flags, const SurfacePlane *plane,
                      cl_int *status)
{
  const cl_image_format format = {CL_RGBA, plane->size == 2 ? CL_UNORM_INT16 : CL_UNORM_INT8};
  const cl_image_desc description = {
      .image_type = CL_MEM_OBJECT_IMAGE2D,
      .image_width = plane->columns,
      .image_height = plane->rows,
  };

  return cl_next->clCreateImage (context, flags, &format, &description, NULL, status);
}

/* A queue of its own, for the program's may be waiting for this very copy. */
static cl_int
move (SharedObject *object, cl_device_id device, gboolean upload, gpointer data)
{
  const SurfacePlane *plane = &object->surface->planes[object->plane];
  const size_t origin[3] = {0, 0, 0}, region[3] = {plane->columns, plane->rows, 1};
  cl_int status;
  cl_command_queue queue = cl_next->clCreateCommandQueue (object->context, device, 0, &status);

  if (!queue)
    return status;
  status = upload ? cl_next->clEnqueueWriteImage (queue, object->mem, CL_TRUE, origin, region, 0, 0,
                                                  data, 0, NULL, NULL)
                  : cl_next->clEnqueueReadImage (queue, object->mem, CL_TRUE, origin, region, 0, 0,
                                                 data, 0, NULL, NULL);
  cl_next->clReleaseCommandQueue (queue);
  return status;
}

static gsize
count_bytes (const SurfacePlane *plane)
{
  return (gsize)plane->columns * plane->rows * plane->size;
}

/* Between the surface's rows and those of the image; the caller holds the lock. */
static void
convert (SharedObject *object, guint8 *pixels, gboolean upload)
{
  const SurfacePlane *plane = &object->surface->planes[object->plane];
  const gsize element = plane->channels * plane->size, pixel = CHANNELS * plane->size;

  for (guint y = 0; y < plane->rows; y++)
    for (guint x = 0; x < plane->columns; x++) {
      guint8 *inside = object->surface->data + plane->offset + y * plane->pitch + x * element;
      guint8 *outside = pixels + ((gsize)y * plane->columns + x) * pixel;

      if (upload)
        memcpy (outside, inside, element);
      else
        memcpy (inside, outside, element);
    }
}

/* As read_imagef() gives them: a channel that is not there is 0, alpha 1. */
static guint8 *
new_pixels (const SurfacePlane *plane)
{
  const gsize n = (gsize)plane->columns * plane->rows, pixel = CHANNELS * plane->size;
  guint8 *pixels = g_malloc0 (n * pixel);

  for (gsize i = 0; i < n; i++)
    memset (pixels + i * pixel + pixel - plane->size, 0xff, plane->size);
  return pixels;
}

static void
count_copy (const SurfacePlane *plane)
{
  record_count (COUNT_OWN_COPIES, 1);
  record_count (COUNT_OWN_COPIED_BYTES, (gint64)(count_bytes (plane) * plane->channels));
}

cl_int
cl_staging_upload (SharedObject *object, cl_device_id device)
{
  const SurfacePlane *plane = &object->surface->planes[object->plane];
  g_autofree guint8 *pixels = new_pixels (plane);

  {
    RECORD_LOCK ();
    convert (object, pixels, TRUE);
    count_copy (plane);
  }
  return move (object, device, TRUE, pixels);
}

cl_int
cl_staging_download (SharedObject *object, cl_device_id device)
{
  const SurfacePlane *plane = &object->surface->planes[object->plane];
  g_autofree guint8 *pixels = g_malloc (count_bytes (plane) * CHANNELS);
  const cl_int status = move (object, device, FALSE, pixels);

  if (status != CL_SUCCESS)
    return status;
  RECORD_LOCK ();
  convert (object, pixels, FALSE);
  object->surface->is_rendered = TRUE;
  count_copy (plane);
  return CL_SUCCESS;
}

cl_int
cl_staging_spoil (SharedObject *object, cl_device_id device)
{
  const gsize n = count_bytes (&object->surface->planes[object->plane]) * CHANNELS;
  g_autofree guint8 *pixels = g_malloc (n);

  memset (pixels, SPOIL_BYTE, n);
  return move (object, device, TRUE, pixels);
}
