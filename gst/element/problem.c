/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "element/problem.h"

#include <math.h>

#include "memory/error.h"

#define N_MODES (GEMMCL_FEATURE_PATCH + 1)

const gchar *
gst_gemmcl_feature_mode_get_nick (GstGemmclFeatureMode mode)
{
  static const gchar *const nicks[] = {"auto", "pixel", "row", "frame", "patch"};

  g_return_val_if_fail (mode < G_N_ELEMENTS (nicks), NULL);
  return nicks[mode];
}

/* The values of the property are "auto" and then the modes of the library. */
static const gchar *
mode_name (GemmclFeatureMode mode)
{
  return gst_gemmcl_feature_mode_get_nick ((GstGemmclFeatureMode)(mode + 1));
}

static const gchar *
get_noun (const GemmclImage *frame)
{
  return frame->channels > 0 ? "tensor" : "frame";
}

static gboolean
check_patch (const GemmclImage *frame, GError **error)
{
  const gsize dilation = MAX (frame->patch_dilation, 1);

  if (frame->patch_width == 0 || frame->patch_height == 0)
    return gst_gemmcl_fail (
        error, GEMMCL_ERROR_SHAPE,
        "feature-mode=patch needs both patch-width and patch-height, in pixels.");
  if (dilation * (frame->patch_width - 1) < frame->width + 2 * frame->patch_padding &&
      dilation * (frame->patch_height - 1) < frame->height + 2 * frame->patch_padding)
    return TRUE;
  return gst_gemmcl_fail (error, GEMMCL_ERROR_SHAPE,
                          "A patch of %zux%zu pixels (patch-width x patch-height) with "
                          "patch-dilation=%zu is larger than the %zux%zu %s with "
                          "patch-padding=%zu. Expected a smaller patch or dilation, or a larger "
                          "%s or padding.",
                          frame->patch_width, frame->patch_height, dilation, frame->width,
                          frame->height, get_noun (frame), frame->patch_padding, get_noun (frame));
}

static gboolean
shape_of_mode (const GemmclImage *frame, GemmclFeatureMode mode, GstGemmclShape *shape,
               GError **error)
{
  shape->image = *frame;
  shape->image.features = mode;
  if (mode != GEMMCL_FEATURE_PATCH)
    shape->image.patch_width = shape->image.patch_height = 0;
  else if (!check_patch (frame, error))
    return FALSE;
  return gemmcl_image_get_shape (&shape->image, &shape->m, &shape->k, error);
}

/* "pixel: K = 3, row: K = 960, frame: K = 230400, patch: no patch-width and patch-height set" */
static gchar *
list_modes (const GemmclImage *frame)
{
  GString *text = g_string_new (NULL);

  for (guint mode = 0; mode < N_MODES; mode++) {
    g_autoptr (GError) reason = NULL;
    GstGemmclShape shape;

    g_string_append_printf (text, "%s%s: ", mode ? ", " : "", mode_name (mode));
    if (shape_of_mode (frame, mode, &shape, &reason))
      g_string_append_printf (text, "K = %zu", shape.k);
    else if (reason->code == GEMMCL_ERROR_TOO_LARGE)
      g_string_append (text, "too large");
    else if (frame->patch_width == 0 || frame->patch_height == 0)
      g_string_append (text, "needs patch-width and patch-height");
    else
      g_string_append_printf (text, "the patch is larger than the %s", get_noun (frame));
  }
  return g_string_free (text, FALSE);
}

static gchar *
print_frame (const GemmclImage *frame)
{
  const guint channels = gemmcl_image_get_channels (frame);

  return g_strdup_printf ("%zux%zu %s with %u channel%s", frame->width, frame->height,
                          get_noun (frame), channels, channels == 1 ? "" : "s");
}

/* Gets the shape of the last mode that fits K. @fits: the names of all that do. Returns: their
 * number. */
