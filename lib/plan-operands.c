/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What a plan keeps on the device between runs: B, C and bias. Each is made anew beside the old one
 * and then takes its place, so that runs never see half of it.
 */
#include <math.h>

#include "context.h"
#include "kernels.h"
#include "plan-bytes.h"
#include "quantized.h"

/* N rounded up to whole panels. */
static gsize
padded_n (GemmclPlan *self)
{
  const gsize panel = MAX (gemmcl_kernel_get_panel (self->row), 1);
  return (self->gemm.n + panel - 1) / panel * panel;
}

gsize
gemmcl_plan_get_packed_size (GemmclPlan *self)
{
  const gsize k = self->gemm.k / self->split;

  return padded_n (self) * (gemmcl_plan_takes_bytes (self)
                                ? BYTES_COLUMN (k) * 4
                                : gemmcl_kernel_get_packed_k (self->row, k));
}

/* A buffer of @n floats that starts with the @used of @data; the rest is zeros. */
static cl_mem
create_filled (GemmclPlan *self, gsize n, const gfloat *data, gsize used, const gchar *what,
               GError **error)
{
  const cl_command_queue queue = gemmcl_context_get_cl_queue (self->context);
  const gsize size = sizeof (gfloat);
  const gfloat zero = 0.0f;
  g_auto (cl_mem) buffer = gemmcl_context_create_buffer (self->context, n * size, what, error);

  if (buffer == NULL)
    return NULL;
  if (n > used &&
      !gemmcl_cl_check (clEnqueueFillBuffer (queue, buffer, &zero, sizeof (zero), used * size,
                                             (n - used) * size, 0, NULL, NULL),
                        error, "clEnqueueFillBuffer for %s", what))
    return NULL;
  if (used > 0 && !gemmcl_cl_check (clEnqueueWriteBuffer (queue, buffer, CL_FALSE, 0, used * size,
                                                          data, 0, NULL, NULL),
                                    error, "clEnqueueWriteBuffer for %s", what))
    return NULL;
  /* What runs in another queue would not wait. A blocking write does not say that the device has
   * it, only that @data was read. */
  if (!gemmcl_cl_check (clFinish (queue), error, "clFinish after writing %s", what))
    return NULL;
  return g_steal_pointer (&buffer);
}

cl_mem
gemmcl_plan_create_bias (GemmclPlan *self, GError **error)
{
  return create_filled (self, padded_n (self), NULL, 0, "bias", error);
}

static void
replace (GemmclPlan *self, cl_mem *where, cl_mem *with)
{
  cl_mem old;

  g_mutex_lock (&self->lock);
  old = *where;
  *where = g_steal_pointer (with);
  g_mutex_unlock (&self->lock);
  if (old != NULL)
    clReleaseMemObject (old);
}

/* Elements of B that a work-item of the packing program writes. */
static gsize
count_in_word (const GemmclKernel *row)
{
  return row->dpas ? sizeof (guint32) / gemmcl_type_get_size (gemmcl_kernel_get_b_type (row)) : 1;
}

gboolean
gemmcl_plan_launch_pack (GemmclPlan *self, cl_kernel pack, cl_mem b, const GemmclStrides *strides,
                         const GemmclByteScales *scales, cl_mem packed, gsize batch,
                         GemmclChain *chain, GError **error)
{
  const cl_int n = self->gemm.n;
  GemmclStrides b_strides = *strides;
  const gsize part = self->gemm.k / self->split;
  const cl_int k = part;
  const gsize global[3] = {padded_n (self),
                           gemmcl_kernel_get_packed_k (self->row, part) / count_in_word (self->row),
                           batch * self->split};
  /* Not the driver's choice, which may be other for each K: PoCL compiles for each. */
  const gsize local[3] = {gemmcl_kernel_get_panel (self->row), 1, 1};

  if (gemmcl_plan_takes_bytes (self))
    return gemmcl_plan_launch_pack_bytes (self, pack, b, strides, packed, padded_n (self), batch,
                                          scales, chain, error);
  if (self->row->images) {
    const GemmclImagePack image = {pack,         b,     packed,         *strides, self->gemm.k,
                                   self->gemm.n, batch, &self->b_blocks};
    return gemmcl_plan_launch_pack_image (&image, chain, error);
  }
  if (self->split > 1)
    b_strides.batch = part * b_strides.row;
  if (!gemmcl_cl_check (clSetKernelArg (pack, 0, sizeof (b), &b) |
                            clSetKernelArg (pack, 1, sizeof (packed), &packed) |
                            clSetKernelArg (pack, 2, sizeof (b_strides), &b_strides) |
                            clSetKernelArg (pack, 3, sizeof (n), &n) |
                            (self->row->dpas ? clSetKernelArg (pack, 4, sizeof (k), &k) : 0),
                        error, "clSetKernelArg for pack"))
    return FALSE;
  return gemmcl_chain_launch (chain, pack, global, local, "pack", error);
}

