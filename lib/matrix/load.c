/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The text by which a user names a matrix: a literal or a file.
 *
 *     literal = '[' row { ',' row } ']' | row
 *     row     = '[' number { ',' number } ']'
 */
#include <math.h>
#include <string.h>

#include "matrix/matrix.h"

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

  /* g_ascii_strtod() also accepts 0x10 and nan(1), and reads "1e" as "1". */
  while (p + length < end && strchr ("xX(", p[length]) == NULL)
    length++;
  if (length == 0 || *end == 'e' || *end == 'E')
    return expected (parser, "a number", error);
  if (isinf (value) && !g_ascii_isalpha (p[length - 1])) {
    g_autofree gchar *text = g_strndup (p, length);
    g_autofree gchar *found = gemmcl_quote (text);

    return gemmcl_fail (error, GEMMCL_ERROR_FORMAT,
                        "Matrix literal, at character %zu: " GEMMCL_EXPECTED_F32 ", found %s.",
                        (gsize)(p - parser->start) + 1, found);
  }
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
  if (values == NULL)
    return FAIL_NULL (error, GEMMCL_ERROR_TOO_LARGE,
                      "There is not enough memory for a literal of %zu numbers.", max_values);
  return parse_matrix (&parser, error)
             ? gemmcl_matrix_new (GEMMCL_TYPE_F32, parser.rows, parser.cols, values, error)
             : NULL;
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
  g_autofree gchar *path = NULL, *host = NULL, *found = NULL;
  g_autoptr (GError) why = NULL;

  *part = hash != NULL ? g_uri_unescape_string (hash + 1, NULL) : NULL;
  if (hash != NULL && *part == NULL)
    return FAIL_FILE_NULL (
        error, GEMMCL_ERROR_FORMAT, uri,
        "After the “#” of a URI each %% must be followed by two hexadecimal digits.");
  path = g_filename_from_uri (file, &host, &why);
  if (path != NULL && (host == NULL || g_ascii_strcasecmp (host, "localhost") == 0))
    return g_steal_pointer (&path);
  found = gemmcl_quote (path != NULL ? host : why->message);
  if (path != NULL)
    return FAIL_FILE_NULL (error, GEMMCL_ERROR_IO, uri,
                           "Expected a file of this machine (file:///...), found the host “%s”.",
                           found);
  return FAIL_FILE_NULL (error, GEMMCL_ERROR_IO, uri, "Cannot read the URI: %s.", found);
}

static GemmclMatrix *
load_npy (const gchar *path, const gchar *part, GError **error)
{
  g_autofree gchar *found = NULL;

  if (part == NULL || g_str_equal (part, "bf16"))
    return gemmcl_matrix_load_npy (path, part != NULL, error);
  found = gemmcl_quote (part);
  return FAIL_FILE_NULL (error, GEMMCL_ERROR_FORMAT, path,
                         "After a .npy file expected nothing or #bf16, found “#%s”.", found);
}

GemmclMatrix *
gemmcl_matrix_load_raw (const gchar *path, GemmclType type, gsize rows, gsize cols, GError **error)
{
  const gsize dims[] = {rows, cols};
  g_auto (GemmclFile) file = {.fd = -1};

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
  g_autofree gchar *found = gemmcl_quote (part != NULL ? part : "nothing");
  g_autoptr (GString) names = NULL;
  GemmclType type;
  gsize rows, cols;

  if (part != NULL && parse_raw_part (part, &type, &rows, &cols))
    return gemmcl_matrix_load_raw (path, type, rows, cols, error);

  names = g_string_new (NULL);
  for (guint i = 0; i < GEMMCL_N_TYPES; i++)
    g_string_append_printf (names, "%s%s", i == 0 ? "" : ", ",
                            gemmcl_type_get_name ((GemmclType)i));
  return FAIL_FILE_NULL (
      error, GEMMCL_ERROR_FORMAT, path,
      "After a .raw file expected #TYPE:ROWSxCOLS, as in #f32:64x10, found %s%s. "
      "The types are %s.",
      part != NULL ? "#" : "", found, names->str);
}

/* (transfer full): @path for a command line that users copy; @otherwise if it is long or not
 * printable. */
static gchar *
quote_for_shell (const gchar *path, const gchar *otherwise)
{
  g_autofree gchar *argument = g_shell_quote (path);
  g_autofree gchar *printed = gemmcl_quote (argument);

  return g_strdup (g_str_equal (argument, printed) ? argument : otherwise);
}

/* Fails. If only Python reads the file, the message has the command that saves its tensors as
 * safetensors. safetensors writes elements in the order of memory, so arrays of NumPy must be in C
 * order. Returns: NULL. */
static gpointer
fail_format (const gchar *where, const gchar *path, const gchar *lower, GError **error)
{
  /* The module that reads the file, the form of a tensor t to save, further arguments of load() */
  static const struct {
    const gchar *suffix, *module, *tensor, *arguments;
  } formats[] = {
      {".npz", "numpy", "numpy.ascontiguousarray(t)", ""},
      {".pt", "torch", "t.clone().contiguous()", ", map_location=\"cpu\""},
      {".pth", "torch", "t.clone().contiguous()", ", map_location=\"cpu\""},
  };

  for (guint i = 0; i < G_N_ELEMENTS (formats); i++) {
    const gchar *module = formats[i].module;
    g_autofree gchar *new = NULL, *from = NULL, *to = NULL;

    if (!g_str_has_suffix (lower, formats[i].suffix))
      continue;
    new = g_strdup_printf ("%.*s.safetensors", (gint)(strrchr (path, '.') - path), path);
    from = quote_for_shell (path, "FILE");
    to = quote_for_shell (new, "FILE.safetensors");
    return FAIL_FILE_NULL (
        error, GEMMCL_ERROR_FORMAT, path,
        "Only Python reads %s. Save it as safetensors: python3 -c 'import sys, %s, safetensors.%s; "
        "safetensors.%s.save_file({k: %s for k, t in %s.load(sys.argv[1]%s).items()}, "
        "sys.argv[2])' %s %s",
        formats[i].suffix, module, module, module, formats[i].tensor, module, formats[i].arguments,
        from, to);
  }
  return FAIL_FILE_NULL (error, GEMMCL_ERROR_FORMAT, where,
                         "Expected a literal such as [[1, 2], [3, 4]], FILE.npy, FILE.npy#bf16, "
                         "FILE.safetensors#NAME, FILE.onnx#NAME or FILE.raw#TYPE:ROWSxCOLS.");
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
  return fail_format (where, path, lower, error);
}
