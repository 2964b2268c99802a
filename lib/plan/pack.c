/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan/pack.h"

#include "kernels/options.h"
#include "matrix/matrix.h"
#include "shared/arguments.h"
#include "shared/quantized.h"

gboolean
gemmcl_pack_is_int8 (GemmclKernelPlan *self)
{
  return self->kernel->precision == GEMMCL_PRECISION_I8;
}

gboolean
gemmcl_pack_is_needed (GemmclKernelPlan *self)
{
  return self->kernel->packed || self->kernel->images;
}

gsize
gemmcl_pack_get_padded_n (GemmclKernelPlan *self)
{
  const gsize panel = MAX (gemmcl_kernel_get_panel (self->kernel), 1);
  return ROUND_UP (self->computed.n, panel);
}

/* Elements of B in a word of 32 bits, if the kernel reads such words of neighbouring rows (see
 * kernels/steps/pack.cl); else 1. */
static gsize
count_in_word (const GemmclKernel *kernel)
{
  return kernel->family >= GEMMCL_FAMILY_DPAS
             ? sizeof (guint32) / gemmcl_type_get_size (gemmcl_kernel_get_b_type (kernel))
             : 1;
}

/* The rows of a packed B of @k rows, padding included. */
static gsize
get_packed_k (const GemmclKernel *kernel, gsize k)
{
  const gsize step = kernel->family == GEMMCL_FAMILY_DPAS    ? kernel->depth * kernel->subgroup
                     : kernel->family == GEMMCL_FAMILY_WGMMA ? WGMMA_STEP * count_in_word (kernel)
                     : kernel->family >= GEMMCL_FAMILY_ASYNC_COPY
                         ? MMA_STEP * count_in_word (kernel)
                         : 1;

  return ROUND_UP (k, step);
}

gsize
gemmcl_pack_get_size (GemmclKernelPlan *self)
{
  const gsize k = self->computed.k / self->split;
  const gsize packed = get_packed_k (self->kernel, k);

  return gemmcl_pack_get_padded_n (self) *
         (gemmcl_pack_is_int8 (self) ? INT8_COLUMN (MAX (packed, k)) * 4 : packed);
}

/* An image for @blocks, or the buffer in place of it. */
static cl_mem
create_image (GemmclKernelPlan *self, const GemmclBlocks *blocks, const gchar *what, GError **error)
{
  const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D,
                              .image_width = blocks->image_width,
                              .image_height = blocks->image_height};
  cl_int status;
  cl_mem image;

  if (gemmcl_blocks_are_in_buffers (self->device))
    return gemmcl_context_create_buffer (
        self->context, blocks->image_width * blocks->image_height * sizeof (cl_uint), what, error);
  image = clCreateImage (gemmcl_context_get_cl_context (self->context), CL_MEM_READ_WRITE,
                         &GEMMCL_IMAGE_FORMAT, &desc, NULL, &status);
  if (!gemmcl_cl_check (status, error, "clCreateImage for %s (%zu x %zu texels)", what,
                        blocks->image_width, blocks->image_height))
    return NULL;
  return image;
}

cl_mem
gemmcl_pack_create_b (GemmclKernelPlan *self, gsize n, GError **error)
{
  const gsize element = gemmcl_type_get_size (gemmcl_kernel_get_b_type (self->kernel));
  gsize size;

  if (self->kernel->images)
    return create_image (self, &self->b_blocks, "B", error);
  if (!g_size_checked_mul (&size, gemmcl_pack_get_size (self), n * self->split * element))
    size = G_MAXSIZE;
  return gemmcl_context_create_buffer (self->context, size, "the packed B", error);
}

gchar *
gemmcl_pack_make_image_options (GemmclKernelPlan *self, GemmclOperand which)
{
  const gboolean of_a = which == GEMMCL_OPERAND_A;
  const GemmclType type =
      of_a ? gemmcl_kernel_get_a_type (self->kernel, &self->computed) : GEMMCL_TYPE_F32;

  return g_strdup_printf ("-DA_TYPE=%s%s%s", gemmcl_type_get_dtype (type), of_a ? " -DOF_A" : "",
                          gemmcl_blocks_get_options (self->device));
}

/* Packing @rows x @cols elements of @from, laid out as @strides, into @image. */
typedef struct {
  cl_kernel kernel;
  cl_mem from, image;
  GemmclStrides strides;
  gsize rows, cols, batch;
  const GemmclBlocks *blocks;
} ImagePack;

static gboolean
launch_pack_image (const ImagePack *pack, GemmclChain *chain, GError **error)
{
  const GemmclBlocks *blocks = pack->blocks;
  const cl_int rows = pack->rows, cols = pack->cols;
  const cl_int width = blocks->width, panels = blocks->panels;
  const cl_int per_panel = blocks->per_panel, side = blocks->side;
  const gsize n_blocks = pack->batch * blocks->panels * blocks->per_panel;
  const gsize global[3] = {n_blocks * blocks->width, blocks->height, 1};
  const gsize local[3] = {8, 4, 1}; /* divides the size of every block */

  return LAUNCH (chain, pack->kernel, "pack_image", global, local, error, ARGUMENT (pack->from),
                 ARGUMENT (pack->image), ARGUMENT (pack->strides), ARGUMENT (rows), ARGUMENT (cols),
                 ARGUMENT (width), ARGUMENT (panels), ARGUMENT (per_panel), ARGUMENT (side));
}

