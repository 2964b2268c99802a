/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "element/problem.h"

#include <math.h>

#include "memory/error.h"

gboolean
gst_gemmcl_output_is_scaled (const GstGemmclSettings *settings)
{
  return (settings->gemm.d_scale != 0.0 && settings->gemm.d_scale != 1.0) ||
         settings->gemm.d_shift != 0.0;
}

gboolean
gst_gemmcl_output_check (const GstGemmclSettings *settings, GError **error)
{
  if (!gst_gemmcl_output_omits_d (settings))
    return TRUE;
  if (settings->gemm.row_outputs == 0)
    return gst_gemmcl_fail (error, GEMMCL_ERROR_INVALID,
                            "output lets only row outputs leave, but row-outputs names none. "
                            "Expected row-outputs, such as row-outputs=top-k, or output without "
                            "rows.");
  return (settings->output_type <= GST_GEMMCL_OUTPUT_TYPE_F32 &&
          !gst_gemmcl_output_is_scaled (settings)) ||
         gst_gemmcl_fail (error, GEMMCL_ERROR_INVALID,
                          "output-type, output-scale and output-offset are those of D, but output "
                          "lets only row outputs leave, which are float32. Expected "
                          "output-type=auto, output-scale=1 and output-offset=0, or output without "
                          "rows.");
}

gsize
gst_gemmcl_output_count_columns (const GstGemmclSettings *settings, gsize n)
{
  return gst_gemmcl_output_omits_d (settings) ? gemmcl_gemm_count_row_outputs (&settings->gemm) : n;
}

const GemmclType *
gst_gemmcl_output_get_types (const GstGemmclSettings *settings, guint *n)
{
  static const GemmclType all[] = {GEMMCL_TYPE_F32, GEMMCL_TYPE_F16, GEMMCL_TYPE_I8,
                                   GEMMCL_TYPE_U8};
  const guint first = gst_gemmcl_output_is_scaled (settings) ? 2 : 0;

  *n = 1;
  if (gst_gemmcl_output_omits_d (settings))
    return &all[0];
  if (settings->output_type != GST_GEMMCL_OUTPUT_TYPE_AUTO)
    return &all[settings->output_type - GST_GEMMCL_OUTPUT_TYPE_F32];
  *n = G_N_ELEMENTS (all) - first;
  return &all[first];
}

void
gst_gemmcl_operands_clear (GstGemmclOperands *self)
{
  for (guint i = 0; i < GST_GEMMCL_N_OPERANDS; i++)
    g_clear_pointer (&self->matrix[i], gemmcl_matrix_unref);
}

void
gst_gemmcl_operands_copy (GstGemmclOperands *self, const GstGemmclOperands *from)
{
  gst_gemmcl_operands_clear (self);
  for (guint i = 0; i < GST_GEMMCL_N_OPERANDS; i++)
    self->matrix[i] = from->matrix[i] ? gemmcl_matrix_ref (from->matrix[i]) : NULL;
}

void
gst_gemmcl_weight_get_shape (const GstGemmclSettings *settings, const GemmclMatrix *weight,
                             gsize *k, gsize *n)
{
  const gsize rows = weight ? weight->rows : 0;
  const gsize cols = weight ? weight->cols : 0;

  *k = settings->gemm.trans_b ? cols : rows;
  *n = settings->gemm.trans_b ? rows : cols;
}

