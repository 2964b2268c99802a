/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Safetensors files:
 *
 *     N (u64)  N bytes of JSON: { "name": { "dtype", "shape", "data_offsets": [begin, end] }, ... }
 *     elements of all tensors, one after another without gaps
 *
 * The whole header is checked before a tensor is read.
 */
#include <stdlib.h>
#include <string.h>

#include "device/json.h"
#include "matrix/matrix.h"

#define PREFIX     8
#define MAX_HEADER 100000000
#define ALIGNMENT  8 /* alignment of the elements in files that are written */

/* Suffixes of the tensors that belong to a quantized tensor. */
#define SCALE_SUFFIX      ".scale"
#define ZERO_POINT_SUFFIX ".zero_point"

/* Strings and the shape belong to the parsed header. */
typedef struct {
  const gchar *name;
  const gchar *dtype;
  GemmclType type; /* GEMMCL_N_TYPES: no matrix has this type */
  json_t *shape;
  gsize begin;
  gsize end;
} Tensor;

/* Gets the length of the header. */
static gboolean
read_length (const GemmclFile *file, guint64 *length, GError **error)
{
  g_autofree gchar *data = gemmcl_file_read (file, 0, MIN (file->size, PREFIX + 1), error);

  if (data == NULL)
    return FALSE;
  *length = 0;
  if (file->size >= PREFIX)
    memcpy (length, data, sizeof *length);
  if (file->size < PREFIX + 2 || *length < 2 || *length > MAX_HEADER || data[PREFIX] != '{')
    return gemmcl_fail_file (error, GEMMCL_ERROR_FORMAT, file->path,
                             "Expected a safetensors file, found something else: "
                             "it does not start with the length of a header and its “{”.");
  if (*length > file->size - PREFIX)
    return gemmcl_fail_file (error, GEMMCL_ERROR_FORMAT, file->path,
                             "The file is truncated: expected a header of %" G_GUINT64_FORMAT
                             " bytes, found %zu.",
                             *length, file->size - PREFIX);
  return TRUE;
}

static json_t *
read_header (const GemmclFile *file, gsize *start, GError **error)
{
  guint64 length;
  g_autofree gchar *text =
      read_length (file, &length, error) ? gemmcl_file_read (file, PREFIX, length, error) : NULL;
  json_error_t why;
  json_t *header;

  if (text == NULL)
    return NULL;
  header = json_loadb (text, length, JSON_REJECT_DUPLICATES, &why);
  if (header == NULL) {
    g_autofree gchar *reason = gemmcl_quote (why.text);

    gemmcl_fail_file (error, GEMMCL_ERROR_FORMAT, file->path,
                      "The safetensors header is damaged: at its byte %d: %s.", why.position,
                      reason);
  }
  *start = PREFIX + length;
  return header;
}

static GArray *
get_shape (const json_t *list)
{
  g_autoptr (GArray) sizes = g_array_new (FALSE, FALSE, sizeof (gsize));

  if (!json_is_array (list))
    return NULL;
  for (gsize i = 0; i < json_array_size (list); i++) {
    const json_t *value = json_array_get (list, i);
    const json_int_t integer = json_integer_value (value);
    const gsize size = integer;

    if (!json_is_integer (value) || integer < 0 || (guint64)integer > G_MAXSSIZE)
      return NULL;
    g_array_append_val (sizes, size);
  }
  return g_steal_pointer (&sizes);
}

/* TRUE if the shape matches the bytes between the offsets. */
static gboolean
shape_fits (const Tensor *tensor, const GArray *shape)
{
  gsize n_bytes = gemmcl_type_get_size (tensor->type);

  for (guint i = 0; i < shape->len; i++)
    if (!g_size_checked_mul (&n_bytes, n_bytes, g_array_index (shape, gsize, i)))
      return FALSE;
  return n_bytes == tensor->end - tensor->begin;
}

