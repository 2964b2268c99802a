/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A network computed by the library, layer by layer, as its line computes it. */
#include <string.h>

#include "import/network.h"
#include "shared-options.h"

/* The values between two layers: @n elements of a number of inputs, images as NHWC. */
typedef struct {
  gfloat *data;
  gsize n;
  Image image;
} Values;

static void
values_clear (Values *self)
{
  g_clear_pointer (&self->data, g_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Values, values_clear)

/* Describes the product of @layer with all of @in, or with one image of it. @frame: of @gemm. */
static void
describe (const Layer *layer, const Values *in, GemmclFrame *frame, GemmclGemm *gemm)
{
  const Image image = in->image;

  gemm->k = layer->k;
  gemm->n = layer->n;
  gemm->m = in->n / layer->k;
  gemm->trans_b = layer->transposed;
  if (g_strcmp0 (layer->mode, "patch") == 0) {
    *frame = (GemmclFrame){.width = (gsize)image.width,
                           .height = (gsize)image.height,
                           .features = GEMMCL_FEATURE_PATCH,
                           .patch_width = (gsize)layer->patch_width,
                           .patch_height = (gsize)layer->patch_height,
                           .patch_stride = (gsize)layer->stride,
                           .patch_padding = (gsize)layer->padding,
                           .patch_dilation = (gsize)layer->dilation,
                           .channels = (guint)image.channels};
    gemm->a_frame = frame;
    gemmcl_frame_get_shape (frame, &gemm->m, NULL, NULL);
  }
  if (layer->sum != NULL || layer->c != NULL)
    gemm->addend = GEMMCL_ADDEND_ROW;
  while (layer->activation != NULL &&
         !g_str_equal (layer->activation, gemmcl_activation_get_name (gemm->activation)))
    gemm->activation++;
  if (layer->pool != NULL) {
    gemm->pool = g_str_equal (layer->pool, "max") ? GEMMCL_POOL_MAX : GEMMCL_POOL_AVERAGE;
    gemm->pool_across = gemm->a_frame == NULL ? (gsize)image.width : 0;
    gemm->pool_down = gemm->a_frame == NULL ? (gsize)image.height : 0;
    gemm->pool_height = (gsize)layer->pool_size[0];
    gemm->pool_width = (gsize)layer->pool_size[1];
    gemm->pool_stride_y = (gsize)layer->pool_stride[0];
    gemm->pool_stride_x = (gsize)layer->pool_stride[1];
  }
  if (layer->row_output != NULL) {
    gemm->omit_d = TRUE;
    gemm->top_k = (guint)layer->top_k;
    gemm->row_outputs = layer->top_k > 0 ? GEMMCL_ROW_TOP_K : GEMMCL_ROW_ARG_MAX;
  }
}

/* Sets an operand to @values, or without them to @tensor. */
static gboolean
set_operand (GemmclPlan *plan, GemmclPlanOperand operand, const gdouble *values, gsize rows,
             gsize cols, const Network *network, const OnnxTensor *tensor, GError **error)
{
  g_autofree gchar *where =
      model_name_tensor (network->model->path, tensor != NULL ? tensor->name : "");
  g_autoptr (GemmclMatrix) matrix =
      values != NULL ? gemmcl_matrix_new (GEMMCL_TYPE_F64, rows, cols, values, error)
                     : gemmcl_matrix_load (where, error);

  return matrix != NULL && gemmcl_plan_set (plan, operand, matrix, error);
}

static gboolean
set_operands (GemmclPlan *plan, const Network *network, const Layer *layer, GError **error)
{
  const OnnxTensor *sum =
      layer->sum != NULL ? model_get_operand (network->model, layer->sum, layer->bias) : NULL;

  return set_operand (plan, GEMMCL_PLAN_B, layer->b, layer->k, layer->n, network,
                      model_get_operand (network->model, layer->product, 1), error) &&
         ((sum == NULL && layer->c == NULL) ||
          set_operand (plan, GEMMCL_PLAN_C, layer->c, 1, layer->n, network, sum, error));
}

/* Finds the shape of what @layer makes of one image, or of all rows. Returns: its elements. */
static gsize
find_result (const Layer *layer, const GemmclGemm *gemm, Image *image)
{
  gsize across = (gsize)image->width, down = (gsize)image->height, rows = gemm->m;

  if (gemm->a_frame != NULL)
    gemmcl_frame_get_grid (gemm->a_frame, &across, &down);
  if (gemm->pool != GEMMCL_POOL_NONE)
    rows = gemmcl_gemm_get_pooled_grid (gemm, &across, &down);
  *image = (Image){(gint64)layer->n, (gint64)down, (gint64)across};
  return rows * (gemm->omit_d ? gemmcl_gemm_count_row_outputs (gemm) : layer->n);
}

static gboolean
multiply (GemmclPlan *plan, const Layer *layer, const GemmclGemm *gemm, const Values *in,
          gsize a_size, const Values *out, gsize d_size, GError **error)
{
  for (gsize i = 0; i < in->n / a_size; i++) {
    const GemmclData a = {.host = {in->data + i * a_size}}, d = {.host = {out->data + i * d_size}};
    GemmclRun run = GEMMCL_RUN_INIT;

    run.alpha = layer->alpha;
    run.beta = layer->sum != NULL ? layer->beta : 1;
    run.a = &a;
    run.d = gemm->omit_d ? NULL : &d;
    run.row_outputs = gemm->omit_d ? &d : NULL;
    if (!gemmcl_plan_run (plan, &run, error))
      return FALSE;
  }
  return TRUE;
}

/* Replaces @values by what @layer makes of them. */
static gboolean
compute_layer (const Network *network, const Layer *layer, GemmclContext *context,
               const gchar *kernel, GemmclPrecision precision, Values *values, GError **error)
{
  const gsize one = (gsize)(values->image.channels * values->image.height * values->image.width);
  g_auto (Values) in = *values;
  GemmclGemm gemm = GEMMCL_GEMM_INIT;
  g_autoptr (GemmclPlan) plan = NULL;
  GemmclFrame frame;
  gsize size, n_runs;

  values->data = NULL;
  gemm.precision = precision;
  describe (layer, &in, &frame, &gemm);
  n_runs = gemm.a_frame != NULL ? in.n / one : 1;
  if (!gemmcl_gemm_validate (&gemm, error))
    return FALSE;
  size = find_result (layer, &gemm, &values->image);
  values->n = n_runs * size;
  values->data = g_try_new (gfloat, values->n);
  if (values->data == NULL)
    return model_fail (network->model, layer->product, error,
                       "there is not enough memory for %zu results.", n_runs);
  plan = gemmcl_plan_new (context, &gemm, kernel, error);
  return plan != NULL && set_operands (plan, network, layer, error) &&
         multiply (plan, layer, &gemm, &in, in.n / n_runs, values, size, error);
}

/* Transposes each of @n rows of @outer x @inner elements. */
static void
transpose (gfloat *data, gsize n, gsize outer, gsize inner)
{
  g_autofree gfloat *copy = g_new (gfloat, outer * inner);

  for (; n-- > 0; data += outer * inner) {
    memcpy (copy, data, outer * inner * sizeof *copy);
    for (gsize i = 0; i < outer * inner; i++)
      data[i % inner * outer + i / inner] = copy[i];
  }
}

GemmclMatrix *
network_compute (const Network *self, const GemmclMatrix *input, const gchar *kernel,
                 GemmclPrecision precision, GError **error)
{
  const Image image = self->input;
  gsize pixels = (gsize)(image.height * image.width);
  const gsize expected = image.channels > 0 ? (gsize)image.channels * pixels : (gsize)self->k;
  g_auto (Values) values = {.n = input->rows * input->cols, .image = image};
  g_autoptr (GemmclContext) context = NULL;

  if (input->cols != expected) {
    model_fail (self->model, NULL, error,
                "expected rows of %zu elements, each of them an input, found rows of %zu. Reshape "
                "the input before saving.",
                expected, input->cols);
    return NULL;
  }
  context = tool_open_context (error);
  if (context == NULL)
    return NULL;
  values.data = g_memdup2 (input->data, values.n * sizeof *values.data);
  if (self->is_input_nchw)
    transpose (values.data, input->rows, (gsize)image.channels, pixels);
  for (gsize i = 0; i < values.n; i++)
    values.data[i] = (gfloat)((gdouble)values.data[i] * self->scale[i % self->n_scales] +
                              self->offset[i % self->n_scales]);
  for (guint i = 0; i < self->layers->len; i++)
    if (!compute_layer (self, self->layers->pdata[i], context, kernel, precision, &values, error))
      return NULL;
  if (network_is_nhwc (self)) {
    pixels = (gsize)(values.image.height * values.image.width);
    transpose (values.data, input->rows, pixels, values.n / input->rows / pixels);
  }
  return gemmcl_matrix_new (GEMMCL_TYPE_F32, input->rows, values.n / input->rows, values.data,
                            error);
}
