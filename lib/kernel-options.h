/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "kernel-table.h"

/**
 * gemmcl_kernel_makes_row_outputs:
 * @split: the parts of K
 *
 * Returns: whether @kernel makes the row outputs that @gemm asks for by itself, since its
 * work-groups own rows of D whole; of softmax, gemmcl_kernel_needs_softmax() tells.
 * GEMMCL_ROWS=apart in the environment keeps kernels from both, so that the two ways can be
 * compared.
 */
gboolean gemmcl_kernel_makes_row_outputs (const GemmclKernel *kernel, const GemmclGemm *gemm,
                                          guint split);

/** gemmcl_kernel_needs_softmax: whether softmax takes a pass of its own after @kernel. */
gboolean gemmcl_kernel_needs_softmax (const GemmclKernel *kernel, const GemmclGemm *gemm,
                                      guint split);

/**
 * gemmcl_kernel_needs_logits: whether that pass reads from elsewhere than D. It works in place when
 * D holds floats.
 */
gboolean gemmcl_kernel_needs_logits (const GemmclKernel *kernel, const GemmclGemm *gemm,
                                     guint split);

/** gemmcl_row_outputs_append_options: says which row outputs @gemm asks for. */
void gemmcl_row_outputs_append_options (GString *options, const GemmclGemm *gemm);

/** gemmcl_kernel_get_a_type: Returns: what @kernel, or what packs A for it, finds A stored as. */
GemmclType gemmcl_kernel_get_a_type (const GemmclKernel *kernel, const GemmclGemm *gemm);

/**
 * gemmcl_kernel_make_options:
 *
 * Returns: (transfer full): what @device's compiler is told, for @gemm; see kernels/gemm.clh.
 */
gchar *gemmcl_kernel_make_options (const GemmclKernel *kernel, const GemmclGemm *gemm,
                                   const GemmclDeviceInfo *device, GemmclKernelLevel level);

/** gemmcl_kernel_make_reduce_options: Returns: (transfer full): the same for reduce.cl after it. */
gchar *gemmcl_kernel_make_reduce_options (const GemmclKernel *kernel, const GemmclGemm *gemm,
                                          guint split);
