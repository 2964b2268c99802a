/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "gemmcl.h"

/**
 * bench_list_problems:
 * @sweep: (nullable): values for each of M, N and K that is 0 in @gemm, numbers and ranges
 *   separated by commas: "64,256:4096,5000:6000:250"; %NULL: the default size
 *
 * Returns: (transfer full) (element-type GemmclGemm): @gemm with each of the sizes, ascending, or
 *   %NULL with %TOOL_ERROR_USAGE.
 */
GArray *bench_list_problems (const gchar *sweep, const GemmclGemm *gemm, GError **error);
