/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The description of a problem: sizes, layouts, types and epilogue. Any thread.
 */
#pragma once

#include <glib-object.h>

#include "gemmcl-error.h"
#include "gemmcl-frame.h"
#include "gemmcl-matrix.h"

GEMMCL_BEGIN_DECLS

/**
 * GemmclLayout:
 *
 * Element (i, j) of a matrix lies at index i * ld + j (row-major) or i + j * ld (column-major).
 */
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
 * @GEMMCL_ACTIVATION_RELU6: min (max (x, 0), 6)
 * @GEMMCL_ACTIVATION_ELU: x if x >= 0, else exp (x) - 1
 * @GEMMCL_ACTIVATION_SOFTMAX: exp (x - max) / sum exp (x - max), over the N elements of a row
 *
 * The function applied last to each element or row of D. GELU: Hendrycks and Gimpel,
 * arXiv:1606.08415; hard-swish: Howard et al., arXiv:1905.02244; SiLU: Elfwing et al.,
 * arXiv:1702.03118; ELU: Clevert et al., arXiv:1511.07289.
 *
 * An infinite or large x gives the limit: GELU, SiLU, hard-swish and sigmoid of minus infinity are
 * 0, tanh of 1e30 is 1. Softmax of a row whose largest element is infinite, plus or minus, is NaN.
 * NaN stays NaN.
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
  GEMMCL_ACTIVATION_RELU6,
  GEMMCL_ACTIVATION_ELU,
  GEMMCL_ACTIVATION_SOFTMAX,
} GemmclActivation;

/**
 * GEMMCL_N_ACTIVATIONS:
 *
 * The number of activations.
 */
#define GEMMCL_N_ACTIVATIONS (GEMMCL_ACTIVATION_SOFTMAX + 1)

/**
 * gemmcl_activation_get_name:
 *
 * Returns: the name that users type, "leaky-relu" for example; static.
 */
const gchar *gemmcl_activation_get_name (GemmclActivation activation);

/**
 * gemmcl_activation_get_text:
 *
 * Returns: the formula as users read it, "max (x, 0)" for example; static.
 */
const gchar *gemmcl_activation_get_text (GemmclActivation activation);

/**
 * gemmcl_activation_keeps_zero:
 *
 * Returns: %TRUE if the activation of 0, or of a row of zeros, is 0.
 */
gboolean gemmcl_activation_keeps_zero (GemmclActivation activation);

/**
 * GemmclPrecision:
 * @GEMMCL_PRECISION_F32: the factors are f32
 * @GEMMCL_PRECISION_F16: the factors may be rounded to f16, which halves their memory. A magnitude
 *   of 65520 or more becomes infinite; gemmcl_plan_set() refuses it
 * @GEMMCL_PRECISION_BF16: the factors may be rounded to bf16, which has the range of f32 and fewer
 *   digits than f16
 * @GEMMCL_PRECISION_TF32: the factors may be rounded to tf32, which has the range of f32, the
 *   digits of f16, and four bytes; for matrix engines
 * @GEMMCL_PRECISION_I8: the factors may be quantized to int8: B with a scale per column, A with a
 *   scale and a zero point per row, computed in each run. An A of i8 or u8 is used unchanged if
 *   one of its stored values represents 0. Sums of products are exact. On GPUs a kernel for few
 *   rows quantizes B alone, and its sums are f32. NaN or an infinity in a row of A or a column of
 *   a run's own B makes that row or column of D NaN; gemmcl_plan_set() refuses such a B. A sum may
 *   overflow before all scales are multiplied in, unless all magnitudes in A and B are below
 *   1e36 / K
 *
 * The lowest precision allowed for the factors A and B; a kernel of f32 may be used with any
 * precision. Sums are f32, except sums of int8 products.
 */
typedef enum {
  GEMMCL_PRECISION_F32,
  GEMMCL_PRECISION_F16,
  GEMMCL_PRECISION_BF16,
  GEMMCL_PRECISION_TF32,
  GEMMCL_PRECISION_I8,
} GemmclPrecision;

