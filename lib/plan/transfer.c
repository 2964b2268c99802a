/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Copies between the caller's memory, on the host or the device, and the plan's device memory. A
 * and D are tight in the plan's memory. The caller's have leading dimensions and strides; gaps
 * between rows are not written.
 */
#include "plan/plan.h"

/* Conditions for sharing host memory. A GPU needs buffers that start at a page and consist of whole
 * cache lines. On a CPU kernels read four floats at once, and the emulation of matrix engines whole
 * cache lines. SHARE_BYTES: see is_worth_it(). */
#define PAGE        4096
#define CACHE_LINE  64
#define CPU_ALIGN   16
#define SHARE_BYTES (32 * 1024)

/*
 * A 2D region of both memories, in bytes:
 *
 *     plan  offset + row * stride      caller  its [plane] + other + row * other_stride
 */
typedef struct {
  gsize rows, row_bytes;
  gsize offset, stride;
  gssize other, other_stride;
  guint plane;
} Region;

static gboolean
is_tight_region (const Region *region)
{
  return region->rows == 1 ||
         (region->stride == region->row_bytes && region->other_stride == (gssize)region->row_bytes);
}

/* Copies rows as one piece if there are no gaps, else as a rectangle. */
static gboolean
copy (const GemmclTransfer *self, const Region *region, GError **error)
{
  const gboolean in = self->to_device, tight = is_tight_region (region);
  const cl_command_queue queue = self->chain->queue;
  const cl_mem object[2] = {self->buffer, self->data->objects[0]};
  const gsize at[2][3] = {{region->offset}, {self->data->offset[region->plane] + region->other}};
  const gsize start[3] = {0, 0, 0};
  const gsize size[3] = {region->row_bytes, region->rows, 1};
  const gsize stride[2] = {region->stride, region->other_stride};
  const gsize bytes = region->rows * region->row_bytes;
  const gboolean on_host = self->data->kind == GEMMCL_DATA_HOST;
  guchar *host = on_host ? (guchar *)self->data->host[region->plane] + region->other : NULL;
  cl_event done = NULL;
  cl_int status;

  if (!on_host)
    status = tight ? clEnqueueCopyBuffer (queue, object[in], object[!in], at[in][0], at[!in][0],
                                          bytes, CHAIN_WAIT (self->chain), &done)
                   : clEnqueueCopyBufferRect (queue, object[in], object[!in], at[in], at[!in], size,
                                              stride[in], 0, stride[!in], 0,
                                              CHAIN_WAIT (self->chain), &done);
  else if (tight)
    status = in ? clEnqueueWriteBuffer (queue, self->buffer, CL_FALSE, at[0][0], bytes, host,
                                        CHAIN_WAIT (self->chain), &done)
                : clEnqueueReadBuffer (queue, self->buffer, CL_FALSE, at[0][0], bytes, host,
                                       CHAIN_WAIT (self->chain), &done);
  else
    status =
        in ? clEnqueueWriteBufferRect (queue, self->buffer, CL_FALSE, at[0], start, size, stride[0],
                                       0, stride[1], 0, host, CHAIN_WAIT (self->chain), &done)
           : clEnqueueReadBufferRect (queue, self->buffer, CL_FALSE, at[0], start, size, stride[0],
                                      0, stride[1], 0, host, CHAIN_WAIT (self->chain), &done);
  return gemmcl_chain_add (self->chain, status, done,
                           !self->to_device                  ? "Copying D from the device"
                           : self->which == GEMMCL_OPERAND_A ? "Copying A to the device"
                                                             : "Copying C to the device",
                           error);
}

/* The number of rows, from the first on, that OpenCL can copy as a rectangle: 0 if the rows are
 * upside down or overlap. NVIDIA's driver requires the buffer to contain the last row's gap. */
static gsize
get_rectangle (const GemmclTransfer *self, const Region *region)
{
  gsize size = 0;

  if (region->other_stride < (gssize)region->row_bytes)
    return 0;
  if (self->data->kind == GEMMCL_DATA_HOST)
    return region->rows;
  clGetMemObjectInfo (self->data->objects[0], CL_MEM_SIZE, sizeof (size), &size, NULL);
  return self->data->offset[region->plane] + region->other + region->rows * region->other_stride <=
                 size
             ? region->rows
             : region->rows - 1;
}

