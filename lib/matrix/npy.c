/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* NumPy's .npy files:
 *
 *     \x93NUMPY  major minor  length (u16 in version 1, u32 in 2 and 3)  header  elements
 *
 * The header is a Python dict literal with exactly the keys descr, fortran_order and shape, in any
 * order. The parser is strict and evaluates nothing. Version 1 is written. */

#include <string.h>

#include "matrix/matrix.h"

#define MAGIC      "\x93NUMPY"
#define PREFIX_V1  10
#define PREFIX_V2  12
#define MAX_HEADER 10000 /* NumPy's own limit */
#define MAX_START  (PREFIX_V2 + MAX_HEADER)
#define ALIGNMENT  64 /* alignment of the elements, as in NumPy */

typedef struct {
  const gchar *path;
  const gchar *start;
  const gchar *p;
  const gchar *end;
} Cursor;

typedef struct {
  gchar *descr;
  gboolean fortran_order;
  GArray *shape;
} Header;

static void
header_clear (Header *header)
{
  g_free (header->descr);
  g_clear_pointer (&header->shape, g_array_unref);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Header, header_clear)

/* Returns: FALSE, for parsers to return. */
static gboolean
expected (const Cursor *cursor, const gchar *what, GError **error)
{
  g_autofree gchar *found = gemmcl_describe_char (cursor->p, cursor->end);

  return gemmcl_fail_file (
      error, GEMMCL_ERROR_FORMAT, cursor->path,
      "The .npy header is damaged: at its character %zu expected %s, found %s.",
      (gsize)(cursor->p - cursor->start) + 1, what, found);
}

static void
skip_space (Cursor *cursor)
{
  while (cursor->p < cursor->end && g_ascii_isspace (*cursor->p))
    cursor->p++;
}

static gboolean
take (Cursor *cursor, const gchar *token)
{
  gsize length = strlen (token);

  skip_space (cursor);
  if ((gsize)(cursor->end - cursor->p) < length || memcmp (cursor->p, token, length) != 0)
    return FALSE;
  cursor->p += length;
  return TRUE;
}

/* A string in single or double quotes, without escapes. */
static gchar *
parse_string (Cursor *cursor, const gchar *what, GError **error)
{
  const gchar *start;
  gchar quote;

  skip_space (cursor);
  if (cursor->p == cursor->end || (*cursor->p != '\'' && *cursor->p != '"')) {
    expected (cursor, what, error);
    return NULL;
  }
  quote = *cursor->p++;
  start = cursor->p;
  while (cursor->p < cursor->end && *cursor->p != quote && g_ascii_isprint (*cursor->p) &&
         *cursor->p != '\\')
    cursor->p++;
  if (cursor->p == cursor->end || *cursor->p != quote) {
    expected (cursor, "a quotation mark", error);
    return NULL;
  }
  return g_strndup (start, cursor->p++ - start);
}

static gboolean
parse_descr (Cursor *cursor, Header *header, GError **error)
{
  skip_space (cursor);
  if (cursor->p < cursor->end && (*cursor->p == '[' || *cursor->p == '(' || *cursor->p == '{'))
    return gemmcl_fail_file (
        error, GEMMCL_ERROR_FORMAT, cursor->path,
        "Expected numbers of one plain type, found a structured type. Save the fields one by one.");
  header->descr = parse_string (cursor, "a type in quotation marks", error);
  return header->descr != NULL;
}

static gboolean
parse_fortran_order (Cursor *cursor, Header *header, GError **error)
{
  header->fortran_order = take (cursor, "True");
  return header->fortran_order || take (cursor, "False") ||
         expected (cursor, "True or False", error);
}

static gboolean
parse_size (Cursor *cursor, gsize *size, GError **error)
{
  skip_space (cursor);
  if (cursor->p == cursor->end || !g_ascii_isdigit (*cursor->p))
    return expected (cursor, "a number of elements", error);
  for (*size = 0; cursor->p < cursor->end && g_ascii_isdigit (*cursor->p); cursor->p++)
    if (!g_size_checked_mul (size, *size, 10) ||
        !g_size_checked_add (size, *size, g_ascii_digit_value (*cursor->p)))
      return gemmcl_fail_file (error, GEMMCL_ERROR_FORMAT, cursor->path,
                               "The .npy header states a shape that is more than memory can hold.");
  /* Python 2 wrote long integers with this suffix. */
  if (cursor->p < cursor->end && *cursor->p == 'L')
    cursor->p++;
  return TRUE;
}

