/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The caller's data: the checks of a run's arguments, and the copies between the caller's memory,
 * on the host or the device, and the plan's. A and D are tight in the plan's memory. In the
 * caller's memory they have leading dimensions and strides; gaps between rows are not written. A
 * kernel copies frames in images, whose texels may have more channels than the plane.
 */
#include "plan/data.h"

#include "device/device.h"
#include "matrix/matrix.h"
#include "problem/pool.h"

/* Conditions for sharing host memory. A GPU needs buffers that start at a page and consist of whole
 * cache lines. On a CPU kernels read four floats at once, and the emulation of matrix engines reads
 * whole cache lines. SHARE_BYTES: see explain(). */
#define PAGE        4096
#define CACHE_LINE  64
#define CPU_ALIGN   16
#define SHARE_BYTES (32 * 1024)

/* A plane's texels in A. */
typedef struct {
  gsize columns, rows;
  gsize first; /* samples before the plane */
  guint samples;
} Texels;

/* The rows of a plane that a run reads. Progressive frames may lack the last row of chroma. */
static gsize
count_rows (const GemmclFrame *frame, guint index, gboolean progressive)
{
  GemmclFrame read = *frame;
  GemmclPlane planes[GEMMCL_MAX_PLANES];

  read.interlaced = frame->interlaced && !progressive;
  gemmcl_frame_get_planes (&read, planes);
  return planes[index].rows;
}

static Texels
get_texels (const GemmclFrame *frame, guint index, gboolean progressive)
{
  const gsize bytes = gemmcl_type_get_size (gemmcl_frame_get_sample_type (frame));
  GemmclPlane planes[GEMMCL_MAX_PLANES];
  const gsize columns = index == 0 ? frame->width : (frame->width + frame->left + 1) / 2;

  gemmcl_frame_get_planes (frame, planes);
  return (Texels){
      .columns = columns,
      .rows = count_rows (frame, index, progressive),
      .first = planes[index].offset / bytes,
      .samples = planes[index].row_bytes / bytes / columns,
  };
}

/* The first texel of the frame in the image of a plane. */
static void
find_first_texel (const GemmclFrame *frame, const GemmclData *data, guint index, gsize *x, gsize *y)
{
  *x = index == 0 ? data->x : data->x / 2;
  *y = index == 0 ? data->y : frame->interlaced ? data->y / 4 * 2 : data->y / 2;
}

static gboolean
check_format (const GemmclFrame *frame, GError **error)
{
  if (frame != NULL && frame->channels == 0 && get_texels (frame, 0, FALSE).samples == 1)
    return TRUE;
  return gemmcl_fail (error, GEMMCL_ERROR_INVALID,
                      "Frames in images can be GRAY8, GRAY16_LE, NV12, I420 or P010_10LE; "
                      "the plan's A is %s.",
                      frame == NULL         ? "no frame"
                      : frame->channels > 0 ? "a tensor"
                                            : gemmcl_pixel_format_get_name (frame->format));
}

/* The number of samples, at most two, in the first channels of a texel. */
static guint
count_samples (cl_channel_order order)
{
  switch (order) {
  case CL_R:
  case CL_Rx:
    return 1;
  case CL_RG:
  case CL_RGx:
  case CL_RGB:
  case CL_RGBx:
  case CL_RGBA:
    return 2;
  default:
    return 0;
  }
}

/* Frames with chroma begin in their images as the plan's frame says. */
static gboolean
check_first (const GemmclFrame *frame, const GemmclData *data, GError **error)
{
  const guint rows = frame->interlaced ? 4 : 2;

  if (gemmcl_pixel_format_get_n_planes (frame->format) == 1 ||
      (data->x % 2 == frame->left && data->y % rows == frame->top))
    return TRUE;
  return gemmcl_fail (error, GEMMCL_ERROR_INVALID,
                      "A frame begins at (%zu, %zu) of its images, but left and top of the plan's "
                      "frame are %u and %u; expected x %% 2 and y %% %u.",
                      data->x, data->y, frame->left, frame->top, rows);
}

