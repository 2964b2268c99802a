/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The operands that a body keeps on the device between runs: B, C and bias, and the result in f32
 * that a step converts to D. That result is the next run's C with GEMMCL_ADDEND_PREVIOUS.
 */
#include <math.h>

#include "plan/body.h"

/* u8 - UNSIGNED_SHIFT is int8; the zero point is shifted by the same amount. */
#define UNSIGNED_SHIFT 128

/* Elements that are written or packed at a time on a CPU, about a millisecond of work. A CPU
 * executes one command after another, so this limits how long a run waits. */
#define SLICE (256 * 1024)

/* A buffer of @n floats: the @used floats of @data, then zeros. Waits for the event of each
 * command, because commands in other queues do not wait, and because a command may fail after it
 * was enqueued. A blocking write would not suffice: it only guarantees that @data was read. */
static cl_mem
create_filled (GemmclBody *self, cl_command_queue queue, gsize n, const gfloat *data, gsize used,
               const gchar *what, GError **error)
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
gemmcl_body_create_bias (GemmclBody *self, GError **error)
{
  g_auto (cl_command_queue) queue = gemmcl_context_create_queue (self->context, 0, error);

  return queue ? create_filled (self, queue, gemmcl_body_get_padded_n (self), NULL, 0, "the bias",
                                error)
               : NULL;
}

/* Packs @plain, k x n and row-major, into the form that multiply reads. @warm_up: launch only a
 * part of the packing */
static cl_mem
pack_b (GemmclBody *self, cl_command_queue queue, cl_mem plain, cl_mem scales, gboolean warm_up,
        GError **error)
{
  const GemmclStrides strides = {.row = self->gemm.n, .col = 1};
  g_autoptr (GPtrArray) events = gemmcl_events_new ();
  GemmclChain chain = {.queue = queue, .events = events, .warm_up = warm_up};
  g_auto (cl_kernel) pack = NULL;
  g_auto (cl_mem) packed = NULL;

  if (!gemmcl_body_build_pack (self, &pack, error))
    return NULL;
  /* A work-item packs a column of int8, or a word of another type. */
  if (self->device->type == GEMMCL_DEVICE_TYPE_CPU)
    chain.slice = gemmcl_body_is_int8 (self) ? MAX (SLICE / self->gemm.k, 1) : SLICE;
  packed = gemmcl_body_create_packed (self, 1, error);
  if (packed == NULL ||
      !gemmcl_body_launch_pack (self, pack, plain, &strides, scales, packed, 1, &chain, error) ||
      !gemmcl_cl_check (gemmcl_context_wait (self->context, chain.last), error, "Packing B"))
    return NULL;
  return g_steal_pointer (&packed);
}

gboolean
gemmcl_body_warm_up_b (GemmclBody *self, cl_command_queue queue, GError **error)
{
  const gsize size = self->gemm.k * self->gemm.n * sizeof (gfloat);
  cl_mem *b = &self->operands[GEMMCL_PLAN_B].buffer;
  g_auto (cl_mem) plain = gemmcl_context_create_buffer (self->context, size, "B", error);

  if (plain != NULL)
    *b = self->pack ? pack_b (self, queue, plain, NULL, TRUE, error) : g_steal_pointer (&plain);
  return *b != NULL;
}

static gboolean
check_shape (const gchar *name, GemmclMatrix *matrix, gsize rows, gsize cols, GError **error)
{
  if (matrix->rows == rows && matrix->cols == cols)
    return TRUE;
  return gemmcl_fail (error, GEMMCL_ERROR_SHAPE, "%s must be %zu x %zu but is %zu x %zu.", name,
                      rows, cols, matrix->rows, matrix->cols);
}

/* f16 reaches 65504; larger elements would become infinite. int8 represents no NaN and no
 * infinity. */
