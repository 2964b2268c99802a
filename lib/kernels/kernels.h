/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "problem/gemm.h"
#include "kernels/table.h"

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
gboolean gemmcl_blocks_are_halves (const GemmclKernel *kernel, const GemmclGemm *gemm,
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