static gboolean
check_plane (const GemmclFrame *frame, guint index, gboolean progressive, const GemmclData *data,
             GError **error)
{
  const Texels texels = get_texels (frame, index, progressive);
  const cl_mem plane = data->objects[index];
  const gboolean is_16 = gemmcl_frame_get_sample_type (frame) == GEMMCL_TYPE_U16;
  const cl_channel_type type = is_16 ? CL_UNORM_INT16 : CL_UNORM_INT8;
  cl_image_format found = {0, 0};
  gsize width = 0, height = 0, x, y;

  find_first_texel (frame, data, index, &x, &y);
  clGetImageInfo (plane, CL_IMAGE_WIDTH, sizeof (width), &width, NULL);
  clGetImageInfo (plane, CL_IMAGE_HEIGHT, sizeof (height), &height, NULL);
  clGetImageInfo (plane, CL_IMAGE_FORMAT, sizeof (found), &found, NULL);
  if (width < texels.columns || x > width - texels.columns || height < texels.rows ||
      y > height - texels.rows)
    return gemmcl_fail (error, GEMMCL_ERROR_INVALID,
                        "The image of plane %u has %zu x %zu texels; expected %zu x %zu from texel "
                        "%zu of row %zu.",
                        index, width, height, texels.columns, texels.rows, x, y);
  if (found.image_channel_data_type != type ||
      count_samples (found.image_channel_order) < texels.samples)
    return gemmcl_fail (error, GEMMCL_ERROR_INVALID,
                        "The image of plane %u has channels of order %#x and type %#x; "
                        "expected %s (%#x) and %s (%#x).",
                        index, found.image_channel_order, found.image_channel_data_type,
                        texels.samples == 2 ? "CL_RG" : "CL_R", texels.samples == 2 ? CL_RG : CL_R,
                        is_16 ? "CL_UNORM_INT16" : "CL_UNORM_INT8", type);
  return TRUE;
}

static gboolean
check_size (GemmclKernelPlan *self, gsize m, gsize batch, GError **error)
{
  const GemmclGemm *gemm = &self->problem;

  if (m > gemm->m || batch > gemm->batch)
    return gemmcl_fail (error, GEMMCL_ERROR_INVALID,
                        "Expected a run of at most %zu rows and %zu problems, found %zu and %zu.",
                        gemm->m, gemm->batch, m, batch);
  if ((gemm->a_frame || gemm->d_frame || gemm->pool) && m != gemm->m)
    return gemmcl_fail (error, GEMMCL_ERROR_INVALID, "A run of %s has all their %zu rows, not %zu.",
                        gemm->pool ? "grids that are pooled" : "frames", gemm->m, m);
  return TRUE;
}

/* With some drivers a command that waits for a failed event never ends. */
static gboolean
check_wait (const GemmclRun *run, GError **error)
{
  for (guint i = 0; i < run->n_wait; i++) {
    const cl_int status = gemmcl_event_get_status (run->wait[i]);

    if (status < CL_COMPLETE)
      return gemmcl_fail (error, GEMMCL_ERROR_INVALID,
                          "An event that the run is to wait for failed with %s (%d).",
                          gemmcl_cl_error_name (status), status);
  }
  return TRUE;
}

/* TRUE if each plane has memory. A strided run needs a buffer that begins with its data. */
static gboolean
is_complete (const GemmclData *data, guint n_planes, gboolean strided)
{
  for (guint i = 0; i < n_planes; i++)
    if (data->kind == GEMMCL_DATA_HOST     ? data->host[i] == NULL
        : data->kind == GEMMCL_DATA_BUFFER ? data->objects[0] == NULL
                                           : data->objects[i] == NULL)
      return FALSE;
  return !strided || (data->kind == GEMMCL_DATA_BUFFER && data->offset[0] == 0);
}

/* @data: (nullable) (array length=n); @frame: (nullable): the frame's description; @most: the last
 * allowed kind */
static gboolean
check_data (const GemmclRun *run, gsize n, const gchar *name, const GemmclData *data,
            const GemmclFrame *frame, GemmclDataKind most, GError **error)
{
  const guint n_planes = frame ? gemmcl_pixel_format_get_n_planes (frame->format) : 1;
  const gboolean strided = run->strided;

  for (gsize i = 0; data != NULL && i < n; i++) {
    if (data[i].kind > most || !is_complete (&data[i], n_planes, strided))
      return gemmcl_fail (error, GEMMCL_ERROR_INVALID, "%s of problem %zu is not %s.", name, i,
                          strided                      ? "a buffer, from its start"
                          : most == GEMMCL_DATA_BUFFER ? "memory of the host or a buffer"
                                                       : "memory of the host, a buffer or images");
    if (data[i].kind != GEMMCL_DATA_IMAGES)
      continue;
    if (!check_format (frame, error) || !check_first (frame, &data[i], error))
      return FALSE;
    for (guint plane = 0; plane < n_planes; plane++)
      if (!check_plane (frame, plane, run->progressive, &data[i], error))
        return FALSE;
  }
  return TRUE;
}

