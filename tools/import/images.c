/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Operators on images, and those that change the shape of a value. */
#include "import/network.h"

#include <math.h>
#include <string.h>

#define MAX_SIZE     65535 /* of an image and a patch in the element */
#define MAX_DIAGONAL 1024  /* channels that an element of its own scales */

gboolean
network_begin_image (Network *self, const OnnxNode *node, gboolean is_nchw, GError **error)
{
  Value *value = &self->value;
  const gint64 *dims = value->dims;
  Image image = {dims[is_nchw ? 1 : 3], dims[is_nchw ? 2 : 1], dims[is_nchw ? 3 : 2]};

  if (value->form != FORM_ROWS || value->image.channels > 0 || value->rank != 4 ||
      self->layers->len > 0 || image.channels < 1 || image.height < 1 || image.width < 1 ||
      image.channels > MAX_SIZE || image.height > MAX_SIZE || image.width > MAX_SIZE)
    return model_fail (self->model, node, error,
                       "expected an image of four dimensions, three of them known and 1 to %d, "
                       "without a product before it. Export the model with a static size.",
                       MAX_SIZE);
  /* Lists of scales so far are those of the last axis. */
  if (self->n_scales > 1 && (is_nchw || (gint64)self->n_scales != image.channels))
    return model_fail (self->model, node, error,
                       "expected scales and offsets of the input for its channels.");
  value->form = is_nchw ? FORM_NCHW : FORM_ROWS;
  value->image = image;
  self->input = image;
  self->is_input_nchw = is_nchw;
  self->is_video = self->input_rank == 4 && (image.channels == 1 || image.channels == 3);
  return TRUE;
}

/* Gets the attribute @name, @n_expected equal integers: that integer, or @otherwise without one. */
static gboolean
get_equal (const Network *self, const OnnxNode *node, const gchar *name, gsize n_expected,
           gint64 otherwise, gint64 *number, GError **error)
{
  gsize n;
  g_autofree gint64 *list = model_get_integers (self->model, node, name, 0, &n);
  gboolean ok = list == NULL || n == n_expected;

  *number = list != NULL ? list[0] : otherwise;
  for (gsize i = 0; ok && i < n; i++)
    ok = list[i] == *number && list[i] >= otherwise && list[i] <= MAX_SIZE;
  return ok || model_fail (self->model, node, error,
                           "expected %zu equal numbers of %" G_GINT64_FORMAT
                           " to %d as its %s, found others.",
                           n_expected, otherwise, MAX_SIZE, name);
}

/* The padding that ONNX's SAME_UPPER means, if it is equal on both sides; -1 otherwise. */
static gint64
get_same_padding (const Layer *layer, gint64 size, gint64 patch)
{
  const gint64 n = (size - 1) / layer->stride + 1;
  const gint64 sum = MAX (0, (n - 1) * layer->stride + layer->dilation * (patch - 1) + 1 - size);

  return sum % 2 == 0 ? sum / 2 : -1;
}

static gboolean
get_padding (const Network *self, const OnnxNode *node, Layer *layer, GError **error)
{
  const Image image = self->value.image;
  g_autofree gchar *mode = model_dup_text (node, "auto_pad", "NOTSET");

  if (g_str_equal (mode, "NOTSET") || g_str_equal (mode, ""))
    return get_equal (self, node, "pads", 4, 0, &layer->padding, error);
  layer->padding = 0;
  if (g_str_equal (mode, "VALID"))
    return TRUE;
  layer->padding = get_same_padding (layer, image.height, layer->patch_height);
  if ((g_str_equal (mode, "SAME_UPPER") || g_str_equal (mode, "SAME_LOWER")) &&
      layer->padding >= 0 &&
      layer->padding == get_same_padding (layer, image.width, layer->patch_width))
    return TRUE;
  return model_fail (self->model, node, error, "expected pads that are equal on all sides.");
}

static gint64
count_patches (const Layer *layer, gint64 size, gint64 patch)
{
  const gint64 room = size + 2 * layer->padding - layer->dilation * (patch - 1) - 1;

  return room < 0 ? 0 : room / layer->stride + 1;
}

