/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The part of reading a matrix that all file formats share.
 */
#include <math.h>
#include <string.h>

#include "matrix/matrix.h"

/* Limits of lists in messages */
#define MAX_DIMS       8
#define MAX_NAMES      20
#define MAX_NAMES_SIZE 200 /* bytes after which no name is added */

/* (transfer full): the shape as text: "64 x 3 x 7" */
static gchar *
describe_dims (const gsize *dims, gsize n_dims)
{
  GString *text = g_string_new (n_dims == 0 ? "no dimensions" : NULL);

  for (gsize i = 0; i < MIN (n_dims, MAX_DIMS); i++)
    g_string_append_printf (text, "%s%zu", i == 0 ? "" : " x ", dims[i]);
  if (n_dims > MAX_DIMS)
    g_string_append (text, " x …");
  return g_string_free (text, FALSE);
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

gchar *
gemmcl_describe_conversion (const gchar *path, const gchar *program, const gchar *suffix)
{
  const gchar *dot = strrchr (path, '.');
  const gboolean has_suffix = dot != NULL && strchr (dot, G_DIR_SEPARATOR) == NULL;
  const gsize stem = has_suffix ? (gsize)(dot - path) : strlen (path);
  g_autofree gchar *new = g_strdup_printf ("%.*s%s", (gint)stem, path, suffix);
  g_autofree gchar *from = quote_for_shell (path, "FROM"), *to = quote_for_shell (new, "TO");

  return g_strdup_printf ("python3 -c '%s' %s %s", program, from, to);
}

gchar *
gemmcl_describe_tensor (const gchar *name)
{
  g_autofree gchar *quoted = gemmcl_quote (name);

  return g_strdup_printf ("Tensor “%s”: ", quoted);
}

/* (transfer full): the first of @names, and the number of the others. */
static gchar *
list_names (const GPtrArray *names)
{
  GString *list = g_string_new (names->len == 0 ? "no tensors" : NULL);
  guint i;

  for (i = 0; i < MIN (names->len, MAX_NAMES) && list->len < MAX_NAMES_SIZE; i++) {
    g_autofree gchar *name = gemmcl_quote (names->pdata[i]);

    g_string_append_printf (list, "%s%s", i == 0 ? "" : ", ", name);
  }
  if (i < names->len)
    g_string_append_printf (list, " and %u more", names->len - i);
  return g_string_free (list, FALSE);
}

gboolean
gemmcl_find_tensor (const GPtrArray *names, const gchar *name, const gchar *path, guint *index,
                    GError **error)
{
  g_autofree gchar *found = NULL, *list = NULL;

  if (g_ptr_array_find_with_equal_func ((GPtrArray *)names, name, g_str_equal, index))
    return TRUE;
  found = gemmcl_quote (name);
  list = list_names (names);
  return gemmcl_fail_file (
      error, GEMMCL_ERROR_FORMAT, path,
      "Expected the name of a tensor after “#”, found “%s”. The file holds %s.", found, list);
}

static gboolean
check_shape (const GemmclMatrixSource *source, gsize rows, gsize cols, gsize *n_bytes,
             GError **error)
{
  const gchar *type = gemmcl_type_get_name (source->type);
  g_autofree gchar *shape = describe_dims (source->dims, source->n_dims);

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
  /* No product takes more. */
  if (rows > G_MAXINT32 || cols > G_MAXINT32)
    return gemmcl_fail_file (error, GEMMCL_ERROR_TOO_LARGE, source->file->path,
                             "%sExpected at most %d rows and columns, found a shape of %s.",
                             source->prefix, G_MAXINT32, shape);
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
