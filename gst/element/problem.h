/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "element/media.h"

/* From settings, operands and formats to the library's GemmclGemm: no element, no device. */

/** GstGemmclPrecision: The property precision: AUTO, then those of #GemmclPrecision. AUTO is what
 * the weight's file states (gemmcl_precision_of_matrix()), but f32 where that is f16 and A may be
 * more than #GST_GEMMCL_LARGEST_F16. */
typedef enum {
  GST_GEMMCL_PRECISION_AUTO,
  GST_GEMMCL_PRECISION_F32,
  GST_GEMMCL_PRECISION_F16,
  GST_GEMMCL_PRECISION_BF16,
  GST_GEMMCL_PRECISION_TF32,
  GST_GEMMCL_PRECISION_I8,
} GstGemmclPrecision;

/** GstGemmclAutoTune: The property auto-tune. AUTO: on GPUs. */
typedef enum {
  GST_GEMMCL_AUTO_TUNE_AUTO,
  GST_GEMMCL_AUTO_TUNE_ON,
  GST_GEMMCL_AUTO_TUNE_OFF,
} GstGemmclAutoTune;

/** GstGemmclSettings: The properties that hold from READY to READY. @kernel is owned. */
typedef struct {
  gboolean transpose_weight;
  GemmclActivation activation;
  GstGemmclPrecision precision;
  GstGemmclFeatureMode feature_mode;
  guint patch_width;
  guint patch_height;
  guint tensor_index;
  guint row_outputs;
  gdouble input_scale;
  gdouble input_offset;
  gchar *kernel;
  GstGemmclAutoTune auto_tune;
  guint batch_size;
  guint queue_depth;
  gint64 batch_timeout; /* ns; 0: none; less: batch_size frames */
} GstGemmclSettings;

void gst_gemmcl_settings_clear (GstGemmclSettings *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (GstGemmclSettings, gst_gemmcl_settings_clear)

/** gst_gemmcl_settings_copy: Makes @self what @from is; what @self owned is freed. */
void gst_gemmcl_settings_copy (GstGemmclSettings *self, const GstGemmclSettings *from);

/** The matrices that a user gives by name. */
typedef enum {
  GST_GEMMCL_OPERAND_WEIGHT,
  GST_GEMMCL_OPERAND_BIAS,
  GST_GEMMCL_OPERAND_ADDEND,
} GstGemmclOperand;

#define GST_GEMMCL_N_OPERANDS (GST_GEMMCL_OPERAND_ADDEND + 1)

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