static guint
find_modes (const GemmclImage *frame, gsize weight_k, GstGemmclShape *shape, GString *fits)
{
  guint n = 0;

  for (guint mode = 0; mode < N_MODES; mode++) {
    GstGemmclShape candidate;

    if (!shape_of_mode (frame, mode, &candidate, NULL) || candidate.k != weight_k)
      continue;
    g_string_append_printf (fits, "%s%s", n ? ", " : "", mode_name (mode));
    *shape = candidate;
    n++;
  }
  return n;
}

gboolean
gst_gemmcl_shape_choose (const GemmclImage *frame, GstGemmclFeatureMode wanted, gsize weight_k,
                         GstGemmclShape *shape, GError **error)
{
  g_autoptr (GString) fits = g_string_new (NULL);
  g_autofree gchar *text = NULL, *modes = NULL;
  guint n;

  if (wanted == GST_GEMMCL_FEATURE_MODE_AUTO)
    n = find_modes (frame, weight_k, shape, fits);
  else if (shape_of_mode (frame, (GemmclFeatureMode)(wanted - 1), shape, error))
    n = shape->k == weight_k;
  else
    return FALSE;
  if (n == 1)
    return TRUE;
  text = print_frame (frame);
  modes = list_modes (frame);
  if (wanted != GST_GEMMCL_FEATURE_MODE_AUTO)
    return gst_gemmcl_fail (
        error, GEMMCL_ERROR_SHAPE,
        "feature-mode=%s of a %s needs a weight with K = %zu, but the weight has K = %zu (%s). Use "
        "another weight (transpose-weight=true if K is its columns), another feature-mode, or "
        "convert, scale or crop the %s.",
        gst_gemmcl_feature_mode_get_nick (wanted), text, shape->k, weight_k, modes,
        get_noun (frame));
  if (n > 1)
    return gst_gemmcl_fail (
        error, GEMMCL_ERROR_SHAPE,
        "The weight's K = %zu fits several feature modes (%s) of a %s (%s). Choose one of them "
        "with feature-mode.",
        weight_k, fits->str, text, modes);
  return gst_gemmcl_fail (
      error, GEMMCL_ERROR_SHAPE,
      "The weight's K = %zu fits no feature mode of a %s (%s). Use a weight with one of these "
      "numbers of rows (transpose-weight=true if they are its columns), or convert, scale or crop "
      "the frame.",
      weight_k, text, modes);
}

guint
gst_gemmcl_get_tensor_index (const GstGemmclFormat *format, const GstGemmclSettings *settings)
{
  return format->is_meta ? 0 : settings->tensor_index;
}

guint
gst_gemmcl_get_output_index (const GstGemmclFormat *input, const GstGemmclSettings *settings)
{
  return input->medium == GST_GEMMCL_MEDIUM_TENSORS && settings->output != GST_GEMMCL_OUTPUT_META
             ? gst_gemmcl_get_tensor_index (input, settings)
             : 0;
}

gboolean
gst_gemmcl_output_is_scaled (const GstGemmclSettings *settings)
{
  return (settings->output_scale != 0.0 && settings->output_scale != 1.0) ||
         settings->output_offset != 0.0;
}

guint
gst_gemmcl_output_list_types (const GstGemmclSettings *settings,
                              GemmclType types[GST_GEMMCL_MAX_OUTPUT_TYPES])
{
  static const GemmclType all[] = {GEMMCL_TYPE_F32, GEMMCL_TYPE_F16, GEMMCL_TYPE_I8,
                                   GEMMCL_TYPE_U8};
  const guint first = gst_gemmcl_output_is_scaled (settings) ? 2 : 0;

  G_STATIC_ASSERT (G_N_ELEMENTS (all) == GST_GEMMCL_MAX_OUTPUT_TYPES);
  if (settings->output_type != GST_GEMMCL_OUTPUT_TYPE_AUTO) {
    types[0] = all[settings->output_type - GST_GEMMCL_OUTPUT_TYPE_F32];
    return 1;
  }
  for (guint i = first; i < G_N_ELEMENTS (all); i++)
    types[i - first] = all[i];
  return G_N_ELEMENTS (all) - first;
}

