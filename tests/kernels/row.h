/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "gemmcl.h"

/*
 * A row of the table of kernels, and how thoroughly it is tested. Environment variables:
 *
 *   GEMMCL_TEST_BRIEF            The first row of each method is tested as usual, the other rows
 *                                only with their edges, which need a single program. Rows that
 *                                differ only in the subgroups of a group: only the largest group.
 *                                Rows for matrix engines that differ only in the 16-bit type: only
 *                                the first
 *   GEMMCL_TEST_ROWS=all         Every row is tested with all types, activations, softmax and
 *                                rounding. This takes hours, so select rows with -p
 *   GEMMCL_TEST_ROWS=subgroups   Only the first row of each method for each subgroup size, and only
 *                                its edges
 */
typedef struct {
  const GemmclKernelInfo *info;
  guint index;
  gboolean first;         /* of its method */
  gboolean full;          /* all types and activations */
  gboolean engines;       /* it uses matrix engines if the device has them */
  gsize tile_m, tile_n;   /* outputs of a work-item */
  gsize group_m, group_n; /* outputs of a work-group */
} Row;

void row_read (Row *row, guint index);

/* Returns: TRUE if only the row's edges are tested. */
gboolean row_is_brief (const Row *row);

/* Returns: TRUE if the row is tested. */
gboolean row_is_wanted (const Row *row);

/* Returns: TRUE if the row emulates subgroups, and test_miscompiles_barriers(). */
gboolean row_is_miscompiled (const Row *row);