/* @m: 0: it differs between buffers */
static gboolean
check_operands (const GstGemmclOperands *operands, const GstGemmclSettings *settings, gsize m,
                gsize n, GError **error)
{
  const GemmclMatrix *bias = operands->bias, *addend = operands->addend;
  const gsize rows = addend ? addend->rows : 0;

  if (bias && (MIN (bias->rows, bias->cols) != 1 || MAX (bias->rows, bias->cols) != n))
    return gst_gemmcl_fail (error, GEMMCL_ERROR_SHAPE,
                            "The bias is %zu x %zu. Expected a vector of %zu elements, N of the "
                            "weight. To change both to another N, set bias to \"\" first, then "
                            "weight, then bias.",
                            bias->rows, bias->cols, n);
  if (addend && (addend->cols != n || (rows != 1 && rows != m)))
    return gst_gemmcl_fail (error, GEMMCL_ERROR_SHAPE,
                            "The addend is %zu x %zu, but D is %zu x %zu%s. Expected an addend of "
                            "1 x %zu%s.",
                            rows, addend->cols, m, n, m > 0 ? "" : ", where buffers differ in M,",
                            n, m > 0 ? " or of that shape" : "");
  if (settings->gemm.row_outputs & GEMMCL_ROW_TOP_K && settings->gemm.top_k > n)
    return gst_gemmcl_fail (error, GEMMCL_ERROR_SHAPE,
                            "top-k is %u, but a row of the result has N = %zu elements. Expected "
                            "top-k of at most %zu, or a weight of a larger N.",
                            settings->gemm.top_k, n, n);
  return TRUE;
}

gdouble
gst_gemmcl_problem_get_largest (const GstGemmclProblem *self)
{
  const GemmclGemm *gemm = &self->gemm;
  const gboolean is_frame = gemm->a_frame && gemm->a_frame->channels == 0;
  const GemmclType type = !is_frame                                         ? gemm->a_type
                          : gemm->a_frame->format == GEMMCL_PIXEL_GRAY16_LE ? GEMMCL_TYPE_U16
                                                                            : GEMMCL_TYPE_U8;
  const gint bits = 8 * (gint)gemmcl_type_get_size (type);
  gdouble least = -1, most = 1;

  if (gemm->normalize & GEMMCL_NORMALIZE_A)
    return 1;
  if (g_str_has_prefix (gemmcl_type_get_caps_name (type), "uint")) {
    least = 0;
    most = ldexp (1, bits) - 1;
  } else if (g_str_has_prefix (gemmcl_type_get_caps_name (type), "int")) {
    least = -ldexp (1, bits - 1);
    most = -least - 1;
  }
  return MAX (fabs (least * gemm->a_scale + gemm->a_shift),
              fabs (most * gemm->a_scale + gemm->a_shift));
}

/* Needs the input and the scaling of @self to be set. @wanted: the property precision. */
static GemmclPrecision
choose_precision (const GstGemmclProblem *self, gint wanted, const GemmclMatrix *weight)
{
  GemmclPrecision stated;

  if (wanted > 0)
    return (GemmclPrecision)(wanted - 1);
  stated = gemmcl_precision_of_matrix (weight);
  return stated == GEMMCL_PRECISION_F16 &&
                 gst_gemmcl_problem_get_largest (self) > GST_GEMMCL_LARGEST_F16
             ? GEMMCL_PRECISION_F32
             : stated;
}

static gboolean
check_pool (const GemmclGemm *gemm, GError **error)
{
  if (gemm->pool == GEMMCL_POOL_NONE ||
      (gemm->addend != GEMMCL_ADDEND_PREVIOUS && !(gemm->normalize & GEMMCL_NORMALIZE_D)))
    return TRUE;
  return gst_gemmcl_fail (
      error, GEMMCL_ERROR_INVALID, "pool cannot be combined with %s. Expected pool=none, or %s.",
      gemm->normalize & GEMMCL_NORMALIZE_D
          ? "normalize=output"
          : "beta and the previous output, which has fewer rows than A",
      gemm->normalize & GEMMCL_NORMALIZE_D ? "normalize without output" : "beta=0 or an addend");
}

