/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib-object.h>

G_BEGIN_DECLS

/* The GTypes of enumerations and flags that properties have: GemmclActivation,
 * GstGemmclFeatureMode, GemmclRowOutput and GemmclDeviceType. */

#define GST_TYPE_GEMMCL_ACTIVATION (gst_gemmcl_activation_get_type ())
GType gst_gemmcl_activation_get_type (void);

#define GST_TYPE_GEMMCL_PRECISION (gst_gemmcl_precision_get_type ())
GType gst_gemmcl_precision_get_type (void);

#define GST_TYPE_GEMMCL_FEATURE_MODE (gst_gemmcl_feature_mode_get_type ())
GType gst_gemmcl_feature_mode_get_type (void);

#define GST_TYPE_GEMMCL_ROW_OUTPUTS (gst_gemmcl_row_outputs_get_type ())
GType gst_gemmcl_row_outputs_get_type (void);

#define GST_TYPE_GEMMCL_DEVICE_TYPE (gst_gemmcl_device_type_get_type ())
GType gst_gemmcl_device_type_get_type (void);

G_END_DECLS
