/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "gstgemmcl.h"

G_BEGIN_DECLS

/* One default each, for the GParamSpec and for a new element. */
#define GST_GEMMCL_DEFAULT_WEIGHT           NULL
#define GST_GEMMCL_DEFAULT_TRANSPOSE_WEIGHT FALSE
#define GST_GEMMCL_DEFAULT_BIAS             NULL
#define GST_GEMMCL_DEFAULT_ADDEND           NULL
#define GST_GEMMCL_DEFAULT_ALPHA            1.0
#define GST_GEMMCL_DEFAULT_BETA             0.0
#define GST_GEMMCL_DEFAULT_ACTIVATION       GEMMCL_ACTIVATION_NONE
#define GST_GEMMCL_DEFAULT_PRECISION        GST_GEMMCL_PRECISION_AUTO
#define GST_GEMMCL_DEFAULT_FEATURE_MODE     GST_GEMMCL_FEATURE_MODE_AUTO
#define GST_GEMMCL_DEFAULT_PATCH_WIDTH      0
#define GST_GEMMCL_DEFAULT_PATCH_HEIGHT     0
#define GST_GEMMCL_DEFAULT_TENSOR_INDEX     0
#define GST_GEMMCL_DEFAULT_ROW_OUTPUTS      0
#define GST_GEMMCL_DEFAULT_INPUT_SCALE      1.0
#define GST_GEMMCL_DEFAULT_INPUT_OFFSET     0.0
#define GST_GEMMCL_DEFAULT_KERNEL           "auto"
#define GST_GEMMCL_DEFAULT_PLATFORM         "auto"
#define GST_GEMMCL_DEFAULT_DEVICE_TYPE      GEMMCL_DEVICE_TYPE_AUTO
#define GST_GEMMCL_DEFAULT_DEVICE           "auto"
#define GST_GEMMCL_DEFAULT_BATCH_SIZE       1
#define GST_GEMMCL_DEFAULT_QUEUE_DEPTH      2
#define GST_GEMMCL_DEFAULT_BATCH_TIMEOUT    (-1)

#define GST_GEMMCL_MAX_BATCH_SIZE  1024
#define GST_GEMMCL_MAX_QUEUE_DEPTH 64

/** gst_gemmcl_properties_install: Gives @klass its properties, set_property and get_property. */
void gst_gemmcl_properties_install (GObjectClass *klass);

/** gst_gemmcl_properties_init: Gives each property of @self its default. */
void gst_gemmcl_properties_init (GstGemmcl *self);

/** gst_gemmcl_properties_clear: Frees what properties own. */
void gst_gemmcl_properties_clear (GstGemmcl *self);

G_END_DECLS
