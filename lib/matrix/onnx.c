/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Tensors of ONNX models: initializers, and the values of Constant nodes. Their elements are in one
 * of three places:
 *
 *     raw_data        bytes, little-endian
 *     a typed field   float_data and the like; int32_data holds all types of 8 and 16 bits
 *     another file    external_data: location, below the model's folder; offset; length
 *
 * A location that a model names must not leave its folder. A symbolic link there may: only the
 * machine's user makes links, and download caches, such as Hugging Face's, consist of them.
 *
 * Source: https://onnx.ai/onnx/repo-docs/IR.html and ExternalData.html.
 */
#include "matrix/matrix.h"

#ifdef HAVE_ONNX
  #include "onnx.pb-c.h"

  /* The largest message of protocol buffers. Larger models keep their tensors in other files. */
  #define MAX_MODEL G_MAXINT32

  /* TensorProto.DataLocation */
  #define EXTERNAL 1

typedef Onnx__ModelProto OnnxModel;
typedef Onnx__TensorProto OnnxTensor;

static void
model_free (OnnxModel *model)
{
  onnx__model_proto__free_unpacked (model, NULL);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC (OnnxModel, model_free)

/* Gets the typed field that holds elements of @type. Returns: the bytes from one element to the
 * next, which may be more than those of @type: 4 for i8. */
static gsize
get_field (const OnnxTensor *tensor, GemmclType type, gconstpointer *data, gsize *n)
{
  #define FIELD(name) (*data = tensor->name, *n = tensor->n_##name, sizeof tensor->name[0])
  switch (type) {
  case GEMMCL_TYPE_F32:
    return FIELD (float_data);
  case GEMMCL_TYPE_F64:
    return FIELD (double_data);
  case GEMMCL_TYPE_I64:
    return FIELD (int64_data);
  case GEMMCL_TYPE_U32:
  case GEMMCL_TYPE_U64:
    return FIELD (uint64_data);
  default:
    return FIELD (int32_data);
  }
}

static OnnxModel *
read_model (const GemmclFile *file, GError **error)
{
  g_autofree guint8 *bytes = NULL;
  OnnxModel *model;

  if (file->size > MAX_MODEL)
    return FAIL_FILE_NULL (
        error, GEMMCL_ERROR_TOO_LARGE, file->path,
        "Expected an ONNX model of at most 2 GiB, found %zu bytes. A larger model "
        "keeps its tensors in other files (external data).",
        file->size);
  bytes = gemmcl_file_read (file, 0, file->size, error);
  if (bytes == NULL)
    return NULL;
  model = onnx__model_proto__unpack (NULL, file->size, bytes);
  if (model != NULL && model->graph != NULL)
    return model;
  g_clear_pointer (&model, model_free);
  return FAIL_FILE_NULL (error, GEMMCL_ERROR_FORMAT, file->path,
                         "Expected an ONNX model, found something else, or a truncated one.");
}

/* Returns: (element-type OnnxTensor) (transfer container): the tensors by their names, which are in
 * @names. */
static GPtrArray *
list_tensors (const OnnxModel *model, GPtrArray *names)
{
  const Onnx__GraphProto *graph = model->graph;
  GPtrArray *tensors = g_ptr_array_new ();

  for (gsize i = 0; i < graph->n_initializer; i++)
    if (graph->initializer[i]->name != NULL) {
      g_ptr_array_add (tensors, graph->initializer[i]);
      g_ptr_array_add (names, graph->initializer[i]->name);
    }
  for (gsize i = 0; i < graph->n_node; i++) {
    const Onnx__NodeProto *node = graph->node[i];

    if (g_strcmp0 (node->op_type, "Constant") == 0 && node->n_output == 1 &&
        node->n_attribute == 1 && node->attribute[0]->t != NULL) {
      g_ptr_array_add (tensors, node->attribute[0]->t);
      g_ptr_array_add (names, node->output[0]);
    }
  }
  return tensors;
}

static GemmclMatrix *
load_own (GemmclMatrixSource *source, const OnnxTensor *tensor, GError **error)
{
  const gsize size = gemmcl_type_get_size (source->type);
  gsize n;

  source->exact = TRUE;
  source->step = get_field (tensor, source->type, &source->memory, &n);
  source->length = n * size;
  if (tensor->has_raw_data) {
    source->memory = tensor->raw_data.data;
    source->step = size;
    source->length = tensor->raw_data.len;
  }
  return gemmcl_matrix_new_from_source (source, error);
}

static const gchar *
get_external (const OnnxTensor *tensor, const gchar *key)
{
  for (gsize i = 0; i < tensor->n_external_data; i++)
    if (g_strcmp0 (tensor->external_data[i]->key, key) == 0)
      return tensor->external_data[i]->value;
  return NULL;
}

/* Sets @number, unless the entry is missing. */
static gboolean
get_external_number (const OnnxTensor *tensor, const gchar *key, gsize *number)
{
  const gchar *text = get_external (tensor, key);
  guint64 value = *number;

  if (text != NULL && !g_ascii_string_to_unsigned (text, 10, 0, G_MAXSSIZE, &value, NULL))
    return FALSE;
  *number = value;
  return TRUE;
}

/* TRUE for a path that stays below the folder that it starts from. */
static gboolean
stays_below (const gchar *location)
{
  g_auto (GStrv) parts = g_strsplit (location, G_DIR_SEPARATOR_S, -1);

  return !g_path_is_absolute (location) && !g_strv_contains ((const gchar *const *)parts, "..");
}

static GemmclMatrix *
load_external (GemmclMatrixSource *source, const OnnxTensor *tensor, GError **error)
{
  const gchar *location = get_external (tensor, "location");
  g_autofree gchar *folder = g_path_get_dirname (source->file->path);
  g_autofree gchar *found = gemmcl_quote (location != NULL ? location : "");
  g_autofree gchar *path = NULL;
  g_auto (GemmclFile) file = {.fd = -1};
  gsize length = 0;

  if (location == NULL || *location == '\0' || !stays_below (location) ||
      !get_external_number (tensor, "offset", &source->offset) ||
      !get_external_number (tensor, "length", &length))
    return FAIL_FILE_NULL (error, GEMMCL_ERROR_FORMAT, source->file->path,
                           "%sexpected external data with a location below the model's "
                           "folder, an offset and a length, found the location “%s”.",
                           source->prefix, found);
  path = g_build_filename (folder, location, NULL);
  if (!gemmcl_file_open (&file, path, error))
    return NULL;
  source->file = &file;
  source->length = file.size - MIN (source->offset, file.size);
  if (length > source->length)
    return FAIL_FILE_NULL (error, GEMMCL_ERROR_FORMAT, path,
                           "%sThe file is truncated: expected %zu bytes of external data "
                           "from byte %zu on, found %zu.",
                           source->prefix, length, source->offset, source->length);
  source->exact = length > 0;
  source->length = source->exact ? length : source->length;
  return gemmcl_matrix_new_from_source (source, error);
}

static GemmclMatrix *
load_tensor (const GemmclFile *file, const gchar *name, const OnnxTensor *tensor, GError **error)
{
  g_autofree gsize *dims = g_new (gsize, tensor->n_dims + 1);
  g_autofree gchar *prefix = gemmcl_describe_tensor (name);
  GemmclMatrixSource source = {
      .file = file, .prefix = prefix, .dims = dims, .n_dims = tensor->n_dims};
  gboolean ok = gemmcl_type_from_onnx (tensor->data_type, &source.type);

  for (gsize i = 0; i < tensor->n_dims; i++) {
    ok = ok && tensor->dims[i] >= 0 && (guint64)tensor->dims[i] <= G_MAXSSIZE;
    dims[i] = tensor->dims[i];
  }
  if (!ok) {
    g_autofree gchar *known = gemmcl_type_list (gemmcl_type_get_name);

    return FAIL_FILE_NULL (error, GEMMCL_ERROR_FORMAT, file->path,
                           "%sexpected elements of %s, and no negative dimension, found the ONNX "
                           "type %d.",
                           prefix, known, tensor->data_type);
  }
  return tensor->data_location == EXTERNAL ? load_external (&source, tensor, error)
                                           : load_own (&source, tensor, error);
}

static GemmclMatrix *
load_onnx (const gchar *path, const gchar *name, GError **error)
{
  g_auto (GemmclFile) file = {.fd = -1};
  g_autoptr (OnnxModel) model = NULL;
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  g_autoptr (GPtrArray) tensors = NULL;
  guint index;

  if (!gemmcl_file_open (&file, path, error) || (model = read_model (&file, error)) == NULL)
    return NULL;
  tensors = list_tensors (model, names);
  if (name == NULL || *name == '\0')
    name = names->len == 1 ? names->pdata[0] : "";
  return gemmcl_find_tensor (names, name, path, &index, error)
             ? load_tensor (&file, name, tensors->pdata[index], error)
             : NULL;
}

#else

static GemmclMatrix *
load_onnx (const gchar *path, G_GNUC_UNUSED const gchar *name, GError **error)
{
  return FAIL_FILE_NULL (error, GEMMCL_ERROR_FORMAT, path,
                         "This build of gemmcl reads no ONNX models, since it was built without "
                         "protobuf-c. Save the tensor as .npy or .safetensors instead.");
}

#endif

const GemmclReader gemmcl_reader_onnx = {".onnx", "FILE.onnx#NAME", load_onnx};
