/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The text by which a user names a matrix, a literal or a file, and what files of all formats have
 * in common.
 *
 *     literal = '[' row { ',' row } ']' | row
 *     row     = '[' number { ',' number } ']'
 */
#include <math.h>
#include <string.h>

#include "matrix/matrix.h"

#define FORMS                                                                                      \
  "a literal such as [[1, 2], [3, 4]], FILE.npy, FILE.npy#bf16, FILE.safetensors#NAME, "           \
  "FILE.onnx#NAME or FILE.raw#TYPE:ROWSxCOLS"

#define MAX_NAMES 20 /* of tensors in a message */

/* Arguments of fail_format(): the modules, a tensor t as it is written, all tensors of the file. */
#define TORCH                                                                                      \
  "torch, safetensors.torch", "t.clone().contiguous()",                                            \
      "torch.load(sys.argv[1], map_location=\"cpu\")"
#define NUMPY "numpy, safetensors.numpy", "numpy.ascontiguousarray(t)", "numpy.load(sys.argv[1])"

typedef struct {
  const gchar *start, *p; /* the text, and the place in it */
  gfloat *values;
  gsize n_values;
  gsize rows, cols;
} Parser;

/* Skips spaces, then @c. */
static gboolean
take (Parser *parser, gchar c)
{
  parser->p += strspn (parser->p, " \f\n\r\t");
  if (*parser->p != c)
    return FALSE;
  parser->p += c != '\0';
  return TRUE;
}

/* Returns: FALSE, for parsers to return. */
static gboolean
expected (const Parser *parser, const gchar *what, GError **error)
{
  const gboolean at_end = *parser->p == '\0';

  /* A byte that is no character is replaced in the message. */
  return gemmcl_fail (
      error, GEMMCL_ERROR_FORMAT, "Matrix literal, at character %zu: expected %s, found %s%.*s%s.",
      (gsize)(parser->p - parser->start) + 1, what, at_end ? "the end" : "“",
      (gint)(g_utf8_next_char (parser->p) - parser->p), parser->p, at_end ? "" : "”");
}

static gboolean
parse_number (Parser *parser, GError **error)
{
  const gchar *p = parser->p += strspn (parser->p, " \f\n\r\t");
  gchar *end;
  const gfloat value = (gfloat)g_ascii_strtod (p, &end);
  gsize length = 0;

  /* It also accepts hexadecimal numbers and parentheses after a NaN, and reads "1e" as "1". */
  while (p + length < end && strchr ("xX(", p[length]) == NULL)
    length++;
  if (length == 0 || *end == 'e' || *end == 'E')
    return expected (parser, "a number", error);
  if (isinf (value) && !g_ascii_isalpha (p[length - 1]))
    return gemmcl_fail (error, GEMMCL_ERROR_FORMAT,
                        "Matrix literal, at character %zu: " GEMMCL_EXPECTED_F32 ", found %.*s.",
                        (gsize)(p - parser->start) + 1, (gint)length, p);
  parser->values[parser->n_values++] = value;
  parser->p += length;
  return TRUE;
}

/* Starts after the row's opening bracket. */
static gboolean
parse_row (Parser *parser, GError **error)
{
  const gsize before = parser->n_values;
  gsize cols;

  do
    if (!parse_number (parser, error))
      return FALSE;
  while (take (parser, ','));
  if (!take (parser, ']'))
    return expected (parser, "“,” or “]” after a number", error);

  cols = parser->n_values - before;
  parser->rows++;
  if (parser->rows == 1)
    parser->cols = cols;
  if (cols == parser->cols)
    return TRUE;
  return gemmcl_fail (error, GEMMCL_ERROR_FORMAT,
                      "Matrix literal, row %zu: expected %zu numbers as in row 1, found %zu.",
                      parser->rows, parser->cols, cols);
}

static gboolean
parse_matrix (Parser *parser, GError **error)
{
  gboolean nested;

  if (!take (parser, '['))
    return expected (parser, "“[”", error);
  nested = take (parser, '[');
  do {
    if (parser->rows > 0 && !take (parser, '['))
      return expected (parser, "the “[” of a row", error);
    if (!parse_row (parser, error))
      return FALSE;
  } while (nested && take (parser, ','));
  if (nested && !take (parser, ']'))
    return expected (parser, "“,” or “]” after a row", error);
  return take (parser, '\0') || expected (parser, "nothing after the last “]”", error);
}

