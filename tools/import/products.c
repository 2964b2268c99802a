/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Products, sums, and the scale of the input. */
#include "import/network.h"

#include <math.h>

/* TRUE if @tensor has @n elements in one row, or for each channel of an image. */
static gboolean
is_row (const OnnxTensor *tensor, gint64 n, gboolean is_nchw)
{
  const gsize n_dims = tensor->n_dims;
  const gint64 *dims = tensor->dims;

  if (is_nchw)
    return (n_dims == 3 && dims[0] == n && dims[1] == 1 && dims[2] == 1) ||
           (n_dims == 4 && dims[0] == 1 && dims[1] == n && dims[2] == 1 && dims[3] == 1);
  return (n_dims == 1 && dims[0] == n) || (n_dims == 2 && dims[0] == 1 && dims[1] == n);
}

/* Adds @scale times input @index of @node, C of a Gemm or a term of an Add, to a layer. */
static gboolean
add_term (Network *self, const OnnxNode *node, gsize index, gdouble scale, GError **error)
{
  const OnnxTensor *term = model_get_operand (self->model, node, index);
  Layer *layer = network_get_layer (self);
  gsize n;

  if (term == NULL || layer == NULL || layer->activation != NULL || layer->sum != NULL ||
      layer->pool != NULL || self->value.form == FORM_FLAT ||
      !is_row (term, (gint64)layer->n, self->value.form == FORM_NCHW))
    return model_fail (
        self->model, node, error,
        "expected a product before it, without another sum or an activation in between, "
        "and an initializer with a floating-point number for each column of the product.");
  /* A row of two dimensions makes a value of one dimension one of two. */
  if (self->value.rank != 0)
    self->value.rank = MAX (self->value.rank, (gint64)term->n_dims);
  if (layer->b != NULL) {
    g_autofree gdouble *values = model_get_values (self->model, node, index, &n, error);

    if (values == NULL || !layer_fold (layer, self->model, error))
      return FALSE;
    for (gsize i = 0; i < n; i++)
      layer->c[i] += scale * values[i];
    return TRUE;
  }
  layer->sum = node;
  layer->bias = index;
  layer->beta = scale;
  return TRUE;
}

/* Before version 7 an axis, which may be another than the last, aligns the term. */
gboolean
network_add_sum (Network *self, const OnnxNode *node, GError **error)
{
  const gdouble axis = model_get_number (node, "axis", -1);

  if (self->layers->len == 0 && axis == -1)
    return network_add_scale (self, node, error);
  if (axis != -1 && axis != self->value.rank - 1)
    return model_fail (self->model, node, error, "expected the last axis, found %g.", axis);
  if (node->n_input != 2)
    return model_fail (self->model, node, error, "expected two operands, found %zu.",
                       node->n_input);
  return add_term (self, node, model_get_tensor (self->model, node->input[0]) == NULL, 1, error);
}

/* Reorders the rows of B behind an image that the model has as NCHW. */
static gboolean
take_flat (Network *self, Layer *layer, GError **error)
{
  const gsize channels = (gsize)self->value.image.channels, pixels = layer->k / channels;
  gdouble *b;

  layer->mode = "frame";
  if (!self->value.is_nchw || channels == 1 || pixels == 1)
    return TRUE;
  if (!layer_fold (layer, self->model, error))
    return FALSE;
  b = g_new (gdouble, layer->k * layer->n);
  for (gsize c = 0; c < channels; c++)
    for (gsize pixel = 0; pixel < pixels; pixel++)
      for (gsize n = 0; n < layer->n; n++)
        b[(pixel * channels + c) * layer->n + n] = layer->b[(c * pixels + pixel) * layer->n + n];
  g_free (layer->b);
  layer->b = b;
  return TRUE;
}

