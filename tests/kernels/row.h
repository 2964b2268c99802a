/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "gemmcl.h"

/*
 * A row of the table of kernels, for the tests, and how much of it is tested. In the environment:
 *
 *   GEMMCL_TEST_BRIEF            the rows that share their method's source with one before have a
 *                                single program, and only their edges are tested; of rows that
 *                                differ in how many subgroups are a group, those with the most; of
 *                                those for matrix engines of 16 bits that differ in which, the
 *                                first
 *   GEMMCL_TEST_ROWS=all         every row is tested as the fullest are: all types, activations,
 *                                softmax and rounding; it takes hours, so name rows by -p
 *   GEMMCL_TEST_ROWS=subgroups   only the first row of each method with subgroups, of each size,
 *                                and of these only the edges
 */
typedef struct {
  const GemmclKernelInfo *info;
  guint index;
  gboolean first;         /* of its method */
  gboolean full;          /* all types and activations */
  gboolean engines;       /* it multiplies by matrix engines where there are any */
  gsize tile_m, tile_n;   /* outputs of a work-item */
  gsize group_m, group_n; /* outputs of a work-group */
} Row;

void row_read (Row *row, guint index);

/* Whether only its edges are tested. */
gboolean row_is_brief (const Row *row);

/* Whether it is tested at all. */
gboolean row_is_wanted (const Row *row);
