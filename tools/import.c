/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * An ONNX model as a pipeline. The model must be a chain: each value goes into one node, and a
 * layer is a node that multiplies by an initializer, with the nodes behind it that one gemmcl
 * element computes along with it:
 *
 *     input -> Gemm or MatMul -> [Add] -> [activation] -> Gemm or MatMul -> ... -> output
 */
#include "tool.h"

#ifdef HAVE_ONNX
  #include <stdio.h>
  #include <string.h>

  #include "gemmcl.h"
  #include "onnx.pb-c.h"

typedef Onnx__ModelProto OnnxModel;
typedef Onnx__GraphProto OnnxGraph;
typedef Onnx__NodeProto OnnxNode;
typedef Onnx__TensorProto OnnxTensor;
typedef Onnx__AttributeProto OnnxAttribute;

/* Operators that leave the rows as they are when a model is used, not trained. */
static const gchar *const idle_ops[] = {"Dropout", "Flatten", "Identity", NULL};

static const struct {
  const gchar *op;
  GemmclActivation activation;
} activations[] = {
    {"Gelu", GEMMCL_ACTIVATION_GELU},
    {"HardSwish", GEMMCL_ACTIVATION_HARD_SWISH},
    {"LeakyRelu", GEMMCL_ACTIVATION_LEAKY_RELU},
    {"Relu", GEMMCL_ACTIVATION_RELU},
    {"Sigmoid", GEMMCL_ACTIVATION_SIGMOID},
    {"Softmax", GEMMCL_ACTIVATION_SOFTMAX},
    {"Tanh", GEMMCL_ACTIVATION_TANH},
};

/* @n, @k: the weight's shape as B. Names are those of initializers, the model's; NULL: none. */
typedef struct {
  const gchar *weight, *bias, *addend;
  gboolean transposed;
  gint64 k, n;
  gdouble alpha, beta;
  GemmclActivation activation;
} Layer;

typedef struct {
  const gchar *path;
  const OnnxGraph *graph;
  GArray *layers; /* Layer */
} Import;

