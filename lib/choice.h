/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "kernel-table.h"

/** The parts into which K is cut at most. */
#define GEMMCL_MAX_SPLIT 64

/**
 * GemmclChoice:
 * @kernel: a row of the table
 * @split: into how many parts K is cut. More than 1: each part makes a result of its own, and a
 *   step of its own adds them up (kernels/reduce.cl), so that few tiles still make work for all
 *
 * How a problem is done. Users write it as the row's name, with "/4" behind for a split of 4.
 */
typedef struct {
  const GemmclKernel *kernel;
  guint split;
} GemmclChoice;

/**
 * gemmcl_choice_find:
 *
 * Returns: %FALSE with #GEMMCL_ERROR_KERNEL for what is no choice.
 */
gboolean gemmcl_choice_find (GemmclChoice *self, const gchar *name, GError **error);

/** gemmcl_choice_get_name: Returns: what gemmcl_choice_find() finds it by; static. */
const gchar *gemmcl_choice_get_name (const GemmclChoice *self);

/**
 * gemmcl_choice_check:
 * @gemm: (nullable): a valid problem; %NULL: any
 *
 * Returns: whether @gemm can be done so on the device; else %FALSE with #GEMMCL_ERROR_KERNEL.
 */
gboolean gemmcl_choice_check (const GemmclChoice *self, const GemmclDeviceInfo *device,
                              const GemmclGemm *gemm, GError **error);

/**
 * gemmcl_choice_rank:
 * @max_split: the parts into which K may be cut at most, 1 to #GEMMCL_MAX_SPLIT
 *
 * Returns: (transfer container) (element-type GemmclChoice): the rows that can do @gemm, each in as
 *   many parts as are best, the one that the rules hold for the fastest first; none when D is a
 *   picture and K too large.
 */
GArray *gemmcl_choice_rank (const GemmclDeviceInfo *device, const GemmclGemm *gemm,
                            guint max_split);

/**
 * gemmcl_choice_list:
 *
 * Returns: (transfer container) (element-type GemmclChoice): everything that may turn out to be the
 *   fastest when it is timed; what gemmcl_choice_rank() has first is first, the rest in its order.
 */
GArray *gemmcl_choice_list (const GemmclDeviceInfo *device, const GemmclGemm *gemm);
