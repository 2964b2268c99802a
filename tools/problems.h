/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "gemmcl.h"

/**
 * tool_problems_new:
 * @operands: (array zero-terminated=1): what the user typed, each "M,N,K" or "MxNxK"
 * @gemm: what they have in common
 *
 * Returns: (transfer full) (element-type GemmclGemm): the problems, or %NULL with
 *   %TOOL_ERROR_USAGE.
 */
GArray *tool_problems_new (const gchar *const *operands, const GemmclGemm *gemm, GError **error);

/** tool_problems_add_usual: appends problems like @gemm that are usual on a device like @info. */
void tool_problems_add_usual (GArray *problems, const GemmclGemm *gemm,
                              const GemmclDeviceInfo *info);

/** tool_problem_get_name: Returns: (transfer full): "64 x 1024 x 1024". */
gchar *tool_problem_get_name (gsize m, gsize n, gsize k);