static gboolean
transfer_region (const GemmclTransfer *self, const Region *region, GError **error)
{
  const gsize whole = is_tight_region (region) ? region->rows : get_rectangle (self, region);
  Region part = *region;

  for (gsize row = 0; row < region->rows; row += part.rows) {
    part.rows = row == 0 && whole > 0 ? whole : 1;
    part.offset = region->offset + row * region->stride;
    part.other = region->other + (gssize)row * region->other_stride;
    if (!copy (self, &part, error))
      return FALSE;
  }
  return TRUE;
}

static Region
get_matrix (const GemmclTransfer *self)
{
  const GemmclGemm *gemm = &self->body->problem;
  const GemmclMatrixLayout device = gemmcl_gemm_get_layout (gemm, self->which, TRUE);
  const GemmclMatrixLayout caller = gemmcl_gemm_get_layout (gemm, self->which, FALSE);
  const gsize size = gemmcl_gemm_get_element_size (gemm, self->which);

  return (Region){
      .rows = device.by_column ? device.runs : self->m,
      .row_bytes = (device.by_column ? self->m : device.length) * size,
      .offset = self->index * device.stride * size,
      .stride = device.ld * size,
      .other_stride = caller.ld * size,
  };
}

/* A frame has a region for each plane. */
static guint
get_regions (const GemmclTransfer *self, Region regions[GEMMCL_MAX_PLANES])
{
  const GemmclImage *image = gemmcl_gemm_get_image (&self->body->problem, self->which);
  GemmclPlane planes[GEMMCL_MAX_PLANES];
  gsize frame_bytes;

  if (image == NULL) {
    regions[0] = get_matrix (self);
    return 1;
  }
  frame_bytes = gemmcl_image_get_planes (image, planes);
  for (guint i = 0; i < gemmcl_pixel_format_get_n_planes (image->format); i++)
    regions[i] = (Region){
        .rows = planes[i].rows,
        .row_bytes = planes[i].row_bytes,
        .offset = self->index * frame_bytes + planes[i].offset,
        .stride = planes[i].row_bytes,
        .other_stride = self->data->stride[i],
        .plane = i,
    };
  return gemmcl_pixel_format_get_n_planes (image->format);
}

gboolean
gemmcl_transfer (const GemmclTransfer *self, GError **error)
{
  Region regions[GEMMCL_MAX_PLANES];
  guint n;

  if (self->data->kind == GEMMCL_DATA_IMAGES)
    return gemmcl_body_gather (self->body, self->data, self->index, self->buffer, self->chain,
                               error);
  n = get_regions (self, regions);
  for (guint i = 0; i < n; i++)
    if (!transfer_region (self, &regions[i], error))
      return FALSE;
  return TRUE;
}

gsize
gemmcl_body_get_operand_bytes (GemmclBody *self, GemmclOperand which, gsize m)
{
  const GemmclMatrixLayout layout = gemmcl_gemm_get_layout (&self->problem, which, TRUE);
  const GemmclImage *image = gemmcl_gemm_get_image (&self->problem, which);
  GemmclPlane planes[GEMMCL_MAX_PLANES];

  if (image)
    return gemmcl_image_get_planes (image, planes);
  return m * (layout.by_column ? layout.runs : layout.length) *
         gemmcl_gemm_get_element_size (&self->problem, which);
}

cl_mem
gemmcl_body_create_copy (GemmclBody *self, GemmclOperand which, GError **error)
{
  static const gchar *const names[GEMMCL_N_OPERANDS] = {[GEMMCL_OPERAND_A] = "A",
                                                        [GEMMCL_OPERAND_D] = "D",
                                                        [GEMMCL_OPERAND_ROW_OUTPUTS] =
                                                            "the row outputs"};

  return gemmcl_body_create_memory (
      self, 1, gemmcl_body_get_operand_bytes (self, which, self->gemm.m), names[which], error);
}

/* TRUE if there are no gaps between rows or planes, as in the plan's memory. */
static gboolean
is_tight (const GemmclTransfer *self)
{
  const GemmclData *data = self->data;
  Region regions[GEMMCL_MAX_PLANES];
  const guint n = get_regions (self, regions);

  for (guint i = 0; i < n; i++)
    if (!is_tight_region (&regions[i]) ||
        (data->kind == GEMMCL_DATA_HOST ? (gsize)((guchar *)data->host[i] - (guchar *)data->host[0])
                                        : data->offset[i] - data->offset[0]) != regions[i].offset)
      return FALSE;
  return TRUE;
}