static gboolean
check_range (GemmclBody *self, const gfloat *b, gsize n, GError **error)
{
  const gfloat most = 65519.996f; /* the largest f32 that rounds to 65504 */
  const gboolean is_int8 = gemmcl_body_is_int8 (self);
  const gboolean is_f16 = gemmcl_kernel_get_b_type (self->kernel) == GEMMCL_TYPE_F16;

  for (gsize i = 0; (is_int8 || is_f16) && i < n; i++)
    if (is_int8 ? !isfinite (b[i]) : isfinite (b[i]) && fabsf (b[i]) > most)
      return gemmcl_fail (error, GEMMCL_ERROR_INVALID,
                          "B has an element %g, %s; choose the precision f32.", b[i],
                          is_int8 ? "which int8 cannot represent" : "but f16 holds up to 65504");
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
get_scales (GemmclBody *self, GemmclMatrix *b)
{
  const GemmclType type = b->type;
  const gfloat shift = type == GEMMCL_TYPE_U8 ? UNSIGNED_SHIFT : 0;
  GemmclMatrix *scales = b->scales;
  const gsize n = self->gemm.n;
  gfloat *both;

  if (!gemmcl_body_is_int8 (self) || (type != GEMMCL_TYPE_I8 && type != GEMMCL_TYPE_U8) ||
      (scales != NULL && (self->gemm.trans_b ? scales->cols : scales->rows) != 1))
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
create_b (GemmclBody *self, cl_command_queue queue, const gfloat *b, const gfloat *scales,
          GError **error)
{
  const gsize n = self->gemm.k * self->gemm.n, n_scales = 2 * self->gemm.n;
  g_auto (cl_mem) plain = create_filled (self, queue, n, b, n, "B", error);
  g_auto (cl_mem) of_columns = NULL;

  if (plain == NULL || self->pack == NULL)
    return g_steal_pointer (&plain);
  if (scales != NULL && !(of_columns = create_filled (self, queue, n_scales, scales, n_scales,
                                                      "the scales of B", error)))
    return NULL;
  return pack_b (self, queue, plain, of_columns, FALSE, error);
}

/* The key of B for sharing. It identifies the elements and the packing. */
static gchar *
make_key (GemmclBody *self, const gfloat *b, const gfloat *scales)
{
  const GemmclBlocks *blocks = &self->b_blocks;
  g_autofree gchar *columns =
      scales ? gemmcl_weights_make_key (scales, 2 * self->gemm.n, "") : NULL;
  g_autofree gchar *pack = gemmcl_body_get_pack_options (self);
  g_autofree gchar *layout = g_strdup_printf (
      "%zu x %zu, %s, size %zu, parts %u, image %zu x %zu, blocks %zu x %zu of %zu%s", self->gemm.k,
      self->gemm.n, pack, gemmcl_body_get_packed_size (self), self->split, blocks->image_width,
      blocks->image_height, blocks->width, blocks->height, blocks->chunk, columns ? columns : "");

  return gemmcl_weights_make_key (b, self->gemm.k * self->gemm.n, layout);
}

static gboolean
prepare_b (GemmclBody *self, GemmclHeld *held, cl_command_queue queue, GError **error)
{
  GemmclMatrix *b = held->matrix;
  const gboolean transposed = self->gemm.trans_b;
  const gsize k = self->gemm.k, n = self->gemm.n;
  g_autoptr (GemmclMatrix) floats = NULL;
  g_autofree gfloat *scales = NULL;
  g_autofree gchar *key = NULL;

  if (!check_shape ("B", b, transposed ? n : k, transposed ? k : n, error))
    return FALSE;
  floats = gemmcl_matrix_to_f32 (b, transposed, error);
  if (floats == NULL || !check_range (self, floats->data, k * n, error))
    return FALSE;
  scales = get_scales (self, b);
  key = make_key (self, floats->data, scales);
  held->weights = gemmcl_weights_share (self->context, key, &held->buffer);
  if (held->weights == NULL &&
      (held->buffer = create_b (self, queue, floats->data, scales, error)) != NULL)
    held->weights = gemmcl_weights_share (self->context, key, &held->buffer);
  return held->buffer != NULL;
}

/* C and the bias are f32. A vector may be a row or a column. */
static gboolean
prepare_floats (GemmclBody *self, GemmclPlanOperand operand, GemmclHeld *held,
                cl_command_queue queue, GError **error)
{
  const GemmclGemm *gemm = &self->gemm;
  const gboolean is_c = operand == GEMMCL_PLAN_C;
  const gboolean is_matrix = is_c && gemm->addend == GEMMCL_ADDEND_MATRIX;
  const gboolean is_column = !is_matrix && held->matrix->cols == 1;
  const gsize rows = is_matrix ? gemm->m : is_column ? gemm->n : 1, cols = is_column ? 1 : gemm->n;
  const gsize n_room = is_c ? rows * cols : gemmcl_body_get_padded_n (self);
  g_autoptr (GemmclMatrix) floats = NULL;

  if (is_c ? !is_matrix && gemm->addend != GEMMCL_ADDEND_ROW : !gemm->bias)
    return gemmcl_fail (error, GEMMCL_ERROR_INVALID, "The plan's problem has no %s.",
                        is_c ? "C of its own; set GemmclGemm.addend to MATRIX or ROW"
                             : "bias; set GemmclGemm.bias");
  if (!check_shape (is_c ? "C" : "The bias", held->matrix, rows, cols, error))
    return FALSE;
  floats = gemmcl_matrix_to_f32 (held->matrix,
                                 is_matrix && gemm->layout == GEMMCL_LAYOUT_COLUMN_MAJOR, error);
  if (floats == NULL)
    return FALSE;
  held->buffer = create_filled (self, queue, n_room, floats->data, rows * cols,
                                is_c ? "C" : "the bias", error);
  return held->buffer != NULL;
}

gboolean
gemmcl_body_prepare (GemmclBody *self, GemmclPlanOperand operand, GemmclMatrix *matrix,
                     GemmclHeld *held, GError **error)
{
  /* A queue of its own: waiting in the context's queue would wait for runs. */
  g_auto (cl_command_queue) queue = gemmcl_context_create_queue (self->context, 0, error);

  gemmcl_held_clear (held);
  held->matrix = gemmcl_matrix_ref (matrix);
  if (queue == NULL)
    return FALSE;
  return operand == GEMMCL_PLAN_B ? prepare_b (self, held, queue, error)
                                  : prepare_floats (self, operand, held, queue, error);
}

gboolean
gemmcl_body_build_state (GemmclBody *self, GError **error)
{
  const GemmclGemm *gemm = &self->problem;
  const gboolean is_kept = gemm->addend == GEMMCL_ADDEND_PREVIOUS;

  if (!is_kept && !gemmcl_gemm_scales_d (gemm))
    return TRUE;
  self->state =
      gemmcl_body_create_memory (self, self->gemm.m, self->gemm.n * sizeof (gfloat),
                                 is_kept ? "the previous result" : "D before its scale", error);
  return self->state != NULL &&
         (!is_kept || gemmcl_body_build_step (self, &self->load, "steps/store.cl", "load",
                                              gemmcl_gemm_make_d_options (gemm), error)) &&
         gemmcl_body_build_step (self, &self->store, "steps/store.cl", "store",
                                 gemmcl_gemm_make_d_options (gemm), error);
}

/* The lines of contiguous elements that a step converts: their number, length and strides on both
 * sides. */
typedef struct {
  GemmclStrides state, d;
  gsize count, length;
} Lines;

static Lines
get_pixels (GemmclBody *self)
{
  const GemmclFrame *frame = self->problem.d_frame;
  const gsize samples =
      gemmcl_frame_get_planes (frame, NULL) / gemmcl_pixel_format_get_sample_bytes (frame->format);
  const gsize m = self->gemm.m, n = self->gemm.n;

  return (Lines){
      .state = {.batch = m * n, .col = n},
      .d = {.batch = samples, .col = samples / m},
      .count = 1,
      .length = m,
  };
}

static Lines
get_lines (GemmclBody *self, gsize m, gboolean tight)
{
  const GemmclMatrixLayout state = gemmcl_gemm_get_layout (&self->gemm, GEMMCL_OPERAND_D, TRUE);
  const GemmclMatrixLayout d = gemmcl_gemm_get_layout (&self->problem, GEMMCL_OPERAND_D, tight);
  Lines lines = {
      .state = {.batch = state.stride, .row = state.ld, .col = 1},
      .d = {.offset = d.offset, .batch = d.stride, .row = d.ld, .col = 1},
      .count = d.by_column ? d.lines : m,
      .length = d.by_column ? m : d.length,
  };

  if (state.ld == lines.length && d.ld == lines.length) {
    lines.length *= lines.count;
    lines.count = 1;
  }
  return lines;
}

static gboolean
convert_state (GemmclBody *self, cl_kernel kernel, cl_mem d, const GemmclOperands *operands,
               GemmclChain *chain, GError **error)
{
  const Lines lines =
      self->problem.d_frame ? get_pixels (self) : get_lines (self, operands->m, operands->tight);
  const gsize global[3] = {ROUND_UP (lines.length, GROUP), lines.count, operands->batch};
  const cl_long length = lines.length;

  return LAUNCH (chain, kernel, "steps/store.cl", global,
                 IN_A_ROW (gemmcl_body_fit_group (self, GROUP)), error, ARGUMENT (self->state),
                 ARGUMENT (lines.state), ARGUMENT (d), ARGUMENT (lines.d), ARGUMENT (length));
}

/* Fills the whole state, since the next run may have more rows and problems than this one. */
static gboolean
fill_state (GemmclBody *self, GemmclChain *chain, GError **error)
{
  const gsize size = self->gemm.m * self->gemm.n * self->gemm.batch * sizeof (gfloat);
  const gfloat zero = 0.0f;
  cl_event done = NULL;
  const cl_int status = clEnqueueFillBuffer (chain->queue, self->state, &zero, sizeof (zero), 0,
                                             size, CHAIN_WAIT (chain), &done);

  if (!gemmcl_chain_add (chain, status, done, "clEnqueueFillBuffer for the previous result", error))
    return FALSE;
  self->state_is_void = FALSE;
  return TRUE;
}

gboolean
gemmcl_body_launch_load (GemmclBody *self, const GemmclOperands *operands, GemmclChain *chain,
                         GError **error)
{
  if (self->load == NULL)
    return TRUE;
  return (!self->state_is_void || fill_state (self, chain, error)) &&
         (operands->previous == NULL ||
          convert_state (self, self->load, operands->previous, operands, chain, error));
}

gboolean
gemmcl_body_launch_store (GemmclBody *self, const GemmclOperands *operands, GemmclChain *chain,
                          GError **error)
{
  return self->state == NULL ||
         convert_state (self, self->store, operands->d, operands, chain, error);
}

/* Exchanges the memory of both, so that neither has to allocate. */
void
gemmcl_body_adopt_previous (GemmclBody *self, GemmclBody *from)
{
  const GemmclGemm *a = &self->gemm, *b = &from->gemm;
  cl_mem own = self->state;

  self->state_is_void = TRUE;
  if (self->context != from->context || self->problem.addend != GEMMCL_ADDEND_PREVIOUS ||
      from->problem.addend != GEMMCL_ADDEND_PREVIOUS || a->m != b->m || a->n != b->n ||
      a->batch != b->batch || a->layout != b->layout)
    return;
  self->state = from->state;
  self->state_is_void = from->state_is_void;
  g_clear_pointer (&self->state_written, clReleaseEvent);
  self->state_written = g_steal_pointer (&from->state_written);
  from->state = own;
  from->state_is_void = TRUE;
}