GemmclMatrix *
gemmcl_matrix_parse (const gchar *literal, GError **error)
{
  Parser parser = {.start = literal, .p = literal};
  g_autofree gfloat *values = NULL;
  gsize max_values = 1;

  g_return_val_if_fail (literal != NULL, NULL);

  /* There is at most one number more than commas. */
  for (const gchar *p = literal; (p = strchr (p, ',')) != NULL; p++)
    max_values++;
  parser.values = values = g_try_new (gfloat, max_values);
  if (values == NULL) {
    gemmcl_fail (error, GEMMCL_ERROR_TOO_LARGE,
                 "There is not enough memory for a literal of %zu numbers.", max_values);
    return NULL;
  }
  return parse_matrix (&parser, error)
             ? gemmcl_matrix_new (GEMMCL_TYPE_F32, parser.rows, parser.cols, values, error)
             : NULL;
}

gchar *
gemmcl_describe_dims (const gsize *dims, gsize n_dims)
{
  GString *text = g_string_new (n_dims == 0 ? "no dimensions" : NULL);

  for (gsize i = 0; i < n_dims; i++)
    g_string_append_printf (text, "%s%zu", i == 0 ? "" : " x ", dims[i]);
  return g_string_free (text, FALSE);
}

gboolean
gemmcl_find_tensor (const GPtrArray *names, const gchar *name, const gchar *path, guint *index,
                    GError **error)
{
  g_autoptr (GString) list = NULL;

  if (g_ptr_array_find_with_equal_func ((GPtrArray *)names, name, g_str_equal, index))
    return TRUE;
  list = g_string_new (names->len > 0 ? NULL : "no tensors");
  for (guint i = 0; i < MIN (names->len, MAX_NAMES); i++)
    g_string_append_printf (list, "%s%s", i == 0 ? "" : ", ", (const gchar *)names->pdata[i]);
  if (names->len > MAX_NAMES)
    g_string_append_printf (list, " and %u more", names->len - MAX_NAMES);
  return gemmcl_fail_file (
      error, GEMMCL_ERROR_FORMAT, path,
      "Expected the name of a tensor after “#”, found “%s”. The file holds %s.", name, list->str);
}

static gboolean
check_shape (const GemmclMatrixSource *source, gsize rows, gsize cols, gsize *n_bytes,
             GError **error)
{
  const gchar *type = gemmcl_type_get_name (source->type);
  g_autofree gchar *shape = gemmcl_describe_dims (source->dims, source->n_dims);

  if (source->n_dims > 2)
    return gemmcl_fail_file (
        error, GEMMCL_ERROR_FORMAT, source->file->path,
        "%sExpected a matrix of at most 2 dimensions, found %zu (%s). Reshape it before saving.",
        source->prefix, source->n_dims, shape);
  if (rows == 0 || cols == 0)
    return gemmcl_fail_file (error, GEMMCL_ERROR_FORMAT, source->file->path,
                             "%sExpected at least one element, found a shape of %s.",
                             source->prefix, shape);
  if (!gemmcl_matrix_get_n_bytes (source->type, rows, cols, n_bytes))
    return gemmcl_fail_file (error, GEMMCL_ERROR_FORMAT, source->file->path,
                             "%sA shape of %s %s is more than memory can hold.", source->prefix,
                             shape, type);
  if (*n_bytes > source->length || (source->exact && *n_bytes != source->length))
    return gemmcl_fail_file (error, GEMMCL_ERROR_FORMAT, source->file->path,
                             "%sThe file is %s: expected %zu bytes of elements (%s %s), found %zu.",
                             source->prefix, *n_bytes > source->length ? "truncated" : "too long",
                             *n_bytes, shape, type, source->length);
  return TRUE;
}

/* TRUE if every finite element is finite as an f32. Only f64 can exceed the range. */
static gboolean
check_range (const GemmclMatrixSource *source, const gdouble *elements, gsize rows, gsize cols,
             GError **error)
{
  gchar number[G_ASCII_DTOSTR_BUF_SIZE];

  for (gsize i = 0; i < rows * cols; i++)
    if (isfinite (elements[i]) && !isfinite ((gfloat)elements[i]))
      return gemmcl_fail_file (error, GEMMCL_ERROR_FORMAT, source->file->path,
                               "%sRow %zu, column %zu: " GEMMCL_EXPECTED_F32 ", found %s.",
                               source->prefix, (source->column_major ? i % rows : i / cols) + 1,
                               (source->column_major ? i / rows : i % cols) + 1,
                               g_ascii_formatd (number, sizeof number, "%.9g", elements[i]));
  return TRUE;
}