static gboolean
check_output (const GstGemmclProblem *self, const GstGemmclFormat *output,
              const GstGemmclSettings *settings, GError **error)
{
  const GemmclType type = self->gemm.d_type;
  const gboolean is_tensor = output->medium == GST_GEMMCL_MEDIUM_TENSORS;

  if (!is_tensor && settings->output_type != GST_GEMMCL_OUTPUT_TYPE_AUTO)
    return gst_gemmcl_fail (error, GEMMCL_ERROR_INVALID,
                            "output-type is set, but the output is not a tensor. Expected "
                            "output-type=auto, or output=tensors, flexible or meta.");
  if (!gst_gemmcl_output_is_scaled (settings) ||
      (is_tensor && (type == GEMMCL_TYPE_I8 || type == GEMMCL_TYPE_U8)))
    return TRUE;
  return gst_gemmcl_fail (error, GEMMCL_ERROR_INVALID,
                          "output-scale=%g and output-offset=%g are for integers as tensors, but "
                          "the output is %s. Expected output-type=i8 or u8, or output-scale=1 "
                          "and output-offset=0.",
                          settings->gemm.d_scale, settings->gemm.d_shift,
                          is_tensor ? gemmcl_type_get_caps_name (type) : "not a tensor");
}

/* Returns: (transfer full): the numbers in @value, such as "0.5" or "<0.5,0.25>": one, one for each
 * channel of a pixel, or one for each element of a row. */
