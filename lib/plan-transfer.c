/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Copies between the caller's memory, on the host or on the device, and the plan's on the device.
 * There A and D lie tight; the caller's have leading dimensions and strides, and nothing but
 * elements is written.
 */
#include "plan-transfer.h"

#include <string.h>

#include "context.h"

/* What a GPU that shares the host's memory wants of it; kernels read four floats at once, and
 * those for matrix engines, where they are emulated, what begins in a cache line. */
#define PAGE        4096
#define CACHE_LINE  64
#define CPU_ALIGN   16
#define SHARE_BYTES (32 * 1024)

/*
 * A two-dimensional piece of memory on both sides:
 *
 *     plan  offset + row * stride      caller  its [plane] + row * caller_stride      row < rows
 */
typedef struct {
  gsize offset;
  gsize rows, row_bytes;
  gsize stride;
  gssize caller_stride;
  guint plane;
} Region;

/* Where the next command's event goes. */
static cl_event *
get_event (const GemmclTransfer *self)
{
  if (self->done != NULL)
    g_clear_pointer (self->done, clReleaseEvent);
  return self->done;
}

static cl_int
transfer_bytes (const GemmclTransfer *self, gsize offset, gsize bytes, gpointer host)
{
  if (self->staged != NULL) {
    memcpy (self->to_device ? self->staged + offset : host,
            self->to_device ? host : self->staged + offset, bytes);
    return CL_SUCCESS;
  }
  return self->to_device ? clEnqueueWriteBuffer (self->queue, self->buffer, CL_FALSE, offset, bytes,
                                                 host, 0, NULL, get_event (self))
                         : clEnqueueReadBuffer (self->queue, self->buffer, CL_FALSE, offset, bytes,
                                                host, 0, NULL, get_event (self));
}

static cl_int
transfer_rows (const GemmclTransfer *self, const Region *region, gpointer host)
{
  const gsize origin[3] = {region->offset, 0, 0};
  const gsize start[3] = {0, 0, 0};
  const gsize size[3] = {region->row_bytes, region->rows, 1};

  return self->to_device
             ? clEnqueueWriteBufferRect (self->queue, self->buffer, CL_FALSE, origin, start, size,
                                         region->stride, 0, region->caller_stride, 0, host, 0, NULL,
                                         get_event (self))
             : clEnqueueReadBufferRect (self->queue, self->buffer, CL_FALSE, origin, start, size,
                                        region->stride, 0, region->caller_stride, 0, host, 0, NULL,
                                        get_event (self));
}

/* Between two buffers of the device, rows that follow one another. */
static cl_int
copy_bytes (const GemmclTransfer *self, const Region *region, const GemmclDeviceData *caller)
{
  const gsize other = caller->offset[region->plane], bytes = region->rows * region->row_bytes;

  return self->to_device
             ? clEnqueueCopyBuffer (self->queue, caller->buffer, self->buffer, other,
                                    region->offset, bytes, 0, NULL, get_event (self))
             : clEnqueueCopyBuffer (self->queue, self->buffer, caller->buffer, region->offset,
                                    other, bytes, 0, NULL, get_event (self));
}

static cl_int
copy_rows (const GemmclTransfer *self, const Region *region, const GemmclDeviceData *caller)
{
  const gsize own[3] = {region->offset, 0, 0};
  const gsize other[3] = {caller->offset[region->plane], 0, 0};
  const gsize size[3] = {region->row_bytes, region->rows, 1};
  const gsize stride = region->caller_stride;

  return self->to_device
             ? clEnqueueCopyBufferRect (self->queue, caller->buffer, self->buffer, other, own, size,
                                        stride, 0, region->stride, 0, 0, NULL, get_event (self))
             : clEnqueueCopyBufferRect (self->queue, self->buffer, caller->buffer, own, other, size,
                                        region->stride, 0, stride, 0, 0, NULL, get_event (self));
}