gchar *
gemmcl_pack_make_options (GemmclKernelPlan *self)
{
  const GemmclKernel *kernel = self->kernel;
  const guint panel = gemmcl_kernel_get_panel (kernel);
  g_autoptr (GString) options = g_string_new (NULL);

  g_string_printf (
      options, "-DPANEL=%u -DA_TYPE=F32 -DB_TYPE=%s -DWORD_ELEMENTS=%zu -DSUBGROUP_SIZE=%u", panel,
      gemmcl_type_get_dtype (gemmcl_kernel_get_b_type (kernel)), count_in_word (kernel),
      kernel->family == GEMMCL_FAMILY_DPAS ? kernel->subgroup : panel);
  if (kernel->family == GEMMCL_FAMILY_WGMMA)
    g_string_append (options, " -DCOLUMN_MAJOR");
  if (kernel->precision == GEMMCL_PRECISION_I8)
    g_string_append_printf (options, " -DSPLIT=%u", self->split);
  if (kernel->precision == GEMMCL_PRECISION_F32)
    g_string_append (options, " -DUNROUNDED");
  return g_string_free (g_steal_pointer (&options), FALSE);
}

cl_kernel
gemmcl_pack_create_kernel (GemmclKernelPlan *self, GError **error)
{
  const gboolean is_image = self->kernel->images;
  g_autofree gchar *options = is_image ? gemmcl_pack_make_image_options (self, GEMMCL_OPERAND_B)
                                       : gemmcl_pack_make_options (self);

  return gemmcl_context_create_kernel (self->context, "steps/pack.cl", options,
                                       is_image ? "pack_image" : "pack", error);
}

gboolean
gemmcl_pack_launch (GemmclKernelPlan *self, cl_kernel kernel, cl_mem b,
                    const GemmclStrides *strides, cl_mem scales, cl_mem packed, gsize batch,
                    GemmclChain *chain, GError **error)
{
  const cl_int n = self->computed.n, k = self->computed.k, part = k / (cl_int)self->split;
  const gboolean is_int8 = gemmcl_pack_is_int8 (self);
  /* A work-item packs a column of int8, or a word of another type. Only int8 has scales, so that
   * otherwise a size of 0 ends the arguments. */
  const gsize words =
      is_int8 ? 1 : get_packed_k (self->kernel, part) / count_in_word (self->kernel);
  const gsize global[3] = {gemmcl_pack_get_padded_n (self), words, batch * self->split};
  GemmclStrides part_strides = *strides;

  if (self->kernel->images)
    return launch_pack_image (
        &(ImagePack){kernel, b, packed, *strides, k, n, batch, &self->b_blocks}, chain, error);
  if (self->split > 1)
    part_strides.batch = part * strides->row;
  return LAUNCH (
      chain, kernel, "pack", global,
      IN_A_ROW (gemmcl_kernel_plan_fit_group (self, gemmcl_kernel_get_panel (self->kernel))), error,
      ARGUMENT (b), ARGUMENT (packed), ARGUMENT (part_strides), ARGUMENT (n), ARGUMENT (part),
      {is_int8 ? sizeof (scales) : 0, &scales});
}

cl_mem
gemmcl_pack_create_a (GemmclKernelPlan *self, GError **error)
{
  return gemmcl_blocks_init (&self->a_blocks, self->kernel, self->device, &self->computed,
                             GEMMCL_OPERAND_A, error) &&
                 gemmcl_blocks_init (&self->b_blocks, self->kernel, self->device, &self->computed,
                                     GEMMCL_OPERAND_B, error)
             ? create_image (self, &self->a_blocks, "A", error)
             : NULL;
}

/* Strides in blocks (arguments.h). @shared: all problems of the batch share one matrix */
static GemmclStrides
get_strides (const GemmclBlocks *self, gboolean shared)
{
  return (GemmclStrides){
      .batch = shared ? 0 : self->panels * self->per_panel,
      .row = self->per_panel,
      .col = self->side,
  };
}

gboolean
gemmcl_pack_launch_a (GemmclKernelPlan *self, cl_kernel kernel, cl_mem from, GemmclArguments *p,
                      gsize batch, GemmclChain *chain, GError **error)
{
  GemmclBlocks blocks = self->a_blocks;
  const gboolean shared = p->a.batch == 0;
  const ImagePack pack = {
      .kernel = kernel,
      .from = from,
      .image = self->image,
      .strides = p->a,
      .rows = p->M,
      .cols = p->K,
      .batch = shared ? 1 : batch,
      .blocks = &blocks,
  };

  blocks.panels = gemmcl_kernel_get_tiles (self->kernel, p->M, p->N).m * self->kernel->group_m;
  p->a = get_strides (&blocks, shared);
  p->b = get_strides (&self->b_blocks, p->b.batch == 0);
  p->block_k = blocks.block_k; /* B's is the same */
  return p->K == 0 || launch_pack_image (&pack, chain, error);
}
