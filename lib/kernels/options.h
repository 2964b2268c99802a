/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The compile-time options of kernels, which are (transfer full).
 */
#pragma once

#include "kernels/table.h"

/** TRUE if @kernel, with K in @split parts, computes @gemm's row outputs itself, since a work-group
 * computes entire rows of D. GEMMCL_ROWS=apart in the environment makes the row
 * outputs a separate step. */
gboolean gemmcl_kernel_makes_row_outputs (const GemmclKernel *kernel, const GemmclGemm *gemm,
                                          guint split);

/** The number of largest elements that a tile of @kernel leaves of each row, in place of a D which
 * no run returns: a step finds those of the row among them. 0: the row outputs need D, or @kernel
 * computes them. */
guint gemmcl_kernel_count_tops (const GemmclKernel *kernel, const GemmclGemm *gemm, guint split);

/** TRUE if softmax is a step of its own after @kernel. */
gboolean gemmcl_kernel_needs_softmax (const GemmclKernel *kernel, const GemmclGemm *gemm,
                                      guint split);

/** TRUE if the softmax step or the step that normalizes D reads its input from a buffer of f32, the
 * logits. Both steps work in D itself if D is f32. */
gboolean gemmcl_kernel_needs_logits (const GemmclKernel *kernel, const GemmclGemm *gemm,
                                     guint split);

/** Appends the options for the row outputs of @gemm. */
void gemmcl_row_outputs_append_options (GString *options, const GemmclGemm *gemm);

/** TRUE if quantize.cl makes the A that @kernel multiplies. */
gboolean gemmcl_kernel_quantizes_a (const GemmclKernel *kernel, const GemmclGemm *gemm);

/** The type of A that @kernel, or the program that packs A for it, reads. */
GemmclType gemmcl_kernel_get_a_type (const GemmclKernel *kernel, const GemmclGemm *gemm);

/** The compiler's options for @gemm, or for a part of a @split K if @kernel adds the parts; see
 * kernels/shared/gemm.clh. */
gchar *gemmcl_kernel_make_options (const GemmclKernel *kernel, const GemmclGemm *gemm, guint split,
                                   const GemmclDeviceInfo *device, GemmclKernelLevel level);

/** The compiler's options for reduce.cl after @kernel. */
gchar *gemmcl_kernel_make_reduce_options (const GemmclKernel *kernel, const GemmclGemm *gemm,
                                          guint split);
