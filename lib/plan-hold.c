/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan-hold.h"

#include "cl.h"

void
gemmcl_hold_clear (GemmclHold *self)
{
  g_clear_pointer (&self->objects, g_free);
  g_clear_pointer (&self->released, clReleaseEvent);
  self->n_objects = 0;
  self->release = NULL;
}

/* The pictures of a batch may be one and the same. */
static void
add (GemmclHold *self, cl_mem object)
{
  for (guint i = 0; i < self->n_objects; i++)
    if (self->objects[i] == object)
      return;
  self->objects[self->n_objects++] = object;
}

gboolean
gemmcl_hold_acquire (GemmclHold *self, const GemmclMixedRun *run, gsize batch, guint n_planes,
                     cl_command_queue queue, GError **error)
{
  const guint n = run->planes_a != NULL ? n_planes : 1;

  if (run->acquire == NULL || (run->planes_a == NULL && run->device_a == NULL))
    return TRUE;
  self->objects = g_new0 (cl_mem, batch * n);
  for (gsize i = 0; i < batch; i++)
    for (guint j = 0; j < n; j++)
      add (self, run->planes_a != NULL ? run->planes_a[i].planes[j] : run->device_a[i].buffer);
  if (!gemmcl_cl_check (run->acquire (queue, self->n_objects, self->objects, run->n_wait,
                                      run->n_wait > 0 ? run->wait : NULL, NULL),
                        error, "Acquiring %u shared memory objects of A", self->n_objects))
    return FALSE;
  self->release = run->release;
  return TRUE;
}

gboolean
gemmcl_hold_release (GemmclHold *self, cl_command_queue queue, GError **error)
{
  const GemmclHandover release = g_steal_pointer (&self->release);

  return release == NULL ||
         gemmcl_cl_check (release (queue, self->n_objects, self->objects, 0, NULL, &self->released),
                          error, "Releasing %u shared memory objects of A", self->n_objects);
}
