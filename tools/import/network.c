/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The chain of nodes of a network, and its layers. Each version of an operator is in
 * https://onnx.ai/onnx/operators/. */
#include "import/network.h"

#include <string.h>

#include "gemmcl.h"

static void
layer_free (gpointer data)
{
  Layer *self = data;

  g_free (self->b);
  g_free (self->c);
  g_free (self->activation);
  g_free (self);
}

void
network_init (Network *self, const Model *model)
{
  *self = (Network){.model = model, .n_scales = 1};
  self->layers = g_ptr_array_new_with_free_func (layer_free);
  self->scale = g_new (gdouble, 1);
  self->offset = g_new0 (gdouble, 1);
  self->scale[0] = 1;
}

void
network_clear (Network *self)
{
  g_clear_pointer (&self->layers, g_ptr_array_unref);
  g_clear_pointer (&self->scale, g_free);
  g_clear_pointer (&self->offset, g_free);
}

Layer *
network_get_layer (const Network *self)
{
  return self->layers->len > 0 ? self->layers->pdata[self->layers->len - 1] : NULL;
}

Layer *
network_add_layer (Network *self, const OnnxNode *node, gsize k, gsize n)
{
  Layer *layer = g_new0 (Layer, 1);

  *layer = (Layer){.product = node, .k = k, .n = n, .alpha = 1};
  if (self->layers->len == 0)
    self->k = (gint64)k;
  g_ptr_array_add (self->layers, layer);
  return layer;
}

gboolean
network_is_nhwc (const Network *self)
{
  const Value *value = &self->value;

  return (value->form == FORM_NCHW || (value->form == FORM_FLAT && value->is_nchw)) &&
         value->image.channels > 1 && value->image.height * value->image.width > 1;
}

gboolean
layer_fold (Layer *self, const Model *model, GError **error)
{
  g_autofree gdouble *bias = NULL;
  gsize n;

  if (self->b == NULL) {
    g_autofree gdouble *values = model_get_values (model, self->product, 1, &n, error);

    if (values == NULL)
      return FALSE;
    self->b = g_new (gdouble, n);
    for (gsize i = 0; i < n; i++)
      self->b[i] = self->alpha * values[self->transposed ? i % self->n * self->k + i / self->n : i];
    self->transposed = FALSE;
    self->alpha = 1;
  }
  if (self->sum != NULL) {
    bias = model_get_values (model, self->sum, self->bias, &n, error);
    if (bias == NULL)
      return FALSE;
  }
  if (self->c == NULL)
    self->c = g_new0 (gdouble, self->n);
  for (gsize i = 0; bias != NULL && i < self->n; i++)
    self->c[i] = self->beta * bias[i];
  self->sum = NULL;
  return TRUE;
}

static const struct {
  const gchar *name;
  NetworkAdd *add;
  gboolean ignores_rows;
  const gchar *attributes[8];
} operators[] = {
#define ROW(name, add, ignores_rows, ...) {name, add, ignores_rows, {__VA_ARGS__}},
    LAYER_OPERATORS (ROW) OTHER_OPERATORS (ROW)
#undef ROW
};

#define LISTED(name, ...) name ", "

static gboolean
add_node (Network *self, const OnnxNode *node, GError **error)
{
  const Model *model = self->model;
  const gchar *op = node->op_type != NULL ? node->op_type : "";
  const gchar *expected = g_str_equal (op, "Scaler") ? "ai.onnx.ml" : "ai.onnx";
  guint i = 0;

  if (node->domain != NULL && *node->domain != '\0' && !g_str_equal (node->domain, expected)) {
    g_autofree gchar *domain = gemmcl_quote (node->domain);

    return model_fail (model, node, error, "expected an operator of ONNX, found one of “%s”.",
                       domain);
  }
  while (i < G_N_ELEMENTS (operators) && !g_str_equal (op, operators[i].name))
    i++;
  if (i == G_N_ELEMENTS (operators))
    return model_fail (model, node, error,
                       "expected " LAYER_OPERATORS (LISTED)
                           OTHER_OPERATORS (LISTED) "found another.");
  for (gsize a = 0; a < node->n_attribute; a++) {
    const gchar *name = node->attribute[a]->name;

    if (name == NULL || !g_strv_contains (operators[i].attributes, name)) {
      g_autofree gchar *found = gemmcl_quote (name != NULL ? name : "");

      return model_fail (model, node, error, "gemmcl does not know the attribute “%s”.", found);
    }
  }
  if ((self->value.is_reshaped || self->value.is_row_output) && !operators[i].ignores_rows)
    return model_fail (model, node, error,
                       "expected the rows of the layer before, found a value of another shape.");
  return operators[i].add == NULL || operators[i].add (self, node, error);
}