static gpointer
read_elements (const GemmclMatrixSource *source, gsize n_bytes, GError **error)
{
  const gsize size = gemmcl_type_get_size (source->type);
  const guint8 *from = source->memory;
  guint8 *elements;

  if (from == NULL)
    return gemmcl_file_read (source->file, source->offset, n_bytes, error);
  elements = g_try_malloc (n_bytes);
  if (elements == NULL)
    gemmcl_fail_file (error, GEMMCL_ERROR_TOO_LARGE, source->file->path,
                      "There is not enough memory for %zu bytes of the file.", n_bytes);
  for (gsize i = 0; elements != NULL && i < n_bytes / size; i++)
    memcpy (elements + i * size, from + i * source->step, size);
  return elements;
}

GemmclMatrix *
gemmcl_matrix_new_from_source (const GemmclMatrixSource *source, GError **error)
{
  const gsize n_dims = source->n_dims;
  const gsize cols = n_dims >= 1 ? source->dims[n_dims - 1] : 1;
  const gsize rows = n_dims >= 2 ? source->dims[n_dims - 2] : 1;
  g_autofree gpointer elements = NULL;
  gsize n_bytes = 0;

  if (!check_shape (source, rows, cols, &n_bytes, error))
    return NULL;
  elements = read_elements (source, n_bytes, error);
  if (elements == NULL ||
      (source->type == GEMMCL_TYPE_F64 && !check_range (source, elements, rows, cols, error)))
    return NULL;
  return gemmcl_matrix_new_take (source->type, rows, cols, source->column_major,
                                 g_bytes_new_take (g_steal_pointer (&elements), n_bytes));
}

/* Splits "file#part"; *part is NULL if there is no '#'. Both halves may contain a '#': the longest
 * path that exists is the file; if none exists, the first '#' separates. */
static gchar *
split_path (const gchar *where, gchar **part)
{
  const gchar *first = strchr (where, '#');

  *part = NULL;
  if (first == NULL || g_file_test (where, G_FILE_TEST_EXISTS))
    return g_strdup (where);
  for (const gchar *hash = strrchr (where, '#'); hash != NULL;
       hash = g_strrstr_len (where, hash - where, "#")) {
    g_autofree gchar *path = g_strndup (where, hash - where);

    if (hash == first || g_file_test (path, G_FILE_TEST_EXISTS)) {
      *part = g_strdup (hash + 1);
      return g_steal_pointer (&path);
    }
  }
  return g_strdup (where);
}

/* Like split_path(), for a URI, in which a '#' other than the separator is written %23. */
static gchar *
split_uri (const gchar *uri, gchar **part, GError **error)
{
  const gchar *hash = strchr (uri, '#');
  g_autofree gchar *file = hash != NULL ? g_strndup (uri, hash - uri) : g_strdup (uri);
  g_autofree gchar *path = NULL;
  g_autofree gchar *host = NULL;
  g_autoptr (GError) why = NULL;

  *part = hash != NULL ? g_uri_unescape_string (hash + 1, NULL) : NULL;
  if (hash != NULL && *part == NULL) {
    gemmcl_fail_file (error, GEMMCL_ERROR_FORMAT, uri,
                      "After the “#” of a URI each %% must be followed by two hexadecimal digits.");
    return NULL;
  }
  path = g_filename_from_uri (file, &host, &why);
  if (path != NULL && (host == NULL || g_ascii_strcasecmp (host, "localhost") == 0))
    return g_steal_pointer (&path);
  if (path != NULL)
    gemmcl_fail_file (error, GEMMCL_ERROR_IO, uri,
                      "Expected a file of this machine (file:///...), found the host “%s”.", host);
  else
    gemmcl_fail_file (error, GEMMCL_ERROR_IO, uri, "Cannot read the URI: %s.", why->message);
  g_clear_pointer (part, g_free);
  return NULL;
}

static GemmclMatrix *
load_npy (const gchar *path, const gchar *part, GError **error)
{
  if (part == NULL || g_str_equal (part, "bf16"))
    return gemmcl_matrix_load_npy (path, part != NULL, error);
  gemmcl_fail_file (error, GEMMCL_ERROR_FORMAT, path,
                    "After a .npy file expected nothing or #bf16, found “#%s”.", part);
  return NULL;
}

GemmclMatrix *
gemmcl_matrix_load_raw (const gchar *path, GemmclType type, gsize rows, gsize cols, GError **error)
{
  const gsize dims[] = {rows, cols};
  g_auto (GemmclFile) file = GEMMCL_FILE_INIT;

  g_return_val_if_fail (path != NULL, NULL);
  g_return_val_if_fail ((guint)type < GEMMCL_N_TYPES, NULL);

  if (!gemmcl_file_open (&file, path, error))
    return NULL;
  return gemmcl_matrix_new_from_source (&(GemmclMatrixSource){.file = &file,
                                                              .prefix = "",
                                                              .length = file.size,
                                                              .exact = TRUE,
                                                              .type = type,
                                                              .dims = dims,
                                                              .n_dims = G_N_ELEMENTS (dims)},
                                        error);
}