/* B of a weight [out, in, height, width]. Its rows are in the order of a patch in A. */
static gdouble *
order_patches (const gdouble *weight, const Layer *layer, gint64 channels)
{
  const gsize pixels = (gsize)layer->patch_height * (gsize)layer->patch_width;
  gdouble *b = g_new (gdouble, layer->k * layer->n);

  for (gsize n = 0; n < layer->n; n++)
    for (gsize c = 0; c < (gsize)channels; c++)
      for (gsize pixel = 0; pixel < pixels; pixel++)
        b[(pixel * (gsize)channels + c) * layer->n + n] = *weight++;
  return b;
}

/* Makes the scales and offsets of an image's channels a layer of its own, which multiplies by a
 * diagonal matrix: as properties of the convolution they would change its padding. */
static void
scale_pixels (Network *self, const OnnxNode *node)
{
  const gsize n = self->n_scales;
  Layer *layer = g_new0 (Layer, 1);

  *layer = (Layer){.product = node, .k = n, .n = n, .alpha = 1, .mode = "pixel"};
  layer->b = g_new0 (gdouble, n * n);
  layer->c = g_steal_pointer (&self->offset);
  for (gsize i = 0; i < n; i++)
    layer->b[i * n + i] = self->scale[i];
  self->scale[0] = 1;
  self->offset = g_new0 (gdouble, 1);
  self->n_scales = 1;
  g_ptr_array_insert (self->layers, 0, layer);
}

gboolean
network_add_conv (Network *self, const OnnxNode *node, GError **error)
{
  const Model *model = self->model;
  const OnnxTensor *weight = model_get_operand (model, node, 1);
  Value *value = &self->value;
  g_autofree gdouble *values = NULL;
  g_autofree gint64 *shape = NULL;
  gsize n, n_shape;
  Layer *layer;

  if (value->form == FORM_ROWS && !network_begin_image (self, node, TRUE, error))
    return FALSE;
  if (value->form != FORM_NCHW || model_get_number (node, "group", 1) != 1 || weight == NULL ||
      weight->n_dims != 4 || weight->dims[1] != value->image.channels)
    return model_fail (
        model, node, error,
        "expected an image of four dimensions (NCHW), group 1, and a weight of four "
        "dimensions, an initializer of floating-point numbers, for its %" G_GINT64_FORMAT
        " channels.",
        value->image.channels);
  values = model_get_values (model, node, 1, &n, error);
  if (values == NULL)
    return FALSE;
  layer = network_add_layer (self, node, n / (gsize)weight->dims[0], (gsize)weight->dims[0]);
  layer->mode = "patch";
  layer->patch_height = weight->dims[2];
  layer->patch_width = weight->dims[3];
  shape = model_get_integers (model, node, "kernel_shape", 0, &n_shape);
  if (layer->patch_height > MAX_SIZE || layer->patch_width > MAX_SIZE ||
      (shape != NULL &&
       (n_shape != 2 || shape[0] != layer->patch_height || shape[1] != layer->patch_width)))
    return model_fail (model, node, error, "expected a kernel_shape that is the weight's.");
  if (!get_equal (self, node, "strides", 2, 1, &layer->stride, error) ||
      !get_equal (self, node, "dilations", 2, 1, &layer->dilation, error) ||
      !get_padding (self, node, layer, error))
    return FALSE;
  if (self->layers->len == 1 && layer->padding > 0 && self->n_scales > MAX_DIAGONAL)
    return model_fail (model, node, error,
                       "expected at most %d channels with a scale each in front of pads, found "
                       "%zu.",
                       MAX_DIAGONAL, self->n_scales);
  if (self->layers->len == 1 && layer->padding > 0 && self->n_scales > 1)
    scale_pixels (self, node);
  layer->b = order_patches (values, layer, value->image.channels);
  value->image =
      (Image){weight->dims[0], count_patches (layer, value->image.height, layer->patch_height),
              count_patches (layer, value->image.width, layer->patch_width)};
  if (value->image.height < 1 || value->image.width < 1)
    return model_fail (model, node, error, "its patch is larger than its image.");
  if (!model_has_input (node, 2))
    return TRUE;
  layer->c = model_get_values (model, node, 2, &n, error);
  return layer->c != NULL &&
         (n == layer->n || model_fail (model, node, error,
                                       "expected a bias of %zu numbers, found %zu.", layer->n, n));
}

