/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The choice of a kernel: by rules, and by what was measured.
 */
#pragma once

#include "gemmcl-tuning.h"
#include "kernels/kernels.h"

/* choice.c: the rules */

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

/* tuning.c: measurements */

/**
 * GemmclTuned:
 *
 * An entry of what is known of how fast kernels are on devices. Each is an object of JSON, in the
 * user's cache directory or in the library:
 *
 *   of a device    "device", "units", "driver": its name, compute units and driver's version, all
 *                  of them as they are here; or, shipped, "device" alone
 *   of a problem   "precision": its name, "layout": "row" or "col", "transposed": what of "a", "b"
 *                  and "ab" is, or "", "m", "n", "k"
 *   what is best   "kernel", "gflops"
 */
typedef struct {
  GemmclGemm gemm;
  GemmclChoice choice;
  gdouble gflops;
  GemmclChoiceSource source;
} GemmclTuned;

/** gemmcl_tuning_has_entries: Returns: whether there can be entries that speak for @gemm: they are
 * of matrices, one at a time. Of pixels, other kernels are the fastest. */
gboolean gemmcl_tuning_has_entries (const GemmclGemm *gemm);

/** gemmcl_tuning_find: Returns: whether an entry speaks for @gemm on the device; the nearest of the
 * user's, or else of the library's own. */
gboolean gemmcl_tuning_find (const GemmclDeviceInfo *device, const GemmclGemm *gemm,
                             GemmclTuned *found);
