/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What a plan keeps on the device between runs: B, C and bias. Each is made anew beside the old one
 * and then takes its place, so that runs never see half of it. Nothing but that exchange takes the
 * plan's lock, so that no run waits meanwhile.
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

/* Elements that are written or packed at a time on a CPU, which executes one command after the
 * other: a run waits for no more than this. About a millisecond. */
#define SLICE (256 * 1024)

/* Writes @n floats, and returns when the device has them. */
static gboolean
write_all (GemmclPlan *self, cl_command_queue queue, cl_mem buffer, const gfloat *data, gsize n,
           const gchar *what, GError **error)
{
  const gsize step = gemmcl_plan_is_cpu (self) ? SLICE : n, size = sizeof (gfloat);

  /* What runs in another queue would not wait. A blocking write does not say that the device has
   * it, only that @data was read. */
  for (gsize i = 0; i < n; i += step)
    if (!gemmcl_cl_check (clEnqueueWriteBuffer (queue, buffer, CL_FALSE, i * size,
                                                MIN (step, n - i) * size, data + i, 0, NULL, NULL),
                          error, "clEnqueueWriteBuffer for %s", what) ||
        !gemmcl_cl_check (clFinish (queue), error, "clFinish after writing %s", what))
      return FALSE;
  return TRUE;
}

/* A buffer of @n floats that starts with the @used of @data; the rest is zeros. */
static cl_mem
create_filled (GemmclPlan *self, cl_command_queue queue, gsize n, const gfloat *data, gsize used,
               const gchar *what, GError **error)
{
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
  if (!write_all (self, queue, buffer, data, used, what, error) ||
      !gemmcl_cl_check (clFinish (queue), error, "clFinish after filling %s", what))
    return NULL;
  return g_steal_pointer (&buffer);
}

