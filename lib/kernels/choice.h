/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "kernels/table.h"

/** The parts into which K is cut at most. */
#define GEMMCL_MAX_SPLIT 64

/**
 * How a problem is done: by a row of the table, with K cut into @split parts. More than 1: each
 * part makes a result of its own, and kernels/reduce.cl adds them up, so that few tiles still make
 * work for all. Users write it as the row's name, with "/4" behind for a split of 4.
 */
typedef struct {
  const GemmclKernel *kernel;
  guint split;
} GemmclChoice;

/** Returns: %FALSE with #GEMMCL_ERROR_KERNEL for a name that is none of a choice. */
gboolean gemmcl_choice_find (GemmclChoice *self, const gchar *name, GError **error);

/** Returns: the name by which gemmcl_choice_find() finds it; static. */
const gchar *gemmcl_choice_get_name (const GemmclChoice *self);

/** Returns: whether @gemm (valid; %NULL: any) can be done so on the device; else %FALSE with
 * #GEMMCL_ERROR_KERNEL. */
gboolean gemmcl_choice_check (const GemmclChoice *self, const GemmclDeviceInfo *device,
                              const GemmclGemm *gemm, GError **error);

/** Returns: (transfer container) (element-type GemmclChoice): the rows that can do @gemm, each in
 * as many parts up to @max_split as are best, the one that should be fastest first; none when D is
 * a picture and K too large. */
GArray *gemmcl_choice_rank (const GemmclDeviceInfo *device, const GemmclGemm *gemm,
                            guint max_split);

/** Returns: (transfer container) (element-type GemmclChoice): everything that may turn out to be
 * the fastest when it is timed; the first is that of gemmcl_choice_rank(), the rest in its order.
 */
GArray *gemmcl_choice_list (const GemmclDeviceInfo *device, const GemmclGemm *gemm);
