/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "gemmcl-context.h"
#include "gemmcl.h"
#include "output.h"

/** tool_devices_make_json: Returns: (transfer full): what `gemmcl devices --json` says of @info,
 * the device number @index. */
json_t *tool_devices_make_json (guint index, const GemmclDeviceInfo *info);

/**
 * MatrixShape:
 * @type_a, @type_b, @type_sum: of A, of B, and of what is added to and comes out
 * @m, @n, @k: a product of m x k by k x n at most; 1, 2 and 4 rows do as well
 * @subgroup: how many work-items multiply together
 * @used: kernels of this library do
 *
 * What a device's matrix engines multiply with one instruction.
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
 * What the texts of the device's extensions have for the smallest of its subgroups, which are what
 * its engines take: for larger ones compilers accept the same functions, and emit nothing. No
 * device is asked, since OpenCL has no such query.
 *
 * Returns: (transfer full) (element-type MatrixShape): none where it has no such engines.
 */
GArray *matrix_shapes_list (const GemmclDeviceInfo *info);