static gboolean
parse_tensor (const gchar *path, const gchar *name, json_t *entry, Tensor *tensor, GError **error)
{
  g_autoptr (GArray) shape = NULL;
  g_autofree gchar *dims = NULL, *quoted = gemmcl_quote (name);
  json_int_t begin, end;

  if (json_unpack (entry, "{s:s, s:o, s:[II!]}", "dtype", &tensor->dtype, "shape", &tensor->shape,
                   "data_offsets", &begin, &end) != 0 ||
      begin < 0 || begin > end || (guint64)end > G_MAXSSIZE ||
      (shape = get_shape (tensor->shape)) == NULL)
    return gemmcl_fail_file (error, GEMMCL_ERROR_FORMAT, path,
                             "The safetensors header is damaged: "
                             "for “%s” expected a dtype, a shape and data_offsets [begin, end].",
                             quoted);
  tensor->name = name;
  tensor->begin = begin;
  tensor->end = end;
  if (!gemmcl_type_from_name (tensor->dtype, gemmcl_type_get_dtype, &tensor->type) ||
      shape_fits (tensor, shape))
    return TRUE;
  dims = gemmcl_describe_dims ((const gsize *)(gpointer)shape->data, shape->len);
  return gemmcl_fail_file (error, GEMMCL_ERROR_FORMAT, path,
                           "The safetensors header is damaged: "
                           "“%s” (%s %s) does not fit the %zu bytes of its data_offsets.",
                           quoted, dims, tensor->dtype, tensor->end - tensor->begin);
}

static gboolean
check_metadata (const gchar *path, json_t *metadata, GError **error)
{
  gboolean ok = json_is_object (metadata);
  const gchar *key;
  json_t *value;

  json_object_foreach (metadata, key, value)
    ok = ok && json_is_string (value);
  if (!ok)
    gemmcl_fail_file (error, GEMMCL_ERROR_FORMAT, path,
                      "The safetensors header is damaged: expected strings in __metadata__.");
  return ok;
}

static gint
compare_tensors (gconstpointer a, gconstpointer b)
{
  const Tensor *x = a, *y = b;

  if (x->begin != y->begin)
    return x->begin < y->begin ? -1 : 1;
  return (x->end > y->end) - (x->end < y->end);
}

/* A file and its header. */
typedef struct {
  const GemmclFile *file;
  json_t *header;
  gsize start;      /* of the elements */
  GArray *tensors;  /* Tensor, in the order of the file, checked */
  GPtrArray *names; /* the tensors' names */
} Tensors;

