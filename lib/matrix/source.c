/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Reads a matrix from a file, after checking the file's description of it against the file's size.
 */
#include <math.h>

#include "matrix/matrix.h"

gchar *
gemmcl_describe_char (const gchar *p, const gchar *end)
{
  gunichar c;

  if (p == end)
    return g_strdup ("the end");
  c = g_utf8_get_char_validated (p, end - p);
  if (c == (gunichar)-1 || c == (gunichar)-2 || !g_unichar_isprint (c))
    return g_strdup_printf ("the byte 0x%02x", (guchar)*p);
  return g_strdup_printf ("“%.*s”", g_unichar_to_utf8 (c, NULL), p);
}

gchar *
gemmcl_describe_dims (const gsize *dims, gsize n_dims)
{
  GString *text = g_string_new (n_dims == 0 ? "no dimensions" : NULL);

  for (gsize i = 0; i < n_dims; i++)
    g_string_append_printf (text, "%s%zu", i == 0 ? "" : " x ", dims[i]);
  return g_string_free (text, FALSE);
}

/* The message starts with the file, and with the tensor if it is one of several. */
static gboolean fail_source (GError **error, const GemmclMatrixSource *source, const gchar *format,
                             ...) G_GNUC_PRINTF (3, 4);

static gboolean
fail_source (GError **error, const GemmclMatrixSource *source, const gchar *format, ...)
{
  g_autofree gchar *message = NULL;
  va_list args;

  va_start (args, format);
  message = g_strdup_vprintf (format, args);
  va_end (args);
  if (source->tensor == NULL)
    return gemmcl_fail_file (error, GEMMCL_ERROR_FORMAT, source->file->path, "%s", message);
  return gemmcl_fail_file (error, GEMMCL_ERROR_FORMAT, source->file->path, "Tensor “%s”: %s",
                           source->tensor, message);
}

static gboolean
check_shape (const GemmclMatrixSource *source, gsize rows, gsize cols, gsize *n_bytes,
             GError **error)
{
  const gchar *type = gemmcl_type_get_name (source->type);
  g_autofree gchar *shape = gemmcl_describe_dims (source->dims, source->n_dims);

  if (source->n_dims > 2)
    return fail_source (
        error, source,
        "Expected a matrix of at most 2 dimensions, found %zu (%s). Reshape it before saving.",
        source->n_dims, shape);
  if (rows == 0 || cols == 0)
    return fail_source (error, source, "Expected at least one element, found a shape of %s.",
                        shape);
  if (!gemmcl_matrix_get_n_bytes (source->type, rows, cols, n_bytes))
    return fail_source (error, source, "A shape of %s %s is more than memory can hold.", shape,
                        type);
  if (*n_bytes > source->length || (source->exact && *n_bytes != source->length))
    return fail_source (error, source,
                        "The file is %s: expected %zu bytes of elements (%s %s), found %zu.",
                        *n_bytes > source->length ? "truncated" : "too long", *n_bytes, shape, type,
                        source->length);
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
      return fail_source (error, source, "Row %zu, column %zu: " GEMMCL_EXPECTED_F32 ", found %s.",
                          (source->column_major ? i % rows : i / cols) + 1,
                          (source->column_major ? i / rows : i % cols) + 1,
                          g_ascii_formatd (number, sizeof number, "%.9g", elements[i]));
  return TRUE;
}

GemmclMatrix *
gemmcl_matrix_new_from_source (const GemmclMatrixSource *source, GError **error)
{
  const gsize n_dims = source->n_dims;
  const gsize cols = n_dims >= 1 ? source->dims[n_dims - 1] : 1;
  const gsize rows = n_dims >= 2 ? source->dims[n_dims - 2] : 1;
  g_autofree gpointer elements = NULL;
  gsize n_bytes;

  if (!check_shape (source, rows, cols, &n_bytes, error))
    return NULL;
  elements = gemmcl_file_read (source->file, source->offset, n_bytes, error);
  if (elements == NULL ||
      (source->type == GEMMCL_TYPE_F64 && !check_range (source, elements, rows, cols, error)))
    return NULL;
  return gemmcl_matrix_new_take (source->type, rows, cols, source->column_major,
                                 g_bytes_new_take (g_steal_pointer (&elements), n_bytes));
}
