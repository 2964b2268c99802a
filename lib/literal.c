/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Matrices written in place: [[1, 2], [3, 4]].
 *
 *     matrix = '[' row { ',' row } ']' | row
 *     row    = '[' number { ',' number } ']'
 */

#include <math.h>
#include <string.h>

#include "matrix-private.h"

typedef struct {
  const gchar *start;
  const gchar *p;
  const gchar *end;
  gfloat *values;
  gsize n_values;
  gsize rows;
  gsize cols;
} Parser;

static void
skip_space (Parser *parser)
{
  while (g_ascii_isspace (*parser->p))
    parser->p++;
}

static gboolean
take (Parser *parser, gchar c)
{
  skip_space (parser);
  if (*parser->p != c)
    return FALSE;
  parser->p++;
  return TRUE;
}

/* Always FALSE, for parsers to return. */
static gboolean
expected (Parser *parser, const gchar *what, GError **error)
{
  g_autofree gchar *found = gemmcl_describe_char (parser->p, parser->end);

  g_set_error (error, GEMMCL_ERROR, GEMMCL_ERROR_FORMAT,
               "Matrix literal, at character %" G_GSIZE_FORMAT ": expected %s, found %s.",
               (gsize)(parser->p - parser->start) + 1, what, found);
  return FALSE;
}

/* The length of the number at p, 0 if there is none: g_ascii_strtod() takes hexadecimal too, and
 * says of "1e" only that it stopped before the e. */
static gsize
number_length (const gchar *p)
{
  static const gchar *const words[] = {"infinity", "inf", "nan"};
  gsize sign = *p == '+' || *p == '-';
  gsize digits = 0;
  gsize n = sign;

  for (guint i = 0; i < G_N_ELEMENTS (words); i++)
    if (g_ascii_strncasecmp (p + n, words[i], strlen (words[i])) == 0)
      return n + strlen (words[i]);

  for (; g_ascii_isdigit (p[n]); n++)
    digits++;
  if (p[n] == '.')
    for (n++; g_ascii_isdigit (p[n]); n++)
      digits++;
  if (digits == 0)
    return 0;
  if (p[n] == 'e' || p[n] == 'E') {
    gsize exponent = n + 1;

    if (p[exponent] == '+' || p[exponent] == '-')
      exponent++;
    if (!g_ascii_isdigit (p[exponent]))
      return 0;
    for (n = exponent; g_ascii_isdigit (p[n]);)
      n++;
  }
  return n;
}

static gboolean
parse_number (Parser *parser, GError **error)
{
  gsize length;
  gfloat value;

  skip_space (parser);
  length = number_length (parser->p);
  if (length == 0)
    return expected (parser, "a number", error);
  value = (gfloat)g_ascii_strtod (parser->p, NULL);
  if (isinf (value) && g_ascii_isalpha (parser->p[length - 1]) == 0) {
    g_set_error (error, GEMMCL_ERROR, GEMMCL_ERROR_FORMAT,
                 "Matrix literal, at character %" G_GSIZE_FORMAT ": " GEMMCL_EXPECTED_F32
                 ", found %.*s.",
                 (gsize)(parser->p - parser->start) + 1, (gint)length, parser->p);
    return FALSE;
  }
  parser->values[parser->n_values++] = value;
  parser->p += length;
  return TRUE;
}

/* From after the row's bracket. */
static gboolean
parse_row (Parser *parser, GError **error)
{
  gsize before = parser->n_values;
  gsize cols;

  do {
    if (!parse_number (parser, error))
      return FALSE;
  } while (take (parser, ','));
  if (!take (parser, ']'))
    return expected (parser, "“,” or “]” after a number", error);

  cols = parser->n_values - before;
  parser->rows++;
  if (parser->rows == 1)
    parser->cols = cols;
  if (cols == parser->cols)
    return TRUE;
  g_set_error (error, GEMMCL_ERROR, GEMMCL_ERROR_FORMAT,
               "Matrix literal, row %" G_GSIZE_FORMAT ": expected %" G_GSIZE_FORMAT
               " numbers as in row 1, found %" G_GSIZE_FORMAT ".",
               parser->rows, parser->cols, cols);
  return FALSE;
}

static gboolean
parse_matrix (Parser *parser, GError **error)
{
  if (!take (parser, '['))
    return expected (parser, "“[”", error);
  if (take (parser, '[')) {
    do {
      if (parser->rows > 0 && !take (parser, '['))
        return expected (parser, "the “[” of a row", error);
      if (!parse_row (parser, error))
        return FALSE;
    } while (take (parser, ','));
    if (!take (parser, ']'))
      return expected (parser, "“,” or “]” after a row", error);
  } else if (!parse_row (parser, error)) {
    return FALSE;
  }
  skip_space (parser);
  return parser->p == parser->end || expected (parser, "nothing after the last “]”", error);
}

GemmclMatrix *
gemmcl_matrix_parse (const gchar *literal, GError **error)
{
  Parser parser = {.start = literal, .p = literal};
  g_autofree gfloat *values = NULL;
  gsize max_values = 1;

  g_return_val_if_fail (literal != NULL, NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  /* Commas stand between numbers, so there is one number more at most. */
  for (parser.end = literal; *parser.end != '\0'; parser.end++)
    max_values += *parser.end == ',';
  values = g_try_new (gfloat, max_values);
  if (values == NULL) {
    g_set_error (error, GEMMCL_ERROR, GEMMCL_ERROR_TOO_LARGE,
                 "There is not enough memory for a literal of %" G_GSIZE_FORMAT " numbers.",
                 max_values);
    return NULL;
  }
  parser.values = values;
  if (!parse_matrix (&parser, error))
    return NULL;
  return gemmcl_matrix_new_take (
      GEMMCL_TYPE_F32, parser.rows, parser.cols, FALSE,
      g_bytes_new_take (g_steal_pointer (&values), parser.n_values * sizeof (gfloat)));
}