static gboolean
is_tight_region (const Region *region)
{
  return region->rows == 1 || (region->stride == region->row_bytes &&
                               region->caller_stride == (gssize)region->row_bytes);
}

static cl_int
transfer_device (const GemmclTransfer *self, const Region *region, const GemmclDeviceData *caller)
{
  return is_tight_region (region) ? copy_bytes (self, region, caller)
                                  : copy_rows (self, region, caller);
}

static cl_int
transfer_host (const GemmclTransfer *self, const Region *region, guchar *host)
{
  cl_int status = CL_SUCCESS;

  if (is_tight_region (region))
    return transfer_bytes (self, region->offset, region->rows * region->row_bytes, host);
  if (self->staged == NULL && region->caller_stride >= (gssize)region->row_bytes)
    return transfer_rows (self, region, host);
  /* Upside down, or rows that overlap: OpenCL has no such rectangle. */
  for (gsize row = 0; row < region->rows && status == CL_SUCCESS; row++)
    status = transfer_bytes (self, region->offset + row * region->stride, region->row_bytes,
                             host + (gssize)row * region->caller_stride);
  return status;
}

static gboolean
transfer_region (const GemmclTransfer *self, const Region *region, gsize index, GError **error)
{
  const cl_int status = self->device
                            ? transfer_device (self, region, &self->device[index])
                            : transfer_host (self, region, self->host[index].data[region->plane]);

  return gemmcl_cl_check (status, error, "Copying %s the device",
                          !self->to_device                  ? "D from"
                          : self->which == GEMMCL_OPERAND_A ? "A to"
                                                            : "C to");
}

/* Of the caller's picture. */
static gssize
get_stride (const GemmclTransfer *self, gsize index, guint plane)
{
  return self->device ? (gssize)self->device[index].stride[plane] : self->host[index].stride[plane];
}

static gboolean
transfer_image (const GemmclTransfer *self, const GemmclImage *image, gsize index, GError **error)
{
  GemmclPlane planes[GEMMCL_MAX_PLANES];
  const gsize picture_bytes = gemmcl_image_get_planes (image, planes);

  for (guint i = 0; i < gemmcl_pixel_format_get_n_planes (image->format); i++) {
    const Region region = {
        .offset = index * picture_bytes + planes[i].offset,
        .rows = planes[i].rows,
        .row_bytes = planes[i].row_bytes,
        .stride = planes[i].row_bytes,
        .caller_stride = get_stride (self, index, i),
        .plane = i,
    };
    if (!transfer_region (self, &region, index, error))
      return FALSE;
  }
  return TRUE;
}

static gboolean
transfer_matrix (const GemmclTransfer *self, gsize index, GError **error)
{
  const GemmclGemm *gemm = &self->plan->gemm;
  const GemmclStored device = gemmcl_gemm_get_stored (gemm, self->which, TRUE);
  const GemmclStored stated = gemmcl_gemm_get_stored (gemm, self->which, FALSE);
  const gsize size =
      gemmcl_type_get_size (self->which == GEMMCL_OPERAND_A ? gemm->a_type : gemm->d_type);
  const Region region = {
      .offset = index * device.stride * size,
      .rows = device.by_column ? device.runs : self->m,
      .row_bytes = (device.by_column ? self->m : device.length) * size,
      .stride = device.ld * size,
      .caller_stride = stated.ld * size,
  };

  return transfer_region (self, &region, index, error);
}

static const GemmclImage *
get_image (const GemmclGemm *gemm, GemmclOperand which)
{
  return which == GEMMCL_OPERAND_A ? gemm->a_image : gemm->d_image;
}

gboolean
gemmcl_transfer (const GemmclTransfer *self, GError **error)
{
  const GemmclImage *image = get_image (&self->plan->gemm, self->which);

  for (gsize i = 0; i < self->batch; i++)
    if (!(image ? transfer_image (self, image, i, error) : transfer_matrix (self, i, error)))
      return FALSE;
  return TRUE;
}

