/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "gemmcl-gemm.h"
#include "problem.h"

/** A matrix of a problem. */
typedef enum {
  GEMMCL_OPERAND_A,
  GEMMCL_OPERAND_B,
  GEMMCL_OPERAND_C,
  GEMMCL_OPERAND_D,
  GEMMCL_OPERAND_ROW_OUTPUTS, /* the row outputs: m x Q, row-major, f32 */
  GEMMCL_N_OPERANDS,
} GemmclOperand;

/** How a matrix of a valid problem lies in memory, with all defaults filled in: in @runs runs of
 * @length elements that lie together, rows if row-major and not transposed, and so on. A C that is
 * a row has one run, for all rows and batches. */
typedef struct {
  gsize runs, length;
  gsize ld;           /* elements from one run to the next */
  gsize offset;       /* elements before the first */
  gsize stride;       /* elements from one batch's to the next's; 0: all batches share it */
  gboolean by_column; /* a run is a column of op(X), not a row */
} GemmclMatrixLayout;

/** @tight: as a plan keeps it on the device: no offset, no gap between runs or batches */
GemmclMatrixLayout gemmcl_gemm_get_layout (const GemmclGemm *gemm, GemmclOperand which,
                                           gboolean tight);

/** gemmcl_gemm_get_element_size: Returns: bytes of an element of a matrix of a valid problem. */
gsize gemmcl_gemm_get_element_size (const GemmclGemm *gemm, GemmclOperand which);

/** gemmcl_gemm_get_batch: Returns: the number of problems, at least 1. */
gsize gemmcl_gemm_get_batch (const GemmclGemm *gemm);

/** Returns: what the kernels of a plan for @gemm compute: the problem itself; with
 * #GEMMCL_ADDEND_PREVIOUS one whose D, tight and f32, is the previous result and then the next one,
 * of which a step behind the kernels makes the D that @gemm states. */
GemmclGemm gemmcl_gemm_get_computed (const GemmclGemm *gemm);

/** Returns: the problem that @computed most often is run as, which decides what is fastest: batches
 * that share all but A and D are one tall problem. */
GemmclGemm gemmcl_gemm_get_as_run (const GemmclGemm *computed);

/** Returns: the same in a kernel's terms. */
GemmclStrides gemmcl_layout_get_strides (const GemmclMatrixLayout *layout);

/** Returns: elements from the buffer's start to the end of @batch. */
gsize gemmcl_layout_get_extent (const GemmclMatrixLayout *layout, gsize batch);

/** Returns: bytes of a sample in memory: 1 or 2. */
guint gemmcl_pixel_format_get_sample_bytes (GemmclPixelFormat format);

/** Returns: (transfer full): what kernels/pixels.clh needs to know of a valid @image, as compiler
 * options in any locale, " -DA_IMAGE -DA_WIDTH=1280 ...". @prefix: "A_" or "D_" */
gchar *gemmcl_image_get_defines (const GemmclImage *image, const gchar *prefix);
