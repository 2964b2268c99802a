/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A and B as images, for kernels that read those.
 */
#include "context.h"
#include "kernel-options.h"
#include "plan-private.h"

cl_kernel
gemmcl_plan_create_pack_image (GemmclPlan *self, GemmclOperand which, GError **error)
{
  const gboolean of_a = which == GEMMCL_OPERAND_A;
  g_autofree gchar *options = g_strdup_printf (
      "-DA_TYPE=%d%s%s%s",
      of_a ? gemmcl_kernel_get_a_type (self->row, &self->gemm) : GEMMCL_TYPE_F32,
      of_a ? " -DOF_A" : "",
      gemmcl_blocks_are_halves (self->row, &self->gemm, which) ? " -DTEXEL_HALVES" : "",
      gemmcl_blocks_get_options (gemmcl_context_get_device_info (self->context)));

  return gemmcl_context_create_kernel (self->context, "pack_image.cl", options, "pack_image",
                                       error);
}

cl_mem
gemmcl_plan_create_image (GemmclPlan *self, const GemmclBlocks *blocks, const gchar *what,
                          GError **error)
{
  const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D,
                              .image_width = blocks->image_width,
                              .image_height = blocks->image_height};
  cl_int status;
  cl_mem image;

  if (gemmcl_blocks_are_in_buffers (gemmcl_context_get_device_info (self->context)))
    return gemmcl_context_create_buffer (
        self->context, blocks->image_width * blocks->image_height * sizeof (cl_uint), what, error);
  image = clCreateImage (gemmcl_context_get_cl_context (self->context), CL_MEM_READ_WRITE,
                         &GEMMCL_IMAGE_FORMAT, &desc, NULL, &status);
  if (!gemmcl_cl_check (status, error,
                        "clCreateImage for %s (%" G_GSIZE_FORMAT " x %" G_GSIZE_FORMAT " texels)",
                        what, blocks->image_width, blocks->image_height))
    return NULL;
  return image;
}

gboolean
gemmcl_plan_launch_pack_image (const GemmclImagePack *pack, GemmclChain *chain, GError **error)
{
  const GemmclBlocks *blocks = pack->blocks;
  const cl_int rows = pack->rows, cols = pack->cols;
  const cl_int width = blocks->width, panels = blocks->panels;
  const cl_int per_panel = blocks->per_panel, side = blocks->side;
  const gsize n_blocks = pack->batches * blocks->panels * blocks->per_panel;
  const gsize global[3] = {n_blocks * blocks->width, blocks->height, 1};
  const gsize local[3] /* both divide every block */ = {8, 4, 1};
  GemmclArguments arguments = {.kernel = pack->kernel};

  ADD_ARGUMENT (&arguments, pack->from);
  ADD_ARGUMENT (&arguments, pack->image);
  ADD_ARGUMENT (&arguments, pack->strides);
  ADD_ARGUMENT (&arguments, rows);
  ADD_ARGUMENT (&arguments, cols);
  ADD_ARGUMENT (&arguments, width);
  ADD_ARGUMENT (&arguments, panels);
  ADD_ARGUMENT (&arguments, per_panel);
  ADD_ARGUMENT (&arguments, side);
  return gemmcl_chain_launch (chain, &arguments, global, local, "pack_image", error);
}
