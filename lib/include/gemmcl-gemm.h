/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib-object.h>

#include "gemmcl-error.h"
#include "gemmcl-image.h"
#include "gemmcl-matrix.h"

GEMMCL_BEGIN_DECLS

/** GemmclLayout: element (i, j) of a matrix lies at i * ld + j, or at i + j * ld. */
typedef enum {
  GEMMCL_LAYOUT_ROW_MAJOR,
  GEMMCL_LAYOUT_COLUMN_MAJOR,
} GemmclLayout;

/**
 * GemmclActivation:
 * @GEMMCL_ACTIVATION_NONE: x
 * @GEMMCL_ACTIVATION_RELU: max (x, 0)
 * @GEMMCL_ACTIVATION_LEAKY_RELU: x if x >= 0, else 0.01 x
 * @GEMMCL_ACTIVATION_GELU: x (1 + erf (x / sqrt 2)) / 2
 * @GEMMCL_ACTIVATION_GELU_TANH: x (1 + tanh (sqrt (2 / pi) (x + 0.044715 x^3))) / 2
 * @GEMMCL_ACTIVATION_SIGMOID: 1 / (1 + exp (-x))
 * @GEMMCL_ACTIVATION_SILU: x / (1 + exp (-x))
 * @GEMMCL_ACTIVATION_TANH: tanh x
 * @GEMMCL_ACTIVATION_HARD_SWISH: x min (max (x + 3, 0), 6) / 6
 * @GEMMCL_ACTIVATION_SOFTMAX: exp (x - max) / sum exp (x - max), over the N of each row
 *
 * What is applied last. GELU: Hendrycks and Gimpel, arXiv:1606.08415; hard-swish: Howard et al.,
 * arXiv:1905.02244; SiLU: Elfwing et al., arXiv:1702.03118.
 *
 * Infinities give the limits: of minus infinity both forms of GELU, SiLU, hard-swish and sigmoid
 * are 0 and tanh is -1; of infinity sigmoid and tanh are 1. So do large numbers: tanh of 1e30 is 1.
 * A row whose largest element is infinite, plus or minus, has NaN for its softmax. NaN stays NaN.
 */
typedef enum {
  GEMMCL_ACTIVATION_NONE,
  GEMMCL_ACTIVATION_RELU,
  GEMMCL_ACTIVATION_LEAKY_RELU,
  GEMMCL_ACTIVATION_GELU,
  GEMMCL_ACTIVATION_GELU_TANH,
  GEMMCL_ACTIVATION_SIGMOID,
  GEMMCL_ACTIVATION_SILU,
  GEMMCL_ACTIVATION_TANH,
  GEMMCL_ACTIVATION_HARD_SWISH,
  GEMMCL_ACTIVATION_SOFTMAX,
} GemmclActivation;

#define GEMMCL_N_ACTIVATIONS (GEMMCL_ACTIVATION_SOFTMAX + 1)

/** gemmcl_activation_get_name: Returns: "leaky-relu" and so on, as users type it; static. */
const gchar *gemmcl_activation_get_name (GemmclActivation activation);

/**
 * GemmclPrecision:
 * @GEMMCL_PRECISION_F32: A and B are f32 where they are multiplied
 * @GEMMCL_PRECISION_F16: A and B may have been rounded to f16, which makes half as many bytes; what
 *   is more than 65504 becomes infinite, and gemmcl_plan_set_b() refuses it
 * @GEMMCL_PRECISION_BF16: the same of bf16: fewer digits, the range of f32
 * @GEMMCL_PRECISION_TF32: the digits of f16, the range of f32, in four bytes: for matrix engines
 * @GEMMCL_PRECISION_I8: A and B may have been quantised to bytes: B by a scale for each of its
 *   columns, A by a scale and a zero point for each of its rows, found anew in each run; sums of
 *   bytes are exact. A row of A with NaN or an infinity makes its row of D NaN, such a column of a
 *   run's own B its column; gemmcl_plan_set_b() refuses them
 *
 * What is multiplied, at least: f32 answers for all of them. Sums are f32 but for bytes.
 */
typedef enum {
  GEMMCL_PRECISION_F32,
  GEMMCL_PRECISION_F16,
  GEMMCL_PRECISION_BF16,
  GEMMCL_PRECISION_TF32,
  GEMMCL_PRECISION_I8,
} GemmclPrecision;

#define GEMMCL_N_PRECISIONS (GEMMCL_PRECISION_I8 + 1)

/** gemmcl_precision_get_name: Returns: "f32" and so on, as users type it; static. */
const gchar *gemmcl_precision_get_name (GemmclPrecision precision);

/**
 * gemmcl_precision_of_matrix:
 * @b: weights
 *
 * Returns: what their type states: F16 and BF16 of elements that are that, I8 of bytes with scales;
 *   else F32, also of bytes without, which are integers.
 */
GemmclPrecision gemmcl_precision_of_matrix (const GemmclMatrix *b);

/**
 * gemmcl_precision_get_rounding:
 * @normal: (out) (optional): the smallest normal number: what is smaller is off by @normal times
 *   the roundoff
 *
 * Returns: the unit roundoff of what elements of A and B are rounded to before they are multiplied,
 *   2^-11 for f16; 0 where they are not rounded, or by steps that depend on the matrix (I8).
 */
gdouble gemmcl_precision_get_rounding (GemmclPrecision precision, gdouble *normal);

