/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The description of a problem: names, layouts, validation.
 */
#include "problem/gemm.h"

#include <float.h>
#include <math.h>

#include "device/base.h"
#include "matrix/matrix.h"
#include "problem/frame.h"
#include "problem/pool.h"

#define EXACT_FLOATS (1 << 24) /* a float represents every integer up to this one */

static const struct {
  const gchar *name, *text;
  guint kind;
} activations[] = {
#define FUNCTION(ID, name, text, kind, value, slope, growth)                                       \
  [GEMMCL_ACTIVATION_##ID] = {name, text, kind},
#include "shared/activations.def"
};
G_STATIC_ASSERT (G_N_ELEMENTS (activations) == GEMMCL_N_ACTIVATIONS);

const gchar *
gemmcl_activation_get_name (GemmclActivation activation)
{
  g_return_val_if_fail ((guint)activation < GEMMCL_N_ACTIVATIONS, NULL);
  return activations[activation].name;
}

const gchar *
gemmcl_activation_get_text (GemmclActivation activation)
{
  g_return_val_if_fail ((guint)activation < GEMMCL_N_ACTIVATIONS, NULL);
  return activations[activation].text;
}

gboolean
gemmcl_activation_is_of_rows (GemmclActivation activation)
{
  return activations[activation].kind == ACTIVATION_ROW;
}

gboolean
gemmcl_activation_keeps_zero (GemmclActivation activation)
{
  const gdouble x = 0;

  /* The one function of a row, softmax, makes equal shares of zeros. */
  switch (activation) {
#define FUNCTION(ID, name, text, kind, value, slope, growth)                                       \
  case GEMMCL_ACTIVATION_##ID:                                                                     \
    return kind != ACTIVATION_ROW && (value) == 0;
#include "shared/activations.def"
  }
  g_return_val_if_reached (FALSE);
}

static const gchar *const precision_names[] = {"f32", "f16", "bf16", "tf32", "i8"};
G_STATIC_ASSERT (G_N_ELEMENTS (precision_names) == GEMMCL_N_PRECISIONS);

const gchar *
gemmcl_precision_get_name (GemmclPrecision precision)
{
  g_return_val_if_fail ((guint)precision < GEMMCL_N_PRECISIONS, NULL);
  return precision_names[precision];
}

GemmclPrecision
gemmcl_precision_of_matrix (const GemmclMatrix *b)
{
  g_return_val_if_fail (b != NULL, GEMMCL_PRECISION_F32);

  if (b->scales != NULL)
    return GEMMCL_PRECISION_I8;
  return b->type == GEMMCL_TYPE_F16    ? GEMMCL_PRECISION_F16
         : b->type == GEMMCL_TYPE_BF16 ? GEMMCL_PRECISION_BF16
                                       : GEMMCL_PRECISION_F32;
}

guint
gemmcl_gemm_count_row_outputs (const GemmclGemm *gemm)
{
  g_return_val_if_fail (gemm != NULL, 0);
  return !!(gemm->row_outputs & GEMMCL_ROW_SUM) + !!(gemm->row_outputs & GEMMCL_ROW_MAX) +
         !!(gemm->row_outputs & GEMMCL_ROW_ARG_MAX) +
         (gemm->row_outputs & GEMMCL_ROW_TOP_K ? 2 * gemm->top_k : 0);
}

gsize
gemmcl_gemm_get_batch (const GemmclGemm *gemm)
{
  return MAX (gemm->batch, 1);
}

static GemmclType
get_type (const GemmclGemm *gemm, GemmclOperand which)
{
  return which == GEMMCL_OPERAND_A   ? gemm->a_type
         : which == GEMMCL_OPERAND_D ? gemm->d_type
                                     : GEMMCL_TYPE_F32;
}

/* The layout of a matrix as the problem states it, before defaults. */
typedef struct {
  gsize rows, cols;
  gboolean transposed;
  gsize ld, offset, stride;
} Place;

static Place
get_place (const GemmclGemm *gemm, GemmclOperand which)
{
  const gsize m = gemm->m, n = gemm->n, k = gemm->k, q = gemmcl_gemm_count_row_outputs (gemm);
  const gsize d_rows = gemmcl_gemm_count_rows_of_d (gemm, m);

  switch (which) {
  case GEMMCL_OPERAND_A:
    if (gemm->a_frame) /* The layout of im2col's output */
      return (Place){m, k, FALSE, 0, 0, 0};
    return (Place){m, k, gemm->trans_a, gemm->lda, gemm->a_start, gemm->a_stride};
  case GEMMCL_OPERAND_B:
    return (Place){k, n, gemm->trans_b, gemm->ldb, gemm->b_start, gemm->b_stride};
  case GEMMCL_OPERAND_C:
    return (Place){m, n, FALSE, gemm->ldc, gemm->c_start, gemm->c_stride};
  case GEMMCL_OPERAND_ROW_OUTPUTS:
    return (Place){d_rows, q, gemm->layout == GEMMCL_LAYOUT_COLUMN_MAJOR, 0, 0, d_rows * q};
  default:
    return (Place){d_rows, n, FALSE, gemm->ldd, gemm->d_start, gemm->d_stride};
  }
}

GemmclMatrixLayout
gemmcl_gemm_get_layout (const GemmclGemm *gemm, GemmclOperand which, gboolean tight)
{
  const Place place = get_place (gemm, which);
  GemmclMatrixLayout layout = {
      .by_column = (gemm->layout == GEMMCL_LAYOUT_COLUMN_MAJOR) != !!place.transposed,
  };

  /* One row, added to all rows of all problems of the batch. */
  if (which == GEMMCL_OPERAND_C && gemm->addend == GEMMCL_ADDEND_ROW)
    return (GemmclMatrixLayout){.lines = 1, .length = gemm->n, .offset = tight ? 0 : gemm->c_start};
  layout.lines = layout.by_column ? place.cols : place.rows;
  layout.length = layout.by_column ? place.rows : place.cols;
  if (tight) {
    layout.ld = layout.length;
    layout.stride = layout.lines * layout.ld;
    return layout;
  }
  layout.ld = place.ld ? place.ld : layout.length;
  layout.offset = place.offset;
  layout.stride = place.stride;
  if (which == GEMMCL_OPERAND_D && layout.stride == 0)
    layout.stride = layout.lines * layout.ld;
  return layout;
}

gsize
gemmcl_gemm_get_element_size (const GemmclGemm *gemm, GemmclOperand which)
{
  return gemmcl_type_get_size (get_type (gemm, which));
}

gboolean
gemmcl_gemm_keeps_int8 (const GemmclGemm *gemm)
{
  const gdouble zero = -gemm->a_shift / gemm->a_scale + (gemm->a_type == GEMMCL_TYPE_I8 ? 128 : 0);

  return (gemm->a_type == GEMMCL_TYPE_I8 || gemm->a_type == GEMMCL_TYPE_U8) &&
         gemm->a_frame == NULL && !(gemm->normalize & GEMMCL_NORMALIZE_A) &&
         gemm->a_scale >= FLT_MIN && zero >= 0 && zero <= 255 && zero == floor (zero);
}

/* TRUE if D has a scale or a shift. */
static gboolean
scales_d (const GemmclGemm *gemm)
{
  return (gemm->d_scale != 0.0 && gemm->d_scale != 1.0) || gemm->d_shift != 0.0;
}

gboolean
gemmcl_gemm_finishes_d (const GemmclGemm *gemm)
{
  return gemm->pool != GEMMCL_POOL_NONE || scales_d (gemm) ||
         (gemm->d_frame && gemm->k > GEMMCL_MOST_K_OF_FRAMES);
}

gchar *
gemmcl_gemm_make_d_options (const GemmclGemm *gemm)
{
  const gdouble scale = gemm->d_scale == 0.0 ? 1.0 : gemm->d_scale;

  if (gemm->d_frame) {
    g_autofree gchar *frame = gemmcl_frame_get_defines (gemm->d_frame, "D_");

    return g_strdup_printf ("-DD_TYPE=%s%s",
                            gemmcl_type_get_dtype (gemmcl_frame_get_sample_type (gemm->d_frame)),
                            frame);
  }
  return scales_d (gemm)
             ? g_strdup_printf ("-DD_TYPE=%s -DD_SCALE=0x%x -DD_SHIFT=0x%x",
                                gemmcl_type_get_dtype (gemm->d_type), gemmcl_f32_get_bits (scale),
                                gemmcl_f32_get_bits (gemm->d_shift))
             : g_strdup_printf ("-DD_TYPE=%s", gemmcl_type_get_dtype (gemm->d_type));
}

/* Makes A a matrix of @type, row-major and tight. */
static void
make_matrix (GemmclGemm *gemm, GemmclType type)
{
  gemm->a_type = type;
  gemm->a_frame = NULL;
  gemm->trans_a = gemm->layout == GEMMCL_LAYOUT_COLUMN_MAJOR;
  gemm->lda = gemm->a_start = 0;
  gemm->a_stride = gemm->m * gemm->k;
}

GemmclGemm
gemmcl_gemm_get_product (const GemmclGemm *gemm)
{
  GemmclGemm product = *gemm;

  if (gemm->normalize & GEMMCL_NORMALIZE_A) {
    make_matrix (&product, GEMMCL_TYPE_F32);
    product.a_scale = 1.0;
    product.a_shift = 0.0;
  }
  if (gemm->normalize & GEMMCL_NORMALIZE_D || gemmcl_gemm_finishes_d (gemm))
    product.row_outputs = 0;
  if (gemmcl_gemm_finishes_d (gemm)) {
    product.d_type = GEMMCL_TYPE_F32;
    product.d_frame = NULL;
    product.ldd = product.d_start = product.d_stride = 0;
  }
  product.d_scale = product.d_shift = 0.0;
  product.normalize = 0;
  product.pool = GEMMCL_POOL_NONE;
  return product;
}

GemmclGemm
gemmcl_gemm_get_computed (const GemmclGemm *gemm)
{
  GemmclGemm computed = gemmcl_gemm_get_product (gemm);

  if (computed.a_frame && gemmcl_frame_is_matrix (computed.a_frame))
    make_matrix (&computed, gemmcl_frame_get_sample_type (computed.a_frame));
  computed.normalize = gemm->normalize & GEMMCL_NORMALIZE_D;
  if (gemm->addend != GEMMCL_ADDEND_PREVIOUS)
    return computed;
  /* Row outputs are computed from the rounded D. */
  if (gemm->d_type != GEMMCL_TYPE_F32)
    computed.row_outputs = 0;
  computed.addend = GEMMCL_ADDEND_OUTPUT;
  computed.omit_d = FALSE;
  computed.d_type = GEMMCL_TYPE_F32;
  computed.d_frame = NULL;
  computed.ldd = computed.d_start = computed.d_stride = 0;
  return computed;
}

GemmclGemm
gemmcl_gemm_get_as_run (const GemmclGemm *computed)
{
  GemmclGemm gemm = *computed;
  const gsize batch = gemmcl_gemm_get_batch (computed);

  if (gemm.b_stride == 0 && gemm.a_frame == NULL && gemm.d_frame == NULL &&
      gemm.layout == GEMMCL_LAYOUT_ROW_MAJOR && !gemm.trans_a &&
      gemm.addend != GEMMCL_ADDEND_MATRIX && gemm.m <= G_MAXINT32 / batch) {
    gemm.m *= batch;
    gemm.batch = 1;
  }
  return gemm;
}

GemmclStrides
gemmcl_gemm_get_strides (const GemmclGemm *gemm, GemmclOperand which, gboolean tight)
{
  const GemmclMatrixLayout layout = gemmcl_gemm_get_layout (gemm, which, tight);

  return (GemmclStrides){
      .offset = layout.offset,
      .batch = layout.stride,
      .row = layout.by_column ? 1 : layout.ld,
      .col = layout.by_column ? layout.ld : 1,
  };
}

const GemmclFrame *
gemmcl_gemm_get_frame (const GemmclGemm *gemm, GemmclOperand which)
{
  return which == GEMMCL_OPERAND_A   ? gemm->a_frame
         : which == GEMMCL_OPERAND_D ? gemm->d_frame
                                     : NULL;
}

gboolean
gemmcl_gemm_get_extent (const GemmclGemm *gemm, GemmclOperand which, gsize *bytes)
{
  const GemmclMatrixLayout layout = gemmcl_gemm_get_layout (gemm, which, FALSE);
  const GemmclFrame *frame = gemmcl_gemm_get_frame (gemm, which);
  const gsize batch = gemmcl_gemm_get_batch (gemm);
  gsize problems, lines, elements;

  if (frame != NULL)
    return g_size_checked_mul (bytes, gemmcl_frame_get_planes (frame, NULL), batch) &&
           *bytes <= G_MAXINT64;
  return g_size_checked_mul (&problems, batch - 1, layout.stride) &&
         g_size_checked_mul (&lines, layout.lines - 1, layout.ld) &&
         g_size_checked_add (&elements, problems, lines) &&
         g_size_checked_add (&elements, elements, layout.length) &&
         g_size_checked_add (&elements, elements, layout.offset) &&
         g_size_checked_mul (bytes, elements, gemmcl_gemm_get_element_size (gemm, which)) &&
         *bytes <= G_MAXINT64;
}

static gboolean
validate_size (const gchar *name, gsize size, GError **error)
{
  if (size < 1)
    return gemmcl_fail (error, GEMMCL_ERROR_INVALID, "%s is 0; it must be at least 1.", name);
  if (size > G_MAXINT32)
    return gemmcl_fail (error, GEMMCL_ERROR_TOO_LARGE, "%s is %zu; at most %d is possible.", name,
                        size, G_MAXINT32);
  return TRUE;
}

/* @which: A, B, C or D */
static gboolean
validate_matrix (const GemmclGemm *gemm, GemmclOperand which, GError **error)
{
  static const gchar *const names[] = {"A", "B", "C", "D"};
  const GemmclMatrixLayout layout = gemmcl_gemm_get_layout (gemm, which, FALSE);
  const GemmclType type = get_type (gemm, which);
  gsize bytes;

  if ((guint)type >= GEMMCL_N_TYPES)
    return gemmcl_fail (error, GEMMCL_ERROR_INVALID,
                        "Expected the type of %s to be 0 to %d (GemmclType), found %d.",
                        names[which], GEMMCL_N_TYPES - 1, type);
  if (layout.ld < layout.length)
    return gemmcl_fail (
        error, GEMMCL_ERROR_INVALID,
        "The leading dimension of %s is %zu, shorter than its %s of %zu elements.", names[which],
        layout.ld, gemm->layout == GEMMCL_LAYOUT_ROW_MAJOR ? "rows" : "columns", layout.length);
  if (!gemmcl_gemm_get_extent (gemm, which, &bytes))
    return gemmcl_fail (error, GEMMCL_ERROR_TOO_LARGE,
                        "The bytes of %s cannot be counted in 63 bits: "
                        "sizes, leading dimension, offset, batch or its stride are too large.",
                        names[which]);
  return TRUE;
}

/* The matrices of D must follow one another, or lie side by side within a leading dimension. */
static gboolean
validate_no_overlap (const GemmclGemm *gemm, GError **error)
{
  const GemmclMatrixLayout d = gemmcl_gemm_get_layout (gemm, GEMMCL_OPERAND_D, FALSE);
  const gsize batch = gemmcl_gemm_get_batch (gemm);
  const gsize span = (d.lines - 1) * d.ld + d.length;

  if (batch == 1 || d.stride >= span ||
      (d.stride >= d.length && (batch - 1) * d.stride + d.length <= d.ld))
    return TRUE;
  return gemmcl_fail (
      error, GEMMCL_ERROR_INVALID,
      "The %zu results overlap: the batch stride of D is %zu, but one D spans %zu elements.", batch,
      d.stride, span);
}

static gboolean
validate_a_frame (const GemmclGemm *gemm, GError **error)
{
  gsize m, k;

  if (!gemmcl_frame_get_shape (gemm->a_frame, &m, &k, error))
    return FALSE;
  if (gemm->layout != GEMMCL_LAYOUT_ROW_MAJOR)
    return gemmcl_fail (error, GEMMCL_ERROR_INVALID, "Frames need the row-major layout.");
  if (m != gemm->m || k != gemm->k)
    return gemmcl_fail (error, GEMMCL_ERROR_INVALID,
                        "The frame makes %zu rows of %zu features, but A is %zu x %zu.", m, k,
                        gemm->m, gemm->k);
  if (gemm->a_frame->features == GEMMCL_FEATURE_PATCH && gemm->a_frame->patch_padding > 0 &&
      gemm->a_scale == 0.0 && gemm->a_shift != 0.0)
    return gemmcl_fail (
        error, GEMMCL_ERROR_INVALID,
        "With padding, a_scale must not be 0 unless a_shift is 0, found a_shift %g: "
        "padded elements must be 0 after scaling.",
        gemm->a_shift);
  return TRUE;
}

static gboolean
validate_d_frame (const GemmclGemm *gemm, GError **error)
{
  const GemmclFrame *frame = gemm->d_frame;
  const gsize rows = gemmcl_gemm_count_rows_of_d (gemm, gemm->m);
  gsize m, n;

  if (!gemmcl_frame_get_shape (frame, &m, &n, error))
    return FALSE;
  if (gemm->layout != GEMMCL_LAYOUT_ROW_MAJOR || frame->features != GEMMCL_FEATURE_PIXEL ||
      frame->channels > 0 || gemmcl_pixel_format_get_n_planes (frame->format) > 1)
    return gemmcl_fail (error, GEMMCL_ERROR_INVALID,
                        "A D that is a frame needs the row-major layout, "
                        "the feature mode pixel and a format of one plane, not %s.",
                        frame->channels > 0 ? "a tensor"
                                            : gemmcl_pixel_format_get_name (frame->format));
  if (m != rows || n != gemm->n)
    return gemmcl_fail (error, GEMMCL_ERROR_INVALID,
                        "The frame has %zu pixels of %zu channels, but D is %zu x %zu.", m, n, rows,
                        gemm->n);
  return gemm->addend != GEMMCL_ADDEND_OUTPUT || !gemmcl_gemm_finishes_d (gemm) ||
         gemmcl_fail (error, GEMMCL_ERROR_INVALID,
                      "A D that is a frame, with GEMMCL_ADDEND_OUTPUT, needs a K of at most %d, "
                      "found %zu.",
                      GEMMCL_MOST_K_OF_FRAMES, gemm->k);
}

static gboolean
validate_normalize (const GemmclGemm *gemm, GError **error)
{
  const guint all = GEMMCL_NORMALIZE_A | GEMMCL_NORMALIZE_D;

  if (gemm->normalize & ~all)
    return gemmcl_fail (
        error, GEMMCL_ERROR_INVALID,
        "Expected normalize to be a set of GemmclNormalize flags (0 to %u), found %u.", all,
        gemm->normalize);
  if (gemm->normalize & GEMMCL_NORMALIZE_D && gemm->d_frame)
    return gemmcl_fail (error, GEMMCL_ERROR_INVALID,
                        "Normalized rows of D need a D that is a matrix, not a frame.");
  return TRUE;
}

static gboolean
validate_d_scale (const GemmclGemm *gemm, GError **error)
{
  const gboolean is_integer = gemm->d_type >= GEMMCL_TYPE_I8 && gemm->d_type < GEMMCL_N_TYPES;
  const gfloat scale = (gfloat)gemm->d_scale, shift = (gfloat)gemm->d_shift;

  if (!scales_d (gemm))
    return TRUE;
  if (scale < 0 || !isnormal (scale) != (gemm->d_scale == 0.0) || !isfinite (shift))
    return gemmcl_fail (error, GEMMCL_ERROR_INVALID,
                        "D has a scale of %g and a shift of %g; expected a scale above 0 and "
                        "numbers in the range of f32.",
                        gemm->d_scale, gemm->d_shift);
  if (!is_integer || gemm->d_frame || gemm->addend == GEMMCL_ADDEND_OUTPUT)
    return gemmcl_fail (error, GEMMCL_ERROR_INVALID,
                        "d_scale and d_shift need a D of an integer type that is a matrix, and an "
                        "addend other than GEMMCL_ADDEND_OUTPUT.");
  return TRUE;
}

static gboolean
validate_row_outputs (const GemmclGemm *gemm, GError **error)
{
  const guint columns = GEMMCL_ROW_ARG_MAX | GEMMCL_ROW_TOP_K;
  const guint all = GEMMCL_ROW_SUM | GEMMCL_ROW_MAX | columns;

  if (gemm->row_outputs & ~all)
    return gemmcl_fail (
        error, GEMMCL_ERROR_INVALID,
        "Expected row_outputs to be a set of GemmclRowOutput flags (0 to %u), found %u.", all,
        gemm->row_outputs);
  if (gemm->row_outputs != 0 && gemm->d_frame)
    return gemmcl_fail (error, GEMMCL_ERROR_INVALID,
                        "Row outputs need a D that is a matrix, not a frame.");
  if (gemm->omit_d && (gemm->row_outputs == 0 || gemm->addend == GEMMCL_ADDEND_OUTPUT))
    return gemmcl_fail (error, GEMMCL_ERROR_INVALID,
                        "With omit_d a run has row outputs, but no D. Expected row_outputs other "
                        "than 0, and an addend other than GEMMCL_ADDEND_OUTPUT.");
  if (gemm->row_outputs & columns && gemm->n > EXACT_FLOATS)
    return gemmcl_fail (
        error, GEMMCL_ERROR_TOO_LARGE,
        "N is %zu; arg-max and top-k allow at most %d, since their columns are floats.", gemm->n,
        EXACT_FLOATS);
  if (gemm->row_outputs & GEMMCL_ROW_TOP_K &&
      (gemm->top_k < 1 || gemm->top_k > MIN (GEMMCL_MAX_TOP_K, gemm->n)))
    return gemmcl_fail (error, GEMMCL_ERROR_INVALID,
                        "Top-k needs a k of 1 to %d that is at most N, found %u with N = %zu.",
                        GEMMCL_MAX_TOP_K, gemm->top_k, gemm->n);
  return TRUE;
}

static gboolean
validate_enums (const GemmclGemm *gemm, GError **error)
{
  const struct {
    const gchar *name, *type;
    guint found, most;
  } fields[] = {
      {"a layout", "GemmclLayout", gemm->layout, GEMMCL_LAYOUT_COLUMN_MAJOR},
      {"an addend", "GemmclAddend", gemm->addend, GEMMCL_ADDEND_PREVIOUS},
      {"an activation", "GemmclActivation", gemm->activation, GEMMCL_N_ACTIVATIONS - 1},
      {"a precision", "GemmclPrecision", gemm->precision, GEMMCL_N_PRECISIONS - 1},
      {"a pooling", "GemmclPool", gemm->pool, GEMMCL_POOL_AVERAGE},
  };

  for (guint i = 0; i < G_N_ELEMENTS (fields); i++)
    if (fields[i].found > fields[i].most)
      return gemmcl_fail (error, GEMMCL_ERROR_INVALID, "Expected %s of 0 to %u (%s), found %d.",
                          fields[i].name, fields[i].most, fields[i].type, (gint)fields[i].found);
  return TRUE;
}

GEMMCL_DEFINE_PLAIN_STRUCT (GemmclGemm, gemmcl_gemm, GEMMCL_GEMM_INIT)

gboolean
gemmcl_gemm_validate (const GemmclGemm *gemm, GError **error)
{
  g_return_val_if_fail (gemm != NULL, FALSE);

  return validate_enums (gemm, error) && validate_normalize (gemm, error) &&
         validate_d_scale (gemm, error) && validate_row_outputs (gemm, error) &&
         validate_size ("M", gemm->m, error) && validate_size ("N", gemm->n, error) &&
         validate_size ("K", gemm->k, error) &&
         validate_size ("The batch", gemmcl_gemm_get_batch (gemm), error) &&
         (gemm->a_frame ? validate_a_frame (gemm, error)
                        : validate_matrix (gemm, GEMMCL_OPERAND_A, error)) &&
         gemmcl_pool_validate (gemm, error) && validate_matrix (gemm, GEMMCL_OPERAND_B, error) &&
         (gemm->addend != GEMMCL_ADDEND_MATRIX ||
          validate_matrix (gemm, GEMMCL_OPERAND_C, error)) &&
         (gemm->d_frame ? validate_d_frame (gemm, error)
                        : validate_matrix (gemm, GEMMCL_OPERAND_D, error) &&
                              validate_no_overlap (gemm, error));
}
