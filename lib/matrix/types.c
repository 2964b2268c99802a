/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The element types: one table of their names, numbers and conversions. kernels/shared/types.clh
 * has their loads and stores on the device.
 */
#include <string.h>

#include "matrix/matrix.h"

G_STATIC_ASSERT (G_BYTE_ORDER == G_LITTLE_ENDIAN);

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

/* ROW (ID, name, NumPy's name, name in caps, ONNX's TensorProto.DataType, bits of the fraction or 0
 * for integers, type in C, value as a float). ID is safetensors' name. NumPy has no bf16: "|V2" is
 * two untyped bytes. */
#define TYPES(ROW)                                                                                 \
  ROW (F32, "f32", "<f4", "float32", 1, 23, gfloat, value)                                         \
  ROW (F64, "f64", "<f8", "float64", 11, 52, gdouble, (gfloat)value)                               \
  ROW (F16, "f16", "<f2", "float16", 10, 10, guint16, float_from_f16 (value))                      \
  ROW (BF16, "bf16", "|V2", NULL, 16, 7, guint16, float_from_bits ((guint32)value << 16))          \
  ROW (I8, "i8", "|i1", "int8", 3, 0, gint8, (gfloat)value)                                        \
  ROW (U8, "u8", "|u1", "uint8", 2, 0, guint8, (gfloat)value)                                      \
  ROW (I16, "i16", "<i2", "int16", 5, 0, gint16, (gfloat)value)                                    \
  ROW (U16, "u16", "<u2", "uint16", 4, 0, guint16, (gfloat)value)                                  \
  ROW (I32, "i32", "<i4", "int32", 6, 0, gint32, (gfloat)value)                                    \
  ROW (U32, "u32", "<u4", "uint32", 12, 0, guint32, (gfloat)value)                                 \
  ROW (I64, "i64", "<i8", "int64", 7, 0, gint64, (gfloat)value)                                    \
  ROW (U64, "u64", "<u8", "uint64", 13, 0, guint64, (gfloat)value)

#define DEFINE_CONVERT(ID, name, descr, caps_name, onnx, fraction, Type, expression)               \
  static void convert_##ID (const guint8 *src, gfloat *dst, gsize n)                               \
  {                                                                                                \
    for (gsize i = 0; i < n; i++) {                                                                \
      Type value;                                                                                  \
                                                                                                   \
      memcpy (&value, src + i * sizeof value, sizeof value);                                       \
      dst[i] = expression;                                                                         \
    }                                                                                              \
  }
TYPES (DEFINE_CONVERT)

static const struct {
  const gchar *name, *descr, *caps_name, *dtype;
  gint onnx;
  guint fraction;
  gsize size;
  void (*convert) (const guint8 *src, gfloat *dst, gsize n);
} types[GEMMCL_N_TYPES] = {
#define ROW(ID, name, descr, caps_name, onnx, fraction, Type, expression)                          \
  [GEMMCL_TYPE_##ID] = {name, descr, caps_name, #ID, onnx, fraction, sizeof (Type), convert_##ID},
    TYPES (ROW)
#undef ROW
};

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
gemmcl_type_get_caps_name (GemmclType type)
{
  g_return_val_if_fail (is_type (type), NULL);
  return types[type].caps_name;
}

const gchar *
gemmcl_type_get_descr (GemmclType type)
{
  return types[type].descr;
}

const gchar *
gemmcl_type_get_dtype (GemmclType type)
{
  return types[type].dtype;
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
gemmcl_type_from_onnx (gint number, GemmclType *type)
{
  for (*type = 0; *type < GEMMCL_N_TYPES; (*type)++)
    if (types[*type].onnx == number)
      return TRUE;
  return FALSE;
}

gchar *
gemmcl_type_list (const gchar *(*get_name) (GemmclType))
{
  GString *list = g_string_new (get_name (0));

  for (guint i = 1; i < GEMMCL_N_TYPES; i++)
    g_string_append_printf (list, ", %s", get_name (i));
  return g_string_free (list, FALSE);
}

guint
gemmcl_type_get_fraction (GemmclType type)
{
  return types[type].fraction;
}

guint32
gemmcl_f32_get_bits (gdouble number)
{
  const gfloat value = (gfloat)number;
  guint32 bits;

  memcpy (&bits, &value, sizeof bits);
  return bits;
}

void
gemmcl_type_convert (GemmclType type, gconstpointer src, gfloat *dst, gsize n)
{
  types[type].convert (src, dst, n);
}

gfloat
gemmcl_type_load_f32 (GemmclType type, gconstpointer data, gsize index)
{
  gfloat value;

  gemmcl_type_convert (type, (const guint8 *)data + index * types[type].size, &value, 1);
  return value;
}