/* A tuple: (), (3,), (3, 4) or (3, 4,), but not (3), which is a number in Python. */
static gboolean
parse_shape (Cursor *cursor, Header *header, GError **error)
{
  header->shape = g_array_new (FALSE, FALSE, sizeof (gsize));
  if (!take (cursor, "("))
    return expected (cursor, "a shape in parentheses", error);
  while (!take (cursor, ")")) {
    gsize size;

    if (!parse_size (cursor, &size, error))
      return FALSE;
    g_array_append_val (header->shape, size);
    if (!take (cursor, ",")) {
      if (header->shape->len == 1 || !take (cursor, ")"))
        return expected (cursor, "“,”", error);
      break;
    }
  }
  return TRUE;
}

static gboolean
parse_header (Cursor *cursor, Header *header, GError **error)
{
  static const struct {
    const gchar *key;
    gboolean (*parse) (Cursor *, Header *, GError **);
  } entries[] = {
      {"descr", parse_descr},
      {"fortran_order", parse_fortran_order},
      {"shape", parse_shape},
  };
  guint seen = 0;

  if (!take (cursor, "{"))
    return expected (cursor, "“{”", error);
  while (!take (cursor, "}")) {
    const gchar *before = cursor->p;
    g_autofree gchar *key = parse_string (cursor, "a key in quotation marks", error);
    guint i;

    if (key == NULL)
      return FALSE;
    for (i = 0; i < G_N_ELEMENTS (entries) && !g_str_equal (key, entries[i].key); i++)
      ;
    if (i == G_N_ELEMENTS (entries) || (seen & 1u << i) != 0) {
      cursor->p = before;
      return expected (cursor, "each of the keys descr, fortran_order and shape once", error);
    }
    seen |= 1u << i;
    if (!take (cursor, ":"))
      return expected (cursor, "“:”", error);
    if (!entries[i].parse (cursor, header, error))
      return FALSE;
    if (!take (cursor, ",")) {
      if (!take (cursor, "}"))
        return expected (cursor, "“,” or “}”", error);
      break;
    }
  }
  if (seen != (1u << G_N_ELEMENTS (entries)) - 1)
    return expected (cursor, "the keys descr, fortran_order and shape before the “}”", error);
  skip_space (cursor);
  return cursor->p == cursor->end || expected (cursor, "nothing after the “}”", error);
}

/* Sets cursor to the header.
 * @data: the first MAX_START bytes of the file, or the whole file if it is shorter */
static gboolean
find_header (const GemmclFile *file, const guint8 *data, Cursor *cursor, GError **error)
{
  const gchar *path = file->path;
  const gsize size = file->size;
  gsize start, length = 0;

  if (size < PREFIX_V1 || memcmp (data, MAGIC, 6) != 0)
    return gemmcl_fail_file (
        error, GEMMCL_ERROR_FORMAT, path,
        "Expected a NumPy file as numpy.save() writes it, found something else: "
        "it does not start with \\x93NUMPY.");
  if (data[6] < 1 || data[6] > 3 || data[7] != 0)
    return gemmcl_fail_file (error, GEMMCL_ERROR_FORMAT, path,
                             "Expected version 1.0, 2.0 or 3.0 of the .npy format, found %u.%u.",
                             data[6], data[7]);
  start = data[6] == 1 ? PREFIX_V1 : PREFIX_V2;
  for (gsize i = 8; i < start && size >= start; i++)
    length |= (gsize)data[i] << 8 * (i - 8);
  if (size < start || length > size - start)
    return gemmcl_fail_file (error, GEMMCL_ERROR_FORMAT, path,
                             "The file is truncated: it ends inside of the .npy header.");
  if (length > MAX_HEADER)
    return gemmcl_fail_file (error, GEMMCL_ERROR_FORMAT, path,
                             "Expected a .npy header of at most %d bytes, found %zu.", MAX_HEADER,
                             length);
  cursor->path = path;
  cursor->start = cursor->p = (const gchar *)data + start;
  cursor->end = cursor->start + length;
  return TRUE;
}