static GArray *
parse_numbers (const GstGemmclProblem *self, const gchar *property, const gchar *value,
               GError **error)
{
  g_autoptr (GArray) numbers = g_array_new (FALSE, FALSE, sizeof (gdouble));
  g_autofree gchar *text = g_strstrip (g_strdup (value));
  const gboolean is_list = g_str_has_prefix (text, "<") && g_str_has_suffix (text, ">");
  g_auto (GStrv) parts = NULL;
  const guint channels = self->gemm.a_frame ? gemmcl_frame_get_channels (&self->a_frame) : 0;

  if (is_list)
    text[strlen (text) - 1] = '\0';
  parts = g_strsplit (text + is_list, ",", -1);
  for (guint i = 0; parts[i]; i++) {
    const gchar *part = g_strstrip (parts[i]);
    gchar *end;
    const gdouble number = g_ascii_strtod (part, &end);

    if (end != part && *end == '\0' && isfinite (number))
      g_array_append_val (numbers, number);
  }
  if (numbers->len == 0 || numbers->len != g_strv_length (parts) ||
      (numbers->len > 1 && !is_list)) {
    g_autofree gchar *found = gemmcl_quote (value);

    gst_gemmcl_fail (error, GEMMCL_ERROR_FORMAT,
                     "%s=%s cannot be read. Expected a number, such as 0.5, or a list of numbers, "
                     "such as <0.5,0.25,1>.",
                     property, found);
  } else if (numbers->len != 1 && numbers->len != self->gemm.k && numbers->len != channels)
    gst_gemmcl_fail (error, GEMMCL_ERROR_SHAPE,
                     "%s has %u numbers. Expected one, one for each channel of a pixel, or one for "
                     "each of the K = %zu elements of a row.",
                     property, numbers->len, self->gemm.k);
  else
    return g_steal_pointer (&numbers);
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
parse_both (const GstGemmclProblem *self, const GstGemmclSettings *settings, GArray **scales,
            GArray **offsets, GError **error)
{
  return (*scales = parse_numbers (self, "input-scale", settings->input_scale, error)) &&
         (*offsets = parse_numbers (self, "input-offset", settings->input_offset, error));
}

/* Sets the scaling of @self, whose input is set, from input-scale and input-offset. A list of equal
 * numbers counts as a single number. */
static gboolean
set_scaling (GstGemmclProblem *self, const GstGemmclSettings *settings, GError **error)
{
  g_autoptr (GArray) scales = NULL, offsets = NULL;
  gdouble *scale = &self->gemm.a_scale;

  if (!parse_both (self, settings, &scales, &offsets, error))
    return FALSE;
  self->folds_scale = !are_equal (scales);
  self->folds_offset =
      !are_equal (offsets) || (self->folds_scale && get_number (offsets, 0) != 0.0);
  *scale = get_number (scales, 0);
  self->gemm.a_shift = self->folds_offset ? 0.0 : get_number (offsets, 0);
  for (guint i = 0; self->folds_scale && i < scales->len; i++)
    *scale = MAX (fabs (*scale), fabs (get_number (scales, i)));
  if (self->folds_scale)
    *scale = exp2 (floor (log2 (*scale)));
  self->gemm.bias |= self->folds_offset;
  return TRUE;
}

/* Needs the precision and the scaling of @self to be set. A weight quantized to int8 has a scale
 * for each column, but none for each row. */
static gboolean
check_lists (const GstGemmclProblem *self, const GemmclMatrix *weight, GError **error)
{
  const gchar *conflict, *remedy;

  if ((self->folds_scale || self->folds_offset) && self->gemm.normalize & GEMMCL_NORMALIZE_A) {
    conflict = "normalize=input, which needs the norm of A";
    remedy = "normalize without input";
  } else if (self->folds_offset && self->a_frame.features == GEMMCL_FEATURE_PATCH &&
             self->a_frame.patch_padding > 0) {
    conflict = "patch-padding, whose elements would not be 0";
    remedy = "patch-padding=0 or input-offset=0";
  } else if (self->folds_scale && self->gemm.precision == GEMMCL_PRECISION_I8 && weight->scales) {
    conflict = "a weight quantized to int8, which has no scale for each row";
    remedy = "precision=f32 or another weight";
  } else {
    return TRUE;
  }
  return gst_gemmcl_fail (error, GEMMCL_ERROR_INVALID,
                          "A list as input-scale or input-offset becomes a part of the weight "
                          "and the bias. It cannot be combined with %s. Expected single numbers, "
                          "or %s.",
                          conflict, remedy);
}

gboolean
gst_gemmcl_problem_init (GstGemmclProblem *self, const GstGemmclFormat *input,
                         const GstGemmclFormat *output, const GstGemmclOperands *operands,
                         const GstGemmclSettings *settings, gsize min_m, gboolean feedback,
                         GError **error)
{
  GstGemmclShape shape;
  gsize k, n;

  gst_gemmcl_weight_get_shape (settings, operands->weight, &k, &n);
  if (!gst_gemmcl_shape_of_format (input, settings, k, &shape, error) ||
      !check_operands (operands, settings, shape.m, n, error))
    return FALSE;
  *self = (GstGemmclProblem){.gemm = shape.gemm};
  self->gemm.alpha = 1.0;
  self->gemm.m = shape.m > 0 ? shape.m : min_m;
  self->gemm.n = n;
  self->gemm.k = k;
  self->gemm.batch = settings->batch_size;
  self->gemm.omit_d = gst_gemmcl_output_omits_d (settings);
  if (operands->addend)
    self->gemm.addend = operands->addend->rows == 1 ? GEMMCL_ADDEND_ROW : GEMMCL_ADDEND_MATRIX;
  else if (feedback)
    self->gemm.addend = GEMMCL_ADDEND_PREVIOUS;
  self->gemm.bias = operands->bias != NULL;
  self->a_frame = shape.frame;
  if (shape.frame.width > 0)
    self->gemm.a_frame = &self->a_frame;
  if (input->medium != GST_GEMMCL_MEDIUM_VIDEO)
    self->gemm.a_type = input->tensors.tensor[input->index].type;
  if (!set_scaling (self, settings, error))
    return FALSE;
  self->gemm.precision = choose_precision (self, settings->precision, operands->weight);
  if (output && output->medium == GST_GEMMCL_MEDIUM_VIDEO) {
    self->d_frame = output->frame;
    self->gemm.d_frame = &self->d_frame;
  } else if (output) {
    self->gemm.d_type = output->tensors.tensor[output->index].type;
  }
  return check_lists (self, operands->weight, error) && check_pool (&self->gemm, error) &&
         (!output || check_output (self, output, settings, error));
}

/* Replaces @operand by @matrix, which it takes. FALSE if @matrix is NULL. */
static gboolean
replace (GemmclMatrix **operand, GemmclMatrix *matrix)
{
  if (!matrix)
    return FALSE;
  g_clear_pointer (operand, gemmcl_matrix_unref);
  *operand = matrix;
  return TRUE;
}

gboolean
gst_gemmcl_problem_fold (const GstGemmclProblem *self, const GstGemmclSettings *settings,
                         GstGemmclOperands *operands, GError **error)
{
  g_autoptr (GArray) scales = NULL, offsets = NULL;
  g_autoptr (GemmclMatrix) b = NULL, bias = NULL;
  g_autofree gfloat *scaled = NULL;
  g_autofree gdouble *sums = NULL;
  const gfloat *from;
  gsize rows, cols;

  if (!self->folds_scale && !self->folds_offset)
    return TRUE;
  if (!parse_both (self, settings, &scales, &offsets, error) ||
      !(b = gemmcl_matrix_to_f32 (operands->weight, FALSE, error)) ||
      (operands->bias && !(bias = gemmcl_matrix_to_f32 (operands->bias, FALSE, error))))
    return FALSE;
  rows = b->rows;
  cols = b->cols;
  from = b->data;
  scaled = g_try_new (gfloat, rows * cols);
  if (!scaled)
    return gst_gemmcl_fail (error, GEMMCL_ERROR_TOO_LARGE,
                            "Memory for a weight of %zu x %zu, multiplied by input-scale, cannot "
                            "be allocated.",
                            rows, cols);
  sums = g_new0 (gdouble, self->gemm.n);
  for (gsize j = 0; bias && j < self->gemm.n; j++)
    sums[j] = ((const gfloat *)bias->data)[j];
  for (gsize i = 0; i < rows * cols; i++) {
    const gsize row = i / cols, col = i % cols;
    const gsize k = self->gemm.trans_b ? col : row, j = self->gemm.trans_b ? row : col;

    scaled[i] = (gfloat)(from[i] * (get_number (scales, k) / self->gemm.a_scale));
    sums[j] += get_number (offsets, k) * from[i];
  }
  return (!self->folds_scale ||
          replace (&operands->weight,
                   gemmcl_matrix_new (GEMMCL_TYPE_F32, rows, cols, scaled, error))) &&
         (!self->folds_offset ||
          replace (&operands->bias,
                   gemmcl_matrix_new (GEMMCL_TYPE_F64, 1, self->gemm.n, sums, error)));
}

void
gst_gemmcl_problem_copy (GstGemmclProblem *self, const GstGemmclProblem *from)
{
  *self = *from;
  if (self->gemm.a_frame)
    self->gemm.a_frame = &self->a_frame;
  if (self->gemm.d_frame)
    self->gemm.d_frame = &self->d_frame;
}

gboolean
gst_gemmcl_problem_reads (const GstGemmclProblem *self, const GstGemmclFormat *input)
{
  const GstGemmclTensor *tensor = &input->tensors.tensor[input->index];
  const GemmclFrame *frame = self->gemm.a_frame;

  if (input->medium == GST_GEMMCL_MEDIUM_VIDEO)
    return frame && frame->channels == 0 && frame->left == input->frame.left &&
           frame->top == input->frame.top;
  if (!frame)
    return tensor->type == self->gemm.a_type && tensor->dims[0] == self->gemm.k;
  return tensor->type == frame->type && tensor->dims[0] == frame->channels &&
         tensor->dims[1] == frame->width && tensor->dims[2] == frame->height;
}

gboolean
gst_gemmcl_problem_writes (const GstGemmclProblem *self, const GstGemmclFormat *output)
{
  return output->medium == GST_GEMMCL_MEDIUM_TENSORS && !self->gemm.d_frame &&
         self->gemm.d_type == output->tensors.tensor[output->index].type;
}

gboolean
gst_gemmcl_problem_differs_in_values_only (const GstGemmclProblem *self,
                                           const GstGemmclProblem *other)
{
  return self->gemm.m == other->gemm.m && self->gemm.n == other->gemm.n &&
         self->gemm.k == other->gemm.k && self->gemm.bias == other->gemm.bias &&
         self->gemm.addend == other->gemm.addend && self->gemm.precision == other->gemm.precision &&
         self->a_frame.features == other->a_frame.features;
}