cl_mem
gemmcl_plan_create_bias (GemmclPlan *self, GError **error)
{
  g_auto (cl_command_queue) queue = gemmcl_context_create_queue (self->context, 0, error);

  return queue ? create_filled (self, queue, padded_n (self), NULL, 0, "bias", error) : NULL;
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
  const gsize local[3] = {gemmcl_kernel_get_panel (self->row), 1, 1};
  GemmclArguments arguments = {.kernel = pack};

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
  ADD_ARGUMENT (&arguments, b);
  ADD_ARGUMENT (&arguments, packed);
  ADD_ARGUMENT (&arguments, b_strides);
  ADD_ARGUMENT (&arguments, n);
  if (self->row->dpas)
    ADD_ARGUMENT (&arguments, k);
  return gemmcl_chain_launch (chain, &arguments, global, local, "pack", error);
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

/* Turns @plain, k x n and row-major, into what the row wants; or, to @warm_up, some of it. */
static cl_mem
pack_b (GemmclPlan *self, cl_command_queue queue, cl_mem plain, const GemmclByteScales *scales,
        gboolean warm_up, GError **error)
{
  const GemmclStrides strides = {.row = self->gemm.n, .col = 1};
  g_autoptr (GPtrArray) events = gemmcl_events_new ();
  GemmclChain chain = {.queue = queue, .events = events, .warm_up = warm_up};
  g_auto (cl_kernel) pack = gemmcl_plan_create_pack (self, error);
  g_auto (cl_mem) packed = NULL;

  if (pack == NULL)
    return NULL;
  /* A work-item packs a column of int8, but one element of all else. */
  if (gemmcl_plan_is_cpu (self))
    chain.slice = gemmcl_plan_takes_bytes (self) ? MAX (SLICE / self->gemm.k, 1) : SLICE;
  packed = gemmcl_plan_create_packed (self, 1, error);
  if (packed == NULL ||
      !gemmcl_plan_launch_pack (self, pack, plain, &strides, scales, packed, 1, &chain, error) ||
      !gemmcl_cl_check (clWaitForEvents (1, &chain.last), error, "clWaitForEvents for pack"))
    return NULL;
  return g_steal_pointer (&packed);
}

cl_mem
gemmcl_plan_warm_up_b (GemmclPlan *self, cl_command_queue queue, GError **error)
{
  const gsize size = self->gemm.k * self->gemm.n * sizeof (gfloat);
  const GemmclByteScales found = {0};
  g_auto (cl_mem) plain = gemmcl_context_create_buffer (self->context, size, "B", error);

  if (plain == NULL || self->pack == NULL)
    return g_steal_pointer (&plain);
  return pack_b (self, queue, plain, &found, TRUE, error);
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
create_b (GemmclPlan *self, cl_command_queue queue, const gfloat *b, GemmclMatrix *matrix,
          GError **error)
{
  const gsize n = self->gemm.k * self->gemm.n;
  g_auto (cl_mem) plain = create_filled (self, queue, n, b, n, "B", error);
  g_auto (GemmclByteScales) scales = {0};

  if (plain == NULL || self->pack == NULL)
    return g_steal_pointer (&plain);
  return gemmcl_byte_scales_init (&scales, self, queue, matrix, error)
             ? pack_b (self, queue, plain, &scales, FALSE, error)
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

struct _GemmclPrepared {
  GemmclPlan *plan;       /* to tell it from others; no reference */
  GemmclContext *context; /* whose weights outlive the plan */
  GemmclPlanOperand operand;
  GemmclWeights *weights; /* of B */
  cl_mem buffer;          /* of the others */
};

void
gemmcl_prepared_free (GemmclPrepared *self)
{
  g_clear_pointer (&self->weights, gemmcl_weights_unref);
  g_clear_pointer (&self->buffer, clReleaseMemObject);
  g_clear_object (&self->context);
  g_free (self);
}

static gboolean
prepare_b (GemmclPrepared *self, cl_command_queue queue, GemmclMatrix *b, GError **error)
{
  GemmclPlan *plan = self->plan;
  GemmclWeightsTable *table = gemmcl_context_get_weights (plan->context);
  const gboolean transposed = plan->gemm.trans_b;
  const gsize k = plan->gemm.k, n = plan->gemm.n;
  g_autoptr (GemmclMatrix) floats = NULL;
  g_autofree gchar *key = NULL;

  if (!check_shape ("B", b, transposed ? n : k, transposed ? k : n, error))
    return FALSE;
  floats = gemmcl_matrix_to_f32 (b, transposed, error);
  if (floats == NULL || !check_range (plan, gemmcl_matrix_get_data (floats), k * n, error))
    return FALSE;
  key = make_key (plan, gemmcl_matrix_get_data (floats), b);
  self->weights = gemmcl_weights_find (table, key);
  if (self->weights == NULL) {
    cl_mem buffer = create_b (plan, queue, gemmcl_matrix_get_data (floats), b, error);
    if (buffer == NULL)
      return FALSE;
    self->weights = gemmcl_weights_share (table, key, buffer);
  }
  return TRUE;
}

/* A vector may lie in a row or in a column. */
static gboolean
check_vector (const gchar *name, GemmclMatrix *matrix, gsize n, GError **error)
{
  return gemmcl_matrix_get_cols (matrix) == 1 ? check_shape (name, matrix, n, 1, error)
                                              : check_shape (name, matrix, 1, n, error);
}

/* @n_room floats in all; transposed for a problem that is column-major. */
static gboolean
upload (GemmclPrepared *self, cl_command_queue queue, GemmclMatrix *matrix, gboolean transpose,
        gsize n_room, const gchar *name, GError **error)
{
  const gsize used = gemmcl_matrix_get_rows (matrix) * gemmcl_matrix_get_cols (matrix);
  g_autoptr (GemmclMatrix) floats = gemmcl_matrix_to_f32 (matrix, transpose, error);

  if (floats == NULL)
    return FALSE;
  self->buffer =
      create_filled (self->plan, queue, n_room, gemmcl_matrix_get_data (floats), used, name, error);
  return self->buffer != NULL;
}

static gboolean
prepare_bias (GemmclPrepared *self, cl_command_queue queue, GemmclMatrix *bias, GError **error)
{
  const GemmclGemm *gemm = &self->plan->gemm;

  if (!gemm->bias) {
    g_set_error_literal (error, GEMMCL_ERROR, GEMMCL_ERROR_INVALID,
                         "This problem was stated without a bias.");
    return FALSE;
  }
  return check_vector ("The bias", bias, gemm->n, error) &&
         upload (self, queue, bias, FALSE, padded_n (self->plan), "the bias", error);
}

static gboolean
prepare_c (GemmclPrepared *self, cl_command_queue queue, GemmclMatrix *c, GError **error)
{
  const GemmclGemm *gemm = &self->plan->gemm;

  switch (gemm->addend) {
  case GEMMCL_ADDEND_MATRIX:
    return check_shape ("C", c, gemm->m, gemm->n, error) &&
           upload (self, queue, c, gemm->layout == GEMMCL_LAYOUT_COLUMN_MAJOR, gemm->m * gemm->n,
                   "C", error);
  case GEMMCL_ADDEND_ROW:
    return check_vector ("C", c, gemm->n, error) &&
           upload (self, queue, c, FALSE, gemm->n, "C", error);
  default:
    g_set_error_literal (error, GEMMCL_ERROR, GEMMCL_ERROR_INVALID,
                         "This problem was stated without a C of its own.");
    return FALSE;
  }
}

GemmclPrepared *
gemmcl_plan_prepare (GemmclPlan *self, GemmclPlanOperand operand, GemmclMatrix *matrix,
                     GError **error)
{
  static gboolean (*const prepare[]) (GemmclPrepared *, cl_command_queue, GemmclMatrix *,
                                      GError **) = {
      [GEMMCL_PLAN_B] = prepare_b,
      [GEMMCL_PLAN_BIAS] = prepare_bias,
      [GEMMCL_PLAN_C] = prepare_c,
  };
  g_autoptr (GemmclPrepared) prepared = NULL;
  g_auto (cl_command_queue) queue = NULL;

  g_return_val_if_fail (GEMMCL_IS_PLAN (self), NULL);
  g_return_val_if_fail ((guint)operand < G_N_ELEMENTS (prepare), NULL);
  g_return_val_if_fail (matrix != NULL, NULL);

  prepared = g_new0 (GemmclPrepared, 1);
  prepared->plan = self;
  prepared->context = g_object_ref (self->context);
  prepared->operand = operand;
  /* Not the context's, in which runs are: what waits here would wait for them. */
  queue = gemmcl_context_create_queue (self->context, 0, error);
  if (queue == NULL || !prepare[operand](prepared, queue, matrix, error))
    return NULL;
  return g_steal_pointer (&prepared);
}

void
gemmcl_plan_use (GemmclPlan *self, GemmclPrepared *prepared)
{
  GemmclWeights *weights;
  cl_mem *where;
  cl_mem buffer;

  g_return_if_fail (GEMMCL_IS_PLAN (self));
  g_return_if_fail (prepared != NULL && prepared->plan == self);

  g_mutex_lock (&self->lock);
  if (prepared->operand == GEMMCL_PLAN_B) {
    weights = self->weights;
    self->weights = prepared->weights;
    prepared->weights = weights;
  } else {
    where = prepared->operand == GEMMCL_PLAN_C ? &self->c : &self->bias;
    buffer = *where;
    *where = prepared->buffer;
    prepared->buffer = buffer;
  }
  g_mutex_unlock (&self->lock);
}

static gboolean
set (GemmclPlan *self, GemmclPlanOperand operand, GemmclMatrix *matrix, GError **error)
{
  g_autoptr (GemmclPrepared) prepared = gemmcl_plan_prepare (self, operand, matrix, error);

  if (prepared != NULL)
    gemmcl_plan_use (self, prepared);
  return prepared != NULL;
}

gboolean
gemmcl_plan_set_b (GemmclPlan *self, GemmclMatrix *b, GError **error)
{
  return set (self, GEMMCL_PLAN_B, b, error);
}

gboolean
gemmcl_plan_set_bias (GemmclPlan *self, GemmclMatrix *bias, GError **error)
{
  return set (self, GEMMCL_PLAN_BIAS, bias, error);
}

gboolean
gemmcl_plan_set_c (GemmclPlan *self, GemmclMatrix *c, GError **error)
{
  return set (self, GEMMCL_PLAN_C, c, error);
}
