/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "blocks.h"

#include "kernels.h"

/* Of an image in a buffer: that of most devices, and places in it are ints. */
#define MAX_BUFFER_SIDE 16384

/* The largest multiple of @step up to @limit, or all of @k in whole steps if that is less. */
static gsize
get_chunk (gsize k, gsize step, gsize limit)
{
  return MIN ((k + step - 1) / step, limit / step) * step;
}

gboolean
gemmcl_blocks_are_halves (const GemmclKernel *kernel, const GemmclGemm *gemm, GemmclOperand which)
{
  if (kernel->precision != GEMMCL_PRECISION_F16)
    return FALSE;
  return which == GEMMCL_OPERAND_B || (gemm->a_image == NULL && gemm->a_type == GEMMCL_TYPE_F16);
}

gboolean
gemmcl_blocks_are_in_buffers (const GemmclDeviceInfo *device)
{
  return device->max_image_width == 0;
}

const gchar *
gemmcl_blocks_get_options (const GemmclDeviceInfo *device)
{
  return gemmcl_blocks_are_in_buffers (device) ? " -DIMAGES -DIMAGES_IN_BUFFERS"
                                               : " -DIMAGES -D__opencl_c_images=1";
}

gboolean
gemmcl_blocks_init (GemmclBlocks *self, const GemmclKernel *kernel, const GemmclDeviceInfo *device,
                    const GemmclGemm *gemm, GemmclOperand which, GError **error)
{
  const gboolean in_buffer = gemmcl_blocks_are_in_buffers (device);
  const gsize max_width = in_buffer ? MAX_BUFFER_SIDE : device->max_image_width;
  const gsize max_height = in_buffer ? MAX_BUFFER_SIDE : device->max_image_height;
  const gsize per_texel = gemmcl_blocks_are_halves (kernel, gemm, which) ? 2 : 1;
  const GemmclTiles tiles = gemmcl_kernel_get_tiles (kernel, gemm->m, gemm->n);
  gsize blocks = 0;

  self->chunk = get_chunk (gemm->k, kernel->depth * kernel->subgroup, MIN (max_width, max_height));
  if (self->chunk > 0) {
    const gboolean of_a = which == GEMMCL_OPERAND_A;
    /* gemmcl_plan_run() takes an A for each batch in any case. */
    const gsize batches = of_a || gemm->b_stride ? gemmcl_gemm_get_batch (gemm) : 1;

    self->width = (of_a ? self->chunk : tiles.cols) / per_texel;
    self->height = of_a ? kernel->tile_m : self->chunk;
    self->per_panel = (gemm->k + self->chunk - 1) / self->chunk;
    self->panels = of_a ? tiles.m * kernel->group_m : tiles.n;
    if (!g_size_checked_mul (&blocks, self->per_panel, self->panels) ||
        !g_size_checked_mul (&blocks, blocks, batches))
      blocks = G_MAXSIZE;
    self->side = MIN (max_width / self->width, blocks);
  }
  if (self->chunk > 0 && self->side > 0 && (blocks - 1) / self->side < max_height / self->height) {
    self->image_width = self->side * self->width;
    self->image_height = ((blocks - 1) / self->side + 1) * self->height;
    return TRUE;
  }
  g_set_error (error, GEMMCL_ERROR, GEMMCL_ERROR_KERNEL,
               "Kernel %s reads images, and %s is more than one on %s holds, of up to"
               " %" G_GSIZE_FORMAT " x %" G_GSIZE_FORMAT " texels.",
               kernel->name, which == GEMMCL_OPERAND_A ? "A" : "B", device->name, max_width,
               max_height);
  return FALSE;
}

GemmclStrides
gemmcl_blocks_get_strides (const GemmclBlocks *self, gboolean shared)
{
  return (GemmclStrides){
      .offset = self->chunk,
      .batch = shared ? 0 : self->panels * self->per_panel,
      .row = self->per_panel,
      .col = self->side,
  };
}
