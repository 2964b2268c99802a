/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cl-transfers.h"

static const Count read_bytes = COUNT_READ_BYTES;
static const Count written_bytes = COUNT_WRITTEN_BYTES;
static const Count copied_bytes = COUNT_COPIED_BYTES;
static const Count mapped_bytes = COUNT_MAPPED_BYTES;

static gsize
count_region (cl_mem image, const size_t *region)
{
  size_t element = 0;

  if (!region || cl_next->clGetImageInfo (image, CL_IMAGE_ELEMENT_SIZE, sizeof element, &element,
                                          NULL) != CL_SUCCESS)
    return 0;
  return region[0] * region[1] * region[2] * element;
}

static cl_int CL_API_CALL
read_image (cl_command_queue queue, cl_mem image, cl_bool blocking, const size_t *origin,
            const size_t *region, size_t row, size_t slice, void *data, cl_uint n_waits,
            const cl_event *waits, cl_event *event)
{
  const cl_int status = cl_check_transfer ("clEnqueueReadImage", COUNT_READS, &read_bytes, image,
                                           NULL, count_region (image, region));

  return status != CL_SUCCESS
             ? status
             : cl_next->clEnqueueReadImage (queue, image, blocking, origin, region, row, slice,
                                            data, n_waits, waits, event);
}

static cl_int CL_API_CALL
write_image (cl_command_queue queue, cl_mem image, cl_bool blocking, const size_t *origin,
             const size_t *region, size_t row, size_t slice, const void *data, cl_uint n_waits,
             const cl_event *waits, cl_event *event)
{
  const cl_int status = cl_check_transfer ("clEnqueueWriteImage", COUNT_WRITES, &written_bytes,
                                           image, NULL, count_region (image, region));

  return status != CL_SUCCESS
             ? status
             : cl_next->clEnqueueWriteImage (queue, image, blocking, origin, region, row, slice,
                                             data, n_waits, waits, event);
}

static cl_int CL_API_CALL
fill_image (cl_command_queue queue, cl_mem image, const void *color, const size_t *origin,
            const size_t *region, cl_uint n_waits, const cl_event *waits, cl_event *event)
{
  const cl_int status = cl_check_transfer ("clEnqueueFillImage", COUNT_FILLS, NULL, image, NULL,
                                           count_region (image, region));

  return status != CL_SUCCESS ? status
                              : cl_next->clEnqueueFillImage (queue, image, color, origin, region,
                                                             n_waits, waits, event);
}

static cl_int CL_API_CALL
copy_image (cl_command_queue queue, cl_mem from, cl_mem to, const size_t *from_origin,
            const size_t *to_origin, const size_t *region, cl_uint n_waits, const cl_event *waits,
            cl_event *event)
{
  const cl_int status = cl_check_transfer ("clEnqueueCopyImage", COUNT_COPIES, &copied_bytes, from,
                                           to, count_region (from, region));

  return status != CL_SUCCESS
             ? status
             : cl_next->clEnqueueCopyImage (queue, from, to, from_origin, to_origin, region,
                                            n_waits, waits, event);
}

static cl_int CL_API_CALL
copy_image_to_buffer (cl_command_queue queue, cl_mem image, cl_mem buffer, const size_t *origin,
                      const size_t *region, size_t offset, cl_uint n_waits, const cl_event *waits,
                      cl_event *event)
{
  const cl_int status =
      cl_check_transfer ("clEnqueueCopyImageToBuffer", COUNT_COPIES, &copied_bytes, image, buffer,
                         count_region (image, region));

  return status != CL_SUCCESS
             ? status
             : cl_next->clEnqueueCopyImageToBuffer (queue, image, buffer, origin, region, offset,
                                                    n_waits, waits, event);
}

static cl_int CL_API_CALL
copy_buffer_to_image (cl_command_queue queue, cl_mem buffer, cl_mem image, size_t offset,
                      const size_t *origin, const size_t *region, cl_uint n_waits,
                      const cl_event *waits, cl_event *event)
{
  const cl_int status =
      cl_check_transfer ("clEnqueueCopyBufferToImage", COUNT_COPIES, &copied_bytes, buffer, image,
                         count_region (image, region));

  return status != CL_SUCCESS
             ? status
             : cl_next->clEnqueueCopyBufferToImage (queue, buffer, image, offset, origin, region,
                                                    n_waits, waits, event);
}

static void *CL_API_CALL
map_image (cl_command_queue queue, cl_mem image, cl_bool blocking, cl_map_flags flags,
           const size_t *origin, const size_t *region, size_t *row, size_t *slice, cl_uint n_waits,
           const cl_event *waits, cl_event *event, cl_int *status)
{
  const cl_int refused = cl_check_transfer ("clEnqueueMapImage", COUNT_MAPS, &mapped_bytes, image,
                                            NULL, count_region (image, region));

  if (refused == CL_SUCCESS)
    return cl_next->clEnqueueMapImage (queue, image, blocking, flags, origin, region, row, slice,
                                       n_waits, waits, event, status);
  if (status)
    *status = refused;
  return NULL;
}

void
cl_image_transfers_install (cl_icd_dispatch *table)
{
  table->clEnqueueReadImage = read_image;
  table->clEnqueueWriteImage = write_image;
  table->clEnqueueFillImage = fill_image;
  table->clEnqueueCopyImage = copy_image;
  table->clEnqueueCopyImageToBuffer = copy_image_to_buffer;
  table->clEnqueueCopyBufferToImage = copy_buffer_to_image;
  table->clEnqueueMapImage = map_image;
}
