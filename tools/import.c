/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * An ONNX model as a pipeline. The model must be a chain: each node takes the value of the node
 * before and initializers, and a layer is a node that multiplies by an initializer, with the nodes
 * behind it that one gemmcl element computes along with it:
 *
 *     input -> Gemm or MatMul -> [Add] -> [activation] -> Gemm or MatMul -> ... -> output
 *
 * Each version of an operator is in https://onnx.ai/onnx/operators/.
 */
#include "tool.h"

/* ROW (name, add, ignores_rows, attributes ...) for each operator of a layer, and for each that is
 * left out. Attributes: those, of any version, that are read or change no value; any other is
 * refused. add: NULL: it changes nothing. ignores_rows: it ignores how values are cut into rows. */
#define LAYER_OPERATORS(ROW)                                                                       \
  ROW ("Gemm", add_product, FALSE, "alpha", "beta", "broadcast", "transA", "transB")               \
  ROW ("MatMul", add_product, FALSE, NULL)                                                         \
  ROW ("Add", add_sum, FALSE, "axis", "broadcast")                                                 \
  ROW ("Relu", add_activation, FALSE, NULL)                                                        \
  ROW ("LeakyRelu", add_leaky_relu, FALSE, "alpha")                                                \
  ROW ("Gelu", add_gelu, FALSE, "approximate")                                                     \
  ROW ("Sigmoid", add_activation, FALSE, NULL)                                                     \
  ROW ("Tanh", add_activation, FALSE, NULL)                                                        \
  ROW ("HardSwish", add_activation, FALSE, NULL)                                                   \
  ROW ("Softmax", add_softmax, FALSE, "axis")
#define OTHER_OPERATORS(ROW)                                                                       \
  ROW ("Cast", add_cast, TRUE, "saturate", "to")                                                   \
  ROW ("Dropout", add_dropout, TRUE, "is_test", "ratio", "seed")                                   \
  ROW ("Flatten", add_flatten, TRUE, "axis")                                                       \
  ROW ("Identity", NULL, TRUE, NULL)                                                               \
  ROW ("Reshape", add_reshape, TRUE, "allowzero")
#define LISTED(name, ...) name ", "
#define LAYER_NAMES       LAYER_OPERATORS (LISTED)
#define OTHER_NAMES       OTHER_OPERATORS (LISTED)

#ifdef HAVE_ONNX
  #include <string.h>

  #include "gemmcl.h"
  #include "onnx.pb-c.h"

  /* TensorProto.DataType */
  #define TYPE_FLOAT    1
  #define TYPE_FLOAT16  10
  #define TYPE_DOUBLE   11
  #define TYPE_BFLOAT16 16

typedef Onnx__ModelProto OnnxModel;
typedef Onnx__GraphProto OnnxGraph;
typedef Onnx__NodeProto OnnxNode;
typedef Onnx__TensorProto OnnxTensor;
typedef Onnx__AttributeProto OnnxAttribute;
typedef Onnx__ValueInfoProto OnnxValueInfo;

/* @opset: the version of ONNX's operators; @text: the elements so far; @k: the columns of the
 * input; @n: those of the last layer, or 0; @rank: the dimensions of the value, or 0 if they are
 * unknown; @has_term, @has_activation: the last layer has a sum or an activation; @is_reshaped: the
 * rows of the value are no longer those of the last layer. */
typedef struct {
  const gchar *path;
  const OnnxGraph *graph;
  gint64 opset;
  GString *text;
  gint64 k, n, rank;
  gboolean has_term, has_activation, is_reshaped;
} Import;

