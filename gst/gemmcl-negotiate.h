/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "gstgemmcl.h"

/* Caps, and the reasons why some do not fit. */

/** gst_gemmcl_negotiate_install: Gives @klass its functions for caps and allocation. */
void gst_gemmcl_negotiate_install (GstBaseTransformClass *klass);

/**
 * gst_gemmcl_explain_failure:
 * @input: (nullable): caps of the sink pad that could not be negotiated
 *
 * Posts an error that says why, unless one was posted since caps were last accepted or the
 * element is being shut down.
 */
void gst_gemmcl_explain_failure (GstGemmcl *self, GstCaps *input);
