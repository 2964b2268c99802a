/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The table of kernels: its rows, how they cover a problem, and the compiler's options for them.
 */
#pragma once

#include "device/device.h"
#include "kernels/table.h"
#include "problem/gemm.h"

/* table.c */

/** Returns: row @index, which is less than gemmcl_get_n_kernels(). */
const GemmclKernel *gemmcl_kernel_get (guint index);

/** Returns: the row called @name; %NULL with #GEMMCL_ERROR_KERNEL, which lists the nearest names.
 */
const GemmclKernel *gemmcl_kernel_find (const gchar *name, GError **error);

/** Returns: whether @kernel can do @gemm (valid; %NULL: any) on the device; else %FALSE with
 * #GEMMCL_ERROR_KERNEL. */
gboolean gemmcl_kernel_check (const GemmclKernel *kernel, const GemmclDeviceInfo *device,
                              const GemmclGemm *gemm, GError **error);

/** Returns: whether @gemm's pixels need no pass of their own before @kernel. */
gboolean gemmcl_kernel_takes_pixels (const GemmclKernel *kernel, const GemmclGemm *gemm);

/** Returns: the columns of a panel of B; 0 when B is not packed. */
guint gemmcl_kernel_get_panel (const GemmclKernel *kernel);

/** Returns: the rows of a packed B with @k rows; the last are zeros. */
gsize gemmcl_kernel_get_packed_k (const GemmclKernel *kernel, gsize k);

/** Returns: (transfer full): the compiler's options for what packs B for @kernel. */
gchar *gemmcl_kernel_get_pack_options (const GemmclKernel *kernel);

/** Returns: the type of B as @kernel finds it. */
GemmclType gemmcl_kernel_get_b_type (const GemmclKernel *kernel);

/** How many work-groups cover D, and how much of it each owns. */
typedef struct {
  gsize m, n;
  gsize rows, cols;
} GemmclTiles;

/** Returns: how @kernel covers a D of @m x @n. */
GemmclTiles gemmcl_kernel_get_tiles (const GemmclKernel *kernel, gsize m, gsize n);

/** How A or B lies in an image; kernels/pack_image.cl has a drawing. Where a device has no images
 * of one channel of 32 bits, a buffer holds its texels row by row. */
typedef struct {
  gsize width, height;             /* of a block, in texels */
  gsize chunk;                     /* the K of a block */
  gsize per_panel;                 /* blocks of a panel, one for each chunk of K */
  gsize panels;                    /* of one of the batches */
  gsize side;                      /* blocks side by side */
  gsize image_width, image_height; /* of what holds all of them, in texels */
} GemmclBlocks;

/** Returns: whether a texel is two halves, not a float. */
gboolean gemmcl_blocks_are_f16 (const GemmclKernel *kernel, const GemmclGemm *gemm,
                                GemmclOperand which);

/** Returns: whether images are buffers on @device. */
gboolean gemmcl_blocks_are_in_buffers (const GemmclDeviceInfo *device);

/** Returns: the compiler's options of programs with images, after a space. */
const gchar *gemmcl_blocks_get_options (const GemmclDeviceInfo *device);

/** Returns: whether the device has images that hold @which, A or B, for @kernel, which reads
 * images; else %FALSE with #GEMMCL_ERROR_KERNEL. */
gboolean gemmcl_blocks_init (GemmclBlocks *self, const GemmclKernel *kernel,
                             const GemmclDeviceInfo *device, const GemmclGemm *gemm,
                             GemmclOperand which, GError **error);

/** Returns: what the kernel gets in place of strides (see kernels/problem.h). @shared: all batches
 * have the same */
GemmclStrides gemmcl_blocks_get_strides (const GemmclBlocks *self, gboolean shared);

/* options.c: compile-time options */

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

/* subgroups.c */

/** Returns: the best level that @device's extensions promise for @kernel; native if it has no
 * subgroups, and emulated if it multiplies bytes for which there are no instructions. A build may
 * show that they promise too much. */
GemmclKernelLevel gemmcl_subgroups_get_level (const GemmclKernel *kernel,
                                              const GemmclDeviceInfo *device);

/** Returns: the level that is worth a try after @level; emulated is the last. */
GemmclKernelLevel gemmcl_subgroups_get_next (GemmclKernelLevel level,
                                             const GemmclDeviceInfo *device);

/** Appends what the compiler must know (see subgroup.clh). */
void gemmcl_subgroups_append_options (GString *options, const GemmclKernel *kernel,
                                      const GemmclDeviceInfo *device, GemmclKernelLevel level);

/** Returns: whether the subgroups of @kernel, @built at @level, are as large as the row says; else
 * %FALSE with #GEMMCL_ERROR_KERNEL. */
gboolean gemmcl_subgroups_check (const GemmclKernel *kernel, cl_kernel built, cl_device_id device,
                                 GemmclKernelLevel level, GError **error);

/** Appends what the compiler must know to use the device's dot products. */
void gemmcl_dot_append_options (GString *options, const GemmclDeviceInfo *device);
