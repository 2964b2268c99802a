/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * NumPy's .npy files:
 *
 *     \x93NUMPY  major minor  length (u16 in version 1, u32 in 2 and 3)  header  elements
 *
 * The header is a Python dict literal with exactly the keys descr, fortran_order and shape, in any
 * order. Nothing in it is evaluated. Version 1 is written.
 */
#include <string.h>

#include "matrix/matrix.h"

#define MAGIC      "\x93NUMPY"
#define PREFIX_V1  10
#define PREFIX_V2  12
#define MAX_HEADER 10000 /* NumPy's own limit */
#define MAX_START  (PREFIX_V2 + MAX_HEADER)
#define ALIGNMENT  64 /* alignment of the elements, as in NumPy */

/* Swaps the bytes of elements, in Python. */
#define SWAP                                                                                       \
  "import sys, numpy; a = numpy.load(sys.argv[1]); "                                               \
  "numpy.save(sys.argv[2], a.astype(a.dtype.newbyteorder(\"<\")))"

/* Python 2 wrote long integers with an L. */
#define SIZE "\\s*+\\d++L?+"

/* A header: three entries. It has each key once if none of the groups is empty. (3) is not a shape,
 * since it is a number in Python. Possessive quantifiers keep the time linear. */
static const gchar header_regex[] =
    "^\\s*+\\{(?:\\s*+(['\"])(?:"
    "descr\\1\\s*+:\\s*+(?<descr>(['\"])[^'\"\\\\\\x00]*+)\\g{-1}|"
    "fortran_order\\1\\s*+:\\s*+(?<order>True|False)|"
    "shape\\1\\s*+:\\s*+(?<shape>\\((?:(?:" SIZE "\\s*+,)++(?:" SIZE ")?+)?+\\s*+\\)))"
    "\\s*+(?:,|(?=\\}))){3}\\s*+\\}\\s*+\\z";

/* The sizes in @text. One beyond 64 bits becomes the largest of 64 bits. */
static GArray *
parse_shape (const gchar *text)
{
  GArray *shape = g_array_new (FALSE, FALSE, sizeof (gsize));
  gchar *end;

  for (const gchar *p = text; *p != '\0'; p = end) {
    const gsize size = g_ascii_strtoull (p, &end, 10);

    if (end > p)
      g_array_append_val (shape, size);
    else
      end++;
  }
  return shape;
}

/* @data: the first MAX_START bytes of the file, or the whole file if it is shorter
 * @start, @length: (out): the place of the header in it */
static gboolean
find_header (const GemmclFile *file, const guint8 *data, gsize *start, gsize *length,
             GError **error)
{
  const gchar *path = file->path;
  const gsize size = file->size;

  if (size < PREFIX_V1 || memcmp (data, MAGIC, 6) != 0)
    return gemmcl_fail_file (
        error, GEMMCL_ERROR_FORMAT, path,
        "Expected a NumPy file as numpy.save() writes it, found something else: "
        "it does not start with \\x93NUMPY.");
  if (data[6] < 1 || data[6] > 3 || data[7] != 0)
    return gemmcl_fail_file (error, GEMMCL_ERROR_FORMAT, path,
                             "Expected version 1.0, 2.0 or 3.0 of the .npy format, found %u.%u.",
                             data[6], data[7]);
  *start = data[6] == 1 ? PREFIX_V1 : PREFIX_V2;
  *length = 0;
  for (gsize i = 8; i < *start && size >= *start; i++)
    *length |= (gsize)data[i] << 8 * (i - 8);
  if (size < *start || *length > size - *start)
    return gemmcl_fail_file (error, GEMMCL_ERROR_FORMAT, path,
                             "The file is truncated: it ends inside of the .npy header.");
  if (*length > MAX_HEADER)
    return gemmcl_fail_file (error, GEMMCL_ERROR_FORMAT, path,
                             "Expected a .npy header of at most %d bytes, found %zu.", MAX_HEADER,
                             *length);
  return TRUE;
}