static void
model_free (OnnxModel *model)
{
  onnx__model_proto__free_unpacked (model, NULL);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC (OnnxModel, model_free)

/* Sets @error. Returns: FALSE. @node: (nullable): the node that cannot be imported. Texts of the
 * model have any length and any lines, so gemmcl_quote() makes parts of messages of them. */
static gboolean G_GNUC_PRINTF (4, 5)
    fail (const Import *self, const OnnxNode *node, GError **error, const gchar *format, ...)
{
  g_autofree gchar *why = NULL, *where = NULL, *path = gemmcl_quote (self->path);
  va_list args;

  va_start (args, format);
  why = g_strdup_vprintf (format, args);
  va_end (args);
  if (node != NULL) {
    g_autofree gchar *name = gemmcl_quote (node->name != NULL && *node->name != '\0' ? node->name
                                           : node->n_output > 0 ? node->output[0]
                                                                : "");
    g_autofree gchar *op = gemmcl_quote (node->op_type != NULL ? node->op_type : "no operator");

    where = g_strdup_printf (" node “%s” (%s):", name, op);
  }
  return tool_fail (error, "%s:%s %s", path, where != NULL ? where : "", why);
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

/* Returns: (nullable): the tensor of that name, if its elements are floating-point numbers. */
static const OnnxTensor *
get_operand (const Import *self, const gchar *name)
{
  const OnnxTensor *tensor = get_tensor (self, name);

  if (tensor != NULL && (tensor->data_type == TYPE_FLOAT || tensor->data_type == TYPE_FLOAT16 ||
                         tensor->data_type == TYPE_DOUBLE || tensor->data_type == TYPE_BFLOAT16))
    return tensor;
  return NULL;
}

/* TRUE if @tensor has @n elements in one row. */
static gboolean
is_row (const OnnxTensor *tensor, gint64 n)
{
  return (tensor->n_dims == 1 && tensor->dims[0] == n) ||
         (tensor->n_dims == 2 && tensor->dims[0] == 1 && tensor->dims[1] == n);
}

/* Adds the tensor in the quotes of the shell, which hands it on to the parser of gst-launch, where
 * a backslash makes the character behind it an ordinary one. */
static void
add_tensor (Import *self, const gchar *property, const gchar *name)
{
  g_autoptr (GString) where = g_string_new (NULL);
  g_autofree gchar *quoted = NULL;

  g_string_printf (where, "%s#%s", self->path, name);
  g_string_replace (where, "\\", "\\\\", 0);
  g_string_replace (where, "\"", "\\\"", 0);
  quoted = g_shell_quote (where->str);
  g_string_append_printf (self->text, " %s=%s", property, quoted);
}

static void
add_number (Import *self, const gchar *property, gdouble value)
{
  gchar number[G_ASCII_DTOSTR_BUF_SIZE];

  g_string_append_printf (self->text, " %s=%s", property,
                          g_ascii_formatd (number, sizeof number, "%.9g", value));
}

/* Adds @scale times input @index of @node, C of a Gemm or a term of an Add, to a layer. */
static gboolean
add_term (Import *self, const OnnxNode *node, gsize index, gdouble scale, GError **error)
{
  const OnnxTensor *term = get_operand (self, node->input[index]);

  if (term == NULL || self->n == 0 || self->has_activation || self->has_term ||
      !is_row (term, self->n))
    return fail (self, node, error,
                 "expected a product before it, without another sum or an activation in between, "
                 "and an initializer with a floating-point number for each column of the product.");
  self->has_term = TRUE;
  /* A row of two dimensions makes a value of one dimension one of two. */
  if (self->rank != 0)
    self->rank = MAX (self->rank, (gint64)term->n_dims);
  add_tensor (self, scale == 1 ? "bias" : "addend", node->input[index]);
  if (scale != 1)
    add_number (self, "beta", scale);
  return TRUE;
}

/* Before version 7 an axis, which may be another than the last, aligns the term. */
static gboolean
add_sum (Import *self, const OnnxNode *node, GError **error)
{
  const gdouble axis = get_number (node, "axis", -1);

  if (axis != -1 && axis != self->rank - 1)
    return fail (self, node, error, "expected the last axis, found %g.", axis);
  if (node->n_input != 2)
    return fail (self, node, error, "expected two operands, found %zu.", node->n_input);
  return add_term (self, node, get_tensor (self, node->input[0]) == NULL, 1, error);
}

/* A MatMul is a Gemm without attributes and without C. */
static gboolean
add_product (Import *self, const OnnxNode *node, GError **error)
{
  const gboolean is_gemm = g_str_equal (node->op_type, "Gemm");
  const OnnxTensor *weight = node->n_input > 1 ? get_operand (self, node->input[1]) : NULL;
  const gdouble alpha = get_number (node, "alpha", 1), beta = get_number (node, "beta", 1);
  const gboolean transposed = get_number (node, "transB", 0) != 0;
  gint64 k;

  if (weight == NULL || weight->n_dims != 2 || get_number (node, "transA", 0) != 0)
    return fail (self, node, error,
                 "expected a product with an initializer of floating-point numbers in two "
                 "dimensions as the second operand, and a first operand that is not transposed.");
  k = weight->dims[transposed ? 1 : 0];
  if (self->n == 0)
    self->k = k;
  else if (self->n != k)
    return fail (self, node, error,
                 "expected a weight of K = %" G_GINT64_FORMAT
                 ", the columns of the layer before, found %" G_GINT64_FORMAT ".",
                 self->n, k);
  self->n = weight->dims[transposed ? 0 : 1];
  self->rank = is_gemm ? 2 : self->rank;
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

static gboolean
apply (Import *self, const OnnxNode *node, const gchar *activation, GError **error)
{
  if (self->n == 0 || self->has_activation)
    return fail (self, node, error, "expected a product before it, without another activation.");
  self->has_activation = TRUE;
  g_string_append_printf (self->text, " activation=%s", activation);
  return TRUE;
}

/* Adds the activation of the same name: hard-swish for HardSwish. */
static gboolean
add_activation (Import *self, const OnnxNode *node, GError **error)
{
  g_autoptr (GString) name = g_string_new (NULL);

  for (const gchar *c = node->op_type; *c != '\0'; c++) {
    if (c > node->op_type && g_ascii_isupper (*c))
      g_string_append_c (name, '-');
    g_string_append_c (name, g_ascii_tolower (*c));
  }
  return apply (self, node, name->str, error);
}

static gboolean
add_leaky_relu (Import *self, const OnnxNode *node, GError **error)
{
  const gdouble slope = get_number (node, "alpha", 0.01);

  if ((gfloat)slope != 0.01f)
    return fail (self, node, error, "expected a slope of 0.01, found %g.", slope);
  return add_activation (self, node, error);
}

static gboolean
add_gelu (Import *self, const OnnxNode *node, GError **error)
{
  const OnnxAttribute *attribute = find_attribute (node, "approximate");
  g_autofree gchar *approximate =
      attribute != NULL ? g_strndup ((const gchar *)attribute->s.data, attribute->s.len) : NULL;
  g_autofree gchar *found = NULL;

  if (approximate == NULL || g_str_equal (approximate, "none"))
    return add_activation (self, node, error);
  if (g_str_equal (approximate, "tanh"))
    return apply (self, node, "gelu-tanh", error);
  found = gemmcl_quote (approximate);
  return fail (self, node, error, "expected none or tanh as its approximation, found “%s”.", found);
}

/* Before version 13 the axis is 1 by default, and Softmax normalizes over all axes from it on. */
static gboolean
add_softmax (Import *self, const OnnxNode *node, GError **error)
{
  const gdouble axis = get_number (node, "axis", self->opset < 13 ? 1 : -1);

  if (axis != -1 && axis != self->rank - 1)
    return fail (self, node, error,
                 "expected the last axis of a value whose number of dimensions is known, found "
                 "axis %g and %" G_GINT64_FORMAT " dimensions (0: unknown).",
                 axis, self->rank);
  return add_activation (self, node, error);
}

/* A cast between floating-point types changes nothing here: gemmcl computes in f32. */
static gboolean
add_cast (Import *self, const OnnxNode *node, GError **error)
{
  const gdouble type = get_number (node, "to", 0);

  return type == TYPE_FLOAT || type == TYPE_DOUBLE ||
         fail (self, node, error, "expected a cast to float or double, found the ONNX type %g.",
               type);
}

/* Dropout leaves values as they are when a model is used, not trained. */
static gboolean
add_dropout (Import *self, const OnnxNode *node, GError **error)
{
  const gboolean has_mode = node->n_input > 2 && *node->input[2] != '\0';
  const OnnxTensor *mode = has_mode ? get_tensor (self, node->input[2]) : NULL;
  const gboolean is_false =
      mode != NULL && (mode->has_raw_data ? mode->raw_data.len == 1 && mode->raw_data.data[0] == 0
                                          : mode->n_int32_data == 1 && mode->int32_data[0] == 0);

  if ((has_mode && !is_false) || (self->opset < 7 && get_number (node, "is_test", 0) == 0))
    return fail (self, node, error,
                 "expected a model that is not in training mode. Export it for inference.");
  return TRUE;
}

/* A change of shape before the first layer needs nothing: the layer's K already says which elements
 * make a row. */
static gboolean
add_flatten (Import *self, const OnnxNode *node, G_GNUC_UNUSED GError **error)
{
  const gdouble axis = get_number (node, "axis", 1);

  self->is_reshaped |= self->n > 0 && (self->rank != 2 || (axis != 1 && axis != -1));
  self->rank = 2;
  return TRUE;
}

static gboolean
add_reshape (Import *self, const OnnxNode *node, G_GNUC_UNUSED GError **error)
{
  const OnnxTensor *shape = node->n_input > 1 ? get_tensor (self, node->input[1]) : NULL;

  self->is_reshaped |= self->n > 0;
  self->rank = shape != NULL && shape->n_dims == 1 ? shape->dims[0] : 0;
  return TRUE;
}

static const struct {
  const gchar *name;
  gboolean (*add) (Import *self, const OnnxNode *node, GError **error);
  gboolean ignores_rows;
  const gchar *attributes[6];
} operators[] = {
  #define ROW(name, add, ignores_rows, ...) {name, add, ignores_rows, {__VA_ARGS__}},
    LAYER_OPERATORS (ROW) OTHER_OPERATORS (ROW)
  #undef ROW
};

static gboolean
add_node (Import *self, const OnnxNode *node, GError **error)
{
  const gchar *op = node->op_type != NULL ? node->op_type : "";
  guint i = 0;

  if (node->domain != NULL && *node->domain != '\0' && !g_str_equal (node->domain, "ai.onnx")) {
    g_autofree gchar *domain = gemmcl_quote (node->domain);

    return fail (self, node, error, "expected an operator of ONNX, found one of “%s”.", domain);
  }
  while (i < G_N_ELEMENTS (operators) && !g_str_equal (op, operators[i].name))
    i++;
  if (i == G_N_ELEMENTS (operators))
    return fail (self, node, error, "expected " LAYER_NAMES OTHER_NAMES "found another.");
  for (gsize a = 0; a < node->n_attribute; a++) {
    const gchar *name = node->attribute[a]->name;

    if (name == NULL || !g_strv_contains (operators[i].attributes, name)) {
      g_autofree gchar *found = gemmcl_quote (name != NULL ? name : "");

      return fail (self, node, error, "gemmcl does not know the attribute “%s”.", found);
    }
  }
  if (self->is_reshaped && !operators[i].ignores_rows)
    return fail (self, node, error,
                 "expected the rows of the layer before, found a value of another shape.");
  return operators[i].add == NULL || operators[i].add (self, node, error);
}

/* Returns: (nullable): the input of the model of that name. */
static const OnnxValueInfo *
find_input (const Import *self, const gchar *name)
{
  for (gsize i = 0; i < self->graph->n_input; i++)
    if (g_strcmp0 (self->graph->input[i]->name, name) == 0)
      return self->graph->input[i];
  return NULL;
}

/* Returns: the input of @node that the node before computes: the first, or the second of an Add. */
static const gchar *
get_value (const Import *self, const OnnxNode *node)
{
  const gboolean is_second = node->n_input == 2 && g_strcmp0 (node->op_type, "Add") == 0 &&
                             get_tensor (self, node->input[0]) != NULL;

  return node->n_input > 0 ? node->input[is_second] : "";
}

/* Lists the nodes from @value back to an input of the model, and sets rank to that of the input.
 * One pass suffices, since in ONNX's order each node follows the nodes whose values it takes. */
static gboolean
find_chain (Import *self, const gchar *value, GPtrArray *chain, GError **error)
{
  const gchar *name = value;
  const OnnxValueInfo *input;

  for (gsize i = self->graph->n_node; i-- > 0;) {
    const OnnxNode *node = self->graph->node[i];

    if (node->n_output > 0 && !is_constant (node) && g_str_equal (node->output[0], name)) {
      g_ptr_array_add (chain, (gpointer)node);
      name = get_value (self, node);
    }
  }
  input = get_tensor (self, name) == NULL ? find_input (self, name) : NULL;
  if (input == NULL) {
    g_autofree gchar *last = gemmcl_quote (value), *first = gemmcl_quote (name);

    return fail (self, NULL, error,
                 "expected a chain of layers from an input of the model to “%s”, found one that "
                 "begins with “%s”.",
                 last, first);
  }
  self->rank = input->type != NULL && input->type->tensor_type != NULL &&
                       input->type->tensor_type->shape != NULL
                   ? (gint64)input->type->tensor_type->shape->n_dim
                   : 0;
  return TRUE;
}

/* Adds the gemmcl elements that compute @output to the line. */
static gboolean
add_chain (Import *self, const OnnxValueInfo *output, GError **error)
{
  g_autoptr (GPtrArray) chain = g_ptr_array_new ();

  if (output->name == NULL)
    return fail (self, NULL, error, "expected an output with a name.");
  if (!find_chain (self, output->name, chain, error))
    return FALSE;
  for (guint i = chain->len; i-- > 0;)
    if (!add_node (self, chain->pdata[i], error))
      return FALSE;
  return self->n > 0 || fail (self, NULL, error, "expected a Gemm or MatMul, found none.");
}

/* Returns: the version of ONNX's operators that @model takes; a model without one is of the first.
 */
static gint64
get_opset (const OnnxModel *model)
{
  for (gsize i = 0; i < model->n_opset_import; i++) {
    const gchar *domain = model->opset_import[i]->domain;

    if (domain == NULL || *domain == '\0' || g_str_equal (domain, "ai.onnx"))
      return model->opset_import[i]->version;
  }
  return 1;
}

static OnnxModel *
read_model (const gchar *path, GError **error)
{
  g_autoptr (OnnxModel) model = NULL;
  g_autofree gchar *bytes = NULL;
  gsize size;

  /* A pipe or a device may never end. */
  if (g_file_test (path, G_FILE_TEST_EXISTS) && !g_file_test (path, G_FILE_TEST_IS_REGULAR)) {
    tool_fail (error, "%s: expected a file, found a directory, pipe, socket or device.", path);
    return NULL;
  }
  if (!g_file_get_contents (path, &bytes, &size, error))
    return NULL;
  model = onnx__model_proto__unpack (NULL, size, (const guint8 *)bytes);
  if (model != NULL && model->graph != NULL)
    return g_steal_pointer (&model);
  tool_fail (error, "%s: expected an ONNX model, found something else, or a truncated one.", path);
  return NULL;
}

static void
print_line (const Import *self, const OnnxValueInfo *output)
{
  g_autofree gchar *name = gemmcl_quote (output->name);

  g_print ("gst-launch-1.0 filesrc location=input.f32 blocksize=%" G_GINT64_FORMAT " \\\n"
           "    ! 'other/tensors,format=static,num_tensors=1,dimensions=(string)%" G_GINT64_FORMAT
           ":1,types=(string)float32,framerate=0/1'%s \\\n"
           "    ! filesink location=output.f32\n",
           self->k * 4, self->k, self->text->str);
  if (self->graph->n_output > 1)
    g_printerr ("The line computes the output “%s”, one of %zu.\n", name, self->graph->n_output);
}

/* Imports the first output that a chain computes: a classifier may have labels, which no chain
 * computes, beside its probabilities. Without one, fails with the error of the first. */
static gboolean
run (gchar **arguments, GError **error)
{
  g_autoptr (OnnxModel) model = read_model (arguments[0], error);
  g_autoptr (GError) first = NULL;
  gboolean ok = FALSE;

  if (model == NULL)
    return FALSE;
  if (model->graph->n_output == 0)
    return tool_fail (error, "%s: expected an output, found none.", arguments[0]);
  for (gsize i = 0; i < model->graph->n_output && !ok; i++) {
    g_autoptr (GString) text = g_string_new (NULL);
    g_autoptr (GError) why = NULL;
    Import self = {arguments[0], model->graph, get_opset (model), text};

    ok = add_chain (&self, model->graph->output[i], &why);
    if (ok)
      print_line (&self, model->graph->output[i]);
    else if (first == NULL)
      first = g_steal_pointer (&why);
  }
  if (!ok)
    g_propagate_error (error, g_steal_pointer (&first));
  return ok;
}

#else

static gboolean
run (G_GNUC_UNUSED gchar **arguments, GError **error)
{
  return tool_fail (error, "This build of gemmcl reads no ONNX models, since it was built without "
                           "protobuf-c.");
}

#endif

const ToolCommand tool_import = {
    .name = "import",
    .summary = "Print an ONNX model as a gst-launch line",
    .arguments = "MODEL.onnx",
    .n_arguments = 1,
    .description =
        "Prints the gst-launch line of a multilayer perceptron: a chain of " LAYER_NAMES
        "in which each layer becomes a gemmcl element whose weight and bias are read from the "
        "model. Identity, Dropout, casts to float or double, and Flatten and Reshape before the "
        "first layer and after the last are left out. Any other operator is refused by its name, "
        "as is an attribute that gemmcl cannot honour, such as Softmax over another axis than "
        "the last. If the model has several outputs, the line computes the first one that such a "
        "chain ends in.\n\n"
        "The line reads rows of float32 from input.f32 and writes those of the result to "
        "output.f32; replace both ends by your own elements.",
    .examples = {{"gemmcl import mlp.onnx", "The model as a pipeline"}},
    .run = run,
};
