/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What gemmcl_plan_submit() is given.
 */
#include "error-private.h"
#include "plan-private.h"

static gboolean
check_size (GemmclPlan *self, gsize m, gsize batch, GError **error)
{
  const GemmclGemm *gemm = &self->stated;

  if (m > gemm->m || batch > gemm->batch)
    return gemmcl_fail (error, GEMMCL_ERROR_INVALID,
                        "A run of %" G_GSIZE_FORMAT " rows and %" G_GSIZE_FORMAT
                        " batches is more than its plan's %" G_GSIZE_FORMAT " and %" G_GSIZE_FORMAT
                        ".",
                        m, batch, gemm->m, gemm->batch);
  if ((gemm->a_image || gemm->d_image) && m != gemm->m)
    return gemmcl_fail (error, GEMMCL_ERROR_INVALID,
                        "A run of frames has all their %" G_GSIZE_FORMAT
                        " rows, not %" G_GSIZE_FORMAT ".",
                        gemm->m, m);
  return TRUE;
}

/* Some drivers never come to the end of a command that is to wait for one that failed already. */
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

/* Whether each plane is somewhere; with strides they are all in one buffer, from its start. */
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

/* @data: (nullable) (array length=n); @image: (nullable): of a frame; @most: the last kind that it
 * may be of. */
static gboolean
check_data (const gchar *name, const GemmclData *data, gsize n, const GemmclImage *image,
            GemmclDataKind most, gboolean strided, GError **error)
{
  const guint n_planes = image ? gemmcl_pixel_format_get_n_planes (image->format) : 1;

  for (gsize i = 0; data != NULL && i < (strided ? 1 : n); i++)
    if (data[i].kind > most || !is_complete (&data[i], n_planes, strided))
      return gemmcl_fail (error, GEMMCL_ERROR_INVALID,
                          "%s of problem %" G_GSIZE_FORMAT " is not %s.", name, i,
                          strided                      ? "a buffer, from its start"
                          : most == GEMMCL_DATA_BUFFER ? "memory of the host or a buffer"
                                                       : "memory of the host, a buffer or images");
  return TRUE;
}

static gboolean
check_all_planes (GemmclPlan *self, const GemmclRun *run, gsize batch, GError **error)
{
  for (gsize i = 0; i < (run->strided ? 1 : batch); i++)
    if (run->a[i].kind == GEMMCL_DATA_IMAGES && !gemmcl_plan_check_planes (self, &run->a[i], error))
      return FALSE;
  return TRUE;
}

gboolean
gemmcl_plan_check_run (GemmclPlan *self, const GemmclRun *run, gsize m, gsize batch, GError **error)
{
  const GemmclGemm *gemm = &self->stated;
  const gboolean strided = run->strided;

  return check_size (self, m, batch, error) && check_wait (run, error) &&
         (run->alpha == 0.0 ||
          (check_data ("A", run->a, batch, gemm->a_image, GEMMCL_DATA_IMAGES, strided, error) &&
           check_all_planes (self, run, batch, error))) &&
         check_data ("D", run->d, batch, gemm->d_image, GEMMCL_DATA_BUFFER, strided, error) &&
         check_data ("The previous result", run->previous, batch, gemm->d_image, GEMMCL_DATA_BUFFER,
                     strided, error) &&
         check_data ("The row output", run->rows, batch, NULL, GEMMCL_DATA_BUFFER, strided, error);
}