gboolean
gst_gemmcl_output_is_tensors (GstGemmclOutputMode mode)
{
  return mode == GST_GEMMCL_OUTPUT_TENSORS || mode == GST_GEMMCL_OUTPUT_FLEXIBLE;
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
  const gsize rows = weight ? gemmcl_matrix_get_rows (weight) : 0;
  const gsize cols = weight ? gemmcl_matrix_get_cols (weight) : 0;

  *k = settings->transpose_weight ? cols : rows;
  *n = settings->transpose_weight ? rows : cols;
}

static gboolean
shape_of_audio (const GstAudioInfo *info, const GstGemmclSettings *settings, gsize weight_k,
                GstGemmclShape *shape, GError **error)
{
  if (settings->row_outputs != 0 && settings->output != GST_GEMMCL_OUTPUT_META)
    return gst_gemmcl_fail (error, GEMMCL_ERROR_SHAPE,
                            "Audio leaves as audio, which cannot carry row outputs. Expected "
                            "row-outputs=0, output=meta, or video or tensors.");
  shape->k = GST_AUDIO_INFO_CHANNELS (info);
  if (shape->k == weight_k)
    return TRUE;
  return gst_gemmcl_fail (error, GEMMCL_ERROR_SHAPE,
                          "Audio of %zu channels needs a weight with K = %zu, but the weight has K "
                          "= %zu. Use a weight with as many rows as there are channels "
                          "(transpose-weight=true if they are its columns), or convert the audio.",
                          shape->k, shape->k, weight_k);
}

/* Gets the shape of @frame, a frame or a tensor, with the patch of @settings. */
static gboolean
shape_of_image (const GemmclImage *frame, const GstGemmclSettings *settings, gsize weight_k,
                GstGemmclShape *shape, GError **error)
{
  GemmclImage image = *frame;

  image.patch_width = settings->patch_width;
  image.patch_height = settings->patch_height;
  image.patch_stride = settings->patch_stride;
  image.patch_padding = settings->patch_padding;
  image.patch_dilation = settings->patch_dilation;
  return gst_gemmcl_shape_choose (&image, settings->feature_mode, weight_k, shape, error);
}