gboolean
gemmcl_data_check_run (GemmclKernelPlan *self, const GemmclRun *run, GError **error)
{
  const GemmclFrame *a_frame = self->problem.a_frame, *d_frame = self->problem.d_frame;
  const GemmclKernelRun sizes = gemmcl_kernel_run_init (self, run);
  const gsize n = run->strided ? 1 : sizes.batch;
  const GemmclData *a = run->alpha != 0.0 ? run->a : NULL;

  if (!check_size (self, sizes.m, sizes.batch, error) || !check_wait (run, error) ||
      !check_data (run, n, "A", a, a_frame, GEMMCL_DATA_IMAGES, error) ||
      !check_data (run, n, "D", run->d, d_frame, GEMMCL_DATA_BUFFER, error) ||
      !check_data (run, n, "The previous result", run->previous, d_frame, GEMMCL_DATA_BUFFER,
                   error) ||
      !check_data (run, n, "The row output", run->row_outputs, NULL, GEMMCL_DATA_BUFFER, error))
    return FALSE;
  if (run->alpha != 0.0 && run->b == NULL && self->kept[GEMMCL_PLAN_B].buffer == NULL)
    return gemmcl_fail (error, GEMMCL_ERROR_INVALID,
                        "The plan has no B yet; set it before the first run.");
  return TRUE;
}

/* Frames in images are copied to the layout of a frame in a buffer, not converted to features: that
 * writes the fewest bytes, and the following steps are the same as for other frames. Builds in
 * OpenCL C 3.0 if the device has it: some drivers, PoCL 7 for example, have images only
 * there. */
gboolean
gemmcl_data_build_gather (GemmclKernelPlan *self, GError **error)
{
  const GemmclFrame *frame = self->problem.a_frame;
  g_autofree gchar *options = NULL;
  cl_bool support = CL_FALSE;

  clGetDeviceInfo (gemmcl_context_get_cl_device (self->context), CL_DEVICE_IMAGE_SUPPORT,
                   sizeof support, &support, NULL);
  if (!support || !check_format (frame, NULL))
    return TRUE;
  options = g_strdup_printf (
      "-DA_TYPE=%s%s", gemmcl_type_get_dtype (gemmcl_frame_get_sample_type (frame)),
      gemmcl_cl_get_version (self->device->version) >= 30 ? " -cl-std=CL3.0" : "");
  self->gather =
      gemmcl_context_create_kernel (self->context, "steps/frames.cl", options, "gather", error);
  return self->gather != NULL;
}

/* Enqueues copies of a frame's planes, from images to the plan's buffer. */
static gboolean
gather (const GemmclTransfer *self, GError **error)
{
  const GemmclFrame *frame = self->plan->problem.a_frame;
  const gsize frame_samples = gemmcl_frame_count_samples (frame);

  for (guint i = 0; i < gemmcl_pixel_format_get_n_planes (frame->format); i++) {
    const Texels texels = get_texels (frame, i, self->run->p.progressive);
    const gsize global[3] = {ROUND_UP (texels.columns, GROUP), texels.rows, 1};
    const cl_ulong first = self->index * frame_samples + texels.first;
    const cl_uint columns = texels.columns, samples = texels.samples;
    const cl_mem plane = self->data->objects[i];
    gsize x, y;
    cl_int left, top;

    find_first_texel (frame, self->data, i, &x, &y);
    left = x;
    top = y;

    if (!LAUNCH (&self->run->chain, self->plan->gather, "gather", global,
                 IN_A_ROW (gemmcl_kernel_plan_fit_group (self->plan, GROUP)), error,
                 ARGUMENT (plane), ARGUMENT (self->buffer), ARGUMENT (first), ARGUMENT (columns),
                 ARGUMENT (samples), ARGUMENT (left), ARGUMENT (top)))
      return FALSE;
  }
  return TRUE;
}

