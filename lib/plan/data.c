/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The caller's data: the checks of a run's arguments, and frames in images, which only kernels can
 * read.
 */
#include "plan/body.h"

/* A plane's texels in A. */
typedef struct {
  gsize columns, rows;
  gsize first; /* samples before the plane */
  guint samples;
} Texels;

static Texels
get_texels (const GemmclImage *image, guint index)
{
  const guint bytes = gemmcl_pixel_format_get_sample_bytes (image->format);
  GemmclPlane planes[GEMMCL_MAX_PLANES];
  const gsize columns = index == 0 ? image->width : (image->width + 1) / 2;

  gemmcl_image_get_planes (image, planes);
  return (Texels){
      .columns = columns,
      .rows = planes[index].rows,
      .first = planes[index].offset / bytes,
      .samples = planes[index].row_bytes / bytes / columns,
  };
}

static gboolean
check_format (const GemmclImage *image, GError **error)
{
  if (image != NULL && get_texels (image, 0).samples == 1)
    return TRUE;
  return gemmcl_fail (error, GEMMCL_ERROR_INVALID,
                      "Frames in images can be GRAY8, GRAY16_LE, NV12, I420 or P010_10LE; "
                      "the plan's A is %s.",
                      image == NULL         ? "no frame"
                      : image->channels > 0 ? "a tensor"
                                            : gemmcl_pixel_format_get_name (image->format));
}

/* The samples, at most two, in the first channels of a texel. */
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

