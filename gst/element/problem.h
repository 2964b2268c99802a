/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "element/shape.h"

/* Makes a GemmclGemm of settings, operands and formats. Pure functions. */

/** gst_gemmcl_output_check: Returns: %FALSE with #GEMMCL_ERROR_INVALID if the property output needs
 * other settings. */
gboolean gst_gemmcl_output_check (const GstGemmclSettings *settings, GError **error);

/** gst_gemmcl_output_count_columns: Returns: the columns of the output: @n, N of the weight, or the
 * number of row outputs that leave in place of D. */
gsize gst_gemmcl_output_count_columns (const GstGemmclSettings *settings, gsize n);

/** gst_gemmcl_output_get_types: Returns: the types that the output may have as a tensor, the
 * preferred type first; static. @n: (out): the number of types. */
const GemmclType *gst_gemmcl_output_get_types (const GstGemmclSettings *settings, guint *n);

/** gst_gemmcl_output_is_scaled: Returns: %TRUE unless output-scale is 1 and output-offset is 0. */
gboolean gst_gemmcl_output_is_scaled (const GstGemmclSettings *settings);

/** GstGemmclOperands: The matrices as they were loaded. Each is owned and nullable. */
typedef union {
  struct {
    GemmclMatrix *weight, *bias, *addend;
  };
  GemmclMatrix *matrix[GST_GEMMCL_N_OPERANDS]; /* by GemmclPlanOperand */
} GstGemmclOperands;

void gst_gemmcl_operands_clear (GstGemmclOperands *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (GstGemmclOperands, gst_gemmcl_operands_clear)

/** gst_gemmcl_operands_copy: Makes @self reference the operands of @from instead of its own. */
void gst_gemmcl_operands_copy (GstGemmclOperands *self, const GstGemmclOperands *from);

/** gst_gemmcl_weight_get_shape: @weight: (nullable). @k, @n: (out): 0 without a weight. */
void gst_gemmcl_weight_get_shape (const GstGemmclSettings *settings, const GemmclMatrix *weight,
                                  gsize *k, gsize *n);

/** GstGemmclProblem: The problem of a stream, with its frames and the folding of lists. */
typedef struct {
  GemmclGemm gemm; /* points to the frames below: copy with gst_gemmcl_problem_copy() */
  GemmclFrame a_frame;
  GemmclFrame d_frame;

  /* Lists in input-scale and input-offset, which become a part of the operands. */
  gboolean folds_scale;  /* rows of the weight are scaled */
  gboolean folds_offset; /* offsets are in the bias; gemm.a_shift is 0 */
} GstGemmclProblem;

/**
 * gst_gemmcl_problem_init:
 * @output: (nullable): the format of the source pad; %NULL: tensors
 * @operands: the weight is required
 * @min_m: M if @input is audio or flexible tensors, whose caps do not have it
 * @feedback: use the previous output as C if there is no addend
 *
 * Returns: %FALSE with #GEMMCL_ERROR_SHAPE or #GEMMCL_ERROR_INVALID if the arguments contradict one
 *   another
 */
gboolean gst_gemmcl_problem_init (GstGemmclProblem *self, const GstGemmclFormat *input,
                                  const GstGemmclFormat *output, const GstGemmclOperands *operands,
                                  const GstGemmclSettings *settings, gsize min_m, gboolean feedback,
                                  GError **error);

/* A = sample * input-scale + input-offset. Each of the two properties is a number, or a list with a
 * number for each of the K elements of a row or for each channel of its pixels. Kernels accept only
 * single numbers, so a list is folded into the operands. With the factors s and the offsets o,
 *
 *     sum over k of (s(k) x(k) + o(k)) B(k, j) = sum over k of scale x(k) B'(k, j) + b(j)
 *     B'(k, j) = s(k) / scale B(k, j)
 *     b(j)     = sum over k of o(k) B(k, j), added to the bias
 *
 * where scale is the greatest power of two up to the largest |s(k)|: A does not grow, B' is at most
 * doubled, and the division loses no digits. */

/** gst_gemmcl_problem_fold: Replaces the weight in @operands by B' if @self has folds_scale, and
 * the bias by its sum with b if it has folds_offset. @self must be of the same @settings. Returns:
 * %FALSE with #GEMMCL_ERROR_TOO_LARGE if there is not enough memory. */
gboolean gst_gemmcl_problem_fold (const GstGemmclProblem *self, const GstGemmclSettings *settings,
                                  GstGemmclOperands *operands, GError **error);

/** gst_gemmcl_problem_copy: Makes @self a copy of @from. */
void gst_gemmcl_problem_copy (GstGemmclProblem *self, const GstGemmclProblem *from);

/** GST_GEMMCL_LARGEST_F16: The largest finite number in f16. */
#define GST_GEMMCL_LARGEST_F16 65504.0

/** gst_gemmcl_problem_get_largest: Returns: the largest magnitude that an element of A, after scale
 * and offset, can have by its stored type. Floats are assumed to lie between -1 and 1. */
gdouble gst_gemmcl_problem_get_largest (const GstGemmclProblem *self);

/** gst_gemmcl_problem_reads: Returns: %TRUE if plans for @self can read @input, whatever its number
 * of rows: the type and K of A, or the sizes of the tensor, are the same, and frames begin at the
 * same place within a sample of chroma. */
gboolean gst_gemmcl_problem_reads (const GstGemmclProblem *self, const GstGemmclFormat *input);

/** gst_gemmcl_problem_writes: Returns: %TRUE if plans for @self write the tensor of @output. */
gboolean gst_gemmcl_problem_writes (const GstGemmclProblem *self, const GstGemmclFormat *output);

/** gst_gemmcl_problem_differs_in_values_only: Returns: %TRUE if changing only the values of the
 * operands turns @self into @other; the plan stays. */
gboolean gst_gemmcl_problem_differs_in_values_only (const GstGemmclProblem *self,
                                                    const GstGemmclProblem *other);