/*
 * A 2D region of both memories, in bytes:
 *
 *     plan  offset + row * stride      caller  start of plane + other + row * other_stride
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
  static const gchar *const names[GEMMCL_N_OPERANDS][2] = {
      /* from the device, to the device */
      [GEMMCL_OPERAND_A] = {NULL, "Copying A to the device"},
      [GEMMCL_OPERAND_D] = {"Copying D from the device", "Copying C to the device"},
      [GEMMCL_OPERAND_ROW_OUTPUTS] = {"Copying row outputs from the device"},
  };
  const gboolean in = self->to_device, tight = is_tight_region (region);
  const cl_command_queue queue = self->run->chain.queue;
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
                                          bytes, CHAIN_WAIT (&self->run->chain), &done)
                   : clEnqueueCopyBufferRect (queue, object[in], object[!in], at[in], at[!in], size,
                                              stride[in], 0, stride[!in], 0,
                                              CHAIN_WAIT (&self->run->chain), &done);
  else if (tight)
    status = in ? clEnqueueWriteBuffer (queue, self->buffer, CL_FALSE, at[0][0], bytes, host,
                                        CHAIN_WAIT (&self->run->chain), &done)
                : clEnqueueReadBuffer (queue, self->buffer, CL_FALSE, at[0][0], bytes, host,
                                       CHAIN_WAIT (&self->run->chain), &done);
  else
    status =
        in ? clEnqueueWriteBufferRect (queue, self->buffer, CL_FALSE, at[0], start, size, stride[0],
                                       0, stride[1], 0, host, CHAIN_WAIT (&self->run->chain), &done)
           : clEnqueueReadBufferRect (queue, self->buffer, CL_FALSE, at[0], start, size, stride[0],
                                      0, stride[1], 0, host, CHAIN_WAIT (&self->run->chain), &done);
  return gemmcl_chain_add (&self->run->chain, status, done, names[self->which][in], error);
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

/* The rows of the matrix @which in a run of @m rows of A. */
static gsize
get_rows (GemmclKernelPlan *self, GemmclOperand which, gsize m)
{
  return which == GEMMCL_OPERAND_A ? m : gemmcl_gemm_count_rows_of_d (&self->problem, m);
}

static Region
get_matrix (const GemmclTransfer *self)
{
  const GemmclGemm *gemm = &self->plan->problem;
  const GemmclMatrixLayout device = gemmcl_gemm_get_layout (gemm, self->which, TRUE);
  const GemmclMatrixLayout caller = gemmcl_gemm_get_layout (gemm, self->which, FALSE);
  const gsize size = gemmcl_gemm_get_element_size (gemm, self->which);
  const gsize rows = get_rows (self->plan, self->which, self->run->m);

  return (Region){
      .rows = device.by_column ? device.lines : rows,
      .row_bytes = (device.by_column ? rows : device.length) * size,
      .offset = self->index * device.stride * size,
      .stride = device.ld * size,
      .other_stride = caller.ld * size,
  };
}

/* A frame has a region for each plane. */
static guint
get_regions (const GemmclTransfer *self, Region regions[GEMMCL_MAX_PLANES])
{
  const GemmclFrame *frame = gemmcl_gemm_get_frame (&self->plan->problem, self->which);
  GemmclPlane planes[GEMMCL_MAX_PLANES];
  gsize frame_bytes;

  if (frame == NULL) {
    regions[0] = get_matrix (self);
    return 1;
  }
  frame_bytes = gemmcl_frame_get_planes (frame, planes);
  for (guint i = 0; i < gemmcl_pixel_format_get_n_planes (frame->format); i++)
    regions[i] = (Region){
        .rows = count_rows (frame, i, self->run->p.progressive),
        .row_bytes = planes[i].row_bytes,
        .offset = self->index * frame_bytes + planes[i].offset,
        .stride = planes[i].row_bytes,
        .other_stride = self->data->stride[i],
        .plane = i,
    };
  return gemmcl_pixel_format_get_n_planes (frame->format);
}

gboolean
gemmcl_transfer (const GemmclTransfer *self, GError **error)
{
  Region regions[GEMMCL_MAX_PLANES];
  guint n;

  if (self->data->kind == GEMMCL_DATA_IMAGES)
    return gather (self, error);
  n = get_regions (self, regions);
  for (guint i = 0; i < n; i++)
    if (!transfer_region (self, &regions[i], error))
      return FALSE;
  return TRUE;
}

gsize
gemmcl_data_get_bytes (GemmclKernelPlan *self, GemmclOperand which, gsize m)
{
  const GemmclMatrixLayout layout = gemmcl_gemm_get_layout (&self->problem, which, TRUE);
  const GemmclFrame *frame = gemmcl_gemm_get_frame (&self->problem, which);

  if (frame)
    return gemmcl_frame_get_planes (frame, NULL);
  return get_rows (self, which, m) * (layout.by_column ? layout.lines : layout.length) *
         gemmcl_gemm_get_element_size (&self->problem, which);
}

