/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

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