/**
 * GEMMCL_N_PRECISIONS:
 *
 * The number of precisions.
 */
#define GEMMCL_N_PRECISIONS (GEMMCL_PRECISION_I8 + 1)

/**
 * gemmcl_precision_get_name:
 *
 * Returns: the name that users type, "f32" for example; static.
 */
const gchar *gemmcl_precision_get_name (GemmclPrecision precision);

/**
 * gemmcl_precision_of_matrix:
 * @b: weights
 *
 * Returns: the precision that the type of @b implies: F16 or BF16 for elements of that type, I8 for
 *   a quantized matrix (gemmcl_matrix_new_quantized()); F32 for any other matrix, also of int8
 *   without scales.
 */
GemmclPrecision gemmcl_precision_of_matrix (const GemmclMatrix *b);

/**
 * GemmclAddend:
 * @GEMMCL_ADDEND_NONE: there is no C; beta is ignored
 * @GEMMCL_ADDEND_MATRIX: C is M x N f32
 * @GEMMCL_ADDEND_ROW: C is 1 x N f32, added to each row of each problem of the batch
 * @GEMMCL_ADDEND_OUTPUT: C is the content of D before the run, as in BLAS: C <- alpha A B + beta C
 * @GEMMCL_ADDEND_PREVIOUS: C is the result of the plan's previous run, or zeros in the first run.
 *   The plan keeps it on the device in f32, not rounded to D's type
 *
 * The source of C. Layout fields of C that a source does not need are ignored.
 */
typedef enum {
  GEMMCL_ADDEND_NONE,
  GEMMCL_ADDEND_MATRIX,
  GEMMCL_ADDEND_ROW,
  GEMMCL_ADDEND_OUTPUT,
  GEMMCL_ADDEND_PREVIOUS,
} GemmclAddend;

/**
 * GemmclNormalize:
 * @GEMMCL_NORMALIZE_A: each row of A, after @a_scale and @a_shift
 * @GEMMCL_NORMALIZE_D: each row of D, after the activation and before rounding to D's type. D must
 *   be a matrix. %GEMMCL_ADDEND_PREVIOUS adds the normalized result
 *
 * Flags of the matrices whose rows are divided by their L2 norms: x / max (|x|, 1e-12). A times B
 * is then the cosine similarity, if the columns of B have norm 1.
 *
 * A row with a NaN becomes NaN. In a row with an infinity, infinities become NaN and the rest 0.
 * Squares do not overflow. With %GEMMCL_NORMALIZE_A kernels read A as an f32 copy on the device.
 */
typedef enum {
  GEMMCL_NORMALIZE_A = 1 << 0,
  GEMMCL_NORMALIZE_D = 1 << 1,
} GemmclNormalize;

/**
 * GemmclPool:
 * @GEMMCL_POOL_NONE: D has a row for each row of A
 * @GEMMCL_POOL_MAX: the largest element; NaN if one is NaN
 * @GEMMCL_POOL_AVERAGE: the sum, in f32, divided by the number of elements
 *
 * How the elements of a window become one, for each column. Windows lie on grids of rows; see
 * @pool of #GemmclGemm.
 */
typedef enum {
  GEMMCL_POOL_NONE,
  GEMMCL_POOL_MAX,
  GEMMCL_POOL_AVERAGE,
} GemmclPool;

/**
 * GemmclRowOutput:
 * @GEMMCL_ROW_SUM: the sum of a row
 * @GEMMCL_ROW_MAX: the largest element of a row; NaN if the row has a NaN
 * @GEMMCL_ROW_ARG_MAX: the column, from 0, of the first largest element, or of the first NaN: the
 *   class of a row of logits. A float, so N is at most 2^24
 * @GEMMCL_ROW_TOP_K: the top_k largest elements in descending order, followed by their columns. NaN
 *   comes first, and of equal elements the one in the lower column. N is at least top_k and at most
 *   2^24
 *
 * Flags of the row outputs: values computed from each row of the final D, after pooling, rounded
 * to its type.
 */
