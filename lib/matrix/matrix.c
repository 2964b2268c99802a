/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The matrix: the reference-counted object, conversion to row-major f32, and quantization to int8.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "matrix/matrix.h"

#define STEPS 127 /* quantized elements are -127 to 127, a symmetric range */

G_DEFINE_BOXED_TYPE (GemmclMatrix, gemmcl_matrix, gemmcl_matrix_ref, gemmcl_matrix_unref)

gboolean
gemmcl_matrix_get_n_bytes (GemmclType type, gsize rows, gsize cols, gsize *n_bytes)
{
  gsize n;

  /* No C object may be larger: pointers into it could not be subtracted. */
  return g_size_checked_mul (&n, rows, cols) &&
         g_size_checked_mul (n_bytes, n, gemmcl_type_get_size (type)) && *n_bytes <= G_MAXSSIZE;
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

/* A row-major matrix, whose elements the caller sets at *@data; NULL with
 * GEMMCL_ERROR_TOO_LARGE. */
static GemmclMatrix *
new_unset (GemmclType type, gsize rows, gsize cols, gpointer *data, GError **error)
{
  gsize n_bytes;

  *data = gemmcl_matrix_get_n_bytes (type, rows, cols, &n_bytes) ? g_try_malloc (n_bytes) : NULL;
  if (*data != NULL)
    return gemmcl_matrix_new_take (type, rows, cols, FALSE, g_bytes_new_take (*data, n_bytes));
  return FAIL_NULL (error, GEMMCL_ERROR_TOO_LARGE,
                    "There is not enough memory for a matrix of %zu x %zu %s.", rows, cols,
                    gemmcl_type_get_name (type));
}

GemmclMatrix *
gemmcl_matrix_new (GemmclType type, gsize rows, gsize cols, gconstpointer data, GError **error)
{
  GemmclMatrix *self;
  gpointer copy;

  if ((guint)type >= GEMMCL_N_TYPES)
    return FAIL_NULL (error, GEMMCL_ERROR_INVALID, "Expected an element type below %d, found %d.",
                      GEMMCL_N_TYPES, (int)type);
  if (rows == 0 || cols == 0 || data == NULL)
    return FAIL_NULL (error, GEMMCL_ERROR_INVALID,
                      "Expected a matrix of at least 1 x 1, found %zu x %zu%s.", rows, cols,
                      data != NULL ? "" : " and no data");
  self = new_unset (type, rows, cols, &copy, error);
  if (self != NULL)
    memcpy (copy, data, rows * cols * gemmcl_type_get_size (type));
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

/* Converts src, outer x inner elements, to dst, the transpose. Works in tiles, so that both sides
 * are accessed in whole cache lines. A plain loop would touch a new line of one side with each
 * element, and in large matrices a new page. */
static void
convert_transposed (GemmclType type, const guint8 *src, gfloat *dst, gsize outer, gsize inner)
{
  enum { TILE = 32 };
  const gsize size = gemmcl_type_get_size (type);
  gfloat tile[TILE][TILE];

  for (gsize o = 0; o < outer; o += TILE) {
    gsize n_outer = MIN (TILE, outer - o);

    for (gsize i = 0; i < inner; i += TILE) {
      gsize n_inner = MIN (TILE, inner - i);

      for (gsize x = 0; x < n_outer; x++)
        gemmcl_type_convert (type, src + ((o + x) * inner + i) * size, tile[x], n_inner);
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
  const gfloat *scale = scales->data;
  const gfloat *zero = zeros != NULL ? zeros->data : NULL;

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
  const gsize rows = transpose ? self->cols : self->rows;
  const gsize cols = transpose ? self->rows : self->cols;
  GemmclMatrix *floats;
  gpointer dst;

  if (!transpose && !self->column_major && self->type == GEMMCL_TYPE_F32)
    return gemmcl_matrix_ref (self);
  floats = new_unset (GEMMCL_TYPE_F32, rows, cols, &dst, error);
  if (floats == NULL)
    return NULL;
  /* The transpose of a column-major matrix has the same memory layout as the row-major matrix. */
  if (rows == 1 || cols == 1 || (!transpose) == (!self->column_major))
    gemmcl_type_convert (self->type, self->data, dst, rows * cols);
  else
    convert_transposed (self->type, self->data, dst, cols, rows);
  if (self->scales != NULL)
    dequantize (self, dst, transpose);
  return floats;
}

static gboolean
has_shape (const GemmclMatrix *self, gsize rows, gsize cols)
{
  return self->rows == rows && self->cols == cols;
}

static gboolean
check_shapes (const GemmclMatrix *elements, const GemmclMatrix *scales, const GemmclMatrix *zeros,
              GError **error)
{
  const gsize rows = elements->rows, cols = elements->cols;

  if (!has_shape (scales, 1, 1) && !has_shape (scales, 1, cols) && !has_shape (scales, rows, 1))
    return gemmcl_fail (error, GEMMCL_ERROR_SHAPE,
                        "Expected scales of 1 x 1, 1 x %zu (per column) or %zu x 1 (per row) for a "
                        "quantized matrix of %zu x %zu, found %zu x %zu.",
                        cols, rows, rows, cols, scales->rows, scales->cols);
  if (zeros != NULL && !has_shape (zeros, scales->rows, scales->cols))
    return gemmcl_fail (error, GEMMCL_ERROR_SHAPE,
                        "There must be as many zero points as scales, %zu x %zu, not %zu x %zu.",
                        scales->rows, scales->cols, zeros->rows, zeros->cols);
  return TRUE;
}

static gboolean
check_values (GemmclType type, const GemmclMatrix *scales, const GemmclMatrix *zeros,
              GError **error)
{
  const gsize n = scales->rows * scales->cols;
  const gfloat *scale = scales->data;
  const gfloat *zero = zeros != NULL ? zeros->data : NULL;
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
gemmcl_matrix_new_quantized (GemmclMatrix *elements, GemmclMatrix *scales,
                             GemmclMatrix *zero_points, GError **error)
{
  g_autoptr (GemmclMatrix) own_scales = NULL, own_zeros = NULL;
  GemmclMatrix *self;

  g_return_val_if_fail (scales != NULL, NULL);

  if (elements->type != GEMMCL_TYPE_I8 && elements->type != GEMMCL_TYPE_U8)
    return FAIL_NULL (error, GEMMCL_ERROR_INVALID,
                      "Expected quantized elements of i8 or u8, found %s.",
                      gemmcl_type_get_name (elements->type));
  own_scales = gemmcl_matrix_to_f32 (scales, FALSE, error);
  if (own_scales == NULL)
    return NULL;
  own_zeros = zero_points != NULL ? gemmcl_matrix_to_f32 (zero_points, FALSE, error) : NULL;
  if ((zero_points != NULL && own_zeros == NULL) ||
      !check_shapes (elements, own_scales, own_zeros, error) ||
      !check_values (elements->type, own_scales, own_zeros, error))
    return NULL;
  self = gemmcl_matrix_new_take (elements->type, elements->rows, elements->cols,
                                 elements->column_major, g_bytes_ref (elements->bytes));
  self->scales = g_steal_pointer (&own_scales);
  self->zero_points = g_steal_pointer (&own_zeros);
  return self;
}

/* Sets the scale of each row, or column. */
static gboolean
find_scales (const GemmclMatrix *floats, gboolean by_row, gfloat *scales, GError **error)
{
  const gfloat *values = floats->data;
  const gsize n = by_row ? floats->rows : floats->cols;

  memset (scales, 0, n * sizeof *scales);
  for (gsize i = 0; i < floats->rows; i++)
    for (gsize j = 0; j < floats->cols; j++) {
      const gfloat value = values[i * floats->cols + j];
      gfloat *highest = &scales[by_row ? i : j];

      if (!isfinite (value))
        return gemmcl_fail (error, GEMMCL_ERROR_INVALID,
                            "Expected finite elements to quantize to int8, "
                            "found one that is %s in row %zu, column %zu.",
                            isnan (value) ? "NaN" : "infinite", i + 1, j + 1);
      *highest = MAX (*highest, fabsf (value));
    }
  /* A device may flush smaller scales to 0. */
  for (gsize i = 0; i < n; i++)
    scales[i] = scales[i] / STEPS < FLT_MIN ? 0 : scales[i] / STEPS;
  return TRUE;
}

static void
make_elements (const GemmclMatrix *floats, gboolean by_row, const gfloat *scales, gint8 *elements,
               GemmclQuantization *done)
{
  const gfloat *values = floats->data;
  const gsize rows = floats->rows, cols = floats->cols;
  gdouble squares = 0;

  *done = (GemmclQuantization){0};
  for (gsize i = 0; i < rows; i++)
    for (gsize j = 0; j < cols; j++) {
      const gfloat value = values[i * cols + j], scale = scales[by_row ? i : j];
      const gfloat q = scale > 0 ? CLAMP (rintf (value / scale), -STEPS, STEPS) : 0;
      const gdouble off = fabs ((gdouble)scale * q - value);

      elements[i * cols + j] = q;
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
  g_autoptr (GemmclMatrix) floats = gemmcl_matrix_to_f32 (self, FALSE, error);
  g_autoptr (GemmclMatrix) quantized = NULL;
  GemmclQuantization own;
  gpointer scales, elements;

  if (floats == NULL)
    return NULL;
  quantized = new_unset (GEMMCL_TYPE_I8, self->rows, self->cols, &elements, error);
  if (quantized == NULL)
    return NULL;
  quantized->scales =
      new_unset (GEMMCL_TYPE_F32, by_row ? self->rows : 1, by_row ? 1 : self->cols, &scales, error);
  if (quantized->scales == NULL || !find_scales (floats, by_row, scales, error))
    return NULL;
  make_elements (floats, by_row, scales, elements, done != NULL ? done : &own);
  return g_steal_pointer (&quantized);
}
