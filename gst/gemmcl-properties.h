/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "gstgemmcl.h"

/** GST_GEMMCL_AUTO: the default of kernel, platform and device, which leaves the choice open. */
#define GST_GEMMCL_AUTO "auto"

/** gst_gemmcl_properties_install: Gives @klass its properties, set_property and get_property. */
void gst_gemmcl_properties_install (GObjectClass *klass);

/** gst_gemmcl_properties_init: Gives each property of @self its default. */
void gst_gemmcl_properties_init (GstGemmcl *self);

/** gst_gemmcl_properties_clear: Frees what properties own. */
void gst_gemmcl_properties_clear (GstGemmcl *self);