/**
 * GemmclAddend:
 * @GEMMCL_ADDEND_NONE: there is no C; beta means nothing
 * @GEMMCL_ADDEND_MATRIX: C is M x N f32
 * @GEMMCL_ADDEND_ROW: C is 1 x N f32, the same for each row and batch; ldc and c_stride mean
 *   nothing
 * @GEMMCL_ADDEND_OUTPUT: C is what D holds before the run: BLAS's C <- alpha A B + beta C. Of D's
 *   type and layout; ldc, c_offset and c_stride mean nothing
 * @GEMMCL_ADDEND_PREVIOUS: C is the result of the plan's previous run; zeros for the first. The
 *   plan keeps it on the device in f32, as it was before it was rounded to D's type; ldc, c_offset
 *   and c_stride mean nothing
 */
typedef enum {
  GEMMCL_ADDEND_NONE,
  GEMMCL_ADDEND_MATRIX,
  GEMMCL_ADDEND_ROW,
  GEMMCL_ADDEND_OUTPUT,
  GEMMCL_ADDEND_PREVIOUS,
} GemmclAddend;

/**
 * GemmclRowOutput:
 * @GEMMCL_ROW_SUM: the sum of a row
 * @GEMMCL_ROW_MAX: its largest element; NaN if there is one
 * @GEMMCL_ROW_ARG_MAX: the column, from 0, of the first that is the largest, or NaN: of logits the
 *   class; as a float, so N may be 2^24 at most
 *
 * What may be asked of each row of D besides D: flags. They are found from what D then holds, after
 * the activation, rounded to D's type.
 */
typedef enum {
  GEMMCL_ROW_SUM = 1 << 0,
  GEMMCL_ROW_MAX = 1 << 1,
  GEMMCL_ROW_ARG_MAX = 1 << 2,
} GemmclRowOutput;

/**
 * GemmclGemm:
 * @m, @n, @k: D is m x n, op(A) m x k, op(B) k x n; each at least 1, at most G_MAXINT32
 * @layout: of A, B, C and D
 * @trans_a, @trans_b: A is stored k x m, B is stored n x k
 * @lda, @ldb, @ldc, @ldd: elements from a row (row-major) or column (column-major) to the next;
 *   0: no gap
 * @a_offset, @b_offset, @c_offset, @d_offset: elements before the first; in device buffers and in
 *   gemmcl_gemm_run()'s pointers
 * @batch: how many problems of this shape; 0 is 1
 * @a_stride, @b_stride, @c_stride, @d_stride: elements from one problem's matrix to the next one's;
 *   0: the same for all (not for D, where 0 means: no gap)
 * @a_type, @d_type: what A and D hold. Arithmetic is f32. Into integers results are rounded to
 *   nearest, halves to even, and saturated; NaN becomes 0. F32 is 0.
 * @precision: the least that will do; kernels of f32 may be chosen, too
 * @a_scale, @a_shift: A is what is stored * a_scale + a_shift
 * @addend: what C is
 * @bias: there is a bias: N f32, the same for each row and batch
 * @activation: applied last
 * @row_outputs: which of #GemmclRowOutput a run gives, too: Q of them, a row-major M x Q of f32 in
 *   the order in which they stand there, whatever @layout is. D must be a matrix
 * @alpha, @beta: for gemmcl_gemm_run() and gemmcl_gemm_verify(); each run of a plan brings its own.
 *   With alpha == 0 neither A nor B is read, with beta == 0 C is not: NaN there does not spread
 * @a_image: (nullable): A's rows are the features of pictures, a picture per batch; then @m, @k are
 *   what gemmcl_image_get_shape() says, @layout is row-major, and @trans_a, @lda, @a_offset,
 *   @a_stride and @a_type mean nothing
 * @d_image: (nullable): D's rows are pixels of pictures, a picture per batch: of features PIXEL, of
 *   any format but NV12 and I420; same size rules, @ldd, @d_offset, @d_stride, @d_type mean nothing
 *
 * A problem. A plain struct for the caller's stack; start from GEMMCL_GEMM_INIT. Nothing points
 * into it once a function has returned.
 */
typedef struct {
  gsize m, n, k;
  GemmclLayout layout;
  gboolean trans_a, trans_b;
  gsize lda, ldb, ldc, ldd;
  gsize a_offset, b_offset, c_offset, d_offset;
  gsize batch;
  gsize a_stride, b_stride, c_stride, d_stride;
  GemmclType a_type, d_type;
  GemmclPrecision precision;
  gdouble a_scale, a_shift;
  GemmclAddend addend;
  gboolean bias;
  GemmclActivation activation;
  guint row_outputs;
  gdouble alpha, beta;
  const GemmclImage *a_image;
  const GemmclImage *d_image;
} GemmclGemm;

#define GEMMCL_GEMM_INIT                                                                           \
  {                                                                                                \
    .alpha = 1.0, .beta = 0.0, .a_scale = 1.0, .a_shift = 0.0                                      \
  }

/**
 * gemmcl_gemm_validate:
 *
 * Checks everything that needs no device. The functions below that take a #GemmclGemm do it too.
 *
 * Returns: %FALSE with #GEMMCL_ERROR_INVALID or #GEMMCL_ERROR_TOO_LARGE: a size of 0, an ld shorter
 *   than a row, results that overlap, an index or a byte count that overflows.
 */
gboolean gemmcl_gemm_validate (const GemmclGemm *gemm, GError **error);

/** gemmcl_gemm_count_row_outputs: Returns: Q, how many row outputs @gemm asks for; 0 to 3. */
guint gemmcl_gemm_count_row_outputs (const GemmclGemm *gemm);

GEMMCL_END_DECLS
