/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "gemmcl-opencl.h"

/**
 * bench_measure_bandwidth:
 * @gbs: (out): 10^9 bytes a second, read and written, by the fastest of a few copies from one
 *   buffer of the device to another, each larger than its caches where memory allows
 * @source: (out) (transfer full): how that was measured, in words
 *
 * Returns: %FALSE with an error of the library's.
 */
gboolean bench_measure_bandwidth (GemmclContext *context, gdouble *gbs, gchar **source,
                                  GError **error);