static gboolean
shape_of_tensor (const GstGemmclFormat *format, const GstGemmclSettings *settings, gsize weight_k,
                 GstGemmclShape *shape, GError **error)
{
  const guint index = gst_gemmcl_get_tensor_index (format, settings);
  const GstGemmclTensors *tensors = &format->tensors;
  g_autofree gchar *dimensions = NULL;
  GemmclImage image;

  if (tensors->n > 0 && index >= tensors->n)
    return gst_gemmcl_fail (error, GEMMCL_ERROR_SHAPE,
                            "tensor-index is %u, but a buffer has %u tensor%s. Expected 0 to %u.",
                            index, tensors->n, tensors->n == 1 ? "" : "s", tensors->n - 1);
  if (settings->row_outputs != 0 && settings->output != GST_GEMMCL_OUTPUT_META &&
      tensors->n == GST_GEMMCL_MAX_TENSORS)
    return gst_gemmcl_fail (error, GEMMCL_ERROR_SHAPE,
                            "A buffer has %u tensors already, and row-outputs would add one. "
                            "Expected row-outputs=0, or %u tensors at most.",
                            tensors->n, GST_GEMMCL_MAX_TENSORS - 1);
  if (tensors->flexible) {
    shape->k = weight_k;
    return settings->feature_mode <= GST_GEMMCL_FEATURE_MODE_PIXEL ||
           gst_gemmcl_fail (error, GEMMCL_ERROR_SHAPE,
                            "feature-mode=%s needs static tensors of known dimensions; the input "
                            "is flexible. Expected feature-mode=pixel.",
                            gst_gemmcl_feature_mode_get_nick (settings->feature_mode));
  }
  dimensions = format->is_meta
                   ? gst_gemmcl_tensor_print (&tensors->tensor[0])
                   : gst_gemmcl_tensors_print_dimensions (tensors, GST_GEMMCL_SPELLING_PLAIN, ',');
  if (settings->feature_mode > GST_GEMMCL_FEATURE_MODE_PIXEL) {
    if (gst_gemmcl_tensor_to_image (&tensors->tensor[index], &image))
      return shape_of_image (&image, settings, weight_k, shape, error);
    return gst_gemmcl_fail (error, GEMMCL_ERROR_SHAPE,
                            "feature-mode=%s of tensor %u of dimensions %s (innermost first) needs "
                            "channels:width:height. Expected 1 as each further dimension, or "
                            "feature-mode=pixel.",
                            gst_gemmcl_feature_mode_get_nick (settings->feature_mode), index,
                            dimensions);
  }
  gst_gemmcl_tensor_get_shape (&tensors->tensor[index], &shape->m, &shape->k);
  if (shape->k == weight_k)
    return TRUE;
  if (format->is_meta)
    return gst_gemmcl_fail (error, GEMMCL_ERROR_SHAPE,
                            "The tensor in the metadata of buffers, %s, needs a weight with K = "
                            "%zu, but the weight has K = %zu. Use another weight "
                            "(transpose-weight=true if K is its columns) or another "
                            "input-tensor-id.",
                            dimensions, shape->k, weight_k);
  return gst_gemmcl_fail (error, GEMMCL_ERROR_SHAPE,
                          "Tensor %u of dimensions %s (innermost first) needs a weight with K = "
                          "%zu, but the weight has K = %zu. Use another weight "
                          "(transpose-weight=true if K is its columns) or another tensor-index.",
                          index, dimensions, shape->k, weight_k);
}

gboolean
gst_gemmcl_shape_of_format (const GstGemmclFormat *format, const GstGemmclSettings *settings,
                            gsize weight_k, GstGemmclShape *shape, GError **error)
{
  *shape = (GstGemmclShape){.m = 0};
  if (format->medium == GST_GEMMCL_MEDIUM_AUDIO)
    return shape_of_audio (&format->audio, settings, weight_k, shape, error);
  if (format->medium == GST_GEMMCL_MEDIUM_TENSORS)
    return shape_of_tensor (format, settings, weight_k, shape, error);
  return shape_of_image (&format->image, settings, weight_k, shape, error);
}

/* TRUE if @matrix is a row or a column of @length. */
static gboolean
is_vector (const GemmclMatrix *matrix, gsize length)
{
  gsize rows = gemmcl_matrix_get_rows (matrix), cols = gemmcl_matrix_get_cols (matrix);

  return (rows == 1 && cols == length) || (cols == 1 && rows == length);
}

static gboolean
is_row (const GemmclMatrix *matrix, gsize n)
{
  return gemmcl_matrix_get_rows (matrix) == 1 && gemmcl_matrix_get_cols (matrix) == n;
}

static gboolean
check_addend (const GemmclMatrix *addend, gsize m, gsize n, GError **error)
{
  gsize rows = gemmcl_matrix_get_rows (addend), cols = gemmcl_matrix_get_cols (addend);

  if (is_row (addend, n) || (m > 0 && rows == m && cols == n))
    return TRUE;
  if (m > 0)
    return gst_gemmcl_fail (error, GEMMCL_ERROR_SHAPE,
                            "The addend is %zu x %zu, but D is %zu x %zu. Expected an addend of "
                            "that shape or of 1 x %zu.",
                            rows, cols, m, n, n);
  return gst_gemmcl_fail (error, GEMMCL_ERROR_SHAPE,
                          "The addend is %zu x %zu. Expected 1 x %zu, N of the weight, since "
                          "buffers of audio and of flexible tensors differ in M.",
                          rows, cols, n);
}