/* @part: TYPE:ROWSxCOLS */
static gboolean
parse_raw_part (const gchar *part, GemmclType *type, gsize *rows, gsize *cols)
{
  g_auto (GStrv) words = g_strsplit (part, ":", 2);
  g_auto (GStrv) sizes = g_strsplit (words[0] != NULL && words[1] != NULL ? words[1] : "", "x", 2);
  guint64 size[2];

  if (g_strv_length (sizes) != 2 || !gemmcl_type_from_name (words[0], gemmcl_type_get_name, type) ||
      !g_ascii_string_to_unsigned (sizes[0], 10, 1, G_MAXSIZE, &size[0], NULL) ||
      !g_ascii_string_to_unsigned (sizes[1], 10, 1, G_MAXSIZE, &size[1], NULL))
    return FALSE;
  *rows = size[0];
  *cols = size[1];
  return TRUE;
}

static GemmclMatrix *
load_raw (const gchar *path, const gchar *part, GError **error)
{
  g_autoptr (GString) names = NULL;
  GemmclType type;
  gsize rows, cols;

  if (part != NULL && parse_raw_part (part, &type, &rows, &cols))
    return gemmcl_matrix_load_raw (path, type, rows, cols, error);

  names = g_string_new (NULL);
  for (guint i = 0; i < GEMMCL_N_TYPES; i++)
    g_string_append_printf (names, "%s%s", i == 0 ? "" : ", ",
                            gemmcl_type_get_name ((GemmclType)i));
  gemmcl_fail_file (error, GEMMCL_ERROR_FORMAT, path,
                    "After a .raw file expected #TYPE:ROWSxCOLS, as in #f32:64x10, found %s%s. "
                    "The types are %s.",
                    part != NULL ? "#" : "nothing", part != NULL ? part : "", names->str);
  return NULL;
}

/* Fails with the command that saves the tensors of a file as safetensors, if only Python reads it.
 * safetensors writes elements in the order of memory, so those of NumPy need to be C's. */
static void
fail_format (const gchar *where, const gchar *path, const gchar *lower, GError **error)
{
  static const struct {
    const gchar *suffix, *modules, *tensor, *load;
  } formats[] = {
      {".npz", NUMPY},
      {".pt", TORCH},
      {".pth", TORCH},
  };

  for (guint i = 0; i < G_N_ELEMENTS (formats); i++) {
    g_autofree gchar *new = NULL, *from = NULL, *to = NULL;

    if (!g_str_has_suffix (lower, formats[i].suffix))
      continue;
    new = g_strdup_printf ("%.*s.safetensors", (gint)(strrchr (path, '.') - path), path);
    from = g_shell_quote (path);
    to = g_shell_quote (new);
    gemmcl_fail_file (error, GEMMCL_ERROR_FORMAT, path,
                      "Only Python reads %s. Save it as safetensors: python3 -c 'import sys, %s; "
                      "%s.save_file({k: %s for k, t in %s.items()}, sys.argv[2])' %s %s",
                      formats[i].suffix, formats[i].modules,
                      strstr (formats[i].modules, "safetensors"), formats[i].tensor,
                      formats[i].load, from, to);
    return;
  }
  gemmcl_fail_file (error, GEMMCL_ERROR_FORMAT, where, "Expected " FORMS ".");
}

GemmclMatrix *
gemmcl_matrix_load (const gchar *where, GError **error)
{
  const gchar *start = where;
  g_autofree gchar *path = NULL, *part = NULL, *lower = NULL;

  g_return_val_if_fail (where != NULL, NULL);

  while (g_ascii_isspace (*start))
    start++;
  if (*start == '[')
    return gemmcl_matrix_parse (where, error);

  if (g_ascii_strncasecmp (where, "file:", strlen ("file:")) == 0)
    path = split_uri (where, &part, error);
  else
    path = split_path (where, &part);
  if (path == NULL)
    return NULL;

  lower = g_ascii_strdown (path, -1);
  if (g_str_has_suffix (lower, ".npy"))
    return load_npy (path, part, error);
  if (g_str_has_suffix (lower, ".safetensors"))
    return gemmcl_matrix_load_safetensors (path, part != NULL ? part : "", error);
  if (g_str_has_suffix (lower, ".onnx"))
    return gemmcl_matrix_load_onnx (path, part != NULL ? part : "", error);
  if (g_str_has_suffix (lower, ".raw"))
    return load_raw (path, part, error);
  fail_format (where, path, lower, error);
  return NULL;
}