gsize
gemmcl_plan_get_operand_bytes (GemmclPlan *self, GemmclOperand which, gsize m)
{
  const gboolean is_a = which == GEMMCL_OPERAND_A;
  const GemmclImage *image = get_image (&self->gemm, which);
  GemmclPlane planes[GEMMCL_MAX_PLANES];

  if (image)
    return gemmcl_image_get_planes (image, planes);
  return m * (is_a ? self->gemm.k : self->gemm.n) *
         gemmcl_type_get_size (is_a ? self->gemm.a_type : self->gemm.d_type);
}

/* Bytes between the first plane of the caller's picture and another. */
static gssize
get_distance (const GemmclTransfer *self, guint plane)
{
  return self->device ? (gssize)(self->device->offset[plane] - self->device->offset[0])
                      : (guchar *)self->host->data[plane] - (guchar *)self->host->data[0];
}

/* Whether the planes follow one another with nothing between, as the plan's do. */
static gboolean
is_tight_image (const GemmclTransfer *self, const GemmclImage *image)
{
  GemmclPlane planes[GEMMCL_MAX_PLANES];

  gemmcl_image_get_planes (image, planes);
  for (guint i = 0; i < gemmcl_pixel_format_get_n_planes (image->format); i++)
    if (get_stride (self, 0, i) != (gssize)planes[i].row_bytes ||
        get_distance (self, i) != (gssize)planes[i].offset)
      return FALSE;
  return TRUE;
}

static gboolean
is_tight (const GemmclTransfer *self)
{
  const GemmclGemm *gemm = &self->plan->gemm;
  const GemmclImage *image = get_image (gemm, self->which);
  const GemmclStored stated = gemmcl_gemm_get_stored (gemm, self->which, FALSE);

  if (image)
    return is_tight_image (self, image);
  return stated.ld == stated.length && (!stated.by_column || self->m == gemm->m);
}

/* On a CPU a buffer is made in less time than a copy is enqueued in. A GPU has to be told of the
 * pages, and to hand over D takes two commands in place of one. */
static gboolean
is_worth_it (const GemmclTransfer *self, const GemmclDeviceInfo *device, gsize size)
{
  return size >= SHARE_BYTES || (self->to_device && device->type == GEMMCL_DEVICE_TYPE_CPU);
}

static gboolean
is_aligned (const GemmclTransfer *self, const GemmclDeviceInfo *device, gsize size)
{
  gconstpointer data = self->host->data[0];

  if (device->type == GEMMCL_DEVICE_TYPE_CPU)
    return (guintptr)data % (self->plan->row->dpas ? CACHE_LINE : CPU_ALIGN) == 0;
  return (guintptr)data % PAGE == 0 && size % CACHE_LINE == 0;
}

static cl_mem
share_buffer (const GemmclTransfer *self)
{
  if (self->batch > 1 || self->device->offset[0] != 0 || !is_tight (self))
    return NULL;
  clRetainMemObject (self->device->buffer);
  return self->device->buffer;
}

static cl_mem
share_host (const GemmclTransfer *self)
{
  const GemmclDeviceInfo *device = gemmcl_context_get_device_info (self->plan->context);
  const gsize size = gemmcl_plan_get_operand_bytes (self->plan, self->which, self->m);
  const cl_mem_flags access = self->to_device ? CL_MEM_READ_ONLY : CL_MEM_READ_WRITE;
  cl_mem buffer;
  cl_int status;

  if (!device->host_unified || self->batch > 1 || !is_worth_it (self, device, size) ||
      !is_tight (self) || !is_aligned (self, device, size))
    return NULL;
  buffer = clCreateBuffer (gemmcl_context_get_cl_context (self->plan->context),
                           access | CL_MEM_USE_HOST_PTR, size, self->host->data[0], &status);
  return status == CL_SUCCESS ? buffer : NULL;
}

cl_mem
gemmcl_transfer_share (const GemmclTransfer *self)
{
  return self->device ? share_buffer (self) : share_host (self);
}