cl_kernel
gemmcl_plan_create_pack (GemmclPlan *self, GError **error)
{
  g_autofree gchar *options = NULL;

  if (gemmcl_plan_takes_bytes (self))
    return gemmcl_plan_create_pack_bytes (self, error);
  if (self->row->images)
    return gemmcl_plan_create_pack_image (self, GEMMCL_OPERAND_B, error);
  options = gemmcl_kernel_get_pack_options (self->row);
  return gemmcl_context_create_kernel (self->context, self->row->dpas ? "pack_dpas.cl" : "pack.cl",
                                       options, "pack", error);
}

cl_mem
gemmcl_plan_create_packed (GemmclPlan *self, gsize batches, GError **error)
{
  const gsize element = gemmcl_type_get_size (gemmcl_kernel_get_b_type (self->row));
  gsize size;

  if (self->row->images)
    return gemmcl_plan_create_image (self, &self->b_blocks, "B", error);
  if (!g_size_checked_mul (&size, gemmcl_plan_get_packed_size (self),
                           batches * self->split * element))
    size = G_MAXSIZE;
  return gemmcl_context_create_buffer (self->context, size, "B, packed,", error);
}

/* Turns @plain, k x n and row-major, into what the row wants. */
static cl_mem
pack_b (GemmclPlan *self, cl_mem plain, const GemmclByteScales *scales, GError **error)
{
  const GemmclStrides strides = {.row = self->gemm.n, .col = 1};
  g_auto (GemmclChain) chain = {.queue = gemmcl_context_get_cl_queue (self->context)};
  g_auto (cl_kernel) pack = gemmcl_plan_create_pack (self, error);
  g_auto (cl_mem) packed = NULL;

  if (pack == NULL)
    return NULL;
  packed = gemmcl_plan_create_packed (self, 1, error);
  if (packed == NULL ||
      !gemmcl_plan_launch_pack (self, pack, plain, &strides, scales, packed, 1, &chain, error) ||
      !gemmcl_cl_check (clWaitForEvents (1, &chain.last), error, "clWaitForEvents for pack"))
    return NULL;
  return g_steal_pointer (&packed);
}

static gboolean
check_shape (const gchar *name, GemmclMatrix *matrix, gsize rows, gsize cols, GError **error)
{
  const gsize has_rows = gemmcl_matrix_get_rows (matrix);
  const gsize has_cols = gemmcl_matrix_get_cols (matrix);

  if (has_rows == rows && has_cols == cols)
    return TRUE;
  g_set_error (error, GEMMCL_ERROR, GEMMCL_ERROR_SHAPE,
               "%s must be %" G_GSIZE_FORMAT " x %" G_GSIZE_FORMAT " but is %" G_GSIZE_FORMAT
               " x %" G_GSIZE_FORMAT ".",
               name, rows, cols, has_rows, has_cols);
  return FALSE;
}

/* Halves go up to 65504; what is more would be infinite. Bytes have no place for what is no number.
 */
static gboolean
check_range (GemmclPlan *self, const gfloat *b, gsize n, GError **error)
{
  const gfloat most = 65519.996f; /* the largest that rounds to it */

  if (gemmcl_plan_takes_bytes (self))
    return gemmcl_check_finite (b, n, error);
  if (gemmcl_kernel_get_b_type (self->row) != GEMMCL_TYPE_F16)
    return TRUE;
  for (gsize i = 0; i < n; i++)
    if (isfinite (b[i]) && fabsf (b[i]) > most) {
      g_set_error (error, GEMMCL_ERROR, GEMMCL_ERROR_INVALID,
                   "B has an element %g, but f16 holds up to 65504; choose the precision f32.",
                   b[i]);
      return FALSE;
    }
  return TRUE;
}

/* @b, k x n and row-major, on the device as the row wants it; @matrix may say how it was quantised.
 */
static cl_mem
create_b (GemmclPlan *self, const gfloat *b, GemmclMatrix *matrix, GError **error)
{
  const gsize n = self->gemm.k * self->gemm.n;
  g_auto (cl_mem) plain = create_filled (self, n, b, n, "B", error);
  g_auto (GemmclByteScales) scales = {0};

  if (plain == NULL || self->pack == NULL)
    return g_steal_pointer (&plain);
  return gemmcl_byte_scales_init (&scales, self, matrix, error)
             ? pack_b (self, plain, &scales, error)
             : NULL;
}

/* All that tells how B lies in memory. */
static gchar *
make_key (GemmclPlan *self, const gfloat *b, GemmclMatrix *matrix)
{
  g_autofree gchar *scales = gemmcl_plan_describe_scales (self, matrix);
  const GemmclBlocks *blocks = &self->b_blocks;
  g_autofree gchar *pack = gemmcl_kernel_get_pack_options (self->row);
  g_autofree gchar *layout = g_strdup_printf (
      "%" G_GSIZE_FORMAT " x %" G_GSIZE_FORMAT ", %s, size %" G_GSIZE_FORMAT
      ", parts %u, image %" G_GSIZE_FORMAT " x %" G_GSIZE_FORMAT ", blocks %" G_GSIZE_FORMAT
      " x %" G_GSIZE_FORMAT " of %" G_GSIZE_FORMAT "%s",
      self->gemm.k, self->gemm.n, pack, gemmcl_plan_get_packed_size (self), self->split,
      blocks->image_width, blocks->image_height, blocks->width, blocks->height, blocks->chunk,
      scales);

  return gemmcl_weights_make_key (b, self->gemm.k * self->gemm.n, layout);
}

