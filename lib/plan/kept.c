/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan/kept.h"

#include <math.h>

#include "plan/pack.h"

/* u8 - UNSIGNED_SHIFT is int8; the zero point is shifted by the same amount. */
#define UNSIGNED_SHIFT 128

/* Elements that are written or packed at a time on a CPU, about a millisecond of work. A CPU
 * executes one command after another, so this limits how long a run waits. */
#define SLICE (256 * 1024)

/* A buffer of @n floats: the @used floats of @data, then zeros. Waits for the event of each
 * command, because commands in other queues do not wait, and because a command may fail after it
 * was enqueued. A blocking write would not suffice: it only guarantees that @data was read. */
static cl_mem
create_filled (GemmclKernelPlan *self, cl_command_queue queue, gsize n, const gfloat *data,
               gsize used, const gchar *what, GError **error)
{
  const gsize step = self->device->type == GEMMCL_DEVICE_TYPE_CPU ? SLICE : n;
  const gsize size = sizeof (gfloat);
  const gfloat zero = 0.0f;
  g_auto (cl_mem) buffer = gemmcl_context_create_buffer (self->context, n * size, what, error);
  g_autofree gchar *call = g_strdup_printf ("Writing %s to the device", what);
  cl_event done = NULL;
  cl_int status;

  if (buffer == NULL)
    return NULL;
  if (n > used) {
    status = clEnqueueFillBuffer (queue, buffer, &zero, sizeof (zero), used * size,
                                  (n - used) * size, 0, NULL, &done);
    if (!gemmcl_context_finish (self->context, status, done, call, error))
      return NULL;
  }
  for (gsize i = 0; i < used; i += step) {
    status = clEnqueueWriteBuffer (queue, buffer, CL_FALSE, i * size, MIN (step, used - i) * size,
                                   data + i, 0, NULL, &done);
    if (!gemmcl_context_finish (self->context, status, done, call, error))
      return NULL;
  }
  return g_steal_pointer (&buffer);
}

cl_mem
gemmcl_kept_create_zeros (GemmclKernelPlan *self, GError **error)
{
  g_auto (cl_command_queue) queue = gemmcl_context_create_queue (self->context, 0, error);

  return queue ? create_filled (self, queue, gemmcl_pack_get_padded_n (self), NULL, 0, "the bias",
                                error)
               : NULL;
}

/* Packs @plain, k x n and row-major, into the form that multiply reads. @warm_up: launch only a
 * part of the packing */
static cl_mem
pack_b (GemmclKernelPlan *self, cl_command_queue queue, cl_mem plain, cl_mem scales,
        gboolean warm_up, GError **error)
{
  const GemmclStrides strides = {.row = self->computed.n, .col = 1};
  g_autoptr (GPtrArray) events = gemmcl_events_new ();
  GemmclChain chain = {.queue = queue, .events = events, .warm_up = warm_up};
  g_auto (cl_kernel) pack = gemmcl_pack_create_kernel (self, error);
  g_auto (cl_mem) packed = NULL;

  if (pack == NULL)
    return NULL;
  /* A work-item packs a column of int8, or a word of another type. */
  if (self->device->type == GEMMCL_DEVICE_TYPE_CPU)
    chain.slice = gemmcl_pack_is_int8 (self) ? MAX (SLICE / self->computed.k, 1) : SLICE;
  packed = gemmcl_pack_create_b (self, 1, error);
  if (packed == NULL ||
      !gemmcl_pack_launch (self, pack, plain, &strides, scales, packed, 1, &chain, error) ||
      !gemmcl_cl_check (gemmcl_context_wait (self->context, chain.last), error, "Packing B"))
    return NULL;
  return g_steal_pointer (&packed);
}

gboolean
gemmcl_kept_warm_up_b (GemmclKernelPlan *self, cl_command_queue queue, GError **error)
{
  const gsize size = self->computed.k * self->computed.n * sizeof (gfloat);
  cl_mem *b = &self->kept[GEMMCL_PLAN_B].buffer;
  g_auto (cl_mem) plain = gemmcl_context_create_buffer (self->context, size, "B", error);

  if (plain != NULL)
    *b = gemmcl_pack_is_needed (self) ? pack_b (self, queue, plain, NULL, TRUE, error)
                                      : g_steal_pointer (&plain);
  return *b != NULL;
}

