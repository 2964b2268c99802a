/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Quantized matrices: checking the parts of one, and quantizing a matrix to int8. */

#include <float.h>
#include <math.h>

#include "matrix/matrix.h"

#define STEPS 127 /* quantized elements are -127 to 127, a symmetric range */

static gboolean
has_shape (const GemmclMatrix *self, gsize rows, gsize cols)
{
  return gemmcl_matrix_get_rows (self) == rows && gemmcl_matrix_get_cols (self) == cols;
}

static gboolean
check_shapes (const GemmclMatrix *bytes, const GemmclMatrix *scales, const GemmclMatrix *zeros,
              GError **error)
{
  const gsize rows = gemmcl_matrix_get_rows (bytes), cols = gemmcl_matrix_get_cols (bytes);

  if (!has_shape (scales, 1, 1) && !has_shape (scales, 1, cols) && !has_shape (scales, rows, 1))
    return gemmcl_fail (error, GEMMCL_ERROR_SHAPE,
                        "A matrix of %zu x %zu bytes has scales of 1 x 1, "
                        "of 1 x %zu for its columns or of %zu x 1 for its rows, not of %zu x %zu.",
                        rows, cols, cols, rows, gemmcl_matrix_get_rows (scales),
                        gemmcl_matrix_get_cols (scales));
  if (zeros != NULL &&
      !has_shape (zeros, gemmcl_matrix_get_rows (scales), gemmcl_matrix_get_cols (scales)))
    return gemmcl_fail (error, GEMMCL_ERROR_SHAPE,
                        "There must be as many zero points as scales, %zu x %zu, not %zu x %zu.",
                        gemmcl_matrix_get_rows (scales), gemmcl_matrix_get_cols (scales),
                        gemmcl_matrix_get_rows (zeros), gemmcl_matrix_get_cols (zeros));
  return TRUE;
}

static gboolean
check_values (GemmclType type, const GemmclMatrix *scales, const GemmclMatrix *zeros,
              GError **error)
{
  const gsize n = gemmcl_matrix_get_rows (scales) * gemmcl_matrix_get_cols (scales);
  const gfloat *scale = gemmcl_matrix_get_data (scales);
  const gfloat *zero = zeros != NULL ? gemmcl_matrix_get_data (zeros) : NULL;
  const gint low = type == GEMMCL_TYPE_I8 ? G_MININT8 : 0;
  const gint high = type == GEMMCL_TYPE_I8 ? G_MAXINT8 : G_MAXUINT8;

  for (gsize i = 0; i < n; i++) {
    if (!isfinite (scale[i]) || scale[i] < 0)
      return gemmcl_fail (error, GEMMCL_ERROR_INVALID,
                          "Expected scales that are finite and not below 0, found %g.", scale[i]);
    if (zero != NULL && !(zero[i] >= low && zero[i] <= high && zero[i] == rintf (zero[i])))
      return gemmcl_fail (error, GEMMCL_ERROR_INVALID,
                          "Expected zero points that are integers from %d to %d, found %g.", low,
                          high, zero[i]);
  }
  return TRUE;
}

GemmclMatrix *
gemmcl_matrix_new_quantized (GemmclMatrix *bytes, GemmclMatrix *scales, GemmclMatrix *zero_points,
                             GError **error)
{
  const GemmclType type = gemmcl_matrix_get_element_type (bytes);
  g_autoptr (GemmclMatrix) own_scales = NULL, own_zeros = NULL;

  g_return_val_if_fail (scales != NULL, NULL);

  if (type != GEMMCL_TYPE_I8 && type != GEMMCL_TYPE_U8) {
    gemmcl_fail (error, GEMMCL_ERROR_INVALID, "Expected i8 or u8 for the scales, found %s.",
                 gemmcl_type_get_name (type));
    return NULL;
  }
  own_scales = gemmcl_matrix_to_f32 (scales, FALSE, error);
  if (own_scales == NULL)
    return NULL;
  own_zeros = zero_points != NULL ? gemmcl_matrix_to_f32 (zero_points, FALSE, error) : NULL;
  if ((zero_points != NULL && own_zeros == NULL) ||
      !check_shapes (bytes, own_scales, own_zeros, error) ||
      !check_values (type, own_scales, own_zeros, error))
    return NULL;
  return gemmcl_matrix_new_scaled (bytes, own_scales, own_zeros);
}