static gboolean
find_type (const gchar *path, const gchar *descr, gboolean v2_is_bf16, GemmclType *type,
           GError **error)
{
  const gchar *kind = descr[0] != '\0' ? descr + 1 : descr;
  const gchar *advice = "Expected little-endian f2, f4, f8, i1 to i8 or u1 to u8.";

  /* Python's bfloat16 is an extension type, which NumPy writes as untyped bytes. */
  if (g_str_equal (kind, "V2") && descr[0] != '>') {
    *type = GEMMCL_TYPE_BF16;
    if (v2_is_bf16)
      return TRUE;
    advice = "If these two bytes are bf16, say so with #bf16 after the name of the file.";
  } else if (gemmcl_type_from_name (descr, gemmcl_type_get_descr, type)) {
    return TRUE;
  } else if (descr[0] == '>') {
    advice = "Expected little-endian numbers. Save array.astype (array.dtype.newbyteorder ('<')).";
  } else if (kind[0] == 'O') {
    advice = "Expected numbers, not pickled Python objects, which are never read.";
  } else if (g_str_equal (kind, "b1")) {
    advice = "Expected numbers, not booleans. Save array.astype ('u1').";
  }
  return gemmcl_fail_file (error, GEMMCL_ERROR_FORMAT, path, "The elements are of type '%s'. %s",
                           descr, advice);
}

GemmclMatrix *
gemmcl_matrix_load_npy (const gchar *path, gboolean v2_is_bf16, GError **error)
{
  g_auto (GemmclFile) file = GEMMCL_FILE_INIT;
  g_auto (Header) header = {0};
  g_autofree guint8 *start = NULL;
  Cursor cursor;
  gsize offset;
  GemmclType type;

  g_return_val_if_fail (path != NULL, NULL);

  if (!gemmcl_file_open (&file, path, error))
    return NULL;
  start = gemmcl_file_read (&file, 0, MIN (file.size, MAX_START), error);
  if (start == NULL || !find_header (&file, start, &cursor, error) ||
      !parse_header (&cursor, &header, error) ||
      !find_type (path, header.descr, v2_is_bf16, &type, error))
    return NULL;
  offset = cursor.end - (const gchar *)start;
  return gemmcl_matrix_new_from_source (
      &(GemmclMatrixSource){.file = &file,
                            .offset = offset,
                            .length = file.size - offset,
                            .type = type,
                            .column_major = header.fortran_order,
                            .dims = (const gsize *)(gpointer)header.shape->data,
                            .n_dims = header.shape->len},
      error);
}

static GBytes *
make_header (const GemmclMatrix *matrix)
{
  GString *header = g_string_new_len (MAGIC "\1\0\0\0", PREFIX_V1);
  gsize length;

  g_string_append_printf (header, "{'descr': '%s', 'fortran_order': %s, 'shape': (%zu, %zu), }",
                          gemmcl_type_get_descr (gemmcl_matrix_get_element_type (matrix)),
                          gemmcl_matrix_is_column_major (matrix) ? "True" : "False",
                          gemmcl_matrix_get_rows (matrix), gemmcl_matrix_get_cols (matrix));
  while ((header->len + 1) % ALIGNMENT != 0)
    g_string_append_c (header, ' ');
  g_string_append_c (header, '\n');

  length = header->len - PREFIX_V1;
  header->str[8] = (gchar)(length & 0xff);
  header->str[9] = (gchar)(length >> 8);
  return g_string_free_to_bytes (header);
}

gboolean
gemmcl_matrix_save_npy (const GemmclMatrix *self, const gchar *path, GError **error)
{
  g_autoptr (GBytes) header = make_header (self);
  GBytes *const parts[] = {header, gemmcl_matrix_get_bytes (self)};

  g_return_val_if_fail (path != NULL, FALSE);

  return gemmcl_file_save (path, parts, G_N_ELEMENTS (parts), error);
}
