/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

/**
 * tool_quantile:
 * @numbers: (element-type gdouble): in any order; left as they are
 * @share: 0 for the least, 0.5 for the median, 1 for the largest
 *
 * Returns: the number below which @share of @numbers lie, on the line between the two neighbours of
 *   that place; NaN where there are no numbers.
 */
gdouble tool_quantile (const GArray *numbers, gdouble share);