static gboolean
check_plane (const GemmclImage *image, guint index, cl_mem plane, GError **error)
{
  const Texels texels = get_texels (image, index);
  const gboolean is_16 = gemmcl_pixel_format_get_sample_bytes (image->format) == 2;
  const cl_channel_type type = is_16 ? CL_UNORM_INT16 : CL_UNORM_INT8;
  cl_image_format found = {0, 0};
  gsize width = 0, height = 0;

  if (plane != NULL) {
    clGetImageInfo (plane, CL_IMAGE_WIDTH, sizeof (width), &width, NULL);
    clGetImageInfo (plane, CL_IMAGE_HEIGHT, sizeof (height), &height, NULL);
    clGetImageInfo (plane, CL_IMAGE_FORMAT, sizeof (found), &found, NULL);
  }
  if (width < texels.columns || height < texels.rows)
    return gemmcl_fail (error, GEMMCL_ERROR_INVALID,
                        "The image of plane %u has %zu x %zu texels; expected %zu x %zu.", index,
                        width, height, texels.columns, texels.rows);
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
check_size (GemmclBody *self, gsize m, gsize batch, GError **error)
{
  const GemmclGemm *gemm = &self->problem;

  if (m > gemm->m || batch > gemm->batch)
    return gemmcl_fail (error, GEMMCL_ERROR_INVALID,
                        "A run of %zu rows and %zu batches is more than its plan's %zu and %zu.", m,
                        batch, gemm->m, gemm->batch);
  if ((gemm->a_image || gemm->d_image) && m != gemm->m)
    return gemmcl_fail (error, GEMMCL_ERROR_INVALID,
                        "A run of frames has all their %zu rows, not %zu.", gemm->m, m);
  return TRUE;
}

/* With some drivers a command that waits for a failed event never ends. */
static gboolean
check_wait (const GemmclRun *run, GError **error)
{
  for (guint i = 0; i < run->n_wait; i++) {
    cl_int status = CL_COMPLETE;

    clGetEventInfo (run->wait[i], CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof (status), &status,
                    NULL);
    if (status < CL_COMPLETE)
      return gemmcl_fail (error, GEMMCL_ERROR_INVALID,
                          "An event that the run is to wait for failed with %s (%d).",
                          gemmcl_cl_error_name (status), status);
  }
  return TRUE;
}

/* TRUE if each plane has memory. With strides they must be in one buffer, from its start. */
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

/* @data: (nullable) (array): of @run; @image: (nullable): the frame's description; @most: the last
 *   allowed kind */
static gboolean
check_data (const GemmclRun *run, gsize batch, const gchar *name, const GemmclData *data,
            const GemmclImage *image, GemmclDataKind most, GError **error)
{
  const guint n_planes = image ? gemmcl_pixel_format_get_n_planes (image->format) : 1;
  const gboolean strided = run->strided;

  for (gsize i = 0; data != NULL && i < (strided ? 1 : batch); i++) {
    if (data[i].kind > most || !is_complete (&data[i], n_planes, strided))
      return gemmcl_fail (error, GEMMCL_ERROR_INVALID, "%s of problem %zu is not %s.", name, i,
                          strided                      ? "a buffer, from its start"
                          : most == GEMMCL_DATA_BUFFER ? "memory of the host or a buffer"
                                                       : "memory of the host, a buffer or images");
    if (data[i].kind != GEMMCL_DATA_IMAGES)
      continue;
    if (!check_format (image, error))
      return FALSE;
    for (guint plane = 0; plane < n_planes; plane++)
      if (!check_plane (image, plane, data[i].objects[plane], error))
        return FALSE;
  }
  return TRUE;
}

gboolean
gemmcl_body_check_run (GemmclBody *self, const GemmclRun *run, gsize m, gsize batch, GError **error)
{
  const GemmclImage *a_image = self->problem.a_image, *d_image = self->problem.d_image;

  if (!check_size (self, m, batch, error) || !check_wait (run, error) ||
      (run->alpha != 0.0 &&
       !check_data (run, batch, "A", run->a, a_image, GEMMCL_DATA_IMAGES, error)) ||
      !check_data (run, batch, "D", run->d, d_image, GEMMCL_DATA_BUFFER, error) ||
      !check_data (run, batch, "The previous result", run->previous, d_image, GEMMCL_DATA_BUFFER,
                   error) ||
      !check_data (run, batch, "The row output", run->rows, NULL, GEMMCL_DATA_BUFFER, error))
    return FALSE;
  if (run->alpha != 0.0 && run->b == NULL && self->operands[GEMMCL_PLAN_B].buffer == NULL)
    return gemmcl_fail (error, GEMMCL_ERROR_INVALID,
                        "The plan has no B yet; set it before the first run.");
  return TRUE;
}

/* Frames in images are copied to the layout of a frame in a buffer, not converted to features: that
 * writes the fewest bytes, and the following steps are the same as for other frames. Builds in
 * OpenCL C 3.0 if the device has it: some drivers, PoCL 7 for example, have images only
 * there. */
gboolean
gemmcl_body_build_gather (GemmclBody *self, GError **error)
{
  const GemmclImage *image = self->problem.a_image;
  cl_bool support = CL_FALSE;

  clGetDeviceInfo (gemmcl_context_get_cl_device (self->context), CL_DEVICE_IMAGE_SUPPORT,
                   sizeof support, &support, NULL);
  if (!support || !check_format (image, NULL))
    return TRUE;
  return gemmcl_body_build_step (
      self, &self->gather, "planes.cl", "gather",
      g_strdup_printf ("-DSAMPLE_BYTES=%u%s", gemmcl_pixel_format_get_sample_bytes (image->format),
                       gemmcl_cl_get_version (self->device->version) >= 30 ? " -cl-std=CL3.0" : ""),
      error);
}

gboolean
gemmcl_body_gather (GemmclBody *self, const GemmclData *frame, gsize index, cl_mem to,
                    GemmclChain *chain, GError **error)
{
  const GemmclImage *image = self->problem.a_image;
  GemmclPlane planes[GEMMCL_MAX_PLANES];
  const gsize frame_samples = gemmcl_image_get_planes (image, planes) /
                              gemmcl_pixel_format_get_sample_bytes (image->format);

  for (guint i = 0; i < gemmcl_pixel_format_get_n_planes (image->format); i++) {
    const Texels texels = get_texels (image, i);
    const gsize global[3] = {ROUND_UP (texels.columns, GROUP), texels.rows, 1};
    const cl_ulong first = index * frame_samples + texels.first;
    const cl_uint columns = texels.columns, samples = texels.samples;
    const cl_mem plane = frame->objects[i];

    if (!LAUNCH (chain, self->gather, "gather", global, IN_A_ROW (GROUP), error, ARGUMENT (plane),
                 ARGUMENT (to), ARGUMENT (first), ARGUMENT (columns), ARGUMENT (samples)))
      return FALSE;
  }
  return TRUE;
}