static gboolean
check_row_outputs (const GstGemmclSettings *settings, gsize n, GError **error)
{
  if (!(settings->row_outputs & GEMMCL_ROW_TOP_K) || settings->top_k <= n)
    return TRUE;
  return gst_gemmcl_fail (error, GEMMCL_ERROR_SHAPE,
                          "top-k is %u, but a row of the result has N = %zu elements. Expected "
                          "top-k of at most %zu, or a weight of a larger N.",
                          settings->top_k, n, n);
}

static gboolean
check_operands (const GstGemmclOperands *operands, gsize m, gsize n, GError **error)
{
  if (operands->bias && !is_vector (operands->bias, n))
    return gst_gemmcl_fail (
        error, GEMMCL_ERROR_SHAPE,
        "The bias is %zu x %zu. Expected a vector of %zu elements, N of the weight. To change "
        "both to another N, set bias to \"\" first, then weight, then bias.",
        gemmcl_matrix_get_rows (operands->bias), gemmcl_matrix_get_cols (operands->bias), n);
  return !operands->addend || check_addend (operands->addend, m, n, error);
}

static GemmclAddend
choose_addend (const GstGemmclOperands *operands, gsize n, gboolean feedback)
{
  if (operands->addend)
    return is_row (operands->addend, n) ? GEMMCL_ADDEND_ROW : GEMMCL_ADDEND_MATRIX;
  return feedback ? GEMMCL_ADDEND_PREVIOUS : GEMMCL_ADDEND_NONE;
}

static GemmclType
type_of_audio (const GstAudioInfo *info)
{
  switch (GST_AUDIO_INFO_FORMAT (info)) {
  case GST_AUDIO_FORMAT_F64LE:
    return GEMMCL_TYPE_F64;
  case GST_AUDIO_FORMAT_S16LE:
    return GEMMCL_TYPE_I16;
  case GST_AUDIO_FORMAT_S32LE:
    return GEMMCL_TYPE_I32;
  default:
    return GEMMCL_TYPE_F32;
  }
}

static void
set_input (GstGemmclProblem *self, const GstGemmclFormat *input, const GstGemmclSettings *settings,
           const GstGemmclShape *shape)
{
  self->a_image = shape->image;
  if (shape->image.width > 0)
    self->gemm.a_image = &self->a_image;
  if (input->medium == GST_GEMMCL_MEDIUM_AUDIO)
    self->gemm.a_type = type_of_audio (&input->audio);
  else if (input->medium == GST_GEMMCL_MEDIUM_TENSORS)
    self->gemm.a_type = input->tensors.tensor[gst_gemmcl_get_tensor_index (input, settings)].type;
}

/* Gets the range of the stored numbers of A. Floats are assumed to be from -1 to 1, like samples of
 * audio. */
static void
get_range (const GemmclGemm *gemm, gdouble *least, gdouble *most)
{
  const gint bits = 8 * gemmcl_type_get_size (gemm->a_type);

  *least = 0;
  if (gemm->a_image && gemm->a_image->channels == 0) {
    *most = gemm->a_image->format == GEMMCL_PIXEL_GRAY16_LE ? G_MAXUINT16 : G_MAXUINT8;
    return;
  }
  switch (gemm->a_type) {
  case GEMMCL_TYPE_U8:
  case GEMMCL_TYPE_U16:
  case GEMMCL_TYPE_U32:
  case GEMMCL_TYPE_U64:
    *most = ldexp (1, bits) - 1;
    break;
  case GEMMCL_TYPE_I8:
  case GEMMCL_TYPE_I16:
  case GEMMCL_TYPE_I32:
  case GEMMCL_TYPE_I64:
    *least = -ldexp (1, bits - 1);
    *most = -*least - 1;
    break;
  default:
    *least = -1;
    *most = 1;
    break;
  }
}