cl_mem
gemmcl_data_create_copy (GemmclKernelPlan *self, GemmclOperand which, GError **error)
{
  const gchar *what = which == GEMMCL_OPERAND_A   ? "A"
                      : which == GEMMCL_OPERAND_D ? "D"
                                                  : "the row outputs";

  return gemmcl_kernel_plan_create_memory (
      self, 1, gemmcl_data_get_bytes (self, which, self->computed.m), what, error);
}

/* TRUE if there are no gaps between rows or planes, as in the plan's memory. */
static gboolean
is_tight (const GemmclData *data, const Region *regions, guint n)
{
  for (guint i = 0; i < n; i++)
    if (!is_tight_region (&regions[i]) ||
        (data->kind == GEMMCL_DATA_HOST ? (gsize)((guchar *)data->host[i] - (guchar *)data->host[0])
                                        : data->offset[i] - data->offset[0]) != regions[i].offset)
      return FALSE;
  return TRUE;
}

/* TRUE if kernels can work at the address of host memory of @size bytes. */
static gboolean
is_aligned (const GemmclTransfer *self, gsize size)
{
  gconstpointer data = self->data->host[0];

  if (self->plan->device->type == GEMMCL_DEVICE_TYPE_CPU)
    return (guintptr)data %
               (self->plan->kernel->family == GEMMCL_FAMILY_DPAS ? CACHE_LINE : CPU_ALIGN) ==
           0;
  return (guintptr)data % PAGE == 0 && size % CACHE_LINE == 0;
}

/* The reason for a copy. Sharing a small D is slower than a copy, and so is sharing a small A on a
 * GPU: a GPU must map the pages, and sharing D takes two commands instead of one. On a CPU creating
 * a buffer takes less time than enqueuing a copy. @size: (out): the bytes of the matrix or frame */
static GemmclCopyReason
explain (const GemmclTransfer *self, gsize *size)
{
  const GemmclDeviceInfo *device = self->plan->device;
  const gboolean on_host = self->data->kind == GEMMCL_DATA_HOST;
  Region regions[GEMMCL_MAX_PLANES];
  const guint n = get_regions (self, regions);
  const Region *last = &regions[n - 1];

  *size = last->offset + last->rows * last->row_bytes;
  if (self->data->kind == GEMMCL_DATA_IMAGES)
    return GEMMCL_COPY_REASON_IMAGES;
  if (on_host && !device->host_unified)
    return GEMMCL_COPY_REASON_SEPARATE;
  if (on_host &&
      (self->which == GEMMCL_OPERAND_ROW_OUTPUTS ||
       (*size < SHARE_BYTES && (!self->to_device || device->type != GEMMCL_DEVICE_TYPE_CPU))))
    return GEMMCL_COPY_REASON_SMALL;
  if (!on_host && self->data->offset[0] != 0)
    return GEMMCL_COPY_REASON_OFFSET;
  if (!is_tight (self->data, regions, n))
    return GEMMCL_COPY_REASON_GAPS;
  return on_host && !is_aligned (self, *size) ? GEMMCL_COPY_REASON_ALIGNMENT
                                              : GEMMCL_COPY_REASON_NONE;
}

cl_mem
gemmcl_transfer_share (const GemmclTransfer *self)
{
  const cl_mem_flags access = self->to_device ? CL_MEM_READ_ONLY : CL_MEM_READ_WRITE;
  gsize size;

  if (explain (self, &size) != GEMMCL_COPY_REASON_NONE)
    return NULL;
  return self->data->kind == GEMMCL_DATA_HOST
             ? clCreateBuffer (gemmcl_context_get_cl_context (self->plan->context),
                               access | CL_MEM_USE_HOST_PTR, size, self->data->host[0], NULL)
             : self->data->objects[0];
}

GemmclCopyReason
gemmcl_data_explain_copy (GemmclKernelPlan *self, const GemmclRun *run, GemmclOperand which,
                          const GemmclData *data)
{
  GemmclKernelRun made = gemmcl_kernel_run_init (self, run);
  const GemmclTransfer transfer = {
      .plan = self,
      .run = &made,
      .which = which,
      .to_device = which == GEMMCL_OPERAND_A,
      .data = data,
  };
  gsize size;

  if (data == NULL || run->strided)
    return GEMMCL_COPY_REASON_NONE;
  return made.batch > 1 ? GEMMCL_COPY_REASON_BATCH : explain (&transfer, &size);
}