/* Returns: (nullable): the input of the model of that name. */
static const OnnxValueInfo *
find_input (const Model *model, const gchar *name)
{
  for (gsize i = 0; i < model->graph->n_input; i++)
    if (g_strcmp0 (model->graph->input[i]->name, name) == 0)
      return model->graph->input[i];
  return NULL;
}

/* Returns: the input of @node that the node before computes: the first, or the second of a sum,
 * difference or product. */
static const gchar *
get_value (const Model *model, const OnnxNode *node)
{
  const gboolean is_second = node->n_input == 2 && g_strcmp0 (node->op_type, "MatMul") != 0 &&
                             g_strcmp0 (node->op_type, "Gemm") != 0 &&
                             model_get_tensor (model, node->input[0]) != NULL;

  return node->n_input > 0 ? node->input[is_second] : "";
}

/* TRUE if @name is the output of @node that is imported: the first, or the second of a TopK. */
static gboolean
makes (const OnnxNode *node, const gchar *name)
{
  const gsize n = g_strcmp0 (node->op_type, "TopK") == 0 ? 2 : 1;

  for (gsize i = 0; i < MIN (n, node->n_output); i++)
    if (!model_is_constant (node) && g_str_equal (node->output[i], name))
      return TRUE;
  return FALSE;
}

static void
set_input (Network *self, const OnnxValueInfo *input)
{
  const Onnx__TensorShapeProto *shape = input->type != NULL && input->type->tensor_type != NULL
                                            ? input->type->tensor_type->shape
                                            : NULL;
  Value *value = &self->value;

  self->input_rank = value->rank = shape != NULL ? (gint64)shape->n_dim : 0;
  self->columns = value->rank == 2 && shape->dim[1]->has_dim_value ? shape->dim[1]->dim_value : -1;
  for (gsize i = 0; i < 4; i++)
    value->dims[i] =
        value->rank == 4 && shape->dim[i]->has_dim_value ? shape->dim[i]->dim_value : -1;
}

/* Lists the nodes from @value back to an input of the model. One pass suffices, since in ONNX's
 * order each node follows the nodes whose values it takes; a cycle has no such order. */
static gboolean
find_chain (Network *self, const gchar *value, GPtrArray *chain, GError **error)
{
  const Model *model = self->model;
  const gchar *name = value;
  const OnnxValueInfo *input;

  for (gsize i = model->graph->n_node; i-- > 0;)
    if (makes (model->graph->node[i], name)) {
      g_ptr_array_add (chain, model->graph->node[i]);
      name = get_value (model, model->graph->node[i]);
    }
  input = model_get_tensor (model, name) == NULL ? find_input (model, name) : NULL;
  if (input == NULL) {
    g_autofree gchar *last = gemmcl_quote (value), *first = gemmcl_quote (name);

    return model_fail (self->model, chain->len > 0 ? chain->pdata[chain->len - 1] : NULL, error,
                       "expected a chain of layers from an input of the model to “%s”, found one "
                       "that begins with “%s”.",
                       last, first);
  }
  set_input (self, input);
  return TRUE;
}

/* Fails if the first layer multiplies rows of another length than the model's input has. */
static gboolean
check_columns (const Network *self, const GPtrArray *chain, GError **error)
{
  const Layer *first = self->layers->pdata[0];

  for (guint i = chain->len; i-- > 0 && chain->pdata[i] != first->product;) {
    const OnnxNode *node = chain->pdata[i];

    if (g_str_equal (node->op_type, "Reshape") || g_str_equal (node->op_type, "Flatten"))
      return TRUE;
  }
  return self->columns < 0 || self->columns == self->k ||
         model_fail (self->model, first->product, error,
                     "expected rows of %" G_GINT64_FORMAT
                     " numbers, found an input of the model with %" G_GINT64_FORMAT ".",
                     self->k, self->columns);
}

gboolean
network_build (Network *self, const OnnxValueInfo *output, GError **error)
{
  g_autoptr (GPtrArray) chain = g_ptr_array_new ();

  if (output->name == NULL)
    return model_fail (self->model, NULL, error, "expected an output with a name.");
  if (!find_chain (self, output->name, chain, error))
    return FALSE;
  for (guint i = chain->len; i-- > 0;)
    if (!add_node (self, chain->pdata[i], error))
      return FALSE;
  if (self->layers->len == 0)
    return model_fail (self->model, NULL, error, "expected a Gemm, MatMul or Conv, found none.");
  return check_columns (self, chain, error);
}
