/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The rules: the kernel and the split of K for a problem. Errors are #GEMMCL_ERROR_KERNEL.
 */
#pragma once

#include "kernels/table.h"

/** The largest number of parts into which K is cut. */
#define GEMMCL_MAX_SPLIT 64

/** A kernel with a split: reduce.cl adds up the partial sums of @split parts of K, so that
 * few tiles still occupy a whole device. Users write it as the kernel's name, followed by "/4" for
 * a split of 4. */
typedef struct {
  const GemmclKernel *kernel;
  guint split;
  gdouble score; /* of the rules; 0 if another source made the choice */
} GemmclChoice;

/** FALSE if @name is not the name of a choice. */
gboolean gemmcl_choice_find (GemmclChoice *self, const gchar *name, GError **error);

/** The name that gemmcl_choice_find() takes; static. */
const gchar *gemmcl_choice_get_name (const GemmclChoice *self);

/** TRUE if the device can do @gemm (valid; %NULL: any) with this choice. The kernel as built may
 * still need more than the device has. */
gboolean gemmcl_choice_check (const GemmclChoice *self, const GemmclDeviceInfo *device,
                              const GemmclGemm *gemm, GError **error);

/** (transfer container) (element-type GemmclChoice): the kernels that the rules allow, each with
 * its best split up to @max_split, best first; rows for CPUs on a GPU for which all others are too
 * large; empty if D is a frame and no kernel takes this K.
 * @all: every choice worth measuring, after the best that the rules allow */
GArray *gemmcl_choice_rank (const GemmclDeviceInfo *device, const GemmclGemm *gemm, guint max_split,
                            gboolean all);