/* Gets the scale and the offset of each channel, which stand for the normalization. */
static gboolean
get_normalization (const Network *self, const OnnxNode *node, gsize *n, gdouble **scale,
                   gdouble **offset, GError **error)
{
  const gdouble epsilon = model_get_number (node, "epsilon", 1e-5);
  g_autofree gdouble *mean = NULL, *variance = NULL;
  gdouble **const values[] = {scale, offset, &mean, &variance};
  gsize lengths[4] = {0};

  for (guint i = 0; i < 4; i++) {
    *values[i] = model_get_values (self->model, node, i + 1, &lengths[i], error);
    if (*values[i] == NULL)
      return FALSE;
    if (lengths[i] != lengths[0])
      return model_fail (self->model, node, error,
                         "expected %zu numbers in its input %u, found %zu.", lengths[0], i + 1,
                         lengths[i]);
  }
  *n = lengths[0];
  for (gsize i = 0; i < *n; i++) {
    (*scale)[i] /= sqrt (variance[i] + epsilon);
    (*offset)[i] -= mean[i] * (*scale)[i];
    if (!isfinite ((*scale)[i]) || !isfinite ((*offset)[i]))
      return model_fail (self->model, node, error,
                         "expected variances above 0 and finite numbers.");
  }
  return TRUE;
}

/* TRUE if @node outputs statistics of the batch, as versions 7 to 13 do in the training mode. */
static gboolean
has_statistics (const OnnxNode *node)
{
  for (gsize i = 1; i < node->n_output; i++)
    if (*node->output[i] != '\0')
      return TRUE;
  return FALSE;
}

/* Normalizes the last layer or, without one, the input. */
gboolean
network_add_batch_normalization (Network *self, const OnnxNode *node, GError **error)
{
  Layer *layer = network_get_layer (self);
  const gboolean is_nchw = self->value.rank == 4;
  g_autofree gdouble *scale = NULL, *offset = NULL;
  gsize n = 0;

  if ((layer != NULL && (layer->activation != NULL || layer->pool != NULL)) ||
      self->value.form == FORM_FLAT || has_statistics (node) ||
      model_get_number (node, "training_mode", 0) != 0 ||
      model_get_number (node, "spatial", 1) != 1 ||
      (self->model->opset < 7 && model_get_number (node, "is_test", 0) == 0) ||
      (self->value.form == FORM_ROWS && self->value.rank != 2 && (layer != NULL || !is_nchw)))
    return model_fail (
        self->model, node, error,
        "expected the model's input, a convolution or a product of two dimensions before it, "
        "without an activation or pooling in between, and a model that is not in training mode.");
  if (!get_normalization (self, node, &n, &scale, &offset, error))
    return FALSE;
  if (layer == NULL)
    return network_scale_input (self, node, scale, offset, n, is_nchw, error);
  if (n != layer->n)
    return model_fail (self->model, node, error, "expected %zu channels, found %zu.", layer->n, n);
  if (!layer_fold (layer, self->model, error))
    return FALSE;
  for (gsize i = 0; i < layer->k * layer->n; i++)
    layer->b[i] *= scale[i % layer->n];
  for (gsize i = 0; i < layer->n; i++)
    layer->c[i] = layer->c[i] * scale[i] + offset[i];
  return TRUE;
}

/* The number of windows along @size; 0 if there are none, or if ceil_mode adds one. */
static gint64
count_windows (const OnnxNode *node, gint64 size, gint64 window, gint64 stride)
{
  if (window > size || ((size - window) % stride != 0 && model_get_number (node, "ceil_mode", 0)))
    return 0;
  return (size - window) / stride + 1;
}

/* Sets the two numbers of the attribute @name, each 1 to MAX_SIZE; without it they stay. */
static gboolean
get_two (const Network *self, const OnnxNode *node, const gchar *name, gint64 *two, GError **error)
{
  gsize n;
  g_autofree gint64 *list = model_get_integers (self->model, node, name, 0, &n);

  for (gsize i = 0; i < 2 && n == 2; i++)
    two[i] = list[i];
  return ((n == 0 || n == 2) && two[0] >= 1 && two[0] <= MAX_SIZE && two[1] >= 1 &&
          two[1] <= MAX_SIZE) ||
         model_fail (self->model, node, error, "expected two numbers of 1 to %d as its %s.",
                     MAX_SIZE, name);
}

