/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "gemmcl-gemm.h"
#include "problem.h"

/** GemmclOperand: which matrix of a problem. */
typedef enum {
  GEMMCL_OPERAND_A,
  GEMMCL_OPERAND_B,
  GEMMCL_OPERAND_C,
  GEMMCL_OPERAND_D,
} GemmclOperand;

/**
 * GemmclStored:
 * @runs, @length: the matrix is @runs runs of @length elements that lie together: rows if row-major
 *   and not transposed, and so on
 * @ld: elements from one run to the next
 * @offset, @stride: elements before the first, and from one batch's to the next's; stride 0: all
 *   batches share it
 * @by_column: a run is a column of op(X), not a row
 *
 * How a matrix of a valid problem lies in memory, with all defaults filled in.
 */
typedef struct {
  gsize runs, length, ld, offset, stride;
  gboolean by_column;
} GemmclStored;

/**
 * gemmcl_gemm_get_stored:
 * @tight: as a plan keeps it on the device: no offset, no gap between runs or batches
 */
GemmclStored gemmcl_gemm_get_stored (const GemmclGemm *gemm, GemmclOperand which, gboolean tight);

/** gemmcl_gemm_get_batch: Returns: the number of problems, at least 1. */
gsize gemmcl_gemm_get_batch (const GemmclGemm *gemm);

/**
 * gemmcl_gemm_get_computed:
 *
 * Returns: what the kernels of a plan for @gemm compute: the problem itself; with
 *   #GEMMCL_ADDEND_PREVIOUS one whose D, tight and f32, is the previous result and then the next
 *   one, of which a step behind the kernels makes the D that @gemm states.
 */
GemmclGemm gemmcl_gemm_get_computed (const GemmclGemm *gemm);

/** gemmcl_stored_get_strides: Returns: the same in a kernel's terms. */
GemmclStrides gemmcl_stored_get_strides (const GemmclStored *stored);

/** gemmcl_stored_get_extent: Returns: elements from the buffer's start to the end of @batch. */
gsize gemmcl_stored_get_extent (const GemmclStored *stored, gsize batch);