/* Checks K of the product, and that of scales of the input. Returns: FALSE if it is another. */
static gboolean
check_k (const Network *self, const OnnxNode *node, gint64 k, GError **error)
{
  const Layer *last = network_get_layer (self);
  const Image image = self->value.image;
  const gboolean is_flat = self->value.form == FORM_FLAT;
  const gint64 expected = is_flat              ? image.channels * image.height * image.width
                          : image.channels > 0 ? image.channels
                          : last != NULL       ? (gint64)last->n
                                               : k;

  if (expected != k)
    return model_fail (self->model, node, error,
                       "expected a weight of K = %" G_GINT64_FORMAT
                       ", the columns of the layer before, found %" G_GINT64_FORMAT ".",
                       expected, k);
  if (last == NULL && self->n_scales > 1 && (is_flat || (gsize)k != self->n_scales) &&
      (gsize)image.channels != self->n_scales)
    return model_fail (
        self->model, node, error,
        "expected a scale and an offset of the input for each of K = %" G_GINT64_FORMAT
        " elements, found %zu.",
        k, self->n_scales);
  return TRUE;
}

/* A MatMul is a Gemm without attributes and without C. */
gboolean
network_add_product (Network *self, const OnnxNode *node, GError **error)
{
  const gboolean is_gemm = g_str_equal (node->op_type, "Gemm");
  const OnnxTensor *weight = model_get_operand (self->model, node, 1);
  const gdouble beta = model_get_number (node, "beta", 1);
  const gboolean transposed = model_get_number (node, "transB", 0) != 0;
  Value *value = &self->value;
  Layer *layer;

  if (weight == NULL || weight->n_dims != 2 || weight->dims[0] < 1 || weight->dims[1] < 1 ||
      weight->dims[0] > G_MAXINT32 || weight->dims[1] > G_MAXINT32 ||
      model_get_number (node, "transA", 0) != 0)
    return model_fail (self->model, node, error,
                       "expected a product with an initializer of floating-point numbers in two "
                       "dimensions as the second operand, and a first operand that is not "
                       "transposed.");
  if (value->form == FORM_NCHW ||
      (is_gemm && value->form == FORM_ROWS && value->image.channels > 0))
    return model_fail (self->model, node, error,
                       "expected rows of features, found an image. Flatten it, or use a Conv.");
  if (!check_k (self, node, weight->dims[transposed ? 1 : 0], error))
    return FALSE;
  layer = network_add_layer (self, node, (gsize)weight->dims[transposed ? 1 : 0],
                             (gsize)weight->dims[transposed ? 0 : 1]);
  layer->transposed = transposed;
  layer->alpha = model_get_number (node, "alpha", 1);
  if (value->form == FORM_FLAT) {
    if (!take_flat (self, layer, error))
      return FALSE;
    value->image = (Image){0};
  } else if (value->image.channels > 0) {
    layer->mode = "pixel";
    value->image.channels = (gint64)layer->n;
  }
  /* The bias has the offsets of lists, and alpha does not scale it. */
  if (self->layers->len == 1 && self->n_scales > 1 && layer->alpha != 1 &&
      !layer_fold (layer, self->model, error))
    return FALSE;
  value->form = FORM_ROWS;
  value->rank = is_gemm ? 2 : value->rank;
  return !model_has_input (node, 2) || beta == 0 || add_term (self, node, 2, beta, error);
}

/* Makes the scale and the offset of the input lists of @n numbers. */
static void
widen (Network *self, gsize n)
{
  if (self->n_scales == n || n == 1)
    return;
  self->scale = g_renew (gdouble, self->scale, n);
  self->offset = g_renew (gdouble, self->offset, n);
  for (gsize i = 1; i < n; i++) {
    self->scale[i] = self->scale[0];
    self->offset[i] = self->offset[0];
  }
  self->n_scales = n;
}

