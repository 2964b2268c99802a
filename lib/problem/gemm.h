/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Layouts of a problem's matrices, and the problems that kernels compute. Any thread.
 */
#pragma once

#include "gemmcl-gemm.h"
#include "shared/arguments.h"

typedef enum {
  GEMMCL_OPERAND_A,
  GEMMCL_OPERAND_B,
  GEMMCL_OPERAND_C,
  GEMMCL_OPERAND_D,
  GEMMCL_OPERAND_ROW_OUTPUTS, /* m x Q, row-major, f32 */
  GEMMCL_N_OPERANDS,
} GemmclOperand;

/** The memory layout of a matrix of a valid problem, with all defaults filled in: @lines lines of
 * @length contiguous elements. A line is a row if the matrix is row-major and not transposed. A C
 * that is a row has one line, for all rows of all problems of the batch. */
typedef struct {
  gsize lines, length;
  gsize ld;           /* elements from one line to the next */
  gsize offset;       /* elements before the first */
  gsize stride;       /* elements from a problem's matrix to the next of the batch; 0: shared */
  gboolean by_column; /* a line is a column of op(X), not a row */
} GemmclMatrixLayout;

/** @tight: the layout in a plan's device memory: no offset, no gap between lines or problems */
GemmclMatrixLayout gemmcl_gemm_get_layout (const GemmclGemm *gemm, GemmclOperand which,
                                           gboolean tight);

/** Bytes per element of a matrix of a valid problem. */
gsize gemmcl_gemm_get_element_size (const GemmclGemm *gemm, GemmclOperand which);

/** TRUE if an element of D depends on its whole row. */
gboolean gemmcl_activation_is_of_rows (GemmclActivation activation);

/** The number of problems, at least 1. */
gsize gemmcl_gemm_get_batch (const GemmclGemm *gemm);

/** TRUE if int8 kernels use A unchanged: A is stored as i8 or u8, and one stored value represents
 * 0. */
gboolean gemmcl_gemm_keeps_int8 (const GemmclGemm *gemm);

/** Kernels write the pixels of a frame for a K of at most this; beyond it a step does. */
#define GEMMCL_MOST_K_OF_FRAMES 16

/** TRUE if the kernels store f32, which a last step pools, scales or converts to pixels, into D. */
gboolean gemmcl_gemm_finishes_d (const GemmclGemm *gemm);

/** (transfer full): the options D_TYPE, D_SCALE and D_SHIFT of types.clh, for the D of @gemm. */
gchar *gemmcl_gemm_make_d_options (const GemmclGemm *gemm);

/** @gemm without the steps that normalize, and without the step that finishes D. With
 * #GEMMCL_NORMALIZE_A its A is the result of that step: f32, row-major and tight, also if A was
 * frames. With #GEMMCL_NORMALIZE_D, and if a step finishes D, it has no row outputs, since these
 * follow the steps. In the latter case its D is a matrix, f32 and tight. */
GemmclGemm gemmcl_gemm_get_product (const GemmclGemm *gemm);

/** The problem that the kernels of a plan for @gemm compute: gemmcl_gemm_get_product(), but
 * @normalize keeps #GEMMCL_NORMALIZE_D. Its A is a matrix if its frames are one
 * (gemmcl_frame_is_matrix()). With #GEMMCL_ADDEND_PREVIOUS its D, tight and f32, is the
 * previous result and becomes the next one. Then, and if gemmcl_gemm_finishes_d(), a step after
 * the kernels converts it to the D of @gemm. */
GemmclGemm gemmcl_gemm_get_computed (const GemmclGemm *gemm);

/** @computed as one tall problem, if the problems of its batch share B, have no matrix C, and their
 * rows may follow each other; else unchanged. Kernels are chosen and tuned for it. */
GemmclGemm gemmcl_gemm_get_as_run (const GemmclGemm *computed);

/** gemmcl_gemm_get_layout() as a kernel's strides. */
GemmclStrides gemmcl_gemm_get_strides (const GemmclGemm *gemm, GemmclOperand which, gboolean tight);

/** (nullable): the description of the frames that A or D are; %NULL for matrices. */
const GemmclFrame *gemmcl_gemm_get_frame (const GemmclGemm *gemm, GemmclOperand which);

/** Computes the bytes from the start of the buffer to the end of the last matrix or frame. Returns:
 * FALSE if a signed 64-bit number cannot count them. */
gboolean gemmcl_gemm_get_extent (const GemmclGemm *gemm, GemmclOperand which, gsize *bytes);
