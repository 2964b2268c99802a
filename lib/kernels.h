/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "gemm.h"
#include "kernel-table.h"

/** gemmcl_kernel_get: Returns: row @index, which is less than gemmcl_get_n_kernels(). */
const GemmclKernel *gemmcl_kernel_get (guint index);

/**
 * gemmcl_kernel_find:
 *
 * Returns: the row called @name, or %NULL with #GEMMCL_ERROR_KERNEL, which lists the nearest names.
 */
const GemmclKernel *gemmcl_kernel_find (const gchar *name, GError **error);

/**
 * gemmcl_kernel_check:
 * @gemm: (nullable): a valid problem; %NULL: any
 *
 * Returns: whether @kernel can do @gemm on the device; else %FALSE with #GEMMCL_ERROR_KERNEL.
 */
gboolean gemmcl_kernel_check (const GemmclKernel *kernel, const GemmclDeviceInfo *device,
                              const GemmclGemm *gemm, GError **error);

/** gemmcl_kernel_takes_pixels: whether @gemm's pixels need no pass of their own before @kernel. */
gboolean gemmcl_kernel_takes_pixels (const GemmclKernel *kernel, const GemmclGemm *gemm);

/** gemmcl_kernel_get_panel: Returns: columns of a panel of B; 0 when B is not packed. */
guint gemmcl_kernel_get_panel (const GemmclKernel *kernel);

/** gemmcl_kernel_get_packed_k: Returns: rows of a packed B with @k rows; the last are zeros. */
gsize gemmcl_kernel_get_packed_k (const GemmclKernel *kernel, gsize k);

/** gemmcl_kernel_get_pack_options: Returns: (transfer full): what packs B for @kernel is told. */
gchar *gemmcl_kernel_get_pack_options (const GemmclKernel *kernel);

/** gemmcl_kernel_get_b_type: Returns: what B is stored as for @kernel. */
GemmclType gemmcl_kernel_get_b_type (const GemmclKernel *kernel);

/** GemmclTiles: how many work-groups cover D, and how much of it each owns. */
typedef struct {
  gsize m, n;
  gsize rows, cols;
} GemmclTiles;

/** gemmcl_kernel_get_tiles: Returns: how @kernel covers a D of @m x @n. */
GemmclTiles gemmcl_kernel_get_tiles (const GemmclKernel *kernel, gsize m, gsize n);

/**
 * GemmclBlocks:
 * @width, @height: of a block, in texels
 * @chunk: the K of a block
 * @per_panel: blocks of a panel, one for each chunk of K
 * @panels: panels of one of the batches
 * @side: blocks side by side
 * @image_width, @image_height: of what holds all of them, in texels
 *
 * How A or B lies in an image; kernels/pack_image.cl has a drawing. Where a device has no images of
 * one channel of 32 bits, a buffer holds its texels row by row.
 */
typedef struct {
  gsize width, height;
  gsize chunk, per_panel, panels, side;
  gsize image_width, image_height;
} GemmclBlocks;

/** gemmcl_blocks_are_halves: Returns: whether a texel is two halves, not a float. */
gboolean gemmcl_blocks_are_halves (const GemmclKernel *kernel, const GemmclGemm *gemm,
                                   GemmclOperand which);

/** gemmcl_blocks_are_in_buffers: Returns: whether on @device images are buffers. */
gboolean gemmcl_blocks_are_in_buffers (const GemmclDeviceInfo *device);

/**
 * gemmcl_blocks_get_options:
 *
 * Returns: what programs with images are told, after a space. In OpenCL C 1.2, too, PoCL 7 declares
 *   their functions only where the feature of 3.0 is defined.
 */
const gchar *gemmcl_blocks_get_options (const GemmclDeviceInfo *device);

/**
 * gemmcl_blocks_init:
 * @kernel: one that reads images
 * @which: A or B
 *
 * Returns: whether the device has images so large; else %FALSE with #GEMMCL_ERROR_KERNEL.
 */
gboolean gemmcl_blocks_init (GemmclBlocks *self, const GemmclKernel *kernel,
                             const GemmclDeviceInfo *device, const GemmclGemm *gemm,
                             GemmclOperand which, GError **error);

/**
 * gemmcl_blocks_get_strides:
 * @shared: all batches have the same
 *
 * Returns: what the kernel is told in place of strides; see kernels/problem.h.
 */
GemmclStrides gemmcl_blocks_get_strides (const GemmclBlocks *self, gboolean shared);