gboolean
network_add_pool (Network *self, const OnnxNode *node, GError **error)
{
  const Model *model = self->model;
  const gboolean is_global = g_str_has_prefix (node->op_type, "Global");
  g_autofree gchar *mode = model_dup_text (node, "auto_pad", "NOTSET");
  Image *image = &self->value.image;
  Layer *layer = network_get_layer (self);
  gint64 padding, dilation, size[2] = {0}, stride[2] = {1, 1};

  if (layer == NULL || layer->pool != NULL || self->value.form != FORM_NCHW)
    return model_fail (model, node, error,
                       "expected an image (NCHW) of a convolution before it, without another "
                       "pooling in between.");
  if (is_global) {
    size[0] = stride[0] = image->height;
    size[1] = stride[1] = image->width;
  }
  if (!get_two (self, node, "kernel_shape", size, error) ||
      !get_two (self, node, "strides", stride, error) ||
      !get_equal (self, node, "pads", 4, 0, &padding, error) ||
      !get_equal (self, node, "dilations", 2, 1, &dilation, error))
    return FALSE;
  if (padding != 0 || dilation != 1 ||
      (!g_str_equal (mode, "NOTSET") && !g_str_equal (mode, "VALID")))
    return model_fail (model, node, error, "expected no pads and no dilation.");
  image->height = count_windows (node, image->height, size[0], stride[0]);
  image->width = count_windows (node, image->width, size[1], stride[1]);
  if (image->height < 1 || image->width < 1)
    return model_fail (model, node, error,
                       "expected windows within the image, which fill it if ceil_mode is set.");
  layer->pool = strstr (node->op_type, "Max") != NULL ? "max" : "average";
  memcpy (layer->pool_size, size, sizeof size);
  memcpy (layer->pool_stride, stride, sizeof stride);
  return TRUE;
}

/* TRUE if the shape of a Reshape is that of x.view (x.size (0), -1) in PyTorch, which is computed:
 * Concat (Unsqueeze (Gather (Shape (x), 0)), -1). */
static gboolean
is_view (const Network *self, const OnnxNode *node)
{
  static const gchar *const ops[] = {"Concat", "Unsqueeze", "Gather", "Shape"};
  gsize index = 1, n;

  for (guint i = 0; i < G_N_ELEMENTS (ops); i++) {
    g_autofree gint64 *number = NULL;

    node = model_has_input (node, index) ? model_find_node (self->model, node->input[index]) : NULL;
    if (node == NULL || g_strcmp0 (node->op_type, ops[i]) != 0 || node->n_input > 2)
      return FALSE;
    number = i % 2 == 0 ? model_get_integers (self->model, node, "", 1, &n) : NULL;
    if (i % 2 == 0 && (number == NULL || n != 1 || number[0] != (i == 0 ? -1 : 0)))
      return FALSE;
    index = 0;
  }
  return node->n_input == 1 && node->n_attribute == 0 &&
         model_get_tensor (self->model, node->input[0]) == NULL;
}

/* TRUE if the shape of a Reshape is the batch and all other elements of the image. An unknown batch
 * is 1, as in the pipeline. */
static gboolean
is_flat (const Network *self, const OnnxNode *node)
{
  const Image image = self->value.image;
  const gint64 batch = self->value.dims[0];
  gsize n;
  g_autofree gint64 *shape = model_get_integers (self->model, node, "", 1, &n);

  if (shape == NULL)
    return is_view (self, node);
  return n == 2 && (shape[1] == image.channels * image.height * image.width ||
                    (shape[1] == -1 && (shape[0] == 0 || shape[0] == MAX (batch, 1))));
}

