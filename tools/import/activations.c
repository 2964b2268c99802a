/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Activations, row outputs, and operators that change no value. */
#include "import/network.h"

#include <math.h>

#include "gemmcl.h"

static gboolean
apply (Network *self, const OnnxNode *node, const gchar *activation, GError **error)
{
  static const gchar *const monotone[] = {"relu",    "relu6", "leaky-relu", "elu",
                                          "sigmoid", "tanh",  NULL};
  Layer *layer = network_get_layer (self);

  /* A monotone activation of a maximum is the maximum of activations. */
  if (layer == NULL || layer->activation != NULL ||
      (layer->pool != NULL &&
       (!g_str_equal (layer->pool, "max") || !g_strv_contains (monotone, activation))))
    return model_fail (self->model, node, error,
                       "expected a product before it, without another activation.");
  layer->activation = g_strdup (activation);
  return TRUE;
}

/* Adds the activation of the same name: hard-swish for HardSwish. */
gboolean
network_add_activation (Network *self, const OnnxNode *node, GError **error)
{
  g_autoptr (GString) name = g_string_new (NULL);

  for (const gchar *c = node->op_type; *c != '\0'; c++) {
    if (c > node->op_type && g_ascii_isupper (*c))
      g_string_append_c (name, '-');
    g_string_append_c (name, g_ascii_tolower (*c));
  }
  return apply (self, node, name->str, error);
}

/* SiLU has no operator of its own before version 24: it is x Sigmoid (x). */
gboolean
network_add_mul (Network *self, const OnnxNode *node, GError **error)
{
  const OnnxNode *other = node->n_input == 2 ? model_find_node (self->model, node->input[1]) : NULL;

  if (other != NULL && g_strcmp0 (other->op_type, "Sigmoid") == 0 && other->n_input == 1 &&
      g_str_equal (other->input[0], node->input[0]))
    return apply (self, node, "silu", error);
  return network_add_scale (self, node, error);
}

/* Elu and LeakyRelu with the alpha that they have without the attribute. */
gboolean
network_add_with_alpha (Network *self, const OnnxNode *node, GError **error)
{
  const gdouble expected = g_str_equal (node->op_type, "Elu") ? 1 : 0.01;
  const gdouble alpha = model_get_number (node, "alpha", expected);

  if ((gfloat)alpha != (gfloat)expected)
    return model_fail (self->model, node, error, "expected an alpha of %g, found %g.", expected,
                       alpha);
  return network_add_activation (self, node, error);
}

/* Gets a bound of a Clip: an attribute, or since version 11 an input. */
static gboolean
get_bound (const Network *self, const OnnxNode *node, const gchar *name, gsize index,
           gdouble *bound, GError **error)
{
  g_autofree gdouble *values = NULL;
  gsize n;

  *bound = model_get_number (node, name, index == 1 ? -INFINITY : INFINITY);
  if (!model_has_input (node, index))
    return TRUE;
  values = model_get_values (self->model, node, index, &n, error);
  if (values != NULL)
    *bound = values[0];
  return values != NULL;
}

gboolean
network_add_clip (Network *self, const OnnxNode *node, GError **error)
{
  gdouble low, high;

  if (!get_bound (self, node, "min", 1, &low, error) ||
      !get_bound (self, node, "max", 2, &high, error))
    return FALSE;
  if (low == 0 && (high == 6 || high >= G_MAXFLOAT))
    return apply (self, node, high == 6 ? "relu6" : "relu", error);
  return model_fail (self->model, node, error, "expected 0 to 6, or from 0 on, found %g to %g.",
                     low, high);
}

gboolean
network_add_gelu (Network *self, const OnnxNode *node, GError **error)
{
  g_autofree gchar *approximate = model_dup_text (node, "approximate", "none");
  g_autofree gchar *found = gemmcl_quote (approximate);

  if (g_str_equal (approximate, "none"))
    return apply (self, node, "gelu", error);
  if (g_str_equal (approximate, "tanh"))
    return apply (self, node, "gelu-tanh", error);
  return model_fail (self->model, node, error,
                     "expected none or tanh as its approximation, found “%s”.", found);
}

