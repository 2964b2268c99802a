/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "import/model.h"

#include <string.h>

#include "gemmcl.h"

/* TensorProto.DataLocation */
#define EXTERNAL 1

gboolean
model_fail (const Model *self, const OnnxNode *node, GError **error, const gchar *format, ...)
{
  g_autofree gchar *why = NULL, *where = NULL, *path = gemmcl_quote (self->path);
  va_list args;

  va_start (args, format);
  why = g_strdup_vprintf (format, args);
  va_end (args);
  /* Texts of the model have any length and any lines. */
  if (node != NULL) {
    g_autofree gchar *name = gemmcl_quote (node->name != NULL && *node->name != '\0' ? node->name
                                           : node->n_output > 0 ? node->output[0]
                                                                : "");
    g_autofree gchar *op = gemmcl_quote (node->op_type != NULL ? node->op_type : "no operator");

    where = g_strdup_printf (" node “%s” (%s):", name, op);
  }
  return tool_fail (error, "%s:%s %s", path, where != NULL ? where : "", why);
}

const OnnxAttribute *
model_find_attribute (const OnnxNode *node, const gchar *name)
{
  for (gsize i = 0; i < node->n_attribute; i++)
    if (g_strcmp0 (node->attribute[i]->name, name) == 0)
      return node->attribute[i];
  return NULL;
}

gdouble
model_get_number (const OnnxNode *node, const gchar *name, gdouble otherwise)
{
  const OnnxAttribute *attribute = model_find_attribute (node, name);

  if (attribute == NULL || (!attribute->has_f && !attribute->has_i))
    return otherwise;
  return attribute->has_f ? (gdouble)attribute->f : (gdouble)attribute->i;
}

gchar *
model_dup_text (const OnnxNode *node, const gchar *name, const gchar *otherwise)
{
  const OnnxAttribute *attribute = model_find_attribute (node, name);

  if (attribute == NULL)
    return g_strdup (otherwise);
  return attribute->s.data != NULL ? g_strndup ((const gchar *)attribute->s.data, attribute->s.len)
                                   : g_strdup ("");
}

gboolean
model_is_constant (const OnnxNode *node)
{
  return g_strcmp0 (node->op_type, "Constant") == 0 && node->n_output == 1 &&
         node->n_attribute == 1;
}

gboolean
model_has_input (const OnnxNode *node, gsize index)
{
  return node->n_input > index && *node->input[index] != '\0';
}

gchar *
model_name_tensor (const gchar *path, const gchar *name)
{
  const gchar *start = path + strspn (path, " \t\n\v\f\r");
  const gboolean is_other =
      strchr ("['", *start) != NULL || g_ascii_strncasecmp (path, "file:", strlen ("file:")) == 0;

  return g_strdup_printf ("%s%s#%s", is_other ? "./" : "", path, name);
}

const OnnxTensor *
model_get_tensor (const Model *self, const gchar *name)
{
  return g_hash_table_lookup (self->tensors, name);
}

const OnnxNode *
model_find_node (const Model *self, const gchar *name)
{
  for (gsize i = 0; i < self->graph->n_node; i++)
    if (self->graph->node[i]->n_output > 0 && g_str_equal (self->graph->node[i]->output[0], name))
      return self->graph->node[i];
  return NULL;
}

/* The library's type of @tensor, if that has floating-point numbers; otherwise GEMMCL_N_TYPES. */
static GemmclType
get_type (const OnnxTensor *tensor)
{
  return tensor->data_type == ONNX_FLOAT      ? GEMMCL_TYPE_F32
         : tensor->data_type == ONNX_DOUBLE   ? GEMMCL_TYPE_F64
         : tensor->data_type == ONNX_FLOAT16  ? GEMMCL_TYPE_F16
         : tensor->data_type == ONNX_BFLOAT16 ? GEMMCL_TYPE_BF16
                                              : GEMMCL_N_TYPES;
}

const OnnxTensor *
model_get_operand (const Model *self, const OnnxNode *node, gsize index)
{
  const OnnxTensor *tensor =
      model_has_input (node, index) ? model_get_tensor (self, node->input[index]) : NULL;

  return tensor != NULL && get_type (tensor) != GEMMCL_N_TYPES ? tensor : NULL;
}

/* Gets the number of elements. Returns: FALSE if it exceeds memory. */
static gboolean
count_elements (const OnnxTensor *tensor, gsize *n)
{
  gboolean ok = TRUE;

  *n = 1;
  for (gsize i = 0; i < tensor->n_dims; i++)
    ok = ok && tensor->dims[i] >= 0 && g_size_checked_mul (n, *n, (gsize)tensor->dims[i]);
  return ok && *n <= G_MAXSSIZE / sizeof (gdouble);
}

