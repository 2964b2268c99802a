/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "gstgemmcl.h"

/* Output buffers: their memory, their metadata, and what is in them. */

G_BEGIN_DECLS

/** gst_gemmcl_run_install: Gives @klass its functions that make and fill output buffers. */
void gst_gemmcl_run_install (GstBaseTransformClass *klass);

/** gst_gemmcl_forget_output: The next run finds zeros as the previous output. */
void gst_gemmcl_forget_output (GstGemmcl *self);

G_END_DECLS
