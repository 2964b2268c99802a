/* SPDX-License-Identifier: LGPL-2.1-or-later
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

/* The literal starts with a bracket, perhaps after spaces. */
static gboolean
parse_matrix (Parser *parser, GError **error)
{
  gboolean nested;

  take (parser, '[');
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

static GemmclMatrix *
parse_literal (const gchar *literal, GError **error)
{
  Parser parser = {.start = literal, .p = literal};
  g_autofree gfloat *values = NULL;
  gsize max_values = 1;

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

/* READERS, from lib/meson.build, is READER (npy) and so on. */
#define READER(name) extern const GemmclReader gemmcl_reader_##name;
READERS
#undef READER

static const GemmclReader *const readers[] = {
#define READER(name) &gemmcl_reader_##name,
    READERS
#undef READER
};

const gchar *
gemmcl_matrix_get_grammar (void)
{
  static gsize grammar;

  if (g_once_init_enter (&grammar)) {
    GString *text = g_string_new ("a literal such as [[1, 2], [3, 4]]");

    for (guint i = 0; i < G_N_ELEMENTS (readers); i++)
      g_string_append_printf (text, "%s%s", i + 1 < G_N_ELEMENTS (readers) ? ", " : " or ",
                              readers[i]->grammar);
    g_once_init_leave (&grammar, (gsize)g_string_free (text, FALSE));
  }
  return (const gchar *)grammar;
}

/* Programs of Python that convert a file. safetensors writes elements in the order of memory, so
 * arrays of NumPy must be in C order. */
#define SAVE_TENSORS(module, tensor, arguments)                                                    \
  "import sys, " module ", safetensors." module "; safetensors." module ".save_file({k: " tensor   \
  " for k, t in " module ".load(sys.argv[1]" arguments ").items()}, sys.argv[2])"
#define SAVE_TEXT(arguments)                                                                       \
  "import sys, numpy; numpy.save(sys.argv[2], numpy.loadtxt(sys.argv[1]" arguments "))"
#define SAVE_TORCH SAVE_TENSORS ("torch", "t.clone().contiguous()", ", map_location=\"cpu\"")

/* Fails. The message says how to get a file that the library reads. Returns: NULL. */
static gpointer
fail_format (const gchar *where, const gchar *path, const gchar *lower, GError **error)
{
  static const struct {
    const gchar *suffix, *program, *new_suffix;
  } formats[] = {
      {".npz", SAVE_TENSORS ("numpy", "numpy.ascontiguousarray(t)", ""), ".safetensors"},
      {".pt", SAVE_TORCH, ".safetensors"},
      {".pth", SAVE_TORCH, ".safetensors"},
      {".csv", SAVE_TEXT (", delimiter=\",\""), ".npy"},
      {".tsv", SAVE_TEXT (""), ".npy"},
      {".txt", SAVE_TEXT (""), ".npy"},
  };

  for (guint i = 0; i < G_N_ELEMENTS (formats); i++) {
    g_autofree gchar *command = NULL;

    if (!g_str_has_suffix (lower, formats[i].suffix))
      continue;
    command = gemmcl_describe_conversion (path, formats[i].program, formats[i].new_suffix);
    return FAIL_FILE_NULL (error, GEMMCL_ERROR_FORMAT, path,
                           "gemmcl does not read %s. Convert the file: %s", formats[i].suffix,
                           command);
  }
  if (g_str_has_suffix (lower, ".safetensors.index.json"))
    return FAIL_FILE_NULL (
        error, GEMMCL_ERROR_FORMAT, path,
        "Expected one of the .safetensors files that this index lists. Its "
        "“weight_map” names the file of each tensor, for FILE.safetensors#NAME.");
  return FAIL_FILE_NULL (error, GEMMCL_ERROR_FORMAT, where, "Expected %s.",
                         gemmcl_matrix_get_grammar ());
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
    return parse_literal (where, error);

  if (g_ascii_strncasecmp (where, "file:", strlen ("file:")) == 0)
    path = split_uri (where, &part, error);
  else
    path = split_path (where, &part);
  if (path == NULL)
    return NULL;

  if (g_uri_peek_scheme (path) != NULL && strstr (path, "://") != NULL &&
      !g_file_test (path, G_FILE_TEST_EXISTS))
    return FAIL_FILE_NULL (error, GEMMCL_ERROR_IO, path,
                           "Expected a file of this machine, found the address of another one. "
                           "Download the file first, as by “curl -LO URL”.");
  lower = g_ascii_strdown (path, -1);
  for (guint i = 0; i < G_N_ELEMENTS (readers); i++)
    if (g_str_has_suffix (lower, readers[i]->suffix))
      return readers[i]->load (path, part, error);
  return fail_format (where, path, lower, error);
}