typedef enum {
  GEMMCL_ROW_SUM = 1 << 0,
  GEMMCL_ROW_MAX = 1 << 1,
  GEMMCL_ROW_ARG_MAX = 1 << 2,
  GEMMCL_ROW_TOP_K = 1 << 3,
} GemmclRowOutput;

/**
 * GEMMCL_MAX_TOP_K:
 *
 * The largest top_k.
 */
#define GEMMCL_MAX_TOP_K 16

/**
 * GemmclGemm:
 * @m: rows of op(A), and of D unless it is pooled; this, @n and @k are 1 to G_MAXINT32
 * @n: columns of op(B) and D
 * @k: columns of op(A) and rows of op(B)
 * @layout: the layout of A, B, C and D
 * @trans_a: A is stored k x m
 * @trans_b: B is stored n x k
 * @lda: leading dimension of A: elements from a row (row-major) or column (column-major) to the
 *   next; 0: no gap
 * @ldb: leading dimension of B
 * @ldc: leading dimension of C
 * @ldd: leading dimension of D; gaps are not written
 * @a_start: elements before the first element of A; for device buffers and for the pointers of
 *   gemmcl_gemm_run()
 * @b_start: elements before the first element of B
 * @c_start: elements before the first element of C
 * @d_start: elements before the first element of D
 * @batch: the number of problems of this shape; 0 means 1. A plan's share B; set @a_stride unless
 *   they share A, too
 * @a_stride: elements from a problem's A to the next problem's; 0: all problems share A
 * @b_stride: as @a_stride, for B of gemmcl_gemm_run() and of a #GemmclRun
 * @c_stride: likewise for C
 * @d_stride: as @a_stride, for D; but 0: no gap
 * @a_type: the type of A in memory; 0 is F32. Kernels convert it to their precision, which is f32
 *   at most: F64 and integers of 32 and 64 bits are rounded to 24 binary digits
 * @d_type: the type of D in memory; an F64 has the digits of f32. For an integer D results are
 *   rounded to nearest, ties to even, and saturated; NaN becomes 0
 * @precision: the lowest precision allowed
 * @a_scale: each element of A is its stored value * a_scale + a_shift
 * @a_shift: see @a_scale
 * @d_scale: each element of D is its stored value * d_scale + d_shift; a @d_scale of 0 means 1.
 *   A @d_scale other than 0 and 1, or a @d_shift other than 0, requires an integer D that is a
 *   matrix, and no %GEMMCL_ADDEND_OUTPUT. @d_scale must not be negative. Row outputs and the
 *   previous result use the elements, not the stored values
 * @d_shift: see @d_scale
 * @addend: the source of C
 * @bias: add a bias of N f32 to each row of each problem of the batch
 * @activation: the function applied last
 * @normalize: #GemmclNormalize flags
 * @row_outputs: #GemmclRowOutput flags. A run then also returns a row-major M x Q matrix of f32,
 *   columns in the order of the flags: see gemmcl_gemm_count_row_outputs(). With @pool it has D's
 *   number of rows. D must be a matrix
 * @top_k: for %GEMMCL_ROW_TOP_K: the number of elements, 1 to %GEMMCL_MAX_TOP_K
 * @omit_d: a run returns only the row outputs, of which there must be some, and has no @d. D is not
 *   written to memory if the kernel computes them in registers, or finds the largest elements of
 *   its tiles there; otherwise the plan has memory for D. Row outputs are as with D, except for the
 *   order in which a sum is added up. @addend must not be %GEMMCL_ADDEND_OUTPUT
 * @alpha: the factor of A B; with 0 A and B are not read. Only gemmcl_gemm_run() and
 *   gemmcl_gemm_verify() use @alpha and @beta; a plan takes them from each #GemmclRun
 * @beta: the factor of C; with 0 C is not read
 * @a_frame: (nullable): the rows of A are features of frames or tensors, one per problem (see
 *   #GemmclFrame). @m and @k are then its shape, @layout is row-major, and @trans_a, @lda,
 *   @a_start, @a_stride and @a_type are ignored
 * @d_frame: (nullable): the rows of D are pixels of frames, one per problem, of feature mode PIXEL
 *   and any format that can be written (see #GemmclPixelFormat). Its shape is that of D, @layout is
 *   row-major, and @ldd, @d_start, @d_stride and @d_type are ignored. If @k exceeds 16, or with
 *   @pool, a step converts f32 to pixels, and @addend must not be %GEMMCL_ADDEND_OUTPUT
 * @pool: pools the result, after the activation and before @d_scale, @d_shift and rounding to D's
 *   type. Its M rows are grids of @pool_down x @pool_across rows, nested in that order; each grid
 *   becomes a grid of windows, whose rows, one for each window, follow one another in D. Windows
 *   lie wholly inside: (grid - window) / stride + 1 in each direction, rounded down. @addend
 *   must be neither %GEMMCL_ADDEND_OUTPUT nor %GEMMCL_ADDEND_PREVIOUS, and @normalize without
 *   %GEMMCL_NORMALIZE_D. C has M rows
 * @pool_across: the width of a grid; 0: that of @a_frame's grid (gemmcl_frame_get_grid()), or M.
 *   With @a_frame it is 0 or that width
 * @pool_down: the height of a grid; 0: M / @pool_across. M is a multiple of both
 * @pool_width: the width of a window; 0: that of the grid
 * @pool_height: the height of a window; 0: that of the grid
 * @pool_stride_x: rows from a window to the next one across; 0: @pool_width
 * @pool_stride_y: the same down; 0: @pool_height
 *
 * A problem. A plain struct on the caller's stack; start from GEMMCL_GEMM_INIT. Functions copy what
 * they keep.
 */
