/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "gstgemmcl.h"

/* Output buffers before anything is in them: their memory and their metadata. */

/** gst_gemmcl_output_install: Gives @klass its functions that make output buffers. */
void gst_gemmcl_output_install (GstBaseTransformClass *klass);
