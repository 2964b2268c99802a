/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The matrix: element types, the reference-counted object, conversion to row-major f32, and a
 * matrix in a file, which is checked against the file's size. */

#include <math.h>
#include <string.h>

#include "matrix/matrix.h"

#define MAX_NAMES 20 /* in a message */

G_STATIC_ASSERT (G_BYTE_ORDER == G_LITTLE_ENDIAN);

/* Converts n contiguous elements at any alignment. */
typedef void (*Convert) (const guint8 *src, gfloat *dst, gsize n);

static gfloat
float_from_bits (guint32 bits)
{
  gfloat value;

  memcpy (&value, &bits, sizeof value);
  return value;
}

static gfloat
float_from_f16 (guint16 half)
{
  guint32 sign = (guint32)(half & 0x8000) << 16;
  guint32 exponent = (half >> 10) & 0x1f;
  guint32 fraction = half & 0x3ff;

  /* Denormals are multiples of 2^-24, which are normal numbers in f32. */
  if (exponent == 0)
    return sign != 0 ? -(gfloat)fraction * 0x1p-24f : (gfloat)fraction * 0x1p-24f;
  /* The exponent's bias is 15 in f16 and 127 in f32; in both the largest exponent means infinity or
   * NaN. */
  exponent = exponent == 0x1f ? 0xff : exponent + 112;
  return float_from_bits (sign | exponent << 23 | fraction << 13);
}

#define DEFINE_CONVERT(name, Type, expression)                                                     \
  static void convert_##name (const guint8 *src, gfloat *dst, gsize n)                             \
  {                                                                                                \
    for (gsize i = 0; i < n; i++) {                                                                \
      Type value;                                                                                  \
                                                                                                   \
      memcpy (&value, src + i * sizeof value, sizeof value);                                       \
      dst[i] = expression;                                                                         \
    }                                                                                              \
  }

DEFINE_CONVERT (f32, gfloat, value)
DEFINE_CONVERT (f64, gdouble, (gfloat)value)
DEFINE_CONVERT (f16, guint16, float_from_f16 (value))
DEFINE_CONVERT (bf16, guint16, float_from_bits ((guint32)value << 16))
DEFINE_CONVERT (i8, gint8, (gfloat)value)
DEFINE_CONVERT (u8, guint8, (gfloat)value)
DEFINE_CONVERT (i16, gint16, (gfloat)value)
DEFINE_CONVERT (u16, guint16, (gfloat)value)
DEFINE_CONVERT (i32, gint32, (gfloat)value)
DEFINE_CONVERT (u32, guint32, (gfloat)value)
DEFINE_CONVERT (i64, gint64, (gfloat)value)
DEFINE_CONVERT (u64, guint64, (gfloat)value)

static const struct {
  const gchar *name;
  const gchar *descr; /* NumPy's name; NumPy has no bf16, "|V2" is two untyped bytes */
  gsize size;
  Convert convert;
} types[GEMMCL_N_TYPES] = {
    [GEMMCL_TYPE_F32] = {"f32", "<f4", 4, convert_f32},
    [GEMMCL_TYPE_F64] = {"f64", "<f8", 8, convert_f64},
    [GEMMCL_TYPE_F16] = {"f16", "<f2", 2, convert_f16},
    [GEMMCL_TYPE_BF16] = {"bf16", "|V2", 2, convert_bf16},
    [GEMMCL_TYPE_I8] = {"i8", "|i1", 1, convert_i8},
    [GEMMCL_TYPE_U8] = {"u8", "|u1", 1, convert_u8},
    [GEMMCL_TYPE_I16] = {"i16", "<i2", 2, convert_i16},
    [GEMMCL_TYPE_U16] = {"u16", "<u2", 2, convert_u16},
    [GEMMCL_TYPE_I32] = {"i32", "<i4", 4, convert_i32},
    [GEMMCL_TYPE_U32] = {"u32", "<u4", 4, convert_u32},
    [GEMMCL_TYPE_I64] = {"i64", "<i8", 8, convert_i64},
    [GEMMCL_TYPE_U64] = {"u64", "<u8", 8, convert_u64},
};

