/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "elements.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* A 16-bit float: bits of the significand, with the hidden one, and the range of exponents. */
typedef struct {
  gint significand, lowest, highest;
} Small;

static const Small half = {11, -14, 15};
static const Small bfloat = {8, -126, 127};

static guint16
small_from_double (const Small *type, gdouble value)
{
  const gint fraction = type->significand - 1;
  const guint16 sign = signbit (value) ? 0x8000 : 0;
  const guint16 infinity = (guint16)((type->highest - type->lowest + 2) << fraction);
  gint exponent;
  gdouble steps;

  if (isnan (value))
    return sign | infinity | 1 << (fraction - 1);
  if (isinf (value))
    return sign | infinity;
  if (value == 0)
    return sign;
  (void)frexp (value, &exponent);
  exponent = MAX (exponent - 1, type->lowest);
  steps = nearbyint (ldexp (fabs (value), fraction - exponent));
  /* Adding makes the hidden bit, and a carry out of the fraction, raise the exponent by one. */
  steps += ldexp (exponent - type->lowest, fraction);
  return sign | (guint16)MIN (steps, (gdouble)infinity);
}

static gdouble
small_to_double (const Small *type, guint16 bits)
{
  const gint fraction = type->significand - 1;
  const gint exponent = (bits & 0x7fff) >> fraction;
  const gint significand = bits & ((1 << fraction) - 1);
  const gdouble sign = bits & 0x8000 ? -1 : 1;

  if (exponent == type->highest - type->lowest + 2)
    return significand ? NAN : sign * INFINITY;
  if (exponent == 0)
    return sign * ldexp (significand, type->lowest - fraction);
  return sign * ldexp (significand | 1 << fraction, exponent - 1 + type->lowest - fraction);
}

#define EACH_PLAIN_TYPE(CASE)                                                                      \
  CASE (GEMMCL_TYPE_F32, gfloat)                                                                   \
  CASE (GEMMCL_TYPE_F64, gdouble)                                                                  \
  CASE (GEMMCL_TYPE_I8, gint8)                                                                     \
  CASE (GEMMCL_TYPE_U8, guint8)                                                                    \
  CASE (GEMMCL_TYPE_I16, gint16)                                                                   \
  CASE (GEMMCL_TYPE_U16, guint16)                                                                  \
  CASE (GEMMCL_TYPE_I32, gint32)                                                                   \
  CASE (GEMMCL_TYPE_U32, guint32)                                                                  \
  CASE (GEMMCL_TYPE_I64, gint64)                                                                   \
  CASE (GEMMCL_TYPE_U64, guint64)

gdouble
element_get (GemmclType type, gconstpointer data, gsize index)
{
  switch (type) {
#define CASE(name, T)                                                                              \
  case name:                                                                                       \
    return ((const T *)data)[index];
    EACH_PLAIN_TYPE (CASE)
#undef CASE
  default:
    return small_to_double (type == GEMMCL_TYPE_F16 ? &half : &bfloat,
                            ((const guint16 *)data)[index]);
  }
}

void
element_set (GemmclType type, gpointer data, gsize index, gdouble value)
{
  switch (type) {
#define CASE(name, T)                                                                              \
  case name:                                                                                       \
    ((T *)data)[index] = (T)value;                                                                 \
    return;
    EACH_PLAIN_TYPE (CASE)
#undef CASE
  default:
    ((guint16 *)data)[index] = small_from_double (type == GEMMCL_TYPE_F16 ? &half : &bfloat, value);
  }
}

gboolean
element_is_integer (GemmclType type)
{
  return type >= GEMMCL_TYPE_I8;
}

void
element_get_range (GemmclType type, gdouble *low, gdouble *high)
{
  const gboolean is_signed = type == GEMMCL_TYPE_I8 || type == GEMMCL_TYPE_I16 ||
                             type == GEMMCL_TYPE_I32 || type == GEMMCL_TYPE_I64;
  const gint bits = 8 * (gint)gemmcl_type_get_size (type);

  *low = is_signed ? -ldexp (1, bits - 1) : 0;
  *high = ldexp (1, is_signed ? bits - 1 : bits) - 1;
}

static gboolean
is_near_integer (GemmclType type, gdouble expected, gdouble off, gdouble found)
{
  gdouble low, high;

  element_get_range (type, &low, &high);
  if (isnan (expected))
    return found == 0;
  return fabs (found - CLAMP (expected, low, high)) <= 0.5 + off;
}

gboolean
element_is_near (GemmclType type, gdouble expected, gdouble off, gdouble found)
{
  static const gdouble rounding[] = {
      [GEMMCL_TYPE_F32] = 0x1p-24,
      [GEMMCL_TYPE_F64] = 0x1p-24,
      [GEMMCL_TYPE_F16] = 0x1p-11,
      [GEMMCL_TYPE_BF16] = 0x1p-8,
  };
  const gdouble largest = type == GEMMCL_TYPE_F16 ? 65504 : FLT_MAX;
  const gdouble smallest = type == GEMMCL_TYPE_F16 ? 0x1p-25 : FLT_MIN;

  if (element_is_integer (type))
    return is_near_integer (type, expected, off, found);
  if (isnan (expected) || isnan (found))
    return isnan (expected) && isnan (found);
  if (isinf (found))
    return !signbit (found) == !signbit (expected) && fabs (expected) + off >= largest;
  return fabs (found - expected) <= off + rounding[type] * (fabs (expected) + off) + smallest;
}

gdouble
element_round (GemmclType type, gdouble x)
{
  guint16 bits;

  element_set (type, &bits, 0, x);
  return element_get (type, &bits, 0);
}

gdouble
element_round_tf32 (gdouble x)
{
  int exponent;
  const gdouble fraction = frexp (x, &exponent);

  return isfinite (x) ? ldexp (nearbyint (ldexp (fraction, 11)), exponent - 11) : x;
}