/* TRUE if sharing host memory is faster than copying. On a CPU creating a buffer takes less time
 * than enqueuing a copy. A GPU must map the pages, and sharing D takes two commands instead of
 * one. */
static gboolean
is_worth_it (const GemmclTransfer *self, gsize size)
{
  return size >= SHARE_BYTES ||
         (self->to_device && self->body->device->type == GEMMCL_DEVICE_TYPE_CPU);
}

static gboolean
is_aligned (const GemmclTransfer *self, gsize size)
{
  gconstpointer data = self->data->host[0];

  if (self->body->device->type == GEMMCL_DEVICE_TYPE_CPU)
    return (guintptr)data % (self->body->kernel->dpas ? CACHE_LINE : CPU_ALIGN) == 0;
  return (guintptr)data % PAGE == 0 && size % CACHE_LINE == 0;
}

static GemmclCopyReason
explain_host (const GemmclTransfer *self)
{
  const gsize size = gemmcl_body_get_operand_bytes (self->body, self->which, self->m);

  if (!self->body->device->host_unified)
    return GEMMCL_COPY_REASON_SEPARATE;
  if (self->which == GEMMCL_OPERAND_ROW_OUTPUTS || !is_worth_it (self, size))
    return GEMMCL_COPY_REASON_SMALL;
  if (!is_tight (self))
    return GEMMCL_COPY_REASON_GAPS;
  return is_aligned (self, size) ? GEMMCL_COPY_REASON_NONE : GEMMCL_COPY_REASON_ALIGNMENT;
}

static GemmclCopyReason
explain (const GemmclTransfer *self)
{
  if (self->data->kind == GEMMCL_DATA_HOST)
    return explain_host (self);
  if (self->data->kind == GEMMCL_DATA_IMAGES)
    return GEMMCL_COPY_REASON_IMAGES;
  if (self->data->offset[0] != 0)
    return GEMMCL_COPY_REASON_OFFSET;
  return is_tight (self) ? GEMMCL_COPY_REASON_NONE : GEMMCL_COPY_REASON_GAPS;
}

cl_mem
gemmcl_transfer_share (const GemmclTransfer *self)
{
  const gsize size = gemmcl_body_get_operand_bytes (self->body, self->which, self->m);
  const cl_mem_flags access = self->to_device ? CL_MEM_READ_ONLY : CL_MEM_READ_WRITE;

  if (explain (self) != GEMMCL_COPY_REASON_NONE)
    return NULL;
  if (self->data->kind == GEMMCL_DATA_HOST)
    return clCreateBuffer (gemmcl_context_get_cl_context (self->body->context),
                           access | CL_MEM_USE_HOST_PTR, size, self->data->host[0], NULL);
  clRetainMemObject (self->data->objects[0]);
  return self->data->objects[0];
}

/* @data: (nullable): of @run */
static GemmclCopyReason
explain_operand (GemmclBody *body, const GemmclRun *run, GemmclOperand which,
                 const GemmclData *data)
{
  const gsize batch = run->batch ? run->batch : body->problem.batch;
  const GemmclTransfer transfer = {
      .body = body,
      .which = which,
      .to_device = which == GEMMCL_OPERAND_A,
      .m = run->m ? run->m : body->problem.m,
      .data = data,
  };

  if (data == NULL || run->strided)
    return GEMMCL_COPY_REASON_NONE;
  return batch > 1 ? GEMMCL_COPY_REASON_BATCH : explain (&transfer);
}

void
gemmcl_plan_explain_copies (GemmclPlan *self, const GemmclRun *run, GemmclCopyReason *a,
                            GemmclCopyReason *d)
{
  g_autoptr (GMutexLocker) locker G_GNUC_UNUSED = NULL;

  g_return_if_fail (GEMMCL_IS_PLAN (self));
  g_return_if_fail (run != NULL && a != NULL && d != NULL);

  locker = g_mutex_locker_new (&self->lock);
  *a = explain_operand (self->body, run, GEMMCL_OPERAND_A, run->alpha != 0.0 ? run->a : NULL);
  *d = explain_operand (self->body, run, GEMMCL_OPERAND_D, run->d);
}