gdouble
gst_gemmcl_problem_get_largest (const GstGemmclProblem *self)
{
  const GemmclGemm *gemm = &self->gemm;
  gdouble least, most;

  if (gemm->normalize & GEMMCL_NORMALIZE_A)
    return 1;
  get_range (gemm, &least, &most);
  return MAX (fabs (least * gemm->a_scale + gemm->a_shift),
              fabs (most * gemm->a_scale + gemm->a_shift));
}

/* Needs the input and the scaling of @self. */
static GemmclPrecision
choose_precision (const GstGemmclProblem *self, GstGemmclPrecision wanted,
                  const GemmclMatrix *weight)
{
  GemmclPrecision stated;

  if (wanted != GST_GEMMCL_PRECISION_AUTO)
    return (GemmclPrecision)(wanted - 1);
  stated = gemmcl_precision_of_matrix (weight);
  return stated == GEMMCL_PRECISION_F16 &&
                 gst_gemmcl_problem_get_largest (self) > GST_GEMMCL_LARGEST_F16
             ? GEMMCL_PRECISION_F32
             : stated;
}

static gboolean
check_output (const GstGemmclProblem *self, const GstGemmclFormat *output,
              const GstGemmclSettings *settings, GError **error)
{
  const GemmclType type = self->gemm.d_type;
  const gboolean is_tensor = output->medium == GST_GEMMCL_MEDIUM_TENSORS;

  if (!is_tensor && settings->output_type != GST_GEMMCL_OUTPUT_TYPE_AUTO)
    return gst_gemmcl_fail (error, GEMMCL_ERROR_INVALID,
                            "output-type is set, but the output is no tensor. Expected "
                            "output-type=auto, or output=tensors, flexible or meta.");
  if (!gst_gemmcl_output_is_scaled (settings) ||
      (is_tensor && (type == GEMMCL_TYPE_I8 || type == GEMMCL_TYPE_U8)))
    return TRUE;
  return gst_gemmcl_fail (error, GEMMCL_ERROR_INVALID,
                          "output-scale=%g and output-offset=%g are for integers as tensors, but "
                          "the output is %s. Expected output-type=i8 or u8, or a scale of 1 and an "
                          "offset of 0.",
                          settings->output_scale, settings->output_offset,
                          is_tensor ? gst_gemmcl_type_get_caps_name (type) : "no tensor");
}

static void
set_output (GstGemmclProblem *self, const GstGemmclFormat *output,
            const GstGemmclSettings *settings, guint index)
{
  if (output->medium == GST_GEMMCL_MEDIUM_TENSORS) {
    self->gemm.d_type = output->tensors.tensor[index].type;
    self->gemm.d_scale = settings->output_scale;
    self->gemm.d_shift = settings->output_offset;
  } else if (output->medium == GST_GEMMCL_MEDIUM_VIDEO) {
    self->d_image = output->image;
    self->gemm.d_image = &self->d_image;
  } else if (output->medium == GST_GEMMCL_MEDIUM_AUDIO) {
    self->gemm.d_type = type_of_audio (&output->audio);
  }
}

