/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How kernels add up products of bytes; kernels/dot.clh has the ways.
 */
#pragma once

#include "gemmcl-context.h"

/**
 * gemmcl_dot_is_native:
 *
 * Returns: whether @device has instructions for it that kernels get at.
 */
gboolean gemmcl_dot_is_native (const GemmclDeviceInfo *device);

/** gemmcl_dot_append_options: what @device's compiler must know to use them. */
void gemmcl_dot_append_options (GString *options, const GemmclDeviceInfo *device);