static void
model_free (OnnxModel *model)
{
  onnx__model_proto__free_unpacked (model, NULL);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC (OnnxModel, model_free)

/* Returns: FALSE, for callers to return. @node: (nullable): the node that cannot be imported */
static gboolean G_GNUC_PRINTF (4, 5)
    fail (const Import *self, const OnnxNode *node, GError **error, const gchar *format, ...)
{
  g_autofree gchar *why = NULL, *where = NULL;
  va_list args;

  va_start (args, format);
  why = g_strdup_vprintf (format, args);
  va_end (args);
  if (node != NULL)
    where = g_strdup_printf (" node “%s” (%s):",
                             node->name != NULL && *node->name != '\0' ? node->name
                             : node->n_output > 0                      ? node->output[0]
                                                                       : "",
                             node->op_type != NULL ? node->op_type : "no operator");
  g_set_error (error, TOOL_ERROR, TOOL_ERROR_FAILED, "%s:%s %s", self->path,
               where != NULL ? where : "", why);
  return FALSE;
}

static const OnnxAttribute *
find_attribute (const OnnxNode *node, const gchar *name)
{
  for (gsize i = 0; i < node->n_attribute; i++)
    if (g_strcmp0 (node->attribute[i]->name, name) == 0)
      return node->attribute[i];
  return NULL;
}

/* Returns: the float or the integer @name of @node. */
static gdouble
get_number (const OnnxNode *node, const gchar *name, gdouble otherwise)
{
  const OnnxAttribute *attribute = find_attribute (node, name);

  if (attribute == NULL || (!attribute->has_f && !attribute->has_i))
    return otherwise;
  return attribute->has_f ? (gdouble)attribute->f : (gdouble)attribute->i;
}

static gboolean
is_constant (const OnnxNode *node)
{
  return g_strcmp0 (node->op_type, "Constant") == 0 && node->n_output == 1 &&
         node->n_attribute == 1;
}

/* Returns: (nullable): the initializer or constant of that name. */
static const OnnxTensor *
get_tensor (const Import *self, const gchar *name)
{
  for (gsize i = 0; i < self->graph->n_initializer; i++)
    if (g_strcmp0 (self->graph->initializer[i]->name, name) == 0)
      return self->graph->initializer[i];
  for (gsize i = 0; i < self->graph->n_node; i++) {
    const OnnxNode *node = self->graph->node[i];

    if (is_constant (node) && g_str_equal (node->output[0], name))
      return node->attribute[0]->t;
  }
  return NULL;
}

static const OnnxTensor *
get_operand (const Import *self, const OnnxNode *node, gsize index)
{
  return index < node->n_input ? get_tensor (self, node->input[index]) : NULL;
}

/* TRUE if @tensor has @n elements in one row. */
static gboolean
is_row (const OnnxTensor *tensor, gint64 n)
{
  return (tensor->n_dims == 1 && tensor->dims[0] == n) ||
         (tensor->n_dims == 2 && tensor->dims[0] == 1 && tensor->dims[1] == n);
}

static Layer *
get_last (const Import *self)
{
  return self->layers->len > 0 ? &g_array_index (self->layers, Layer, self->layers->len - 1) : NULL;
}

static gboolean
add_product (Import *self, const OnnxNode *node, GError **error)
{
  const OnnxTensor *weight = get_operand (self, node, 1);
  const Layer *last = get_last (self);
  Layer layer = {.alpha = get_number (node, "alpha", 1),
                 .transposed = get_number (node, "transB", 0) != 0};

  if (weight == NULL || weight->n_dims != 2 || get_number (node, "transA", 0) != 0)
    return fail (self, node, error,
                 "expected a product with an initializer of two dimensions as the second operand, "
                 "and a first operand that is not transposed.");
  layer.weight = node->input[1];
  layer.k = weight->dims[layer.transposed ? 1 : 0];
  layer.n = weight->dims[layer.transposed ? 0 : 1];
  if (last != NULL && last->n != layer.k)
    return fail (self, node, error,
                 "expected a weight of K = %" G_GINT64_FORMAT
                 ", the columns of the layer before, found %" G_GINT64_FORMAT ".",
                 last->n, layer.k);
  g_array_append_val (self->layers, layer);
  return TRUE;
}

/* Adds input @index of @node, C of a Gemm or a term of an Add, times @scale to the last layer. */
static gboolean
add_term (Import *self, const OnnxNode *node, gsize index, gdouble scale, GError **error)
{
  const OnnxTensor *term = get_operand (self, node, index);
  Layer *last = get_last (self);

  if (term == NULL || last == NULL || last->activation != GEMMCL_ACTIVATION_NONE ||
      last->bias != NULL || last->addend != NULL || !is_row (term, last->n))
    return fail (self, node, error,
                 "expected a product before it, without another sum or an activation in between, "
                 "and an initializer with a number for each column of the product.");
  if (scale == 1) {
    last->bias = node->input[index];
  } else {
    last->addend = node->input[index];
    last->beta = scale;
  }
  return TRUE;
}

static gboolean
add_gemm (Import *self, const OnnxNode *node, GError **error)
{
  const gboolean has_c = node->n_input > 2 && *node->input[2] != '\0';
  const gdouble beta = get_number (node, "beta", 1);

  return add_product (self, node, error) &&
         (!has_c || beta == 0 || add_term (self, node, 2, beta, error));
}

/* @activation: of the operator; the attributes may state another */
static gboolean
add_activation (Import *self, const OnnxNode *node, GemmclActivation activation, GError **error)
{
  const OnnxAttribute *approximate = find_attribute (node, "approximate");
  const gdouble axis = get_number (node, "axis", -1), slope = get_number (node, "alpha", 0.01);
  Layer *last = get_last (self);

  if (approximate != NULL && approximate->has_s && approximate->s.len == strlen ("tanh") &&
      memcmp (approximate->s.data, "tanh", approximate->s.len) == 0)
    activation = GEMMCL_ACTIVATION_GELU_TANH;
  if (last == NULL || last->activation != GEMMCL_ACTIVATION_NONE)
    return fail (self, node, error, "expected a product before it, without another activation.");
  if (activation == GEMMCL_ACTIVATION_SOFTMAX && axis != -1 && axis != 1)
    return fail (self, node, error, "expected the last axis, found %g.", axis);
  if (activation == GEMMCL_ACTIVATION_LEAKY_RELU && (gfloat)slope != 0.01f)
    return fail (self, node, error, "expected a slope of 0.01, found %g.", slope);
  last->activation = activation;
  return TRUE;
}

static gboolean
add_node (Import *self, const OnnxNode *node, const gchar *value, GError **error)
{
  const gchar *op = node->op_type != NULL ? node->op_type : "";
  const gboolean is_first = g_str_equal (node->input[0], value);

  if (node->domain != NULL && *node->domain != '\0' && !g_str_equal (node->domain, "ai.onnx"))
    return fail (self, node, error, "expected an operator of ONNX, found one of “%s”.",
                 node->domain);
  if (g_strv_contains (idle_ops, op) && is_first && get_number (node, "axis", 1) == 1)
    return TRUE;
  if (g_str_equal (op, "Gemm") && is_first)
    return add_gemm (self, node, error);
  if (g_str_equal (op, "MatMul") && is_first)
    return add_product (self, node, error);
  if (g_str_equal (op, "Add") && node->n_input == 2)
    return add_term (self, node, is_first, 1, error);
  for (guint i = 0; i < G_N_ELEMENTS (activations); i++)
    if (g_str_equal (op, activations[i].op))
      return add_activation (self, node, activations[i].activation, error);
  return fail (self, node, error,
               "expected Gemm, MatMul, Add, Relu, LeakyRelu, Gelu, Sigmoid, Tanh, HardSwish, "
               "Softmax, Flatten, Dropout or Identity of the value before.");
}

/* Returns: (nullable): the model's input; older models list their initializers there, too. */
static const gchar *
find_input (const Import *self, GError **error)
{
  const gchar *input = NULL;
  guint n = 0;

  for (gsize i = 0; i < self->graph->n_input; i++) {
    const gchar *name = self->graph->input[i]->name;

    if (name != NULL && get_tensor (self, name) == NULL) {
      input = name;
      n++;
    }
  }
  if (n == 1 && self->graph->n_output == 1)
    return input;
  fail (self, NULL, error, "expected one input and one output, found %u and %zu.", n,
        self->graph->n_output);
  return NULL;
}

static gboolean
takes (const OnnxNode *node, const gchar *value)
{
  gboolean found = FALSE;

  for (gsize i = 0; i < node->n_input; i++)
    found |= g_str_equal (node->input[i], value);
  return found && node->n_output > 0;
}

/* Nodes are in an order in which each follows those whose values it takes. */
static gboolean
walk (Import *self, GError **error)
{
  const gchar *value = find_input (self, error);

  if (value == NULL)
    return FALSE;
  for (gsize i = 0; i < self->graph->n_node; i++) {
    const OnnxNode *node = self->graph->node[i];

    if (is_constant (node))
      continue;
    if (!takes (node, value))
      return fail (self, node, error,
                   "expected a chain of layers, found a node that does not take “%s”.", value);
    if (!add_node (self, node, value, error))
      return FALSE;
    value = node->output[0];
  }
  if (g_strcmp0 (value, self->graph->output[0]->name) != 0)
    return fail (self, NULL, error, "expected a chain of layers that ends in “%s”, not in “%s”.",
                 self->graph->output[0]->name, value);
  if (self->layers->len == 0)
    return fail (self, NULL, error, "expected a Gemm or MatMul, found none.");
  return TRUE;
}

static void
print_tensor (const Import *self, const gchar *property, const gchar *name)
{
  g_autofree gchar *where = g_strdup_printf ("%s#%s", self->path, name);
  g_autofree gchar *quoted = g_shell_quote (where);

  g_print (" %s=%s", property, quoted);
}

static void
print_layer (const Import *self, const Layer *layer)
{
  gchar number[G_ASCII_DTOSTR_BUF_SIZE];

  g_print ("    ! gemmcl");
  print_tensor (self, "weight", layer->weight);
  if (layer->transposed)
    g_print (" transpose-weight=true");
  if (layer->alpha != 1)
    g_print (" alpha=%s", g_ascii_formatd (number, sizeof number, "%.9g", layer->alpha));
  if (layer->bias != NULL)
    print_tensor (self, "bias", layer->bias);
  if (layer->addend != NULL) {
    print_tensor (self, "addend", layer->addend);
    g_print (" beta=%s", g_ascii_formatd (number, sizeof number, "%.9g", layer->beta));
  }
  if (layer->activation != GEMMCL_ACTIVATION_NONE)
    g_print (" activation=%s", gemmcl_activation_get_name (layer->activation));
  g_print (" \\\n");
}

static void
print_line (const Import *self)
{
  const gint64 k = g_array_index (self->layers, Layer, 0).k;

  g_print ("gst-launch-1.0 filesrc location=input.f32 blocksize=%" G_GINT64_FORMAT " \\\n"
           "    ! 'other/tensors,format=static,num_tensors=1,dimensions=(string)%" G_GINT64_FORMAT
           ":1,types=(string)float32,framerate=0/1' \\\n",
           k * 4, k);
  for (guint i = 0; i < self->layers->len; i++)
    print_layer (self, &g_array_index (self->layers, Layer, i));
  g_print ("    ! filesink location=output.f32\n");
}

static OnnxModel *
read_model (const gchar *path, GError **error)
{
  g_autofree gchar *bytes = NULL;
  gsize size;
  OnnxModel *model;

  if (!g_file_get_contents (path, &bytes, &size, error))
    return NULL;
  model = onnx__model_proto__unpack (NULL, size, (const guint8 *)bytes);
  if (model != NULL && model->graph != NULL)
    return model;
  g_clear_pointer (&model, model_free);
  g_set_error (error, TOOL_ERROR, TOOL_ERROR_FAILED,
               "%s: expected an ONNX model, found something else, or a truncated one.", path);
  return NULL;
}

static gboolean
run (gchar **operands, GError **error)
{
  g_autoptr (OnnxModel) model = read_model (operands[0], error);
  g_autoptr (GArray) layers = g_array_new (FALSE, FALSE, sizeof (Layer));
  Import self = {.path = operands[0], .layers = layers};

  if (model == NULL)
    return FALSE;
  self.graph = model->graph;
  if (!walk (&self, error))
    return FALSE;
  print_line (&self);
  return TRUE;
}

#else

static gboolean
run (G_GNUC_UNUSED gchar **operands, GError **error)
{
  g_set_error_literal (error, TOOL_ERROR, TOOL_ERROR_FAILED,
                       "This build of gemmcl reads no ONNX models, since it was built without "
                       "protobuf-c.");
  return FALSE;
}

#endif

const ToolCommand tool_import = {
    .name = "import",
    .summary = "Print an ONNX model as a gst-launch line",
    .operands = "MODEL.onnx",
    .n_operands = 1,
    .description =
        "Prints the gst-launch line of a multilayer perceptron: a chain of Gemm or MatMul, Add, "
        "and the activations Relu, LeakyRelu, Gelu, Sigmoid, Tanh, HardSwish and Softmax. Each "
        "layer becomes a gemmcl element whose weight and bias are read from the model. Flatten, "
        "Dropout and Identity are left out. Any other operator is refused by its name.\n\n"
        "The line reads rows of float32 from input.f32 and writes those of the result to "
        "output.f32; replace both ends by your own elements.",
    .examples = {{"gemmcl import mlp.onnx", "The model as a pipeline"}},
    .run = run,
};
