/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Runs on host memory: A to the device, the run, D back. On the device A and D lie tight; on the
 * host they have the caller's leading dimensions and strides, and nothing but elements is written.
 */
#include "context.h"
#include "plan-private.h"

/*
 * A two-dimensional piece of memory on both sides:
 *
 *     device  offset + row * device_stride        host  row * host_stride        row < rows
 */
typedef struct {
  gsize offset;
  gsize rows, row_bytes;
  gsize device_stride;
  gssize host_stride;
} Region;

typedef struct {
  cl_command_queue queue;
  cl_mem buffer;
  gboolean to_device;
  const gchar *what; /* "A" or "D" */
} Transfer;

static cl_int
transfer_bytes (const Transfer *self, gsize offset, gsize bytes, gpointer host)
{
  return self->to_device ? clEnqueueWriteBuffer (self->queue, self->buffer, CL_FALSE, offset, bytes,
                                                 host, 0, NULL, NULL)
                         : clEnqueueReadBuffer (self->queue, self->buffer, CL_FALSE, offset, bytes,
                                                host, 0, NULL, NULL);
}

static cl_int
transfer_rows (const Transfer *self, const Region *region, gpointer host)
{
  const gsize origin[3] = {region->offset, 0, 0};
  const gsize start[3] = {0, 0, 0};
  const gsize size[3] = {region->row_bytes, region->rows, 1};

  return self->to_device ? clEnqueueWriteBufferRect (self->queue, self->buffer, CL_FALSE, origin,
                                                     start, size, region->device_stride, 0,
                                                     region->host_stride, 0, host, 0, NULL, NULL)
                         : clEnqueueReadBufferRect (self->queue, self->buffer, CL_FALSE, origin,
                                                    start, size, region->device_stride, 0,
                                                    region->host_stride, 0, host, 0, NULL, NULL);
}

/* Enqueues the copy of a region; the host's memory is in use until the queue is finished. */
static gboolean
transfer_region (const Transfer *self, const Region *region, gpointer host, GError **error)
{
  const gboolean device_tight = region->device_stride == region->row_bytes;
  const gboolean host_tight = region->host_stride == (gssize)region->row_bytes;
  cl_int status = CL_SUCCESS;

  if (region->rows == 1 || (device_tight && host_tight)) {
    status = transfer_bytes (self, region->offset, region->rows * region->row_bytes, host);
  } else if (region->host_stride >= (gssize)region->row_bytes) {
    status = transfer_rows (self, region, host);
  } else { /* upside down, or rows that overlap: OpenCL has no such rectangle */
    for (gsize row = 0; row < region->rows && status == CL_SUCCESS; row++)
      status =
          transfer_bytes (self, region->offset + row * region->device_stride, region->row_bytes,
                          (guchar *)host + (gssize)row * region->host_stride);
  }
  return gemmcl_cl_check (status, error, "Copying %s %s the device", self->what,
                          self->to_device ? "to" : "from");
}

static gboolean
transfer_image (const Transfer *self, const GemmclImage *image, gsize index,
                const GemmclHostData *host, GError **error)
{
  GemmclPlane planes[GEMMCL_MAX_PLANES];
  const gsize picture_bytes = gemmcl_image_get_planes (image, planes);

  for (guint i = 0; i < gemmcl_pixel_format_get_n_planes (image->format); i++) {
    const Region region = {
        .offset = index * picture_bytes + planes[i].offset,
        .rows = planes[i].rows,
        .row_bytes = planes[i].row_bytes,
        .device_stride = planes[i].row_bytes,
        .host_stride = host->stride[i],
    };
    if (!transfer_region (self, &region, host->data[i], error))
      return FALSE;
  }
  return TRUE;
}

/* @m: rows of op(X) this time, which may be fewer than the device has room for. */
static gboolean
transfer_matrix (const Transfer *self, GemmclPlan *plan, GemmclOperand which, gsize m, gsize index,
                 const GemmclHostData *host, GError **error)
{
  const GemmclStored device = gemmcl_gemm_get_stored (&plan->gemm, which, TRUE);
  const GemmclStored stated = gemmcl_gemm_get_stored (&plan->gemm, which, FALSE);
  const GemmclType type = which == GEMMCL_OPERAND_A ? plan->gemm.a_type : plan->gemm.d_type;
  const gsize size = gemmcl_type_get_size (type);
  const Region region = {
      .offset = index * device.stride * size,
      .rows = device.by_column ? device.runs : m,
      .row_bytes = (device.by_column ? m : device.length) * size,
      .device_stride = device.ld * size,
      .host_stride = stated.ld * size,
  };

  return transfer_region (self, &region, host->data[0], error);
}

/* Copies A or D of all batches. */
static gboolean
transfer_operand (GemmclPlan *self, GemmclOperand which, gsize m, gsize batch,
                  const GemmclHostData *host, GError **error)
{
  const gboolean is_a = which == GEMMCL_OPERAND_A;
  const GemmclImage *image = is_a ? self->gemm.a_image : self->gemm.d_image;
  const Transfer transfer = {
      .queue = gemmcl_context_get_cl_queue (self->context),
      .buffer = is_a ? self->host_a : self->host_d,
      .to_device = is_a,
      .what = is_a ? "A" : "D",
  };

  for (gsize i = 0; i < batch; i++)
    if (!(image ? transfer_image (&transfer, image, i, &host[i], error)
                : transfer_matrix (&transfer, self, which, m, i, &host[i], error)))
      return FALSE;
  return TRUE;
}