/* TRUE if @axis is that of the columns of D. @is_last_only: other axes behind it count, too. */
static gboolean
is_columns (const Value *value, gdouble axis, gboolean is_last_only)
{
  if (value->form == FORM_NCHW)
    return (axis == 1 || axis == -3) &&
           (!is_last_only || (value->image.height == 1 && value->image.width == 1));
  if (value->form == FORM_FLAT)
    return (axis == 1 || axis == -1) && value->image.height == 1 && value->image.width == 1;
  return axis == -1 || axis == value->rank - 1;
}

/* Before version 13 the axis is 1 by default, and Softmax normalizes over all axes from it on. */
gboolean
network_add_softmax (Network *self, const OnnxNode *node, GError **error)
{
  const gdouble axis = model_get_number (node, "axis", self->model->opset < 13 ? 1 : -1);

  if (!is_columns (&self->value, axis, self->model->opset < 13))
    return model_fail (self->model, node, error,
                       "expected the last axis of a value whose number of dimensions is known, "
                       "found axis %g and %" G_GINT64_FORMAT " dimensions (0: unknown).",
                       axis, self->value.rank);
  return network_add_activation (self, node, error);
}

static gboolean
add_row_output (Network *self, const OnnxNode *node, const gchar *name, gdouble axis,
                GError **error)
{
  Layer *layer = network_get_layer (self);

  if (layer == NULL || !is_columns (&self->value, axis, FALSE))
    return model_fail (self->model, node, error,
                       "expected a product before it, and the last axis, found axis %g.", axis);
  layer->row_output = name;
  self->value.is_row_output = TRUE;
  return TRUE;
}

gboolean
network_add_arg_max (Network *self, const OnnxNode *node, GError **error)
{
  if (model_get_number (node, "select_last_index", 0) != 0)
    return model_fail (self->model, node, error, "expected the first of equal elements.");
  return add_row_output (self, node, "arg-max", model_get_number (node, "axis", 0), error);
}

/* K is an attribute before version 10. */
gboolean
network_add_top_k (Network *self, const OnnxNode *node, GError **error)
{
  gsize n;
  g_autofree gint64 *input = model_get_integers (self->model, node, "", 1, &n);
  const gdouble k = input != NULL ? (gdouble)input[0] : model_get_number (node, "k", 0);
  const Layer *last = network_get_layer (self);
  const gsize most = last != NULL ? MIN (last->n, GEMMCL_MAX_TOP_K) : GEMMCL_MAX_TOP_K;

  if (!(k >= 1 && k <= (gdouble)most) || model_get_number (node, "largest", 1) != 1 ||
      model_get_number (node, "sorted", 1) != 1)
    return model_fail (self->model, node, error,
                       "expected the 1 to %zu largest elements, sorted, and a constant K.", most);
  if (!add_row_output (self, node, "top-k", model_get_number (node, "axis", -1), error))
    return FALSE;
  network_get_layer (self)->top_k = (gint64)k;
  return TRUE;
}

/* A cast between floating-point types changes nothing here: gemmcl computes in f32. */
gboolean
network_add_cast (Network *self, const OnnxNode *node, GError **error)
{
  const gdouble type = model_get_number (node, "to", 0);

  return type == ONNX_FLOAT || type == ONNX_DOUBLE ||
         model_fail (self->model, node, error,
                     "expected a cast to float or double, found the ONNX type %g.", type);
}

/* Dropout leaves values as they are when a model is used, not trained. */
gboolean
network_add_dropout (Network *self, const OnnxNode *node, GError **error)
{
  const gboolean has_mode = model_has_input (node, 2);
  const OnnxTensor *mode = has_mode ? model_get_tensor (self->model, node->input[2]) : NULL;
  const gboolean is_false =
      mode != NULL && (mode->has_raw_data ? mode->raw_data.len == 1 && mode->raw_data.data[0] == 0
                                          : mode->n_int32_data == 1 && mode->int32_data[0] == 0);

  if ((has_mode && !is_false) ||
      (self->model->opset < 7 && model_get_number (node, "is_test", 0) == 0))
    return model_fail (self->model, node, error,
                       "expected a model that is not in training mode. Export it for inference.");
  return TRUE;
}
