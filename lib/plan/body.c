/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The kernels and memory of a body.
 */
#include "plan/body.h"

void
gemmcl_held_clear (GemmclHeld *self)
{
  g_clear_pointer (&self->weights, gemmcl_weights_unref);
  g_clear_pointer (&self->buffer, clReleaseMemObject);
  g_clear_pointer (&self->matrix, gemmcl_matrix_unref);
}

void
gemmcl_copy_problem (GemmclGemm *to, GemmclImage images[2], const GemmclGemm *from)
{
  *to = *from;
  to->batch = gemmcl_gemm_get_batch (from);
  if (from->a_image) {
    images[0] = *from->a_image;
    to->a_image = &images[0];
  }
  if (from->d_image) {
    images[1] = *from->d_image;
    to->d_image = &images[1];
  }
}

GemmclBody *
gemmcl_body_alloc (GemmclContext *context, const GemmclGemm *gemm)
{
  GemmclBody *self = g_new0 (GemmclBody, 1);

  self->context = g_object_ref (context);
  self->device = gemmcl_context_get_device_info (context);
  gemmcl_copy_problem (&self->problem, self->images, gemm);
  self->gemm = gemmcl_gemm_get_computed (&self->problem);
  return self;
}

void
gemmcl_body_free (GemmclBody *self)
{
  cl_kernel *const kernels[] = {
      &self->gather,      &self->pack,  &self->im2col,     &self->normalize_a, &self->quantize,
      &self->pack_a,      &self->load,  &self->multiply,   &self->reduce,      &self->softmax,
      &self->normalize_d, &self->store, &self->row_outputs};
  cl_mem *const buffers[] = {&self->features,  &self->int8_a,  &self->image_a, &self->run_b,
                             &self->workspace, &self->no_bias, &self->logits,  &self->state};

  for (gsize i = 0; i < G_N_ELEMENTS (kernels); i++)
    g_clear_pointer (kernels[i], clReleaseKernel);
  for (gsize i = 0; i < G_N_ELEMENTS (buffers); i++)
    g_clear_pointer (buffers[i], clReleaseMemObject);
  for (guint i = 0; i < GEMMCL_N_PLAN_OPERANDS; i++)
    gemmcl_held_clear (&self->operands[i]);
  g_clear_object (&self->context);
  g_free (self);
}

gboolean
gemmcl_body_build_step (GemmclBody *self, cl_kernel *step, const gchar *source, const gchar *name,
                        gchar *options, GError **error)
{
  g_autofree gchar *owned = options;

  *step = gemmcl_context_create_kernel (self->context, source, owned, name, error);
  return *step != NULL;
}

cl_mem
gemmcl_body_create_memory (GemmclBody *self, gsize rows, gsize row_bytes, const gchar *what,
                           GError **error)
{
  gsize size;

  if (!g_size_checked_mul (&size, rows, row_bytes) ||
      !g_size_checked_mul (&size, size, self->gemm.batch))
    size = G_MAXSIZE;
  return gemmcl_context_create_buffer (self->context, size, what, error);
}
