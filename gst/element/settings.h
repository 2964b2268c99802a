/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gemmcl.h>
#include <gst/gst.h>

/* The values of the element's properties, whose texts are in properties.def. */

/** GST_GEMMCL_AUTO: the default of kernel, platform and device: the library chooses. */
#define GST_GEMMCL_AUTO "auto"

/* AUTO, then the values of #GemmclFeatureMode. */
typedef enum {
  GST_GEMMCL_FEATURE_MODE_AUTO,
  GST_GEMMCL_FEATURE_MODE_PIXEL,
  GST_GEMMCL_FEATURE_MODE_ROW,
  GST_GEMMCL_FEATURE_MODE_FRAME,
  GST_GEMMCL_FEATURE_MODE_PATCH,
} GstGemmclFeatureMode;

typedef enum {
  GST_GEMMCL_INPUT_AUTO,
  GST_GEMMCL_INPUT_MEDIA,
  GST_GEMMCL_INPUT_META,
} GstGemmclInputMode;

typedef enum {
  GST_GEMMCL_OUTPUT_AUTO,
  GST_GEMMCL_OUTPUT_MEDIA,
  GST_GEMMCL_OUTPUT_TENSORS,
  GST_GEMMCL_OUTPUT_META,
  GST_GEMMCL_OUTPUT_FLEXIBLE,
  /* Row outputs in place of D, in the forms tensors, meta and flexible */
  GST_GEMMCL_OUTPUT_ROWS,
  GST_GEMMCL_OUTPUT_ROWS_META,
  GST_GEMMCL_OUTPUT_ROWS_FLEXIBLE,
} GstGemmclOutputMode;

typedef enum {
  GST_GEMMCL_OUTPUT_TYPE_AUTO,
  GST_GEMMCL_OUTPUT_TYPE_F32,
  GST_GEMMCL_OUTPUT_TYPE_F16,
  GST_GEMMCL_OUTPUT_TYPE_I8,
  GST_GEMMCL_OUTPUT_TYPE_U8,
} GstGemmclOutputType;

/** The number of matrices: weight, bias and addend, as in #GemmclPlanOperand. */
#define GST_GEMMCL_N_OPERANDS (GEMMCL_PLAN_C + 1)

/** GstGemmclSettings: The properties that cannot change while streaming; precision is 0 for auto,
 * otherwise 1 + a #GemmclPrecision, and input_tensor_id may be NULL. */
typedef struct {
  GemmclGemm gemm; /* the fields that are properties, such as trans_b and d_scale; others are 0 */
#define PROPERTY(...)
#define SETTING(Type, member, ...) Type member;
#include "element/properties.def"
#undef PROPERTY
#undef SETTING
} GstGemmclSettings;

/** gst_gemmcl_output_omits_d: Returns: %TRUE if row outputs leave in place of D. */
static inline gboolean
gst_gemmcl_output_omits_d (const GstGemmclSettings *settings)
{
  return settings->output >= GST_GEMMCL_OUTPUT_ROWS;
}

/** gst_gemmcl_output_get_form: Returns: the form of D, or of row outputs in its place: AUTO, MEDIA,
 * TENSORS, META or FLEXIBLE. */
static inline GstGemmclOutputMode
gst_gemmcl_output_get_form (const GstGemmclSettings *settings)
{
  return gst_gemmcl_output_omits_d (settings)
             ? GST_GEMMCL_OUTPUT_TENSORS + settings->output - GST_GEMMCL_OUTPUT_ROWS
             : settings->output;
}

/** gst_gemmcl_output_is_meta: Returns: %TRUE if results leave in the metadata of inputs. */
static inline gboolean
gst_gemmcl_output_is_meta (const GstGemmclSettings *settings)
{
  return gst_gemmcl_output_get_form (settings) == GST_GEMMCL_OUTPUT_META;
}

/** GST_GEMMCL_DEFAULT_TENSOR_ID: the default of tensor-id. */
#define GST_GEMMCL_DEFAULT_TENSOR_ID "gemmcl-out"

/** GstGemmclFactors: The factors of a run, which are properties that may change while playing. */
typedef struct {
  gdouble alpha;
  gdouble beta;
  gboolean has_beta; /* beta was set; otherwise it is 1 with an addend, and 0 without one */
} GstGemmclFactors;

/** GstGemmclProperties: All properties, as they were last set. The object lock of the element
 * guards them; properties.c and operands.c take it. */
typedef struct {
  GValue source[GST_GEMMCL_N_OPERANDS]; /* a text for gemmcl_matrix_load(), or a GemmclMatrix */
  GstGemmclSettings settings;           /* for the next start */
  GstGemmclFactors factors;
  GemmclDeviceQuery query; /* the strings are interned */
  const gchar *devices;    /* interned; NULL: only the first device of query */
} GstGemmclProperties;