/* Needs the input of @self. */
static gboolean
set_scaling (GstGemmclProblem *self, const GstGemmclSettings *settings, GError **error)
{
  const guint channels = self->gemm.a_image ? gemmcl_image_get_channels (&self->a_image) : 0;

  if (!gst_gemmcl_scaling_init (&self->scaling, settings, self->gemm.k, channels, error))
    return FALSE;
  self->gemm.a_scale = self->scaling.scale;
  self->gemm.a_shift = self->scaling.offset;
  self->gemm.bias |= self->scaling.folds_offset;
  if (settings->normalize & GEMMCL_NORMALIZE_A &&
      (self->scaling.folds_scale || self->scaling.folds_offset))
    return gst_gemmcl_fail (error, GEMMCL_ERROR_INVALID,
                            "normalize=input needs the norm of A, but lists as input-scale or "
                            "input-offset become parts of the weight and the bias. Expected a "
                            "number for each, or normalize without input.");
  if (!self->scaling.folds_offset || self->a_image.features != GEMMCL_FEATURE_PATCH ||
      self->a_image.patch_padding == 0)
    return TRUE;
  return gst_gemmcl_fail (error, GEMMCL_ERROR_INVALID,
                          "patch-padding is %zu, but with a list as input-scale or input-offset "
                          "the offset is a part of the bias, and the padding would not be 0. "
                          "Expected patch-padding=0, input-offset=0, or a number for each.",
                          self->a_image.patch_padding);
}

/* int8 keeps a scale for each column of a quantized weight, and none for its rows. Needs the
 * precision and the scaling of @self. */
static gboolean
check_quantized (const GstGemmclProblem *self, const GemmclMatrix *weight, GError **error)
{
  if (!self->scaling.folds_scale || self->gemm.precision != GEMMCL_PRECISION_I8 ||
      !gemmcl_matrix_get_scales (weight))
    return TRUE;
  return gst_gemmcl_fail (error, GEMMCL_ERROR_INVALID,
                          "input-scale is a list, which a weight quantized to int8 cannot take up "
                          "exactly. Expected a number as input-scale, a weight that is not "
                          "quantized, or precision=f32.");
}

gboolean
gst_gemmcl_problem_init (GstGemmclProblem *self, const GstGemmclFormat *input,
                         const GstGemmclFormat *output, const GstGemmclOperands *operands,
                         const GstGemmclSettings *settings, gsize audio_m, gboolean feedback,
                         GError **error)
{
  GstGemmclShape shape;
  gsize k, n;

  gst_gemmcl_weight_get_shape (settings, operands->weight, &k, &n);
  if (!gst_gemmcl_shape_of_format (input, settings, k, &shape, error) ||
      !check_operands (operands, shape.m, n, error) || !check_row_outputs (settings, n, error))
    return FALSE;
  *self = (GstGemmclProblem){.gemm = GEMMCL_GEMM_INIT};
  self->gemm.m = shape.m > 0 ? shape.m : audio_m;
  self->gemm.n = n;
  self->gemm.k = k;
  self->gemm.trans_b = settings->transpose_weight;
  self->gemm.batch = settings->batch_size;
  self->gemm.addend = choose_addend (operands, n, feedback);
  self->gemm.bias = operands->bias != NULL;
  self->gemm.activation = settings->activation;
  self->gemm.normalize = settings->normalize;
  self->gemm.row_outputs = settings->row_outputs;
  self->gemm.top_k = settings->top_k;
  set_input (self, input, settings, &shape);
  if (!set_scaling (self, settings, error))
    return FALSE;
  self->gemm.precision = choose_precision (self, settings->precision, operands->weight);
  if (output)
    set_output (self, output, settings, gst_gemmcl_get_output_index (input, settings));
  return check_quantized (self, operands->weight, error) &&
         (!output || check_output (self, output, settings, error));
}

void
gst_gemmcl_problem_copy (GstGemmclProblem *self, const GstGemmclProblem *from)
{
  *self = *from;
  if (self->gemm.a_image)
    self->gemm.a_image = &self->a_image;
  if (self->gemm.d_image)
    self->gemm.d_image = &self->d_image;
}

gboolean
gst_gemmcl_problem_is_swap (const GstGemmclProblem *self, const GstGemmclProblem *other)
{
  return self->gemm.m == other->gemm.m && self->gemm.n == other->gemm.n &&
         self->gemm.k == other->gemm.k && self->gemm.bias == other->gemm.bias &&
         self->gemm.addend == other->gemm.addend && self->gemm.precision == other->gemm.precision &&
         self->a_image.features == other->a_image.features;
}