struct _GemmclMatrix {
  GemmclType type;
  gsize rows;
  gsize cols;
  gboolean column_major;
  GBytes *bytes;
  const guint8 *data;
  GemmclMatrix *scales, *zero_points; /* NULL: not quantized */
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

const gchar *
gemmcl_type_get_descr (GemmclType type)
{
  return types[type].descr;
}

gboolean
gemmcl_type_from_name (const gchar *name, const gchar *(*get_name) (GemmclType), GemmclType *type)
{
  for (*type = 0; *type < GEMMCL_N_TYPES; (*type)++)
    if (g_str_equal (get_name (*type), name))
      return TRUE;
  return FALSE;
}

gboolean
gemmcl_matrix_get_n_bytes (GemmclType type, gsize rows, gsize cols, gsize *n_bytes)
{
  gsize n;

  /* No C object may be larger: pointers into it could not be subtracted. */
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
  /* A single row or column is the same in both orders; row-major saves conversions. */
  self->column_major = column_major && rows > 1 && cols > 1;
  self->bytes = bytes;
  self->data = g_bytes_get_data (bytes, NULL);
  return self;
}

/* Memory for the elements of a matrix, or NULL with GEMMCL_ERROR_TOO_LARGE. */
static gpointer
alloc (GemmclType type, gsize rows, gsize cols, gsize *n_bytes, GError **error)
{
  gpointer data =
      gemmcl_matrix_get_n_bytes (type, rows, cols, n_bytes) ? g_try_malloc (*n_bytes) : NULL;

  if (data == NULL)
    gemmcl_fail (error, GEMMCL_ERROR_TOO_LARGE,
                 "There is not enough memory for a matrix of %zu x %zu %s.", rows, cols,
                 types[type].name);
  return data;
}

GemmclMatrix *
gemmcl_matrix_new (GemmclType type, gsize rows, gsize cols, gconstpointer data, GError **error)
{
  gsize n_bytes;
  gpointer copy;

  if (!is_type (type)) {
    gemmcl_fail (error, GEMMCL_ERROR_INVALID, "Expected an element type below %d, found %d.",
                 GEMMCL_N_TYPES, (int)type);
    return NULL;
  }
  if (rows == 0 || cols == 0 || data == NULL) {
    gemmcl_fail (error, GEMMCL_ERROR_INVALID,
                 "Expected a matrix of at least 1 x 1, found %zu x %zu%s.", rows, cols,
                 data != NULL ? "" : " and no data");
    return NULL;
  }
  copy = alloc (type, rows, cols, &n_bytes, error);
  if (copy == NULL)
    return NULL;
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

GBytes *
gemmcl_matrix_get_bytes (const GemmclMatrix *self)
{
  return self->bytes;
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

guint32
gemmcl_f32_get_bits (gdouble number)
{
  const gfloat value = (gfloat)number;
  guint32 bits;

  memcpy (&bits, &value, sizeof bits);
  return bits;
}

gfloat
gemmcl_type_load_f32 (GemmclType type, gconstpointer data, gsize index)
{
  gfloat value;

  types[type].convert ((const guint8 *)data + index * gemmcl_type_get_size (type), &value, 1);
  return value;
}

/* Converts src, outer runs of inner elements, to dst, inner runs of outer elements. Works in tiles,
 * so that both sides are accessed in whole cache lines. A plain loop would touch a new line of one
 * side with each element, and in large matrices a new page. */
static void
convert_transposed (Convert convert, gsize size, const guint8 *src, gfloat *dst, gsize outer,
                    gsize inner)
{
  enum { TILE = 32 };
  gfloat tile[TILE][TILE];

  for (gsize o = 0; o < outer; o += TILE) {
    gsize n_outer = MIN (TILE, outer - o);

    for (gsize i = 0; i < inner; i += TILE) {
      gsize n_inner = MIN (TILE, inner - i);

      for (gsize x = 0; x < n_outer; x++)
        convert (src + ((o + x) * inner + i) * size, tile[x], n_inner);
      for (gsize y = 0; y < n_inner; y++)
        for (gsize x = 0; x < n_outer; x++)
          dst[(i + y) * outer + o + x] = tile[x][y];
    }
  }
}

/* Replaces @values, the quantized elements of @self as floats, by the elements that they represent.
 * @transposed: rows and columns of @values are swapped */
static void
dequantize (const GemmclMatrix *self, gfloat *values, gboolean transposed)
{
  const GemmclMatrix *scales = self->scales, *zeros = self->zero_points;
  const gsize by_row = scales->rows > 1, by_col = scales->cols > 1;
  const gfloat *scale = (const gfloat *)(gconstpointer)scales->data;
  const gfloat *zero = zeros != NULL ? (const gfloat *)(gconstpointer)zeros->data : NULL;

  for (gsize i = 0; i < self->rows; i++)
    for (gsize j = 0; j < self->cols; j++) {
      gfloat *value = values + (transposed ? j * self->rows + i : i * self->cols + j);
      const gsize at = i * by_row + j * by_col;

      *value = scale[at] * (*value - (zero != NULL ? zero[at] : 0));
    }
}

GemmclMatrix *
gemmcl_matrix_to_f32 (GemmclMatrix *self, gboolean transpose, GError **error)
{
  const Convert convert = types[self->type].convert;
  const gsize rows = transpose ? self->cols : self->rows;
  const gsize cols = transpose ? self->rows : self->cols;
  gsize n_bytes;
  gfloat *dst;

  if (!transpose && !self->column_major && self->type == GEMMCL_TYPE_F32)
    return gemmcl_matrix_ref (self);
  dst = alloc (GEMMCL_TYPE_F32, rows, cols, &n_bytes, error);
  if (dst == NULL)
    return NULL;
  /* The transpose of a column-major matrix has the same memory layout as the row-major matrix. */
  if (rows == 1 || cols == 1 || (!transpose) == (!self->column_major))
    convert (self->data, dst, rows * cols);
  else
    convert_transposed (convert, types[self->type].size, self->data, dst, cols, rows);
  if (self->scales != NULL)
    dequantize (self, dst, transpose);
  return gemmcl_matrix_new_take (GEMMCL_TYPE_F32, rows, cols, FALSE,
                                 g_bytes_new_take (dst, n_bytes));
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
