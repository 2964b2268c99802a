/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "gemmcl.h"

/**
 * tune_problems_new:
 * @operands: (array zero-terminated=1): what the user typed, each "M,N,K" or "MxNxK"; none for what
 *   is usual on a device like @info
 * @gemm: what they have in common
 *
 * Returns: (transfer full) (element-type GemmclGemm): valid problems, or %NULL with
 *   %TOOL_ERROR_USAGE.
 */
GArray *tune_problems_new (const gchar *const *operands, const GemmclGemm *gemm,
                           const GemmclDeviceInfo *info, GError **error);

/** tune_problem_get_name: Returns: (transfer full): "64 x 1024 x 1024". */
gchar *tune_problem_get_name (gsize m, gsize n, gsize k);