gboolean
network_scale_input (Network *self, const OnnxNode *node, const gdouble *factors,
                     const gdouble *terms, gsize n, gboolean is_nchw, GError **error)
{
  const Value *value = &self->value;

  if (self->layers->len > 0 || value->form == FORM_FLAT)
    return model_fail (self->model, node, error,
                       "expected the model's input before it, without a product in between.");
  if (is_nchw && value->form == FORM_ROWS && !network_begin_image (self, node, TRUE, error))
    return FALSE;
  if (n > 1 &&
      ((self->n_scales > 1 && n != self->n_scales) || is_nchw != (value->form == FORM_NCHW) ||
       (value->image.channels > 0 && (gint64)n != value->image.channels)))
    return model_fail (self->model, node, error,
                       "expected one number, or a number for each channel or column.");
  widen (self, n);
  for (gsize i = 0; i < self->n_scales; i++) {
    self->scale[i] *= factors[n > 1 ? i : 0];
    self->offset[i] = self->offset[i] * factors[n > 1 ? i : 0] + terms[n > 1 ? i : 0];
    if (!(fabs (self->scale[i]) <= G_MAXFLOAT && fabs (self->offset[i]) <= G_MAXFLOAT))
      return model_fail (self->model, node, error, "expected finite numbers.");
  }
  return TRUE;
}

/* Add, Sub, Mul and Div of the input by constants. */
gboolean
network_add_scale (Network *self, const OnnxNode *node, GError **error)
{
  const gboolean is_first = node->n_input == 2 && model_get_operand (self->model, node, 0) != NULL;
  const OnnxTensor *tensor = model_get_operand (self->model, node, is_first ? 0 : 1);
  const gchar op = node->op_type[0]; /* A, S, M, D */
  g_autofree gdouble *factors = NULL, *terms = NULL;
  gboolean is_nchw;
  gsize n;

  if (node->n_input != 2 || tensor == NULL || self->layers->len > 0 || (is_first && op == 'D'))
    return model_fail (self->model, node, error,
                       "expected the model's input before it, without a product in between, and "
                       "an initializer of floating-point numbers as the other operand.");
  if (self->value.rank != 0 && (gint64)tensor->n_dims > self->value.rank)
    return model_fail (self->model, node, error,
                       "expected an initializer of at most %" G_GINT64_FORMAT
                       " dimensions, as the input has, found %zu.",
                       self->value.rank, (gsize)tensor->n_dims);
  terms = model_get_values (self->model, node, is_first ? 0 : 1, &n, error);
  if (terms == NULL)
    return FALSE;
  is_nchw = n > 1 && tensor->n_dims >= 3;
  if (n > 1 && !is_row (tensor, (gint64)n, is_nchw))
    return model_fail (self->model, node, error,
                       "expected one number, or a number for each channel or column.");
  factors = g_new (gdouble, n);
  for (gsize i = 0; i < n; i++) {
    factors[i] = op == 'M' ? terms[i] : op == 'D' ? 1 / terms[i] : op == 'S' && is_first ? -1 : 1;
    terms[i] = op == 'M' || op == 'D' ? 0 : op == 'S' && !is_first ? -terms[i] : terms[i];
  }
  return network_scale_input (self, node, factors, terms, n, is_nchw, error);
}

/* (X - offset) scale. Each of the two attributes has one number or one for each column. */
gboolean
network_add_scaler (Network *self, const OnnxNode *node, GError **error)
{
  const OnnxAttribute *offset = model_find_attribute (node, "offset");
  const OnnxAttribute *scale = model_find_attribute (node, "scale");
  const gsize n_offset = offset != NULL ? offset->n_floats : 0;
  const gsize n_scale = scale != NULL ? scale->n_floats : 0, n = MAX (n_offset, n_scale);
  g_autofree gdouble *factors = NULL, *terms = NULL;

  if (n_offset == 0 || n_scale == 0 || (n_offset != n && n_offset != 1) ||
      (n_scale != n && n_scale != 1))
    return model_fail (self->model, node, error,
                       "expected an offset and a scale, one number or one for each column.");
  factors = g_new (gdouble, n);
  terms = g_new (gdouble, n);
  for (gsize i = 0; i < n; i++) {
    factors[i] = (gdouble)scale->floats[n_scale > 1 ? i : 0];
    terms[i] = -factors[i] * (gdouble)offset->floats[n_offset > 1 ? i : 0];
  }
  return network_scale_input (self, node, factors, terms, n, FALSE, error);
}