/* The value becomes a row: an image, or what the model's input has. */
static gboolean
flatten (Network *self, const OnnxNode *node, GError **error)
{
  Value *value = &self->value;
  const gboolean is_first = self->layers->len == 0 && value->form == FORM_ROWS &&
                            value->rank == 4 && self->input_rank == 4;
  const gint64 *dims = value->dims;

  /* Only an input with the channels of video is certain to be an image. */
  if (is_first && value->image.channels == 0 && dims[1] > 0 && dims[2] > 0 && dims[3] > 0 &&
      (dims[1] == 1 || dims[1] == 3 || dims[3] == 1 || dims[3] == 3) &&
      !network_begin_image (self, node, dims[1] == 1 || dims[1] == 3, error))
    return FALSE;
  if (value->image.channels > 0) {
    value->is_nchw = value->form == FORM_NCHW || (value->form == FORM_FLAT && value->is_nchw);
    value->form = FORM_FLAT;
  }
  value->rank = 2;
  return TRUE;
}

/* A change of shape before the first layer needs nothing if there is no image: the layer's K
 * already says which elements make a row. */
gboolean
network_add_flatten (Network *self, const OnnxNode *node, GError **error)
{
  const gdouble axis = model_get_number (node, "axis", 1);
  Value *value = &self->value;

  if (value->image.channels > 0 && axis != 1 && (value->form != FORM_FLAT || axis != -1))
    return model_fail (self->model, node, error, "expected axis 1, found %g.", axis);
  if (value->image.channels == 0 && self->layers->len > 0)
    value->is_reshaped |= value->rank != 2 || (axis != 1 && axis != -1);
  if (self->layers->len > 0 || axis == 1)
    return flatten (self, node, error);
  value->rank = 2;
  return TRUE;
}

gboolean
network_add_reshape (Network *self, const OnnxNode *node, GError **error)
{
  gsize n;
  g_autofree gint64 *shape = model_get_integers (self->model, node, "", 1, &n);
  Value *value = &self->value;
  const Image image = value->image;

  if (image.channels == 0 && self->layers->len == 0 && value->rank == 4 && n == 2)
    return flatten (self, node, error);
  if (image.channels > 0)
    return is_flat (self, node)
               ? flatten (self, node, error)
               : model_fail (self->model, node, error,
                             "expected a constant shape [batch, %" G_GINT64_FORMAT
                             "] that flattens the image, or [x.size (0), -1], found another.",
                             image.channels * image.height * image.width);
  value->is_reshaped |= self->layers->len > 0;
  value->rank = shape != NULL ? (gint64)n : 0;
  for (gsize i = 0; i < 4; i++)
    value->dims[i] = n == 4 && shape[i] > 0 ? shape[i] : -1;
  return TRUE;
}

gboolean
network_add_squeeze (Network *self, const OnnxNode *node, GError **error)
{
  gsize n;
  g_autofree gint64 *axes = model_get_integers (self->model, node, "axes", 1, &n);
  Value *value = &self->value;
  gboolean ok = n == 2;

  for (gsize i = 0; i < n; i++)
    ok = ok && (axes[i] + 4) % 4 == 2 + (gint64)i;
  if (!ok || value->form != FORM_NCHW || value->image.height != 1 || value->image.width != 1)
    return model_fail (self->model, node, error,
                       "expected an image (NCHW) of 1 x 1 and the axes 2 and 3.");
  return flatten (self, node, error);
}

gboolean
network_add_transpose (Network *self, const OnnxNode *node, GError **error)
{
  static const gint64 to_nchw[] = {0, 3, 1, 2}, to_nhwc[] = {0, 2, 3, 1};
  gsize n;
  g_autofree gint64 *perm = model_get_integers (self->model, node, "perm", 0, &n);
  Value *value = &self->value;
  const gboolean is_to_nchw = n == 4 && memcmp (perm, to_nchw, sizeof to_nchw) == 0;
  const gboolean is_to_nhwc = n == 4 && memcmp (perm, to_nhwc, sizeof to_nhwc) == 0;

  if ((!is_to_nchw && !is_to_nhwc) || value->form == FORM_FLAT ||
      (value->form == FORM_NCHW && is_to_nchw) ||
      (value->form == FORM_ROWS && value->image.channels > 0 && is_to_nhwc))
    return model_fail (self->model, node, error,
                       "expected a transposition between NCHW and NHWC, which only renames axes.");
  if (value->image.channels == 0 && !network_begin_image (self, node, is_to_nhwc, error))
    return FALSE;
  value->form = is_to_nchw ? FORM_NCHW : FORM_ROWS;
  return TRUE;
}