typedef struct {
  gsize m, n, k;
  GemmclLayout layout;
  gboolean trans_a, trans_b;
  gsize lda, ldb, ldc, ldd;
  gsize a_start, b_start, c_start, d_start;
  gsize batch;
  gsize a_stride, b_stride, c_stride, d_stride;
  GemmclType a_type, d_type;
  GemmclPrecision precision;
  gdouble a_scale, a_shift;
  gdouble d_scale, d_shift;
  GemmclAddend addend;
  gboolean bias;
  GemmclActivation activation;
  guint normalize;
  guint row_outputs;
  guint top_k;
  gboolean omit_d;
  gdouble alpha, beta;
  const GemmclFrame *a_frame;
  const GemmclFrame *d_frame;
  GemmclPool pool;
  gsize pool_across, pool_down;
  gsize pool_width, pool_height;
  gsize pool_stride_x, pool_stride_y;
  /*< private >*/
  gpointer _reserved[4];
} GemmclGemm;

/**
 * GEMMCL_GEMM_INIT:
 *
 * Initializes a #GemmclGemm: alpha and scales are 1, all other fields 0.
 */
#define GEMMCL_GEMM_INIT                                                                           \
  {                                                                                                \
    .alpha = 1.0, .beta = 0.0, .a_scale = 1.0, .a_shift = 0.0, .d_scale = 1.0, .d_shift = 0.0      \
  }

#define GEMMCL_TYPE_GEMM (gemmcl_gemm_get_type ())
GType gemmcl_gemm_get_type (void);

/**
 * gemmcl_gemm_new:
 *
 * Creates a problem in a language without macros. A copy of a boxed struct is shallow: both structs
 * hold the same pointers.
 *
 * Returns: (transfer full): GEMMCL_GEMM_INIT; g_boxed_free() or g_free() frees it.
 */
GemmclGemm *gemmcl_gemm_new (void);