/* Takes @weights. */
static void
replace_weights (GemmclPlan *self, GemmclWeights *weights)
{
  g_autoptr (GemmclWeights) old = NULL;

  g_mutex_lock (&self->lock);
  old = self->weights;
  self->weights = weights;
  g_mutex_unlock (&self->lock);
}

gboolean
gemmcl_plan_set_b (GemmclPlan *self, GemmclMatrix *b, GError **error)
{
  const gboolean transposed = self->gemm.trans_b;
  const gsize k = self->gemm.k, n = self->gemm.n;
  GemmclWeightsTable *table;
  g_autoptr (GemmclMatrix) floats = NULL;
  g_autoptr (GemmclWeights) weights = NULL;
  g_autofree gchar *key = NULL;

  g_return_val_if_fail (GEMMCL_IS_PLAN (self), FALSE);
  g_return_val_if_fail (b != NULL, FALSE);

  table = gemmcl_context_get_weights (self->context);
  if (!check_shape ("B", b, transposed ? n : k, transposed ? k : n, error))
    return FALSE;
  floats = gemmcl_matrix_to_f32 (b, transposed, error);
  if (floats == NULL || !check_range (self, gemmcl_matrix_get_data (floats), k * n, error))
    return FALSE;
  key = make_key (self, gemmcl_matrix_get_data (floats), b);
  weights = gemmcl_weights_find (table, key);
  if (weights == NULL) {
    cl_mem buffer = create_b (self, gemmcl_matrix_get_data (floats), b, error);
    if (buffer == NULL)
      return FALSE;
    weights = gemmcl_weights_share (table, key, buffer);
  }
  replace_weights (self, g_steal_pointer (&weights));
  return TRUE;
}

/* A vector may lie in a row or in a column. */
static gboolean
check_vector (const gchar *name, GemmclMatrix *matrix, gsize n, GError **error)
{
  return gemmcl_matrix_get_cols (matrix) == 1 ? check_shape (name, matrix, n, 1, error)
                                              : check_shape (name, matrix, 1, n, error);
}

/* Uploads @matrix, @n_room floats in all; transposed for a problem that is column-major. */
static gboolean
set_operand (GemmclPlan *self, cl_mem *where, GemmclMatrix *matrix, gboolean transpose,
             gsize n_room, const gchar *name, GError **error)
{
  const gsize used = gemmcl_matrix_get_rows (matrix) * gemmcl_matrix_get_cols (matrix);
  g_autoptr (GemmclMatrix) floats = gemmcl_matrix_to_f32 (matrix, transpose, error);
  g_auto (cl_mem) buffer = NULL;

  if (floats == NULL)
    return FALSE;
  buffer = create_filled (self, n_room, gemmcl_matrix_get_data (floats), used, name, error);
  if (buffer == NULL)
    return FALSE;
  replace (self, where, &buffer);
  return TRUE;
}

gboolean
gemmcl_plan_set_bias (GemmclPlan *self, GemmclMatrix *bias, GError **error)
{
  g_return_val_if_fail (GEMMCL_IS_PLAN (self), FALSE);
  g_return_val_if_fail (bias != NULL, FALSE);

  if (!self->gemm.bias) {
    g_set_error_literal (error, GEMMCL_ERROR, GEMMCL_ERROR_INVALID,
                         "This problem was stated without a bias.");
    return FALSE;
  }
  return check_vector ("The bias", bias, self->gemm.n, error) &&
         set_operand (self, &self->bias, bias, FALSE, padded_n (self), "the bias", error);
}

gboolean
gemmcl_plan_set_c (GemmclPlan *self, GemmclMatrix *c, GError **error)
{
  const gsize m = self->gemm.m, n = self->gemm.n;

  g_return_val_if_fail (GEMMCL_IS_PLAN (self), FALSE);
  g_return_val_if_fail (c != NULL, FALSE);

  switch (self->gemm.addend) {
  case GEMMCL_ADDEND_MATRIX:
    return check_shape ("C", c, m, n, error) &&
           set_operand (self, &self->c, c, self->gemm.layout == GEMMCL_LAYOUT_COLUMN_MAJOR, m * n,
                        "C", error);
  case GEMMCL_ADDEND_ROW:
    return check_vector ("C", c, n, error) && set_operand (self, &self->c, c, FALSE, n, "C", error);
  default:
    g_set_error_literal (error, GEMMCL_ERROR, GEMMCL_ERROR_INVALID,
                         "This problem was stated without a C of its own.");
    return FALSE;
  }
}
