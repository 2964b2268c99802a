/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "gemmcl-context.h"
#include "gemmcl.h"
#include "output.h"

/** tool_devices_make_json: Returns: (transfer full): the object of `gemmcl devices --json` for
 * @info, device number @index. */
json_t *tool_devices_make_json (guint index, const GemmclDeviceInfo *info);

/**
 * MatrixShape:
 * @type_a, @type_b, @type_sum: the types of A, of B, and of C and D
 * @m, @n, @k: the largest product, m x k by k x n; 1, 2 and 4 rows are supported, too
 * @subgroup: the number of work-items that multiply together
 * @used: kernels of this library use it
 *
 * A product that a device's matrix engines compute with one instruction.
 */
typedef struct {
  const gchar *type_a, *type_b, *type_sum;
  guint m, n, k;
  guint subgroup;
  gboolean used;
} MatrixShape;

/**
 * matrix_shapes_list:
 *
 * Lists the shapes from the texts of the device's extensions, since OpenCL has no query for them.
 * Only the smallest subgroup size counts: that is the size of the engines. For larger subgroups
 * compilers accept the same functions and emit nothing.
 *
 * Returns: (transfer full) (element-type MatrixShape): the shapes; empty without matrix engines.
 */
GArray *matrix_shapes_list (const GemmclDeviceInfo *info);