/* Returns: an entry that tells where the elements of @tensor are; @otherwise without one. */
static const gchar *
get_external (const OnnxTensor *tensor, const gchar *key, const gchar *otherwise)
{
  for (gsize i = 0; i < tensor->n_external_data; i++)
    if (g_strcmp0 (tensor->external_data[i]->key, key) == 0)
      return tensor->external_data[i]->value != NULL ? tensor->external_data[i]->value : "";
  return otherwise;
}

/* Reads @n elements from another file, below the model's folder, as the library does, into the
 * model. */
static gboolean
read_external (const Model *self, const OnnxNode *node, OnnxTensor *tensor, gsize n, GError **error)
{
  const gsize size = gemmcl_type_get_size (get_type (tensor));
  const gchar *location = get_external (tensor, "location", "");
  g_autofree gchar *folder = g_path_get_dirname (self->path), *where = gemmcl_quote (location);
  g_autofree gchar *path = g_build_filename (folder, location, NULL);
  g_auto (GStrv) parts = g_strsplit (location, G_DIR_SEPARATOR_S, -1);
  g_autoptr (GMappedFile) file = NULL;
  guint64 offset = 0;

  /* A pipe or a device may never end. */
  if (!g_path_is_absolute (location) && !g_strv_contains ((const gchar *const *)parts, "..") &&
      g_file_test (path, G_FILE_TEST_IS_REGULAR) &&
      g_ascii_string_to_unsigned (get_external (tensor, "offset", "0"), 10, 0, G_MAXSSIZE, &offset,
                                  NULL))
    file = g_mapped_file_new (path, FALSE, NULL);
  if (file == NULL || g_mapped_file_get_length (file) < offset ||
      g_mapped_file_get_length (file) - offset < n * size)
    return model_fail (self, node, error,
                       "expected %zu bytes from byte %" G_GUINT64_FORMAT
                       " on in a file below the model's folder, found “%s”.",
                       n * size, offset, where);
  g_free (tensor->raw_data.data);
  tensor->raw_data.data = g_memdup2 (g_mapped_file_get_contents (file) + offset, n * size);
  tensor->raw_data.len = n * size;
  tensor->has_raw_data = TRUE;
  tensor->data_location = 0;
  return TRUE;
}

/* Reads @n elements. Returns: FALSE if there are not as many. */
static gboolean
read_elements (const OnnxTensor *tensor, gsize n, gdouble *values)
{
  const GemmclType type = get_type (tensor);
  g_autofree guint16 *halves = NULL;
  g_autoptr (GemmclMatrix) stored = NULL, floats = NULL;
  gconstpointer data = tensor->raw_data.data;
  gsize bytes = tensor->raw_data.len;

  if (!tensor->has_raw_data && type == GEMMCL_TYPE_F32) {
    data = tensor->float_data;
    bytes = tensor->n_float_data * sizeof (gfloat);
  } else if (!tensor->has_raw_data && type == GEMMCL_TYPE_F64) {
    data = tensor->double_data;
    bytes = tensor->n_double_data * sizeof (gdouble);
  } else if (!tensor->has_raw_data) {
    data = halves = g_new (guint16, tensor->n_int32_data);
    bytes = tensor->n_int32_data * sizeof *halves;
    for (gsize i = 0; i < tensor->n_int32_data; i++)
      halves[i] = (guint16)tensor->int32_data[i];
  }
  if (bytes != n * gemmcl_type_get_size (type))
    return FALSE;
  if (type == GEMMCL_TYPE_F64) {
    memcpy (values, data, bytes);
    return TRUE;
  }
  stored = gemmcl_matrix_new (type, 1, n, data, NULL);
  floats = stored != NULL ? gemmcl_matrix_to_f32 (stored, FALSE, NULL) : NULL;
  for (gsize i = 0; floats != NULL && i < n; i++)
    values[i] = (gdouble)((const gfloat *)floats->data)[i];
  return floats != NULL;
}

gdouble *
model_get_values (const Model *self, const OnnxNode *node, gsize index, gsize *n, GError **error)
{
  OnnxTensor *tensor = (OnnxTensor *)model_get_operand (self, node, index);
  g_autofree gchar *name = gemmcl_quote (node->n_input > index ? node->input[index] : "");
  g_autofree gdouble *values = NULL;
  gsize bytes;

  if (tensor == NULL)
    return model_fail (self, node, error,
                       "expected an initializer of floating-point numbers as its input %zu, found "
                       "“%s”.",
                       index, name),
           NULL;
  if (count_elements (tensor, n) && *n > 0) {
    if (tensor->data_location == EXTERNAL && !read_external (self, node, tensor, *n, error))
      return NULL;
    bytes =
        tensor->raw_data.len +
        sizeof (gdouble) * (tensor->n_float_data + tensor->n_double_data + tensor->n_int32_data);
    values = *n <= bytes ? g_try_new (gdouble, *n) : NULL;
    if (values != NULL && read_elements (tensor, *n, values))
      return g_steal_pointer (&values);
  }
  model_fail (self, node, error, "the elements of “%s” are not those of its dimensions.", name);
  return NULL;
}

