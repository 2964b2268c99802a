/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "element/fold.h"
#include "element/shape.h"

/* Makes a GemmclGemm of settings, operands and formats. Pure functions. */

/** The largest number of types of an output. */
#define GST_GEMMCL_MAX_OUTPUT_TYPES 4

/** gst_gemmcl_output_list_types: @types: (out): the types that D may have as a tensor, the
 * preferred one first. Returns: their number. */
guint gst_gemmcl_output_list_types (const GstGemmclSettings *settings,
                                    GemmclType types[GST_GEMMCL_MAX_OUTPUT_TYPES]);

/** gst_gemmcl_output_is_scaled: Returns: %TRUE if output-scale or output-offset is set. */
gboolean gst_gemmcl_output_is_scaled (const GstGemmclSettings *settings);

/** GstGemmclOperands: The matrices as they were loaded: owned, nullable. */
typedef union {
  struct {
    GemmclMatrix *weight, *bias, *addend;
  };
  GemmclMatrix *matrix[GST_GEMMCL_N_OPERANDS]; /* by GemmclPlanOperand */
} GstGemmclOperands;

void gst_gemmcl_operands_clear (GstGemmclOperands *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (GstGemmclOperands, gst_gemmcl_operands_clear)

/** gst_gemmcl_operands_copy: Replaces the operands of @self by references to those of @from. */
void gst_gemmcl_operands_copy (GstGemmclOperands *self, const GstGemmclOperands *from);

/** gst_gemmcl_weight_get_shape: @weight: (nullable). @k, @n: (out): 0 without a weight. */
void gst_gemmcl_weight_get_shape (const GstGemmclSettings *settings, const GemmclMatrix *weight,
                                  gsize *k, gsize *n);

/** GstGemmclProblem: The library's problem for a stream. */
typedef struct {
  GemmclGemm gemm; /* its images are those below: copy with gst_gemmcl_problem_copy() */
  GemmclImage a_image;
  GemmclImage d_image;
  GstGemmclScaling scaling; /* of the input, partly by the operands */
} GstGemmclProblem;

/**
 * gst_gemmcl_problem_init:
 * @self: (out caller-allocates)
 * @input: the format of the sink pad
 * @output: (nullable): the format of the source pad; %NULL: tensors
 * @operands: the operands; the weight is required
 * @audio_m: M, if @input is audio or flexible tensors
 * @feedback: use the previous output as C if there is no addend
 *
 * Returns: %FALSE with #GEMMCL_ERROR_SHAPE if gst_gemmcl_shape_of_format() fails, if bias or addend
 *   do not fit the weight, if top-k is larger than N, or if input-scale and input-offset fail in
 *   gst_gemmcl_scaling_init() or do not go with the patches or the quantized weight, or if
 *   output-type, output-scale or output-offset do not go with the output
 */
gboolean gst_gemmcl_problem_init (GstGemmclProblem *self, const GstGemmclFormat *input,
                                  const GstGemmclFormat *output, const GstGemmclOperands *operands,
                                  const GstGemmclSettings *settings, gsize audio_m,
                                  gboolean feedback, GError **error);

/** gst_gemmcl_problem_copy: Makes @self a copy of @from. */
void gst_gemmcl_problem_copy (GstGemmclProblem *self, const GstGemmclProblem *from);

/** The largest number in f16. */
#define GST_GEMMCL_LARGEST_F16 65504.0

/** gst_gemmcl_problem_get_largest: Returns: the largest magnitude of elements of A, after scale and
 * offset, that the stored type allows. Floats are assumed to be from -1 to 1. */
gdouble gst_gemmcl_problem_get_largest (const GstGemmclProblem *self);

/** gst_gemmcl_problem_is_swap: Returns: %TRUE if a plan for @self can run @other once it has the
 * weight, bias and addend of @other. */
gboolean gst_gemmcl_problem_is_swap (const GstGemmclProblem *self, const GstGemmclProblem *other);
