/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The choice of a kernel: by rules, and by measurements.
 */
#pragma once

#include "gemmcl-tuning.h"
#include "kernels/kernels.h"

/* choice.c: the rules */

/** The largest number of parts into which K is cut. */
#define GEMMCL_MAX_SPLIT 64

/**
 * A kernel with a split: K is cut into @split parts. With more than 1, each part makes a partial
 * sum of D in the split-K workspace, and kernels/reduce.cl adds them up, so that few tiles still
 * occupy a whole device. Users write it as the kernel's name, followed by "/4" for a split of 4.
 */
typedef struct {
  const GemmclKernel *kernel;
  guint split;
} GemmclChoice;

/** Returns: %FALSE with #GEMMCL_ERROR_KERNEL if @name is not the name of a choice. */
gboolean gemmcl_choice_find (GemmclChoice *self, const gchar *name, GError **error);

/** Returns: the name that gemmcl_choice_find() takes; static. */
const gchar *gemmcl_choice_get_name (const GemmclChoice *self);

/** Returns: %TRUE if the device can do @gemm (valid; %NULL: any) with this choice; else %FALSE with
 *   #GEMMCL_ERROR_KERNEL. */
gboolean gemmcl_choice_check (const GemmclChoice *self, const GemmclDeviceInfo *device,
                              const GemmclGemm *gemm, GError **error);

/** Returns: (transfer container) (element-type GemmclChoice): the kernels that the rules allow for
 *   @gemm, each with its best split up to @max_split, the fastest by the rules first; empty if D is
 *   a frame and no kernel takes this K. */
GArray *gemmcl_choice_rank (const GemmclDeviceInfo *device, const GemmclGemm *gemm,
                            guint max_split);

/** Returns: (transfer container) (element-type GemmclChoice): every choice worth measuring; first
 *   the first one of gemmcl_choice_rank(), then the others in the order of the rules. */
GArray *gemmcl_choice_list (const GemmclDeviceInfo *device, const GemmclGemm *gemm);

/* tuning.c: measurements */

/**
 * GemmclTuned:
 *
 * An entry: the fastest kernel for a problem on a device. Entries are JSON objects, in the user's
 * cache directory or in the library:
 *
 *   device     "device", "units", "driver": its name, compute units and driver's version, all of
 *              which must match; a shipped entry has "device" alone
 *   problem    "precision": its name, "layout": "row" or "col", "transposed": "a", "b", "ab" or "",
 *              "m", "n", "k"
 *   best       "kernel", "gflops"
 */
typedef struct {
  GemmclGemm gemm;
  GemmclChoice choice;
  gdouble gflops;
  GemmclChoiceSource source;
} GemmclTuned;

/** gemmcl_tuning_has_entries: Returns: %TRUE if @gemm can have entries: it is one problem, its D is
 * a matrix, and its A is not the pixels of frames, for which other kernels are the fastest. */
gboolean gemmcl_tuning_has_entries (const GemmclGemm *gemm);

/** gemmcl_tuning_find: Returns: %TRUE if an entry applies to @gemm on the device. @found: the
 * nearest of the user's entries, or else of the shipped ones */
gboolean gemmcl_tuning_find (const GemmclDeviceInfo *device, const GemmclGemm *gemm,
                             GemmclTuned *found);
