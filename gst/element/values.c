/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "element/properties.h"

#include "memory/error.h"

GemmclMatrix *
gst_gemmcl_matrix_from_array (const GValue *array, gboolean is_vector, GError **error)
{
  g_autoptr (GArray) numbers = g_array_new (FALSE, FALSE, sizeof (gdouble));
  const guint size = gst_value_array_get_size (array), rows = is_vector ? 1 : size;
  guint cols = 0;

  if (size == 0)
    return NULL;
  for (guint i = 0; i < rows; i++) {
    const GValue *row = is_vector ? array : gst_value_array_get_value (array, i);
    const guint n = gst_value_array_get_size (row);

    cols = i == 0 ? n : cols;
    if (n == 0 || n != cols) {
      gst_gemmcl_fail (error, GEMMCL_ERROR_SHAPE,
                       "Row %u of the array, from 0, has %u numbers. Expected as many in each row, "
                       "and at least one.",
                       i, n);
      return NULL;
    }
    for (guint j = 0; j < n; j++) {
      const gdouble number = g_value_get_double (gst_value_array_get_value (row, j));

      g_array_append_val (numbers, number);
    }
  }
  return gemmcl_matrix_new (GEMMCL_TYPE_F64, rows, cols, numbers->data, error);
}

static void
append_numbers (GValue *array, const GemmclMatrix *matrix, gsize first, gsize n)
{
  const gboolean is_double = matrix->type == GEMMCL_TYPE_F64;
  gconstpointer data = matrix->data;

  for (gsize i = first; i < first + n; i++) {
    GValue number = G_VALUE_INIT;

    g_value_init (&number, G_TYPE_DOUBLE);
    g_value_set_double (&number,
                        is_double ? ((const gdouble *)data)[i] : ((const gfloat *)data)[i]);
    gst_value_array_append_and_take_value (array, &number);
  }
}

void
gst_gemmcl_matrix_to_array (GemmclMatrix *matrix, gboolean is_vector, GValue *array)
{
  g_autoptr (GemmclMatrix) plain = NULL;
  gsize rows, cols;

  if (!matrix)
    return;
  if (matrix->type == GEMMCL_TYPE_F64 && !matrix->column_major)
    plain = gemmcl_matrix_ref (matrix);
  else if (!(plain = gemmcl_matrix_to_f32 (matrix, FALSE, NULL)))
    return;
  rows = plain->rows;
  cols = plain->cols;
  if (is_vector) {
    append_numbers (array, plain, 0, rows * cols);
    return;
  }
  for (gsize i = 0; i < rows; i++) {
    GValue row = G_VALUE_INIT;

    gst_value_array_init (&row, cols);
    append_numbers (&row, plain, i * cols, cols);
    gst_value_array_append_and_take_value (array, &row);
  }
}
