/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The matrix itself: element types, the counted object, and making one of memory. */

#include <string.h>

#include "matrix-private.h"

G_STATIC_ASSERT (G_BYTE_ORDER == G_LITTLE_ENDIAN);

static const struct {
  const gchar *name;
  gsize size;
} types[] = {
    [GEMMCL_TYPE_F32] = {"f32", 4}, [GEMMCL_TYPE_F64] = {"f64", 8},
    [GEMMCL_TYPE_F16] = {"f16", 2}, [GEMMCL_TYPE_BF16] = {"bf16", 2},
    [GEMMCL_TYPE_I8] = {"i8", 1},   [GEMMCL_TYPE_U8] = {"u8", 1},
    [GEMMCL_TYPE_I16] = {"i16", 2}, [GEMMCL_TYPE_U16] = {"u16", 2},
    [GEMMCL_TYPE_I32] = {"i32", 4}, [GEMMCL_TYPE_U32] = {"u32", 4},
    [GEMMCL_TYPE_I64] = {"i64", 8}, [GEMMCL_TYPE_U64] = {"u64", 8},
};

G_STATIC_ASSERT (G_N_ELEMENTS (types) == GEMMCL_N_TYPES);

struct _GemmclMatrix {
  GemmclType type;
  gsize rows;
  gsize cols;
  gboolean column_major;
  GBytes *bytes;
  const guint8 *data;
  GemmclMatrix *scales, *zero_points; /* NULL: the elements are as they are */
};

G_DEFINE_BOXED_TYPE (GemmclMatrix, gemmcl_matrix, gemmcl_matrix_ref, gemmcl_matrix_unref)

static gboolean
is_type (GemmclType type)
{
  return (guint)type < GEMMCL_N_TYPES;
}

gsize
gemmcl_type_get_size (GemmclType type)
{
  g_return_val_if_fail (is_type (type), 0);
  return types[type].size;
}

const gchar *
gemmcl_type_get_name (GemmclType type)
{
  g_return_val_if_fail (is_type (type), "?");
  return types[type].name;
}

gboolean
gemmcl_type_from_name (const gchar *name, GemmclType *type)
{
  for (guint i = 0; i < GEMMCL_N_TYPES; i++) {
    if (g_str_equal (types[i].name, name)) {
      *type = (GemmclType)i;
      return TRUE;
    }
  }
  return FALSE;
}

gboolean
gemmcl_matrix_get_n_bytes (GemmclType type, gsize rows, gsize cols, gsize *n_bytes)
{
  gsize n;

  /* No object of C may be larger than this: pointers into it could not be subtracted. */
  return g_size_checked_mul (&n, rows, cols) && g_size_checked_mul (n_bytes, n, types[type].size) &&
         *n_bytes <= G_MAXSSIZE;
}

GemmclMatrix *
gemmcl_matrix_new_take (GemmclType type, gsize rows, gsize cols, gboolean column_major,
                        GBytes *bytes)
{
  GemmclMatrix *self = g_atomic_rc_box_new0 (GemmclMatrix);

  self->type = type;
  self->rows = rows;
  self->cols = cols;
  /* A single row or column lies the same way in both orders; row-major spares conversions. */
  self->column_major = column_major && rows > 1 && cols > 1;
  self->bytes = bytes;
  self->data = g_bytes_get_data (bytes, NULL);
  return self;
}

GemmclMatrix *
gemmcl_matrix_new (GemmclType type, gsize rows, gsize cols, gconstpointer data, GError **error)
{
  gsize n_bytes;
  gpointer copy;

  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  if (!is_type (type)) {
    g_set_error (error, GEMMCL_ERROR, GEMMCL_ERROR_INVALID,
                 "Expected an element type below %d, found %d.", GEMMCL_N_TYPES, (int)type);
    return NULL;
  }
  if (rows == 0 || cols == 0 || data == NULL) {
    g_set_error (error, GEMMCL_ERROR, GEMMCL_ERROR_INVALID,
                 "Expected a matrix of at least 1 x 1, found %" G_GSIZE_FORMAT " x %" G_GSIZE_FORMAT
                 "%s.",
                 rows, cols, data != NULL ? "" : " and no data");
    return NULL;
  }
  copy = gemmcl_matrix_get_n_bytes (type, rows, cols, &n_bytes) ? g_try_malloc (n_bytes) : NULL;
  if (copy == NULL) {
    g_set_error (error, GEMMCL_ERROR, GEMMCL_ERROR_TOO_LARGE,
                 "There is not enough memory for a matrix of %" G_GSIZE_FORMAT " x %" G_GSIZE_FORMAT
                 " %s.",
                 rows, cols, types[type].name);
    return NULL;
  }
  memcpy (copy, data, n_bytes);
  return gemmcl_matrix_new_take (type, rows, cols, FALSE, g_bytes_new_take (copy, n_bytes));
}

GemmclMatrix *
gemmcl_matrix_new_scaled (GemmclMatrix *bytes, GemmclMatrix *scales, GemmclMatrix *zero_points)
{
  GemmclMatrix *self = gemmcl_matrix_new_take (bytes->type, bytes->rows, bytes->cols,
                                               bytes->column_major, g_bytes_ref (bytes->bytes));

  self->scales = gemmcl_matrix_ref (scales);
  self->zero_points = zero_points != NULL ? gemmcl_matrix_ref (zero_points) : NULL;
  return self;
}

GemmclMatrix *
gemmcl_matrix_ref (GemmclMatrix *self)
{
  return g_atomic_rc_box_acquire (self);
}

static void
matrix_clear (GemmclMatrix *self)
{
  g_bytes_unref (self->bytes);
  g_clear_pointer (&self->scales, gemmcl_matrix_unref);
  g_clear_pointer (&self->zero_points, gemmcl_matrix_unref);
}

void
gemmcl_matrix_unref (GemmclMatrix *self)
{
  g_atomic_rc_box_release_full (self, (GDestroyNotify)matrix_clear);
}

gsize
gemmcl_matrix_get_rows (const GemmclMatrix *self)
{
  return self->rows;
}

gsize
gemmcl_matrix_get_cols (const GemmclMatrix *self)
{
  return self->cols;
}

GemmclType
gemmcl_matrix_get_element_type (const GemmclMatrix *self)
{
  return self->type;
}

gboolean
gemmcl_matrix_is_column_major (const GemmclMatrix *self)
{
  return self->column_major;
}

gconstpointer
gemmcl_matrix_get_data (const GemmclMatrix *self)
{
  return self->data;
}

GemmclMatrix *
gemmcl_matrix_get_scales (const GemmclMatrix *self)
{
  return self->scales;
}

GemmclMatrix *
gemmcl_matrix_get_zero_points (const GemmclMatrix *self)
{
  return self->zero_points;
}