static gboolean
check_shape (const gchar *name, GemmclMatrix *matrix, gsize rows, gsize cols, GError **error)
{
  if (matrix->rows == rows && matrix->cols == cols)
    return TRUE;
  return gemmcl_fail (error, GEMMCL_ERROR_SHAPE, "%s must be %zu x %zu but is %zu x %zu.%s", name,
                      rows, cols, matrix->rows, matrix->cols,
                      matrix->rows == cols && matrix->cols == rows ? " Transpose it." : "");
}

/* A plan's own B or C is one matrix for all problems of the batch. */
static gboolean
check_shared (GemmclKernelPlan *self, const gchar *name, gsize stride, GError **error)
{
  if (stride == 0 || gemmcl_gemm_get_batch (&self->computed) == 1)
    return TRUE;
  return gemmcl_fail (error, GEMMCL_ERROR_INVALID,
                      "All problems of the batch share the plan's %s, but the problem has a stride "
                      "of %zu elements from one %s to the next. Set that to 0, or set %s in each "
                      "GemmclRun.",
                      name, stride, name, name);
}

/* Each precision's least positive f32 that rounds to infinity; 0: there is none. */
static const gfloat beyond[GEMMCL_N_PRECISIONS] = {
    [GEMMCL_PRECISION_F16] = 65520.0f,
    [GEMMCL_PRECISION_BF16] = 0x1.ffp127f,
    [GEMMCL_PRECISION_TF32] = 0x1.ffep127f,
};

/* int8 represents no NaN and no infinity. */
static gboolean
check_range (GemmclKernelPlan *self, const gfloat *b, gsize n, GError **error)
{
  const GemmclPrecision precision = self->kernel->precision;
  const gboolean is_int8 = gemmcl_pack_is_int8 (self);

  for (gsize i = 0; (is_int8 || beyond[precision] > 0.0f) && i < n; i++)
    if (is_int8 ? !isfinite (b[i]) : isfinite (b[i]) && fabsf (b[i]) >= beyond[precision])
      return gemmcl_fail (error, GEMMCL_ERROR_INVALID,
                          "B has an element %g, which %s cannot represent; choose the precision "
                          "f32.",
                          b[i], gemmcl_precision_get_name (precision));
  return TRUE;
}

/* The scale or zero point of column @j in @matrix, which has one for all columns or one per column;
 * @otherwise if @matrix is NULL. */
static gfloat
get_of_column (const GemmclMatrix *matrix, gsize j, gfloat otherwise)
{
  const gsize n = matrix ? matrix->rows * matrix->cols : 0;

  return n == 0 ? otherwise : ((const gfloat *)matrix->data)[n == 1 ? 0 : j];
}

/* N scales and N zero points, if the elements of @b can be used as int8 without quantizing: @b has
 * no scales, one, or one per column of op(B). Else NULL. */
static gfloat *
get_scales (GemmclKernelPlan *self, GemmclMatrix *b)
{
  const GemmclType type = b->type;
  const gfloat shift = type == GEMMCL_TYPE_U8 ? UNSIGNED_SHIFT : 0;
  GemmclMatrix *scales = b->scales;
  const gsize n = self->computed.n;
  gfloat *both;

  if (!gemmcl_pack_is_int8 (self) || (type != GEMMCL_TYPE_I8 && type != GEMMCL_TYPE_U8) ||
      (scales != NULL && (self->computed.trans_b ? scales->cols : scales->rows) != 1))
    return NULL;
  both = g_new (gfloat, 2 * n);
  for (gsize j = 0; j < n; j++) {
    both[j] = get_of_column (scales, j, 1);
    both[n + j] = get_of_column (b->zero_points, j, 0) - shift;
  }
  return both;
}

/* @b, k x n and row-major, on the device as the kernel reads it. @scales: (nullable) */
static cl_mem
create_b (GemmclKernelPlan *self, cl_command_queue queue, const gfloat *b, const gfloat *scales,
          GError **error)
{
  const gsize n = self->computed.k * self->computed.n, n_scales = 2 * self->computed.n;
  g_auto (cl_mem) plain = create_filled (self, queue, n, b, n, "B", error);
  g_auto (cl_mem) of_columns = NULL;

  if (plain == NULL || !gemmcl_pack_is_needed (self))
    return g_steal_pointer (&plain);
  if (scales != NULL && !(of_columns = create_filled (self, queue, n_scales, scales, n_scales,
                                                      "the scales of B", error)))
    return NULL;
  return pack_b (self, queue, plain, of_columns, FALSE, error);
}

