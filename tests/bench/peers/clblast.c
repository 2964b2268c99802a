/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * CLBlast on the device, and in a context and queue like those, that ours has. For M = 1 it is
 * asked for its GEMV, which its GEMM does not turn to by itself.
 */
#include "process.h"

#include "gemmcl-opencl.h"

/* After OpenCL's version is chosen. */
#include <clblast_c.h>

typedef struct {
  const PeersProblem *problem;
  GemmclContext *context;
  cl_mem a, b, d;
} Theirs;

static void
theirs_free (gpointer data)
{
  Theirs *self = data;

  g_clear_pointer (&self->a, clReleaseMemObject);
  g_clear_pointer (&self->b, clReleaseMemObject);
  g_clear_pointer (&self->d, clReleaseMemObject);
  g_clear_object (&self->context);
  g_free (self);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Theirs, theirs_free)

static cl_mem
make_buffer (Theirs *self, gsize count, gpointer data)
{
  return clCreateBuffer (gemmcl_context_get_cl_context (self->context),
                         CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, count * sizeof (gfloat), data,
                         NULL);
}

static gpointer
theirs_open (const PeersProblem *problem, GString *about, GError **error)
{
  const GemmclDeviceQuery query = {.platform = problem->platform,
                                   .type = problem->platform ? GEMMCL_DEVICE_TYPE_AUTO
                                                             : GEMMCL_DEVICE_TYPE_CPU};
  g_autoptr (Theirs) self = g_new0 (Theirs, 1);
  const GemmclDeviceInfo *info = NULL;

  self->problem = problem;
  self->context = gemmcl_context_new (&query, error);
  if (!self->context)
    return NULL;
  self->a = make_buffer (self, problem->m * problem->k, problem->a);
  self->b = make_buffer (self, problem->k * problem->n, problem->b);
  /* Zeros: its GEMV reads D even when beta is 0. */
  self->d = make_buffer (self, problem->m * problem->n, problem->d);
  if (!self->a || !self->b || !self->d) {
    g_set_error (error, PEERS_ERROR, PEERS_ERROR_FAILED, "There is no device memory.");
    return NULL;
  }
  info = gemmcl_context_get_device_info (self->context);
  g_string_append_printf (about, "CLBlast on %s, %s", info->name, info->platform);
  return g_steal_pointer (&self);
}

static gboolean
theirs_run (gpointer data, GError **error)
{
  Theirs *self = data;
  const gsize m = self->problem->m, n = self->problem->n, k = self->problem->k;
  cl_command_queue queue = gemmcl_context_get_cl_queue (self->context);
  const CLBlastStatusCode status =
      m == 1 ? CLBlastSgemv (CLBlastLayoutRowMajor, CLBlastTransposeYes, k, n, 1.0f, self->b, 0, n,
                             self->a, 0, 1, 0.0f, self->d, 0, 1, &queue, NULL)
             : CLBlastSgemm (CLBlastLayoutRowMajor, CLBlastTransposeNo, CLBlastTransposeNo, m, n, k,
                             1.0f, self->a, 0, k, self->b, 0, n, 0.0f, self->d, 0, n, &queue, NULL);

  if (status == CLBlastSuccess && clFinish (queue) == CL_SUCCESS)
    return TRUE;
  g_set_error (error, PEERS_ERROR, PEERS_ERROR_FAILED, "CLBlast failed with status %d.", status);
  return FALSE;
}

static gboolean
theirs_read (gpointer data, GError **error)
{
  Theirs *self = data;
  const gsize bytes = self->problem->m * self->problem->n * sizeof (gfloat);
  cl_command_queue queue = gemmcl_context_get_cl_queue (self->context);

  if (clEnqueueReadBuffer (queue, self->d, CL_TRUE, 0, bytes, self->problem->d, 0, NULL, NULL) ==
      CL_SUCCESS)
    return TRUE;
  g_set_error (error, PEERS_ERROR, PEERS_ERROR_FAILED, "D cannot be read.");
  return FALSE;
}

gint
main (gint argc, gchar **argv)
{
  const PeersContender theirs = {theirs_open, theirs_run, theirs_read, theirs_free, NULL};

  return peers_process_main (&theirs, argc, argv);
}