static gboolean
find_type (const gchar *path, const gchar *descr, gboolean v2_is_bf16, GemmclType *type,
           GError **error)
{
  const gchar *kind = descr[0] != '\0' ? descr + 1 : descr;
  g_autofree gchar *found = gemmcl_quote (descr), *more = NULL;
  const gchar *advice;

  /* Python's bfloat16 is an extension type, which NumPy writes as untyped bytes. */
  if (g_str_equal (kind, "V2") && descr[0] != '>') {
    *type = GEMMCL_TYPE_BF16;
    if (v2_is_bf16)
      return TRUE;
    advice = "If these two bytes are bf16, say so with #bf16 after the name of the file.";
  } else if (gemmcl_type_from_name (descr, gemmcl_type_get_descr, type)) {
    return TRUE;
  } else if (descr[0] == '>') {
    more = gemmcl_describe_conversion (path, SWAP, "-little.npy");
    advice = "Expected little-endian numbers. Convert the file: ";
  } else if (kind[0] == 'O') {
    advice = "Expected numbers, not pickled Python objects, which are never read.";
  } else if (g_str_equal (kind, "b1")) {
    advice = "Expected numbers, not booleans. Save array.astype ('u1').";
  } else {
    more = gemmcl_type_list (gemmcl_type_get_descr);
    advice = "Expected little-endian ";
  }
  return gemmcl_fail_file (error, GEMMCL_ERROR_FORMAT, path, "The elements are of type '%s'. %s%s",
                           found, advice, more != NULL ? more : "");
}

/* Sets the type, the order and the shape of @source. @dims: (out): the memory of its shape */
static gboolean
parse_header (const gchar *text, gsize length, gboolean v2_is_bf16, GemmclMatrixSource *source,
              GArray **dims, GError **error)
{
  g_autoptr (GRegex) regex = g_regex_new (header_regex, G_REGEX_RAW, 0, NULL);
  g_autoptr (GMatchInfo) match = NULL;
  const gboolean matches = g_regex_match_full (regex, text, length, 0, 0, &match, NULL);
  g_autofree gchar *descr = matches ? g_match_info_fetch_named (match, "descr") : NULL;
  g_autofree gchar *order = matches ? g_match_info_fetch_named (match, "order") : NULL;
  g_autofree gchar *shape = matches ? g_match_info_fetch_named (match, "shape") : NULL;

  if (!matches || *descr == '\0' || *order == '\0' || *shape == '\0') {
    g_autofree gchar *whole = g_strndup (text, length);
    g_autofree gchar *found = gemmcl_quote (g_strchomp (whole));

    return gemmcl_fail_file (
        error, GEMMCL_ERROR_FORMAT, source->file->path,
        "Expected the .npy header of numbers of one plain type, such as "
        "“{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }”, found “%s”.",
        found);
  }
  source->column_major = g_str_equal (order, "True");
  *dims = parse_shape (shape);
  source->dims = (const gsize *)(gpointer)(*dims)->data;
  source->n_dims = (*dims)->len;
  /* The type follows its quotation mark. */
  return find_type (source->file->path, descr + 1, v2_is_bf16, &source->type, error);
}

static GemmclMatrix *
load_npy (const gchar *path, const gchar *part, GError **error)
{
  g_auto (GemmclFile) file = {.fd = -1};
  GemmclMatrixSource source = {.file = &file, .prefix = ""};
  g_autoptr (GArray) dims = NULL;
  g_autofree guint8 *data = NULL;
  gsize start = 0, length = 0;

  if (part != NULL && !g_str_equal (part, "bf16")) {
    g_autofree gchar *found = gemmcl_quote (part);

    return FAIL_FILE_NULL (error, GEMMCL_ERROR_FORMAT, path,
                           "After a .npy file expected nothing or #bf16, found “#%s”.", found);
  }
  if (!gemmcl_file_open (&file, path, error))
    return NULL;
  data = gemmcl_file_read (&file, 0, MIN (file.size, MAX_START), error);
  if (data == NULL || !find_header (&file, data, &start, &length, error) ||
      !parse_header ((const gchar *)data + start, length, part != NULL, &source, &dims, error))
    return NULL;
  source.offset = start + length;
  source.length = file.size - source.offset;
  return gemmcl_matrix_new_from_source (&source, error);
}

const GemmclReader gemmcl_reader_npy = {".npy", "FILE.npy, FILE.npy#bf16", load_npy};

static GBytes *
make_header (const GemmclMatrix *matrix)
{
  GString *header = g_string_new_len (MAGIC "\1\0\0\0", PREFIX_V1);
  gsize length;

  g_string_append_printf (header, "{'descr': '%s', 'fortran_order': %s, 'shape': (%zu, %zu), }",
                          gemmcl_type_get_descr (matrix->type),
                          matrix->column_major ? "True" : "False", matrix->rows, matrix->cols);
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
  GBytes *const parts[] = {header, self->bytes};

  g_return_val_if_fail (path != NULL, FALSE);

  if (self->scales != NULL)
    return gemmcl_fail_file (error, GEMMCL_ERROR_INVALID, path,
                             "Expected a matrix without scales, which a .npy file cannot hold, "
                             "found a quantized one. A .safetensors file can hold it.");
  return gemmcl_file_save (path, 0666, parts, G_N_ELEMENTS (parts), error);
}