gint64 *
model_get_integers (const Model *self, const OnnxNode *node, const gchar *name, gsize index,
                    gsize *n)
{
  const OnnxAttribute *attribute = model_find_attribute (node, name);
  const OnnxTensor *tensor = index > 0 && model_has_input (node, index)
                                 ? model_get_tensor (self, node->input[index])
                                 : NULL;
  gconstpointer data = NULL;
  gint64 *copy;

  *n = 0;
  if (attribute != NULL && attribute->n_ints > 0) {
    data = attribute->ints;
    *n = attribute->n_ints;
  } else if (tensor != NULL && tensor->data_type == ONNX_INT64 &&
             tensor->data_location != EXTERNAL) {
    data = tensor->has_raw_data ? (gconstpointer)tensor->raw_data.data : tensor->int64_data;
    *n = tensor->has_raw_data ? tensor->raw_data.len / sizeof *copy : tensor->n_int64_data;
  }
  if (*n == 0)
    return NULL;
  copy = g_new (gint64, *n);
  memcpy (copy, data, *n * sizeof *copy);
  return copy;
}

/* Returns: the version of ONNX's operators that @onnx takes; a model without one is of the first.
 */
static gint64
get_opset (const OnnxModel *onnx)
{
  for (gsize i = 0; i < onnx->n_opset_import; i++) {
    const gchar *domain = onnx->opset_import[i]->domain;

    if (domain == NULL || *domain == '\0' || g_str_equal (domain, "ai.onnx"))
      return onnx->opset_import[i]->version;
  }
  return 1;
}

/* Lists tensors by their names; the first of a name stays. Of equal tensors PyTorch stores one, and
 * an Identity of it for each other. */
static GHashTable *
list_tensors (const OnnxGraph *graph)
{
  GHashTable *tensors = g_hash_table_new (g_str_hash, g_str_equal);

  for (gsize i = graph->n_node; i-- > 0;)
    if (model_is_constant (graph->node[i]) && graph->node[i]->attribute[0]->t != NULL) {
      OnnxTensor *tensor = graph->node[i]->attribute[0]->t;

      g_free (tensor->name);
      tensor->name = g_strdup (graph->node[i]->output[0]);
      g_hash_table_replace (tensors, tensor->name, tensor);
    }
  for (gsize i = graph->n_initializer; i-- > 0;)
    if (graph->initializer[i]->name != NULL)
      g_hash_table_replace (tensors, graph->initializer[i]->name, graph->initializer[i]);
  for (gsize i = 0; i < graph->n_node; i++) {
    const OnnxNode *node = graph->node[i];
    OnnxTensor *tensor = g_strcmp0 (node->op_type, "Identity") == 0 && node->n_input == 1
                             ? g_hash_table_lookup (tensors, node->input[0])
                             : NULL;

    if (tensor != NULL && node->n_output == 1)
      g_hash_table_replace (tensors, node->output[0], tensor);
  }
  return tensors;
}

gboolean
model_read (Model *self, const gchar *path, GError **error)
{
  g_autofree gchar *bytes = NULL;
  gsize size;

  /* A pipe or a device may never end. */
  if (g_file_test (path, G_FILE_TEST_EXISTS) && !g_file_test (path, G_FILE_TEST_IS_REGULAR))
    return tool_fail (error, "%s: expected a file, found a directory, pipe, socket or device.",
                      path);
  if (!g_file_get_contents (path, &bytes, &size, error))
    return FALSE;
  self->path = path;
  self->onnx = onnx__model_proto__unpack (NULL, size, (const guint8 *)bytes);
  if (self->onnx == NULL || self->onnx->graph == NULL)
    return tool_fail (
        error, "%s: expected an ONNX model, found something else, or a truncated one.", path);
  self->graph = self->onnx->graph;
  self->opset = get_opset (self->onnx);
  self->tensors = list_tensors (self->graph);
  return TRUE;
}

void
model_clear (Model *self)
{
  g_clear_pointer (&self->tensors, g_hash_table_unref);
  if (self->onnx != NULL)
    onnx__model_proto__free_unpacked (self->onnx, NULL);
  self->onnx = NULL;
}
