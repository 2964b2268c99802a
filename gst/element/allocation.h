/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gst/base/gstbasetransform.h>

/* Allocation on both pads. */

void gst_gemmcl_allocation_install (GstBaseTransformClass *klass);