/**
 * gemmcl_gemm_validate:
 *
 * Checks everything that does not depend on the device. Functions that take a #GemmclGemm and a
 * #GError call it, unless their documentation asks for a valid problem.
 *
 * Returns: %FALSE with %GEMMCL_ERROR_INVALID or %GEMMCL_ERROR_TOO_LARGE: a size of 0, a leading
 *   dimension shorter than a row, results that overlap, an index or a byte count that overflows.
 */
gboolean gemmcl_gemm_validate (const GemmclGemm *gemm, GError **error);

/**
 * gemmcl_gemm_count_row_outputs:
 *
 * Returns: Q, the number of row outputs of @gemm: one for each flag, and 2 top_k for
 *   %GEMMCL_ROW_TOP_K; 0 to 35.
 */
guint gemmcl_gemm_count_row_outputs (const GemmclGemm *gemm);

/**
 * gemmcl_gemm_get_pooled_grid:
 * @gemm: a valid problem with a @pool
 * @across: (out): windows side by side
 * @down: (out): rows of windows in a grid
 *
 * Returns: the rows of D: across x down for each grid.
 */
gsize gemmcl_gemm_get_pooled_grid (const GemmclGemm *gemm, gsize *across, gsize *down);

/**
 * gemmcl_gemm_verify:
 * @gemm: a valid problem of matrices, not frames, with an f32 D
 * @a: as for gemmcl_gemm_run()
 * @b: (type gpointer): as for gemmcl_gemm_run()
 * @c: (type gpointer) (nullable): as for gemmcl_gemm_run(); with GEMMCL_ADDEND_OUTPUT D before the
 *   run, with GEMMCL_ADDEND_PREVIOUS the previous result in the layout of D. %NULL: zeros, with any
 *   addend
 * @bias: (type gpointer) (nullable): as for gemmcl_gemm_run()
 * @d: (type gpointer): the result to check
 * @max_error: (out) (optional): |D - Dref| of the element for which |D - Dref| / bound is largest;
 *   NaN if a NaN or an infinity is wrong. It is at most @error_bound if the result is %TRUE
 * @error_bound: (out) (optional): the bound of that element
 *
 * Computes the problem on the host in double precision, which is slow, and compares each element of
 * @d with the reference Dref:
 *
 *     |D - Dref| <= g(K) * (|alpha| |A||B| + |beta||C| + |bias|)
 *     g(K) = (K + 4) u / (1 - (K + 4) u),  u = 2^-24
 *
 * (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section 3.1). The activation
 * multiplies the bound by its Lipschitz constant and adds the error of its own evaluation. For each
 * product a b, a precision with unit roundoff v and smallest normal number w adds the first line,
 * I8 the second, and normalizing A the third:
 *
 *     (2 v + v^2) |a b| + v w (|a| + |b|)
 *     ea |b| + |a| eb + ea eb,  ea = (max (A, 0) - min (A, 0)) / 510 of a row of A, or the
 *                               rounding of a_scale and a_shift if A is used unchanged,
 *                               eb = max |B| / 254 of a column; undivided if that is subnormal
 *     (K / 2 + 13) u |a b|
 *
 * With normalized rows of D, let x be such a row of N elements, n its norm and r the bounds of its
 * elements before normalization. Its bounds are (r + |x| |r|) / (n - |r|) + (N / 2 + 13) u |x|.
 *
 * A maximum has the largest bound of its window. An average of w x h elements has the average bound
 * and the error (w + h + 3) u times the average of |x|.
 *
 * Returns: %TRUE if every element is within its bound. NaN and infinities must be where the
 *   reference has them. With I8, an element of D may also be NaN if its row of A or column of B has
 *   NaN or an infinity, and with softmax or %GEMMCL_NORMALIZE_D if this holds for an element of its
 *   row, with @pool for one of its window.
 */
gboolean gemmcl_gemm_verify (const GemmclGemm *gemm, gconstpointer a, const gfloat *b,
                             const gfloat *c, const gfloat *bias, const gfloat *d,
                             gdouble *max_error, gdouble *error_bound);

GEMMCL_END_DECLS
