/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "gemmcl-media.h"

/**
 * gst_gemmcl_meta_survives:
 * @api: the meta's
 *
 * Whether a meta of the input is still true of the output: one that speaks of nothing but time or
 * the stream always is; one about the picture (its size, orientation, a region, a time code) where
 * a picture stays a picture of the same size; one about colours, channels or levels never is, since
 * these change; one about the input's memory never is.
 *
 * Returns: whether to copy it.
 */
gboolean gst_gemmcl_meta_survives (GType api, GstGemmclMedium input, GstGemmclMedium output);
