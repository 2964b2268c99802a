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

/* @text: the elements so far; @k: the columns of the input; @n: those of the last layer, or 0;
 * @has_term, @has_activation: the last layer has a sum or an activation. */
typedef struct {
  const gchar *path;
  const OnnxGraph *graph;
  GString *text;
  gint64 k, n;
  gboolean has_term, has_activation;
} Import;

static void
model_free (OnnxModel *model)
{
  onnx__model_proto__free_unpacked (model, NULL);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC (OnnxModel, model_free)

/* Sets @error. Returns: FALSE. @node: (nullable): the node that cannot be imported */
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
  return tool_fail (error, "%s:%s %s", self->path, where != NULL ? where : "", why);
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

/* TRUE if @tensor has @n elements in one row. */
static gboolean
is_row (const OnnxTensor *tensor, gint64 n)
{
  return (tensor->n_dims == 1 && tensor->dims[0] == n) ||
         (tensor->n_dims == 2 && tensor->dims[0] == 1 && tensor->dims[1] == n);
}

static void
add_tensor (Import *self, const gchar *property, const gchar *name)
{
  g_autofree gchar *where = g_strdup_printf ("%s#%s", self->path, name);
  g_autofree gchar *quoted = g_shell_quote (where);

  g_string_append_printf (self->text, " %s=%s", property, quoted);
}

static void
add_number (Import *self, const gchar *property, gdouble value)
{
  gchar number[G_ASCII_DTOSTR_BUF_SIZE];

  g_string_append_printf (self->text, " %s=%s", property,
                          g_ascii_formatd (number, sizeof number, "%.9g", value));
}

/* Adds @scale times the input @index of @node, C of a Gemm or a term of an Add, to the last
 * layer. */
static gboolean
add_term (Import *self, const OnnxNode *node, gsize index, gdouble scale, GError **error)
{
  const OnnxTensor *term = get_tensor (self, node->input[index]);

  if (term == NULL || self->n == 0 || self->has_activation || self->has_term ||
      !is_row (term, self->n))
    return fail (self, node, error,
                 "expected a product before it, without another sum or an activation in between, "
                 "and an initializer with a number for each column of the product.");
  self->has_term = TRUE;
  add_tensor (self, scale == 1 ? "bias" : "addend", node->input[index]);
  if (scale != 1)
    add_number (self, "beta", scale);
  return TRUE;
}

/* A MatMul is a Gemm without attributes and without C. */
static gboolean
add_product (Import *self, const OnnxNode *node, GError **error)
{
  const OnnxTensor *weight = node->n_input > 1 ? get_tensor (self, node->input[1]) : NULL;
  const gdouble alpha = get_number (node, "alpha", 1), beta = get_number (node, "beta", 1);
  const gboolean transposed = get_number (node, "transB", 0) != 0;
  gint64 k;

  if (weight == NULL || weight->n_dims != 2 || get_number (node, "transA", 0) != 0)
    return fail (self, node, error,
                 "expected a product with an initializer of two dimensions as the second operand, "
                 "and a first operand that is not transposed.");
  k = weight->dims[transposed ? 1 : 0];
  if (self->n == 0)
    self->k = k;
  else if (self->n != k)
    return fail (self, node, error,
                 "expected a weight of K = %" G_GINT64_FORMAT
                 ", the columns of the layer before, found %" G_GINT64_FORMAT ".",
                 self->n, k);
  self->n = weight->dims[transposed ? 0 : 1];
  self->has_term = self->has_activation = FALSE;
  g_string_append (self->text, " \\\n    ! gemmcl");
  add_tensor (self, "weight", node->input[1]);
  if (transposed)
    g_string_append (self->text, " transpose-weight=true");
  if (alpha != 1)
    add_number (self, "alpha", alpha);
  return node->n_input < 3 || *node->input[2] == '\0' || beta == 0 ||
         add_term (self, node, 2, beta, error);
}

/* @activation: the operator's, unless its attributes state another */
static gboolean
add_activation (Import *self, const OnnxNode *node, GemmclActivation activation, GError **error)
{
  const OnnxAttribute *approximate = find_attribute (node, "approximate");
  const gdouble axis = get_number (node, "axis", -1), slope = get_number (node, "alpha", 0.01);

  if (approximate != NULL && approximate->has_s && approximate->s.len == strlen ("tanh") &&
      memcmp (approximate->s.data, "tanh", approximate->s.len) == 0)
    activation = GEMMCL_ACTIVATION_GELU_TANH;
  if (self->n == 0 || self->has_activation)
    return fail (self, node, error, "expected a product before it, without another activation.");
  if (activation == GEMMCL_ACTIVATION_SOFTMAX && axis != -1 && axis != 1)
    return fail (self, node, error, "expected the last axis, found %g.", axis);
  if (activation == GEMMCL_ACTIVATION_LEAKY_RELU && (gfloat)slope != 0.01f)
    return fail (self, node, error, "expected a slope of 0.01, found %g.", slope);
  self->has_activation = TRUE;
  g_string_append_printf (self->text, " activation=%s", gemmcl_activation_get_name (activation));
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
  if ((g_str_equal (op, "Gemm") || g_str_equal (op, "MatMul")) && is_first)
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
  if (n == 1 && self->graph->n_output == 1 && self->graph->output[0]->name != NULL)
    return input;
  fail (self, NULL, error, "expected one input and one output, found %u and %zu, or no name.", n,
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

/* In ONNX's order each node follows the nodes whose values it takes. */
static gboolean
walk (Import *self, GError **error)
{
  const gchar *value = find_input (self, error);

  if (value == NULL)
    return FALSE;
  for (gsize i = 0; i < self->graph->n_node; i++) {
    const OnnxNode *node = self->graph->node[i];

    if (g_strcmp0 (value, self->graph->output[0]->name) == 0)
      break;
    /* Skips nodes beside the chain. A node of the chain that takes their results is refused. */
    if (is_constant (node) || !takes (node, value))
      continue;
    if (!add_node (self, node, value, error))
      return FALSE;
    value = node->output[0];
  }
  if (g_strcmp0 (value, self->graph->output[0]->name) != 0)
    return fail (self, NULL, error, "expected a chain of layers that ends in “%s”, not in “%s”.",
                 self->graph->output[0]->name, value);
  if (self->n == 0)
    return fail (self, NULL, error, "expected a Gemm or MatMul, found none.");
  return TRUE;
}

static OnnxModel *
read_model (const gchar *path, GError **error)
{
  g_autoptr (OnnxModel) model = NULL;
  g_autofree gchar *bytes = NULL;
  gsize size;

  if (!g_file_get_contents (path, &bytes, &size, error))
    return NULL;
  model = onnx__model_proto__unpack (NULL, size, (const guint8 *)bytes);
  if (model != NULL && model->graph != NULL)
    return g_steal_pointer (&model);
  tool_fail (error, "%s: expected an ONNX model, found something else, or a truncated one.", path);
  return NULL;
}

static gboolean
run (gchar **operands, GError **error)
{
  g_autoptr (OnnxModel) model = read_model (operands[0], error);
  g_autoptr (GString) text = g_string_new (NULL);
  Import self = {.path = operands[0], .text = text};

  if (model == NULL)
    return FALSE;
  self.graph = model->graph;
  if (!walk (&self, error))
    return FALSE;
  g_print ("gst-launch-1.0 filesrc location=input.f32 blocksize=%" G_GINT64_FORMAT " \\\n"
           "    ! 'other/tensors,format=static,num_tensors=1,dimensions=(string)%" G_GINT64_FORMAT
           ":1,types=(string)float32,framerate=0/1'%s \\\n"
           "    ! filesink location=output.f32\n",
           self.k * 4, self.k, text->str);
  return TRUE;
}

#else

static gboolean
run (G_GNUC_UNUSED gchar **operands, GError **error)
{
  return tool_fail (error, "This build of gemmcl reads no ONNX models, since it was built without "
                           "protobuf-c.");
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
