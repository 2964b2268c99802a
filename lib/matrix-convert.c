/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Any type and order to row-major f32. */

#include <string.h>

#include "matrix-private.h"

/* Converts n elements that lie together, at any alignment. */
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

  /* Denormals are multiples of 2^-24, which f32 has as normal numbers. */
  if (exponent == 0)
    return sign != 0 ? -(gfloat)fraction * 0x1p-24f : (gfloat)fraction * 0x1p-24f;
  /* The exponent's bias is 15 there and 127 here; the largest stands for inf and NaN in both. */
  exponent = exponent == 0x1f ? 0xff : exponent + 112;
  return float_from_bits (sign | exponent << 23 | fraction << 13);
}

static gfloat
float_from_bf16 (guint16 half)
{
  return float_from_bits ((guint32)half << 16);
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

static void
convert_f32 (const guint8 *src, gfloat *dst, gsize n)
{
  memcpy (dst, src, n * sizeof *dst);
}

DEFINE_CONVERT (f64, gdouble, (gfloat)value)
DEFINE_CONVERT (f16, guint16, float_from_f16 (value))
DEFINE_CONVERT (bf16, guint16, float_from_bf16 (value))
DEFINE_CONVERT (i8, gint8, (gfloat)value)
DEFINE_CONVERT (u8, guint8, (gfloat)value)
DEFINE_CONVERT (i16, gint16, (gfloat)value)
DEFINE_CONVERT (u16, guint16, (gfloat)value)
DEFINE_CONVERT (i32, gint32, (gfloat)value)
DEFINE_CONVERT (u32, guint32, (gfloat)value)
DEFINE_CONVERT (i64, gint64, (gfloat)value)
DEFINE_CONVERT (u64, guint64, (gfloat)value)

static const Convert converts[] = {
    [GEMMCL_TYPE_F32] = convert_f32, [GEMMCL_TYPE_F64] = convert_f64,
    [GEMMCL_TYPE_F16] = convert_f16, [GEMMCL_TYPE_BF16] = convert_bf16,
    [GEMMCL_TYPE_I8] = convert_i8,   [GEMMCL_TYPE_U8] = convert_u8,
    [GEMMCL_TYPE_I16] = convert_i16, [GEMMCL_TYPE_U16] = convert_u16,
    [GEMMCL_TYPE_I32] = convert_i32, [GEMMCL_TYPE_U32] = convert_u32,
    [GEMMCL_TYPE_I64] = convert_i64, [GEMMCL_TYPE_U64] = convert_u64,
};

G_STATIC_ASSERT (G_N_ELEMENTS (converts) == GEMMCL_N_TYPES);

gfloat
gemmcl_type_load_f32 (GemmclType type, gconstpointer data, gsize index)
{
  gfloat value;

  converts[type]((const guint8 *)data + index * gemmcl_type_get_size (type), &value, 1);
  return value;
}

/* src is outer runs of inner elements, dst inner runs of outer ones. Tile by tile, so that both
 * are read and written in whole cache lines; a plain loop would touch a new line, and for large
 * matrices a new page, with each element of one of them. */
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

GemmclMatrix *
gemmcl_matrix_to_f32 (GemmclMatrix *self, gboolean transpose, GError **error)
{
  GemmclType type = gemmcl_matrix_get_element_type (self);
  gboolean column_major = gemmcl_matrix_is_column_major (self);
  const guint8 *src = gemmcl_matrix_get_data (self);
  gsize rows = transpose ? gemmcl_matrix_get_cols (self) : gemmcl_matrix_get_rows (self);
  gsize cols = transpose ? gemmcl_matrix_get_rows (self) : gemmcl_matrix_get_cols (self);
  gboolean vector = rows == 1 || cols == 1;
  gsize n_bytes;
  gfloat *dst;

  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  if (!transpose && !column_major && type == GEMMCL_TYPE_F32)
    return gemmcl_matrix_ref (self);

  dst = gemmcl_matrix_get_n_bytes (GEMMCL_TYPE_F32, rows, cols, &n_bytes) ? g_try_malloc (n_bytes)
                                                                          : NULL;
  if (dst == NULL) {
    g_set_error (error, GEMMCL_ERROR, GEMMCL_ERROR_TOO_LARGE,
                 "There is not enough memory for a matrix of %" G_GSIZE_FORMAT " x %" G_GSIZE_FORMAT
                 " f32.",
                 rows, cols);
    return NULL;
  }

  /* The transpose of a column-major matrix lies in memory as its row-major self does. */
  if (vector || (!transpose) == (!column_major))
    converts[type](src, dst, rows * cols);
  else
    convert_transposed (converts[type], gemmcl_type_get_size (type), src, dst, cols, rows);
  gemmcl_matrix_dequantize (self, dst, transpose);
  return gemmcl_matrix_new_take (GEMMCL_TYPE_F32, rows, cols, FALSE,
                                 g_bytes_new_take (dst, n_bytes));
}
