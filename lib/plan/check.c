/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Checks the arguments of gemmcl_plan_submit().
 */
#include "plan/plan.h"

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
check_data (GemmclBody *self, const GemmclRun *run, gsize batch, const gchar *name,
            const GemmclData *data, const GemmclImage *image, GemmclDataKind most, GError **error)
{
  const guint n_planes = image ? gemmcl_pixel_format_get_n_planes (image->format) : 1;
  const gboolean strided = run->strided;

  for (gsize i = 0; data != NULL && i < (strided ? 1 : batch); i++) {
    if (data[i].kind > most || !is_complete (&data[i], n_planes, strided))
      return gemmcl_fail (error, GEMMCL_ERROR_INVALID, "%s of problem %zu is not %s.", name, i,
                          strided                      ? "a buffer, from its start"
                          : most == GEMMCL_DATA_BUFFER ? "memory of the host or a buffer"
                                                       : "memory of the host, a buffer or images");
    if (data[i].kind == GEMMCL_DATA_IMAGES && !gemmcl_body_check_planes (self, &data[i], error))
      return FALSE;
  }
  return TRUE;
}

gboolean
gemmcl_body_check_run (GemmclBody *self, const GemmclRun *run, gsize m, gsize batch, GError **error)
{
  const GemmclImage *a_image = self->problem.a_image, *d_image = self->problem.d_image;

  return check_size (self, m, batch, error) && check_wait (run, error) &&
         (run->alpha == 0.0 ||
          check_data (self, run, batch, "A", run->a, a_image, GEMMCL_DATA_IMAGES, error)) &&
         check_data (self, run, batch, "D", run->d, d_image, GEMMCL_DATA_BUFFER, error) &&
         check_data (self, run, batch, "The previous result", run->previous, d_image,
                     GEMMCL_DATA_BUFFER, error) &&
         check_data (self, run, batch, "The row output", run->rows, NULL, GEMMCL_DATA_BUFFER,
                     error);
}
