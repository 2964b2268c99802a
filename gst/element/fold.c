/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "element/problem.h"

#include <math.h>

#include "memory/error.h"

/* Appends the finite numbers of @text, which are separated by commas. */
static gboolean
append_numbers (GArray *numbers, const gchar *text)
{
  g_auto (GStrv) parts = g_strsplit (text, ",", -1);

  for (guint i = 0; parts[i]; i++) {
    const gchar *part = g_strstrip (parts[i]);
    gchar *end;
    gdouble number = g_ascii_strtod (part, &end);

    if (end == part || *end || !isfinite (number))
      return FALSE;
    g_array_append_val (numbers, number);
  }
  return numbers->len > 0;
}

/* Returns: (transfer full): the numbers of "0.5" or "<0.5,0.25>". */
static GArray *
parse (const gchar *property, const gchar *text, GError **error)
{
  g_autoptr (GArray) numbers = g_array_new (FALSE, FALSE, sizeof (gdouble));
  g_autofree gchar *copy = g_strstrip (g_strdup (text));
  const gsize length = strlen (copy);
  const gboolean is_list = length >= 2 && copy[0] == '<' && copy[length - 1] == '>';

  if (is_list)
    copy[length - 1] = '\0';
  if (append_numbers (numbers, copy + is_list) && (is_list || numbers->len == 1))
    return g_steal_pointer (&numbers);
  gst_gemmcl_fail (error, GEMMCL_ERROR_FORMAT,
                   "%s=%s cannot be read. Expected a number, such as 0.5, or a list of numbers, "
                   "such as <0.5,0.25,1>.",
                   property, text);
  return NULL;
}

static gdouble
get_number (const GArray *numbers, gsize k)
{
  return g_array_index (numbers, gdouble, k % numbers->len);
}

static gboolean
are_equal (const GArray *numbers)
{
  for (guint i = 1; i < numbers->len; i++)
    if (get_number (numbers, i) != get_number (numbers, 0))
      return FALSE;
  return TRUE;
}

static gboolean
check_length (const gchar *property, const GArray *numbers, gsize k, guint channels, GError **error)
{
  g_autofree gchar *more = NULL;

  if (numbers->len == 1 || numbers->len == k || numbers->len == channels)
    return TRUE;
  more = channels > 0 ? g_strdup_printf (", %u for the channels of a pixel,", channels)
                      : g_strdup ("");
  return gst_gemmcl_fail (error, GEMMCL_ERROR_SHAPE,
                          "%s has %u numbers. Expected one%s or %zu for the K elements of a row.",
                          property, numbers->len, more, k);
}

static gboolean
parse_both (const GstGemmclSettings *settings, GArray **scales, GArray **offsets, GError **error)
{
  return (*scales = parse ("input-scale", settings->input_scale, error)) &&
         (*offsets = parse ("input-offset", settings->input_offset, error));
}

gboolean
gst_gemmcl_problem_set_scaling (GstGemmclProblem *self, const GstGemmclSettings *settings,
                                GError **error)
{
  const guint channels = self->gemm.a_image ? gemmcl_image_get_channels (&self->a_image) : 0;
  g_autoptr (GArray) scales = NULL, offsets = NULL;
  gdouble *scale = &self->gemm.a_scale;

  if (!parse_both (settings, &scales, &offsets, error) ||
      !check_length ("input-scale", scales, self->gemm.k, channels, error) ||
      !check_length ("input-offset", offsets, self->gemm.k, channels, error))
    return FALSE;
  self->folds_scale = !are_equal (scales);
  self->folds_offset =
      !are_equal (offsets) || (self->folds_scale && get_number (offsets, 0) != 0.0);
  *scale = get_number (scales, 0);
  self->gemm.a_shift = self->folds_offset ? 0.0 : get_number (offsets, 0);
  for (guint i = 0; self->folds_scale && i < scales->len; i++)
    *scale = MAX (fabs (*scale), fabs (get_number (scales, i)));
  return TRUE;
}

/* Returns: (transfer full) (nullable): B'. @b is the weight as f32. */
static GemmclMatrix *
fold_weight (const GemmclMatrix *b, gboolean transposed, const GArray *scales, gdouble scale,
             GError **error)
{
  const gsize rows = gemmcl_matrix_get_rows (b), cols = gemmcl_matrix_get_cols (b);
  const gfloat *from = gemmcl_matrix_get_data (b);
  g_autofree gfloat *to = g_try_new (gfloat, rows * cols);

  if (!to) {
    gst_gemmcl_fail (error, GEMMCL_ERROR_TOO_LARGE,
                     "There is no memory for a weight of %zu x %zu times input-scale.", rows, cols);
    return NULL;
  }
  for (gsize i = 0; i < rows; i++)
    for (gsize j = 0; j < cols; j++)
      to[i * cols + j] =
          (gfloat)(from[i * cols + j] * (get_number (scales, transposed ? j : i) / scale));
  return gemmcl_matrix_new (GEMMCL_TYPE_F32, rows, cols, to, error);
}

/* Returns: (transfer full) (nullable): the bias plus b. @b is the weight as f32. */
static GemmclMatrix *
fold_bias (const GemmclMatrix *b, gboolean transposed, const GArray *offsets, GemmclMatrix *bias,
           GError **error)
{
  const gsize rows = gemmcl_matrix_get_rows (b), cols = gemmcl_matrix_get_cols (b);
  const gsize n = transposed ? rows : cols;
  const gfloat *data = gemmcl_matrix_get_data (b);
  g_autoptr (GemmclMatrix) plain = NULL;
  g_autofree gdouble *sums = g_new0 (gdouble, n);

  if (bias && !(plain = gemmcl_matrix_to_f32 (bias, FALSE, error)))
    return NULL;
  for (gsize j = 0; plain && j < n; j++)
    sums[j] = ((const gfloat *)gemmcl_matrix_get_data (plain))[j];
  for (gsize i = 0; i < rows; i++)
    for (gsize j = 0; j < cols; j++)
      sums[transposed ? i : j] += get_number (offsets, transposed ? j : i) * data[i * cols + j];
  return gemmcl_matrix_new (GEMMCL_TYPE_F64, 1, n, sums, error);
}

gboolean
gst_gemmcl_problem_fold (const GstGemmclProblem *self, const GstGemmclSettings *settings,
                         GstGemmclOperands *operands, GError **error)
{
  const gboolean transposed = self->gemm.trans_b;
  g_autoptr (GArray) scales = NULL, offsets = NULL;
  g_autoptr (GemmclMatrix) b = NULL;
  GemmclMatrix *matrix;

  if (!self->folds_scale && !self->folds_offset)
    return TRUE;
  if (!parse_both (settings, &scales, &offsets, error) ||
      !(b = gemmcl_matrix_to_f32 (operands->weight, FALSE, error)))
    return FALSE;
  if (self->folds_scale) {
    matrix = fold_weight (b, transposed, scales, self->gemm.a_scale, error);
    if (!matrix)
      return FALSE;
    gemmcl_matrix_unref (operands->weight);
    operands->weight = matrix;
  }
  if (self->folds_offset) {
    matrix = fold_bias (b, transposed, offsets, operands->bias, error);
    if (!matrix)
      return FALSE;
    g_clear_pointer (&operands->bias, gemmcl_matrix_unref);
    operands->bias = matrix;
  }
  return TRUE;
}