/* Bytes of A or D of one problem, tight. */
static gsize
operand_bytes (GemmclPlan *self, GemmclOperand which, gsize m)
{
  const gboolean is_a = which == GEMMCL_OPERAND_A;
  const GemmclImage *image = is_a ? self->gemm.a_image : self->gemm.d_image;
  GemmclPlane planes[GEMMCL_MAX_PLANES];

  if (image)
    return gemmcl_image_get_planes (image, planes);
  return m * (is_a ? self->gemm.k : self->gemm.n) *
         gemmcl_type_get_size (is_a ? self->gemm.a_type : self->gemm.d_type);
}

static cl_mem
create_operand (GemmclPlan *self, GemmclOperand which, const gchar *what, GError **error)
{
  gsize size;

  if (!g_size_checked_mul (&size, operand_bytes (self, which, self->gemm.m), self->gemm.batch))
    size = G_MAXSIZE;
  return gemmcl_context_create_buffer (self->context, size, what, error);
}

/* The first run makes room; the others find it. */
static gboolean
ensure_buffers (GemmclPlan *self, GError **error)
{
  if (self->host_d != NULL)
    return TRUE;
  if (self->host_a == NULL)
    self->host_a = create_operand (self, GEMMCL_OPERAND_A, "A", error);
  if (self->host_a == NULL)
    return FALSE;
  self->host_d = create_operand (self, GEMMCL_OPERAND_D, "D", error);
  self->clear_output = TRUE;
  return self->host_d != NULL;
}

void
gemmcl_plan_reset_output (GemmclPlan *self)
{
  g_autoptr (GMutexLocker) locker = NULL;

  g_return_if_fail (GEMMCL_IS_PLAN (self));
  locker = g_mutex_locker_new (&self->lock);
  self->clear_output = TRUE;
}

static gboolean
clear_output (GemmclPlan *self, GError **error)
{
  const guchar zero = 0;
  const gsize size = operand_bytes (self, GEMMCL_OPERAND_D, self->gemm.m) * self->gemm.batch;

  if (self->gemm.addend != GEMMCL_ADDEND_OUTPUT || !self->clear_output)
    return TRUE;
  self->clear_output = FALSE;
  return gemmcl_cl_check (clEnqueueFillBuffer (gemmcl_context_get_cl_queue (self->context),
                                               self->host_d, &zero, sizeof (zero), 0, size, 0, NULL,
                                               NULL),
                          error, "clEnqueueFillBuffer for D");
}

/* Nanoseconds from the first kernel's start to the last one's end; 0 if the device does not say. */
static guint64
kernel_time (const GemmclChain *chain)
{
  cl_ulong start = 0, end = 0;

  if (clGetEventProfilingInfo (chain->first, CL_PROFILING_COMMAND_START, sizeof (start), &start,
                               NULL) != CL_SUCCESS ||
      clGetEventProfilingInfo (chain->last, CL_PROFILING_COMMAND_END, sizeof (end), &end, NULL) !=
          CL_SUCCESS)
    return 0;
  return end > start ? end - start : 0;
}

static void
count_run (GemmclPlan *self, gsize m, gsize batch, const GemmclChain *chain)
{
  self->stats.runs++;
  self->stats.kernel_ns += kernel_time (chain);
  self->stats.flops += 2.0 * m * self->gemm.n * self->gemm.k * batch;
  self->stats.bytes_in += operand_bytes (self, GEMMCL_OPERAND_A, m) * batch;
  self->stats.bytes_out += operand_bytes (self, GEMMCL_OPERAND_D, m) * batch;
}

static gboolean
enqueue_run (GemmclPlan *self, const GemmclHostRun *run, gsize m, gsize batch, GemmclChain *chain,
             GError **error)
{
  const GemmclOperands operands = {.a = self->host_a, .d = self->host_d, .tight = TRUE};

  return clear_output (self, error) &&
         (self->alpha == 0.0f ||
          transfer_operand (self, GEMMCL_OPERAND_A, m, batch, run->a, error)) &&
         gemmcl_plan_enqueue_locked (self, &operands, m, batch, chain, error) &&
         transfer_operand (self, GEMMCL_OPERAND_D, m, batch, run->d, error);
}

gboolean
gemmcl_plan_run (GemmclPlan *self, const GemmclHostRun *run, GError **error)
{
  g_autoptr (GMutexLocker) locker = NULL;
  g_auto (GemmclChain) chain = {0};
  gboolean enqueued;
  cl_int status;
  gsize m, batch;

  g_return_val_if_fail (GEMMCL_IS_PLAN (self), FALSE);
  g_return_val_if_fail (run != NULL && run->d != NULL, FALSE);

  m = run->m;
  batch = run->batch;
  if (!gemmcl_plan_check_run (self, &m, &batch, error))
    return FALSE;
  locker = g_mutex_locker_new (&self->lock);
  if (!ensure_buffers (self, error))
    return FALSE;
  chain.queue = gemmcl_context_get_cl_queue (self->context);
  enqueued = enqueue_run (self, run, m, batch, &chain, error);
  /* Also after a failure: what was enqueued before it uses the caller's memory. */
  status = clFinish (chain.queue);
  if (!enqueued || !gemmcl_cl_check (status, error, "clFinish after %s", self->row->name))
    return FALSE;
  count_run (self, m, batch, &chain);
  return TRUE;
}
