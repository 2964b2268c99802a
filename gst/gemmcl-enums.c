/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gemmcl-enums.h"

#include <gemmcl.h>

#include "gemmcl-problem.h"

GType
gst_gemmcl_activation_get_type (void)
{
  static gsize type = 0;
  static const gchar *const formulas[GEMMCL_N_ACTIVATIONS] = {
      [GEMMCL_ACTIVATION_NONE] = "x",
      [GEMMCL_ACTIVATION_RELU] = "max (x, 0)",
      [GEMMCL_ACTIVATION_LEAKY_RELU] = "x if x >= 0, else 0.01 x",
      [GEMMCL_ACTIVATION_GELU] = "x (1 + erf (x / sqrt 2)) / 2",
      [GEMMCL_ACTIVATION_GELU_TANH] = "x (1 + tanh (sqrt (2 / pi) (x + 0.044715 x^3))) / 2",
      [GEMMCL_ACTIVATION_SIGMOID] = "1 / (1 + exp (-x))",
      [GEMMCL_ACTIVATION_SILU] = "x / (1 + exp (-x))",
      [GEMMCL_ACTIVATION_TANH] = "tanh x",
      [GEMMCL_ACTIVATION_HARD_SWISH] = "x min (max (x + 3, 0), 6) / 6",
      [GEMMCL_ACTIVATION_SOFTMAX] = "exp (x) / sum of exp (x), over the N of each row",
  };
  static GEnumValue values[GEMMCL_N_ACTIVATIONS + 1];

  if (g_once_init_enter (&type)) {
    for (guint i = 0; i < GEMMCL_N_ACTIVATIONS; i++)
      values[i] = (GEnumValue){i, formulas[i], gemmcl_activation_get_name (i)};
    g_once_init_leave (&type, g_enum_register_static ("GstGemmclActivation", values));
  }
  return type;
}

GType
gst_gemmcl_precision_get_type (void)
{
  static gsize type = 0;
  static const GEnumValue values[] = {
      {GST_GEMMCL_PRECISION_AUTO,
       "What the weight's file states: f16 and bf16 of such elements, i8 of bytes with scales, "
       "else f32, also where integers come in that are too large for f16",
       "auto"},
      {GST_GEMMCL_PRECISION_F32, "Floats, as they are", "f32"},
      {GST_GEMMCL_PRECISION_F16, "Rounded to 11 binary digits, up to 65504", "f16"},
      {GST_GEMMCL_PRECISION_BF16, "Rounded to 8 binary digits", "bf16"},
      {GST_GEMMCL_PRECISION_TF32, "Rounded to 11 binary digits, by matrix engines", "tf32"},
      {GST_GEMMCL_PRECISION_I8,
       "Bytes: with a scale for each column of the weight and, found anew, each row of A", "i8"},
      {0, NULL, NULL},
  };

  if (g_once_init_enter (&type))
    g_once_init_leave (&type, g_enum_register_static ("GstGemmclPrecision", values));
  return type;
}

GType
gst_gemmcl_feature_mode_get_type (void)
{
  static gsize type = 0;
  static const gchar *const meanings[] = {
      "The one mode whose K is the weight's",
      "A row per pixel: K = channels, M = width x height",
      "A row per row of the picture: K = width x channels, M = height",
      "One row: K = width x height x channels, M = 1",
      "A row per patch: K = patch-width x patch-height x channels",
  };
  static GEnumValue values[G_N_ELEMENTS (meanings) + 1];

  if (g_once_init_enter (&type)) {
    for (guint i = 0; i < G_N_ELEMENTS (meanings); i++)
      values[i] = (GEnumValue){i, meanings[i], gst_gemmcl_feature_mode_get_nick (i)};
    g_once_init_leave (&type, g_enum_register_static ("GstGemmclFeatureMode", values));
  }
  return type;
}

GType
gst_gemmcl_row_outputs_get_type (void)
{
  static gsize type = 0;
  static const GFlagsValue values[] = {
      {GEMMCL_ROW_SUM, "The sum of a row", "sum"},
      {GEMMCL_ROW_MAX, "The largest element of a row", "max"},
      {GEMMCL_ROW_ARG_MAX, "The column of that, from 0", "arg-max"},
      {0, NULL, NULL},
  };

  if (g_once_init_enter (&type))
    g_once_init_leave (&type, g_flags_register_static ("GstGemmclRowOutputs", values));
  return type;
}

GType
gst_gemmcl_device_type_get_type (void)
{
  static gsize type = 0;
  static const GEnumValue values[] = {
      {GEMMCL_DEVICE_TYPE_AUTO, "The best there is: Intel GPU, other GPU, accelerator, CPU",
       "auto"},
      {GEMMCL_DEVICE_TYPE_CPU, "CPUs only", "cpu"},
      {GEMMCL_DEVICE_TYPE_GPU, "GPUs only", "gpu"},
      {GEMMCL_DEVICE_TYPE_ACCELERATOR, "Accelerators only", "accelerator"},
      {GEMMCL_DEVICE_TYPE_DEFAULT, "What each platform calls its default", "default"},
      {0, NULL, NULL},
  };

  if (g_once_init_enter (&type))
    g_once_init_leave (&type, g_enum_register_static ("GstGemmclDeviceType", values));
  return type;
}
