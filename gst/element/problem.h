/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "element/formats.h"
#include "element/properties.h"

/* From settings, operands and formats to the library's GemmclGemm: no element, no device. */

typedef struct {
  gsize width; /* in pixels */
  gsize height;
  gsize channels;    /* what the kernel sees of a pixel */
  gsize patch_width; /* 0 where the user set none; then there is no patch mode */
  gsize patch_height;
} GstGemmclPicture;

/** GstGemmclShape: Rows and columns of A, and the mode that gives them; PIXEL for no picture. */
typedef struct {
  GemmclFeatureMode mode;
  gsize m;
  gsize k;
} GstGemmclShape;

/** gst_gemmcl_feature_mode_get_nick: Returns: "pixel" and so on, as users type it; static. */
const gchar *gst_gemmcl_feature_mode_get_nick (GstGemmclFeatureMode mode);

/** gst_gemmcl_shape_of_mode: What @mode makes of @picture. Returns: %FALSE with #GEMMCL_ERROR_SHAPE
 * for patches that are not set or larger than the picture, #GEMMCL_ERROR_TOO_LARGE where a product
 * overflows. */
gboolean gst_gemmcl_shape_of_mode (const GstGemmclPicture *picture, GemmclFeatureMode mode,
                                   GstGemmclShape *shape, GError **error);

/** gst_gemmcl_shape_choose: The shape whose K is @weight_k, by the mode that the user @wanted.
 * Returns: %FALSE with #GEMMCL_ERROR_SHAPE, whose message lists each mode with its K, when that has
 * another K, or AUTO finds no mode or several. */
gboolean gst_gemmcl_shape_choose (const GstGemmclPicture *picture, GstGemmclFeatureMode wanted,
                                  gsize weight_k, GstGemmclShape *shape, GError **error);

/** GstGemmclOperands: The matrices as they were loaded, owned; %NULL for none. */
typedef union {
  struct {
    GemmclMatrix *weight, *bias, *addend;
  };
  GemmclMatrix *matrix[GST_GEMMCL_N_OPERANDS]; /* by GstGemmclOperand */
} GstGemmclOperands;

void gst_gemmcl_operands_clear (GstGemmclOperands *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (GstGemmclOperands, gst_gemmcl_operands_clear)

/** gst_gemmcl_operands_copy: Makes @self hold what @from holds; what @self held is released. */
void gst_gemmcl_operands_copy (GstGemmclOperands *self, const GstGemmclOperands *from);

/** gst_gemmcl_weight_get_shape: K and N of @weight; 0 if that is %NULL. */
void gst_gemmcl_weight_get_shape (const GstGemmclSettings *settings, const GemmclMatrix *weight,
                                  gsize *k, gsize *n);

/** gst_gemmcl_shape_of_format: The shape of A that @format makes; of audio, M is 0: it is another
 * one with each buffer. Returns: %FALSE with #GEMMCL_ERROR_SHAPE when K does not fit @weight_k; the
 * message says what does. */
gboolean gst_gemmcl_shape_of_format (const GstGemmclFormat *format,
                                     const GstGemmclSettings *settings, gsize weight_k,
                                     GstGemmclShape *shape, GError **error);

/** GstGemmclProblem: The library's problem for what flows. */
typedef struct {
  GemmclGemm gemm; /* whose images are those below: see gst_gemmcl_problem_copy() */
  GemmclImage a_image;
  GemmclImage d_image;
} GstGemmclProblem;

/**
 * gst_gemmcl_problem_init:
 * @self: (out caller-allocates)
 * @input, @output: (nullable) the formats of both pads; without @output it is taken as tensors
 * @operands: with a weight
 * @audio_m: M to make room for, if @input is audio
 * @feedback: the previous output is C, where there is no addend
 *
 * Returns: %FALSE with #GEMMCL_ERROR_SHAPE, as gst_gemmcl_shape_of_format(), and when bias or
 *   addend do not fit the weight.
 */
gboolean gst_gemmcl_problem_init (GstGemmclProblem *self, const GstGemmclFormat *input,
                                  const GstGemmclFormat *output, const GstGemmclOperands *operands,
                                  const GstGemmclSettings *settings, gsize audio_m,
                                  gboolean feedback, GError **error);

/** gst_gemmcl_problem_copy: Makes @self what @from is. */
void gst_gemmcl_problem_copy (GstGemmclProblem *self, const GstGemmclProblem *from);

/** What is more becomes infinite in f16. */
#define GST_GEMMCL_LARGEST_F16 65504.0

/** gst_gemmcl_problem_get_largest: Returns: the largest size that elements of A may have, scaled
 * and offset, by the type that is stored; floats are taken to be from -1 to 1. */
gdouble gst_gemmcl_problem_get_largest (const GstGemmclProblem *self);

/** gst_gemmcl_problem_is_swap: Returns: whether a plan for @self serves @other too, once it has
 * @other's weight, bias and addend. */
gboolean gst_gemmcl_problem_is_swap (const GstGemmclProblem *self, const GstGemmclProblem *other);
