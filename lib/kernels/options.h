/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "kernels/table.h"

/** Returns: whether @kernel, with K in @split parts, makes the row outputs that @gemm asks for by
 * itself, since its work-groups own rows of D whole. GEMMCL_ROWS=apart in the environment keeps
 * kernels from these and from softmax, so that the two ways can be compared. */
gboolean gemmcl_kernel_makes_row_outputs (const GemmclKernel *kernel, const GemmclGemm *gemm,
                                          guint split);

/** Returns: whether softmax takes a pass of its own after @kernel. */
gboolean gemmcl_kernel_needs_softmax (const GemmclKernel *kernel, const GemmclGemm *gemm,
                                      guint split);

/** Returns: whether that pass reads from elsewhere than D, in which it works if D holds floats. */
gboolean gemmcl_kernel_needs_logits (const GemmclKernel *kernel, const GemmclGemm *gemm,
                                     guint split);

/** Appends which row outputs @gemm asks for. */
void gemmcl_row_outputs_append_options (GString *options, const GemmclGemm *gemm);

/** Returns: the type of A as @kernel, or what packs A for it, finds it. */
GemmclType gemmcl_kernel_get_a_type (const GemmclKernel *kernel, const GemmclGemm *gemm);

/** Returns: (transfer full): the compiler's options for @gemm; see kernels/gemm.clh. */
gchar *gemmcl_kernel_make_options (const GemmclKernel *kernel, const GemmclGemm *gemm,
                                   const GemmclDeviceInfo *device, GemmclKernelLevel level);

/** Returns: (transfer full): the same for reduce.cl after it. */
gchar *gemmcl_kernel_make_reduce_options (const GemmclKernel *kernel, const GemmclGemm *gemm,
                                          guint split);