/* The key of B for sharing. It identifies the elements and the packing. */
static gchar *
make_key (GemmclKernelPlan *self, const gfloat *b, const gfloat *scales)
{
  const GemmclBlocks *blocks = &self->b_blocks;
  g_autofree gchar *columns =
      scales ? gemmcl_weights_make_key (scales, 2 * self->computed.n, "") : NULL;
  g_autofree gchar *pack = gemmcl_pack_make_options (self);
  g_autofree gchar *layout = g_strdup_printf (
      "%zu x %zu, %s, size %zu, parts %u, image %zu x %zu, blocks %zu x %zu of %zu%s",
      self->computed.k, self->computed.n, pack, gemmcl_pack_get_size (self), self->split,
      blocks->image_width, blocks->image_height, blocks->width, blocks->height, blocks->block_k,
      columns ? columns : "");

  return gemmcl_weights_make_key (b, self->computed.k * self->computed.n, layout);
}

static gboolean
prepare_b (GemmclKernelPlan *self, GemmclKept *kept, cl_command_queue queue, GError **error)
{
  GemmclMatrix *b = kept->matrix;
  const gboolean transposed = self->computed.trans_b;
  const gsize k = self->computed.k, n = self->computed.n;
  g_autoptr (GemmclMatrix) floats = NULL;
  g_autofree gfloat *scales = NULL;
  g_autofree gchar *key = NULL;

  if (!check_shared (self, "B", self->computed.b_stride, error) ||
      !check_shape ("B", b, transposed ? n : k, transposed ? k : n, error))
    return FALSE;
  floats = gemmcl_matrix_to_f32 (b, transposed, error);
  if (floats == NULL || !check_range (self, floats->data, k * n, error))
    return FALSE;
  scales = get_scales (self, b);
  key = make_key (self, floats->data, scales);
  kept->weights = gemmcl_weights_share (self->context, key, &kept->buffer);
  if (kept->weights == NULL &&
      (kept->buffer = create_b (self, queue, floats->data, scales, error)) != NULL)
    kept->weights = gemmcl_weights_share (self->context, key, &kept->buffer);
  return kept->buffer != NULL;
}

/* C and the bias are f32. A vector may be a row or a column. */
static gboolean
prepare_floats (GemmclKernelPlan *self, GemmclPlanOperand operand, GemmclKept *kept,
                cl_command_queue queue, GError **error)
{
  const GemmclGemm *gemm = &self->computed;
  const gboolean is_c = operand == GEMMCL_PLAN_C;
  const gboolean is_matrix = is_c && gemm->addend == GEMMCL_ADDEND_MATRIX;
  const gboolean is_column = !is_matrix && kept->matrix->cols == 1;
  const gsize rows = is_matrix ? gemm->m : is_column ? gemm->n : 1, cols = is_column ? 1 : gemm->n;
  const gsize n_room = is_c ? rows * cols : gemmcl_pack_get_padded_n (self);
  g_autoptr (GemmclMatrix) floats = NULL;

  if (is_c ? !is_matrix && gemm->addend != GEMMCL_ADDEND_ROW : !gemm->bias)
    return gemmcl_fail (error, GEMMCL_ERROR_INVALID, "The plan's problem has no %s.",
                        is_c ? "C of its own; set GemmclGemm.addend to MATRIX or ROW"
                             : "bias; set GemmclGemm.bias");
  if (!check_shared (self, "C", is_matrix ? gemm->c_stride : 0, error) ||
      !check_shape (is_c ? "C" : "The bias", kept->matrix, rows, cols, error))
    return FALSE;
  floats = gemmcl_matrix_to_f32 (kept->matrix,
                                 is_matrix && gemm->layout == GEMMCL_LAYOUT_COLUMN_MAJOR, error);
  if (floats == NULL)
    return FALSE;
  kept->buffer = create_filled (self, queue, n_room, floats->data, rows * cols,
                                is_c ? "C" : "the bias", error);
  return kept->buffer != NULL;
}

gboolean
gemmcl_kept_prepare (GemmclKernelPlan *self, GemmclPlanOperand operand, GemmclMatrix *matrix,
                     GemmclKept *kept, GError **error)
{
  /* A queue of its own: waiting in the context's queue would wait for runs. */
  g_auto (cl_command_queue) queue = gemmcl_context_create_queue (self->context, 0, error);

  gemmcl_kept_clear (kept);
  kept->matrix = gemmcl_matrix_ref (matrix);
  if (queue == NULL)
    return FALSE;
  return operand == GEMMCL_PLAN_B ? prepare_b (self, kept, queue, error)
                                  : prepare_floats (self, operand, kept, queue, error);
}
