/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "gemmcl-image.h"

/** gemmcl_pixel_format_get_sample_bytes: Returns: of a sample in memory: 1 or 2. */
guint gemmcl_pixel_format_get_sample_bytes (GemmclPixelFormat format);

/**
 * gemmcl_image_get_defines:
 * @image: one that gemmcl_image_get_shape() accepts
 * @prefix: "A_" or "D_"
 *
 * What kernels/pixels.clh needs to know of @image, as compiler options; floats are written out with
 * all their digits whatever the locale.
 *
 * Returns: (transfer full): " -DA_IMAGE -DA_WIDTH=1280 ..."
 */
gchar *gemmcl_image_get_defines (const GemmclImage *image, const gchar *prefix);