/* The scale of each of @n rows or columns; the elements of row or column i are i * @step + k *
 * @next, k < @length. */
static gboolean
find_scales (const gfloat *values, gsize n, gsize step, gsize length, gsize next, gfloat *scales,
             GError **error)
{
  for (gsize i = 0; i < n; i++) {
    gfloat highest = 0;

    for (gsize k = 0; k < length; k++) {
      const gfloat value = values[i * step + k * next];

      if (!isfinite (value))
        return gemmcl_fail (error, GEMMCL_ERROR_INVALID,
                            "Expected finite elements to quantize to int8, "
                            "found one that is %s in row or column %zu.",
                            isnan (value) ? "NaN" : "infinite", i);
      highest = MAX (highest, fabsf (value));
    }
    /* A device may flush smaller scales to 0. */
    scales[i] = highest / STEPS < FLT_MIN ? 0 : highest / STEPS;
  }
  return TRUE;
}

static void
make_bytes (const gfloat *values, gsize rows, gsize cols, gboolean by_row, const gfloat *scales,
            gint8 *bytes, GemmclQuantization *done)
{
  gdouble squares = 0;

  *done = (GemmclQuantization){0};
  for (gsize i = 0; i < rows; i++)
    for (gsize j = 0; j < cols; j++) {
      const gfloat value = values[i * cols + j], scale = scales[by_row ? i : j];
      const gfloat byte = scale > 0 ? CLAMP (rintf (value / scale), -STEPS, STEPS) : 0;
      const gdouble off = fabs ((gdouble)scale * byte - value);

      bytes[i * cols + j] = byte;
      done->largest = MAX (done->largest, fabs (value));
      done->max_error = MAX (done->max_error, off);
      squares += off * off;
    }
  done->rms_error = sqrt (squares / rows / cols);
}

GemmclMatrix *
gemmcl_matrix_quantize (GemmclMatrix *self, gboolean by_row, GemmclQuantization *done,
                        GError **error)
{
  const gsize rows = gemmcl_matrix_get_rows (self), cols = gemmcl_matrix_get_cols (self);
  const gsize n = by_row ? rows : cols;
  g_autoptr (GemmclMatrix) floats = gemmcl_matrix_to_f32 (self, FALSE, error);
  g_autoptr (GemmclMatrix) bytes = NULL, scales = NULL;
  g_autofree gfloat *scale = NULL;
  g_autofree gint8 *byte = NULL;
  GemmclQuantization own;

  if (floats == NULL)
    return NULL;
  scale = g_try_new (gfloat, n);
  byte = g_try_malloc (rows * cols);
  if (scale == NULL || byte == NULL) {
    gemmcl_fail (error, GEMMCL_ERROR_TOO_LARGE,
                 "There is not enough memory for a matrix of %zu x %zu i8.", rows, cols);
    return NULL;
  }
  if (!find_scales (gemmcl_matrix_get_data (floats), n, by_row ? cols : 1, by_row ? cols : rows,
                    by_row ? 1 : cols, scale, error))
    return NULL;
  make_bytes (gemmcl_matrix_get_data (floats), rows, cols, by_row, scale, byte,
              done != NULL ? done : &own);
  bytes = gemmcl_matrix_new (GEMMCL_TYPE_I8, rows, cols, byte, error);
  scales = gemmcl_matrix_new (GEMMCL_TYPE_F32, by_row ? n : 1, by_row ? 1 : n, scale, error);
  return bytes != NULL && scales != NULL ? gemmcl_matrix_new_scaled (bytes, scales, NULL) : NULL;
}
