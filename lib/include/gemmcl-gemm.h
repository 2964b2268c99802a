/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib-object.h>

#include "gemmcl-context.h"
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

/**
 * gemmcl_gemm_run:
 * @gemm: the problem, of matrices, not pictures, without row outputs
 * @kernel: (nullable): as for gemmcl_plan_new()
 * @a, @b: A (of a_type) and B (f32); b may not be %NULL, nor @a, unless alpha is 0
 * @c: (nullable): C; %NULL unless addend is MATRIX or ROW
 * @bias: (nullable): %NULL unless the problem has a bias
 * @d: D; with GEMMCL_ADDEND_OUTPUT also C
 *
 * The one blocking call for those who want no plan: makes one, runs it once and drops it. Offsets
 * and batch strides are applied to the pointers.
 *
 * Returns: %FALSE with any #GemmclError; D is then undefined.
 */
gboolean gemmcl_gemm_run (GemmclContext *context, const GemmclGemm *gemm, const gchar *kernel,
                          gconstpointer a, const gfloat *b, const gfloat *c, const gfloat *bias,
                          gpointer d, GError **error);

/**
 * gemmcl_gemm_verify:
 * @gemm: the problem, of matrices, f32 D
 * @a, @b, @c, @bias: as for gemmcl_gemm_run(); with GEMMCL_ADDEND_OUTPUT @c is what D held before
 * @d: the result to check
 * @max_error: (out) (optional): the largest |D - Dref|
 * @error_bound: (out) (optional): the bound where |D - Dref| / bound is largest
 *
 * Computes the problem in double precision on the host, slowly, and holds each element of @d to
 *
 *     |D - Dref| <= g(K) * (|alpha| |A||B| + |beta||C| + |bias|)
 *     g(K) = (K + 4) u / (1 - (K + 4) u),  u = 2^-24
 *
 * (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section 3.1), carried through
 * the activation by its Lipschitz constant and what its own evaluation may err. A precision that
 * rounds by v adds 2 v + v^2 for the products, and v w (|A| + |B|) for what is smaller than its
 * smallest normal number w. I8 adds half a step of the bytes that A and B became to each product:
 *
 *     ea |B| + |A| eb + ea eb,  ea = (max (A, 0) - min (A, 0)) / 510 of a row of A,
 *                               eb = max |B| / 254 of a column of B
 *
 * A range whose step is no normal number may become 0.
 *
 * Returns: whether every element is within its bound. NaN and infinities must be where the
 *   reference has them; with I8 all of what a row of A or a column of B with one of them comes to
 *   may also be NaN.
 */
gboolean gemmcl_gemm_verify (const GemmclGemm *gemm, gconstpointer a, const gfloat *b,
                             const gfloat *c, const gfloat *bias, const gfloat *d,
                             gdouble *max_error, gdouble *error_bound);

/**
 * GemmclKernelInfo:
 * @name: what users type
 * @method: the part of the name that says how it works
 * @summary: one line
 * @precision: what it computes in
 * @needs: what it needs of a problem or a device, in words; "" for nothing
 */
typedef struct {
  const gchar *name;
  const gchar *method;
  const gchar *summary;
  GemmclPrecision precision;
  const gchar *needs;
} GemmclKernelInfo;

/** gemmcl_get_n_kernels: Returns: how many kernels the library has. */
guint gemmcl_get_n_kernels (void);

/** gemmcl_get_kernel: Returns: the @index-th one, the fallback first; static. */
const GemmclKernelInfo *gemmcl_get_kernel (guint index);

/** gemmcl_kernel_exists: Returns: whether @name is a kernel's name, with or without a split behind
 * it (see gemmcl_plan_new()); else %FALSE with #GEMMCL_ERROR_KERNEL, which lists near names. */
gboolean gemmcl_kernel_exists (const gchar *name, GError **error);

/**
 * gemmcl_kernel_fits:
 * @name: the name of a kernel
 * @gemm: (nullable): a problem; %NULL to ask for the device alone
 *
 * Returns: whether the kernel can do @gemm on the device of @context; %FALSE with
 *   #GEMMCL_ERROR_KERNEL, which says why not.
 */
gboolean gemmcl_kernel_fits (GemmclContext *context, const gchar *name, const GemmclGemm *gemm,
                             GError **error);

/**
 * GemmclKernelLevel:
 * @GEMMCL_KERNEL_LEVEL_NATIVE: as it was meant: its subgroups, if any, are the device's own
 *   (cl_intel_subgroups, cl_intel_required_subgroup_size)
 * @GEMMCL_KERNEL_LEVEL_KHR: its subgroups use cl_khr_subgroup_shuffle and have no block reads
 * @GEMMCL_KERNEL_LEVEL_EMULATED: its subgroups share through local memory; right, but slow, and so
 *   only where it is asked for by name
 *
 * How a kernel runs on a device, best first. The environment variable GEMMCL_SUBGROUPS, with a
 * level's name, keeps kernels from any better one; "khr" is also the only way to it on a CPU, whose
 * shuffles are no better than what is emulated, and may take minutes to compile.
 */
typedef enum {
  GEMMCL_KERNEL_LEVEL_NATIVE,
  GEMMCL_KERNEL_LEVEL_KHR,
  GEMMCL_KERNEL_LEVEL_EMULATED,
} GemmclKernelLevel;

/** gemmcl_kernel_level_get_name: Returns: "native", "khr" or "emulated"; static. */
const gchar *gemmcl_kernel_level_get_name (GemmclKernelLevel level);

/**
 * gemmcl_kernel_get_level:
 * @name: the name of a kernel
 * @level: (out): how it runs on the device of @context
 *
 * Tries what subgroups need on the device by building a small program. A kernel that does not build
 * at this level nevertheless runs at the next one.
 *
 * Returns: %FALSE with #GEMMCL_ERROR_KERNEL, which says why it does not run there.
 */
gboolean gemmcl_kernel_get_level (GemmclContext *context, const gchar *name,
                                  GemmclKernelLevel *level, GError **error);

/**
 * gemmcl_kernel_get_source:
 * @name: the name of a kernel
 * @gemm: the problem that it would be built for
 * @options: (out) (transfer full): what the compiler is told
 *
 * What gemmcl_plan_new() gives OpenCL's compiler, for compilers that stand alone and their devices,
 * which need not be here. Subgroups are native.
 *
 * Returns: (transfer none): the program, OpenCL C with nothing to include, whose kernel is called
 *   gemm; %NULL with #GEMMCL_ERROR_KERNEL or what gemmcl_gemm_validate() says.
 */
const gchar *gemmcl_kernel_get_source (const gchar *name, const GemmclGemm *gemm, gchar **options,
                                       GError **error);

GEMMCL_END_DECLS
