/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Safetensors files:
 *
 *     N (u64)  N bytes of JSON: { "name": { "dtype", "shape", "data_offsets": [begin, end] }, ... }
 *     elements of all tensors, one after another without gaps
 *
 * Only the entries of the tensors that are loaded are checked.
 */
#include <stdlib.h>
#include <string.h>

#include "matrix/matrix.h"

#define PREFIX     8
#define MAX_HEADER 100000000
#define METADATA   "__metadata__" /* notes: strings in place of a tensor */
#define ALIGNMENT  8              /* alignment of the elements in files that are written */

/* Suffixes of the tensors that belong to a quantized tensor. */
#define SCALE_SUFFIX      ".scale"
#define ZERO_POINT_SUFFIX ".zero_point"

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

/* A file and its header. */
typedef struct {
  const GemmclFile *file;
  json_t *header;
  gsize start;      /* of the elements */
  GPtrArray *names; /* the tensors' names, which belong to the header */
} Tensors;

static void
tensors_clear (Tensors *self)
{
  g_clear_pointer (&self->header, json_decref);
  g_clear_pointer (&self->names, g_ptr_array_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Tensors, tensors_clear)

static gboolean
read_tensors (Tensors *self, GError **error)
{
  const gchar *name;
  json_t *entry;

  self->header = read_header (self->file, &self->start, error);
  self->names = g_ptr_array_new ();
  json_object_foreach (self->header, name, entry)
    if (!g_str_equal (name, METADATA))
      g_ptr_array_add (self->names, (gpointer)name);
  return self->header != NULL;
}

static GemmclMatrix *
load_tensor (const Tensors *self, const gchar *name, GError **error)
{
  json_t *entry = json_object_get (self->header, name), *list;
  const guint64 most = self->file->size - self->start;
  g_autofree gchar *prefix = gemmcl_describe_tensor (name);
  g_autoptr (GArray) shape = NULL;
  json_int_t begin, end;
  const gchar *dtype;
  GemmclType type;

  if (json_unpack (entry, "{s:s, s:o, s:[II!]}", "dtype", &dtype, "shape", &list, "data_offsets",
                   &begin, &end) != 0 ||
      begin < 0 || begin > end || (shape = get_shape (list)) == NULL)
    return FAIL_FILE_NULL (error, GEMMCL_ERROR_FORMAT, self->file->path,
                           "%sThe safetensors header is damaged: expected a dtype, a shape and "
                           "data_offsets [begin, end].",
                           prefix);
  if (!gemmcl_type_from_name (dtype, gemmcl_type_get_dtype, &type)) {
    g_autofree gchar *known = gemmcl_type_list (gemmcl_type_get_dtype);
    g_autofree gchar *found = gemmcl_quote (dtype);

    return FAIL_FILE_NULL (error, GEMMCL_ERROR_FORMAT, self->file->path,
                           "%sexpected elements of %s, found %s.", prefix, known, found);
  }
  return gemmcl_matrix_new_from_source (
      &(GemmclMatrixSource){.file = self->file,
                            .prefix = prefix,
                            .offset = self->start + MIN (most, (guint64)begin),
                            .length = MIN (most, (guint64)end) - MIN (most, (guint64)begin),
                            .exact = TRUE,
                            .type = type,
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
  const json_t *entry = json_object_get (self->header, full);
  g_autoptr (GemmclMatrix) floats = NULL;

  if (entry == NULL)
    return TRUE;
  *companion = load_tensor (self, full, error);
  if (*companion == NULL || json_array_size (json_object_get (entry, "shape")) != 1 ||
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
get_only_name (const Tensors *self)
{
  static const gchar *const suffixes[] = {SCALE_SUFFIX, ZERO_POINT_SUFFIX};
  const GPtrArray *names = self->names;

  for (guint i = 0; names->len <= 1 + G_N_ELEMENTS (suffixes) && i < names->len; i++) {
    guint n = 1;

    for (guint j = 0; j < G_N_ELEMENTS (suffixes); j++) {
      g_autofree gchar *full = g_strconcat (names->pdata[i], suffixes[j], NULL);

      n += json_object_get (self->header, full) != NULL;
    }
    if (n == names->len)
      return names->pdata[i];
  }
  return "";
}

static GemmclMatrix *
load_safetensors (const gchar *path, const gchar *name, GError **error)
{
  g_auto (GemmclFile) file = {.fd = -1};
  g_auto (Tensors) tensors = {.file = &file};
  GemmclMatrix *matrix;

  if (!gemmcl_file_open (&file, path, error) || !read_tensors (&tensors, error))
    return NULL;
  if (name == NULL || *name == '\0')
    name = get_only_name (&tensors);
  if (!gemmcl_find_tensor (tensors.names, name, path, NULL, error))
    return NULL;
  matrix = load_tensor (&tensors, name, error);
  return matrix != NULL ? add_scales (&tensors, name, matrix, error) : NULL;
}

const GemmclReader gemmcl_reader_safetensors = {".safetensors", "FILE.safetensors#NAME",
                                                load_safetensors};

/* Adds @matrix to @header. Its elements begin at byte *@end, which is advanced to their end. */
static gboolean
add_entry (json_t *header, const GemmclMatrix *matrix, const gchar *name, const gchar *suffix,
           const gchar *path, gsize *end, GError **error)
{
  const gsize begin = *end;
  g_autofree gchar *full = g_strconcat (name, suffix, NULL);

  if (json_object_get (header, full) != NULL) {
    g_autofree gchar *found = gemmcl_quote (full);

    return gemmcl_fail_file (error, GEMMCL_ERROR_INVALID, path,
                             "Expected a name for each tensor, found “%s” twice.", found);
  }
  *end += g_bytes_get_size (matrix->bytes);
  json_object_set_new (header, full,
                       json_pack ("{s:s, s:[II], s:[II]}", "dtype",
                                  gemmcl_type_get_dtype (matrix->type), "shape",
                                  (json_int_t)matrix->rows, (json_int_t)matrix->cols,
                                  "data_offsets", (json_int_t)begin, (json_int_t)*end));
  return TRUE;
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

/* Adds @self to @header and @parts. Its scales come first: its elements are then aligned. */
static gboolean
add_matrix (json_t *header, GPtrArray *parts, const GemmclMatrix *self, const gchar *name,
            const gchar *path, gsize *end, GError **error)
{
  const GemmclMatrix *const matrices[] = {self->scales, self->zero_points, self};
  static const gchar *const suffixes[] = {SCALE_SUFFIX, ZERO_POINT_SUFFIX, ""};

  if (self->column_major)
    return gemmcl_fail_file (error, GEMMCL_ERROR_INVALID, path,
                             "Expected a row-major matrix, the only order that a safetensors file "
                             "can hold, found a column-major one.");
  if (!g_utf8_validate (name, -1, NULL)) {
    g_autofree gchar *found = gemmcl_quote (name);

    return gemmcl_fail_file (error, GEMMCL_ERROR_INVALID, path,
                             "Expected a tensor's name in UTF-8, found “%s”.", found);
  }
  if (g_str_equal (name, METADATA))
    return gemmcl_fail_file (error, GEMMCL_ERROR_INVALID, path,
                             "Expected a tensor's name, found “" METADATA
                             "”, the name of a safetensors file's notes.");
  for (guint i = 0; i < G_N_ELEMENTS (matrices); i++)
    if (matrices[i] != NULL) {
      if (!add_entry (header, matrices[i], name, suffixes[i], path, end, error))
        return FALSE;
      g_ptr_array_add (parts, matrices[i]->bytes);
    }
  return TRUE;
}

gboolean
gemmcl_matrix_save_tensors (const GemmclMatrix *const *matrices, const gchar *const *names, gsize n,
                            const gchar *path, GError **error)
{
  g_autoptr (GPtrArray) parts = g_ptr_array_new ();
  g_autoptr (json_t) header = json_object ();
  g_autoptr (GBytes) head = NULL;
  gsize end = 0;

  g_return_val_if_fail (path != NULL, FALSE);

  g_ptr_array_add (parts, NULL); /* the head */
  for (gsize i = 0; i < n; i++)
    if (!add_matrix (header, parts, matrices[i], names[i], path, &end, error))
      return FALSE;
  parts->pdata[0] = head = make_head (header);
  return gemmcl_file_save (path, 0666, (GBytes *const *)parts->pdata, parts->len, error);
}

gboolean
gemmcl_matrix_save_safetensors (const GemmclMatrix *self, const gchar *path, const gchar *name,
                                GError **error)
{
  g_return_val_if_fail (name != NULL, FALSE);

  return gemmcl_matrix_save_tensors (&self, &name, 1, path, error);
}