static void
tensors_clear (Tensors *self)
{
  g_clear_pointer (&self->header, json_decref);
  g_clear_pointer (&self->tensors, g_array_unref);
  g_clear_pointer (&self->names, g_ptr_array_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Tensors, tensors_clear)

static gboolean
check_offsets (Tensors *self, GError **error)
{
  const gchar *path = self->file->path;
  const gsize data_size = self->file->size - self->start;
  gsize end = 0;

  g_array_sort (self->tensors, compare_tensors);
  for (guint i = 0; i < self->tensors->len; i++) {
    const Tensor *tensor = &g_array_index (self->tensors, Tensor, i);

    if (tensor->begin != end) {
      g_autofree gchar *name = gemmcl_quote (tensor->name);

      return gemmcl_fail_file (error, GEMMCL_ERROR_FORMAT, path,
                               "The safetensors header is damaged: "
                               "expected “%s” to begin at byte %zu of the elements, found %zu.",
                               name, end, tensor->begin);
    }
    end = tensor->end;
    g_ptr_array_add (self->names, (gpointer)tensor->name);
  }
  if (end == data_size)
    return TRUE;
  return gemmcl_fail_file (error, GEMMCL_ERROR_FORMAT, path,
                           "The file is %s: expected %zu bytes of elements, found %zu.",
                           end > data_size ? "truncated" : "too long", end, data_size);
}

static gboolean
read_tensors (Tensors *self, GError **error)
{
  const gchar *name;
  json_t *entry;

  self->header = read_header (self->file, &self->start, error);
  self->tensors = g_array_new (FALSE, FALSE, sizeof (Tensor));
  self->names = g_ptr_array_new ();
  json_object_foreach (self->header, name, entry) {
    Tensor tensor;

    if (g_str_equal (name, "__metadata__")) {
      if (!check_metadata (self->file->path, entry, error))
        return FALSE;
    } else if (parse_tensor (self->file->path, name, entry, &tensor, error)) {
      g_array_append_val (self->tensors, tensor);
    } else {
      return FALSE;
    }
  }
  return self->header != NULL && check_offsets (self, error);
}

static GemmclMatrix *
load_tensor (const Tensors *self, guint index, GError **error)
{
  const Tensor *tensor = &g_array_index (self->tensors, Tensor, index);
  g_autoptr (GArray) shape = get_shape (tensor->shape);
  g_autofree gchar *prefix = gemmcl_describe_tensor (tensor->name);
  g_autofree gchar *dtype = gemmcl_quote (tensor->dtype);

  if (tensor->type == GEMMCL_N_TYPES) {
    g_autofree gchar *known = gemmcl_type_list (gemmcl_type_get_dtype);

    return FAIL_FILE_NULL (error, GEMMCL_ERROR_FORMAT, self->file->path,
                           "%sexpected elements of %s, found %s.", prefix, known, dtype);
  }
  return gemmcl_matrix_new_from_source (
      &(GemmclMatrixSource){.file = self->file,
                            .prefix = prefix,
                            .offset = self->start + tensor->begin,
                            .length = tensor->end - tensor->begin,
                            .exact = TRUE,
                            .type = tensor->type,
                            .dims = (const gsize *)(gpointer)shape->data,
                            .n_dims = shape->len},
      error);
}

/* Loads the tensor @name + @suffix that belongs to @elements, if there is one. A vector becomes a
 * column if its length is the number of rows and not of columns. */
static gboolean
load_companion (const Tensors *self, const gchar *name, const gchar *suffix, GemmclMatrix *elements,
                GemmclMatrix **companion, GError **error)
{
  const gsize rows = elements->rows;
  g_autofree gchar *full = g_strconcat (name, suffix, NULL);
  g_autoptr (GemmclMatrix) floats = NULL;
  guint index;

  if (!g_ptr_array_find_with_equal_func (self->names, full, g_str_equal, &index))
    return TRUE;
  *companion = load_tensor (self, index, error);
  if (*companion == NULL ||
      json_array_size (g_array_index (self->tensors, Tensor, index).shape) != 1 ||
      rows == elements->cols || rows != (*companion)->cols)
    return *companion != NULL;
  floats = gemmcl_matrix_to_f32 (*companion, TRUE, error);
  g_clear_pointer (companion, gemmcl_matrix_unref);
  *companion = g_steal_pointer (&floats);
  return *companion != NULL;
}

/* Returns: @matrix, quantized if the file has scales for it. Takes @matrix. */
static GemmclMatrix *
add_scales (const Tensors *self, const gchar *name, GemmclMatrix *matrix, GError **error)
{
  g_autoptr (GemmclMatrix) elements = matrix, scales = NULL, zeros = NULL, quantized = NULL;
  const GemmclType type = elements->type;
  g_autoptr (GError) why = NULL;

  if (type != GEMMCL_TYPE_I8 && type != GEMMCL_TYPE_U8)
    return g_steal_pointer (&elements);
  if (!load_companion (self, name, SCALE_SUFFIX, elements, &scales, error) ||
      !load_companion (self, name, ZERO_POINT_SUFFIX, elements, &zeros, error))
    return NULL;
  if (scales == NULL)
    return g_steal_pointer (&elements);
  quantized = gemmcl_matrix_new_quantized (elements, scales, zeros, &why);
  if (quantized == NULL) {
    g_autofree gchar *prefix = gemmcl_describe_tensor (name);

    gemmcl_fail_file (error, GEMMCL_ERROR_FORMAT, self->file->path, "%s%s", prefix, why->message);
  }
  return g_steal_pointer (&quantized);
}

/* The name of the only tensor besides its own scales and zero points; "" if there are several. */
static const gchar *
get_only_name (const GPtrArray *names)
{
  static const gchar *const suffixes[] = {SCALE_SUFFIX, ZERO_POINT_SUFFIX};

  for (guint i = 0; names->len <= 1 + G_N_ELEMENTS (suffixes) && i < names->len; i++) {
    guint n = 1;

    for (guint j = 0; j < G_N_ELEMENTS (suffixes); j++) {
      g_autofree gchar *full = g_strconcat (names->pdata[i], suffixes[j], NULL);

      n += g_ptr_array_find_with_equal_func ((GPtrArray *)names, full, g_str_equal, NULL);
    }
    if (n == names->len)
      return names->pdata[i];
  }
  return "";
}

GemmclMatrix *
gemmcl_matrix_load_safetensors (const gchar *path, const gchar *name, GError **error)
{
  g_auto (GemmclFile) file = {.fd = -1};
  g_auto (Tensors) tensors = {.file = &file};
  g_autoptr (GemmclMatrix) matrix = NULL;
  guint index;

  g_return_val_if_fail (path != NULL, NULL);

  if (!gemmcl_file_open (&file, path, error) || !read_tensors (&tensors, error))
    return NULL;
  if (name == NULL || *name == '\0')
    name = get_only_name (tensors.names);
  if (!gemmcl_find_tensor (tensors.names, name, path, &index, error))
    return NULL;
  matrix = load_tensor (&tensors, index, error);
  return matrix != NULL ? add_scales (&tensors, name, g_steal_pointer (&matrix), error) : NULL;
}

const GemmclReader gemmcl_reader_safetensors = {".safetensors", "FILE.safetensors#NAME",
                                                gemmcl_matrix_load_safetensors};

/* Adds @matrix to @header. Its elements begin at byte *@end, which is advanced to their end. */
static void
add_entry (json_t *header, const GemmclMatrix *matrix, const gchar *name, const gchar *suffix,
           gsize *end)
{
  const gsize begin = *end;
  g_autofree gchar *full = g_strconcat (name, suffix, NULL);

  *end += g_bytes_get_size (matrix->bytes);
  json_object_set_new (header, full,
                       json_pack ("{s:s, s:[II], s:[II]}", "dtype",
                                  gemmcl_type_get_dtype (matrix->type), "shape",
                                  (json_int_t)matrix->rows, (json_int_t)matrix->cols,
                                  "data_offsets", (json_int_t)begin, (json_int_t)*end));
}

static GBytes *
make_head (json_t *header)
{
  GString *head = g_string_new (NULL);
  gchar *json = json_dumps (header, JSON_COMPACT);
  guint64 length = 0;

  g_string_append_len (head, (const gchar *)&length, PREFIX);
  g_string_append (head, json);
  free (json);
  while (head->len % ALIGNMENT != 0)
    g_string_append_c (head, ' ');
  length = head->len - PREFIX;
  memcpy (head->str, &length, PREFIX);
  return g_string_free_to_bytes (head);
}

gboolean
gemmcl_matrix_save_safetensors (const GemmclMatrix *self, const gchar *path, const gchar *name,
                                GError **error)
{
  /* Scales first: then the elements of all tensors are aligned. */
  const GemmclMatrix *const matrices[] = {self->scales, self->zero_points, self};
  static const gchar *const suffixes[] = {SCALE_SUFFIX, ZERO_POINT_SUFFIX, ""};
  GBytes *parts[1 + G_N_ELEMENTS (matrices)] = {NULL};
  g_autoptr (json_t) header = json_object ();
  g_autoptr (GBytes) head = NULL;
  gsize end = 0;

  g_return_val_if_fail (path != NULL && name != NULL, FALSE);

  if (self->column_major)
    return gemmcl_fail_file (error, GEMMCL_ERROR_INVALID, path,
                             "Expected a row-major matrix, the only order that a safetensors file "
                             "can hold, found a column-major one.");
  if (!g_utf8_validate (name, -1, NULL)) {
    g_autofree gchar *found = gemmcl_quote (name);

    return gemmcl_fail_file (error, GEMMCL_ERROR_INVALID, path,
                             "Expected a tensor's name in UTF-8, found “%s”.", found);
  }
  for (guint i = 0; i < G_N_ELEMENTS (matrices); i++)
    if (matrices[i] != NULL) {
      add_entry (header, matrices[i], name, suffixes[i], &end);
      parts[1 + i] = matrices[i]->bytes;
    }
  parts[0] = head = make_head (header);
  return gemmcl_file_save (path, 0666, parts, G_N_ELEMENTS (parts), error);
}
