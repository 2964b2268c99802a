/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The measured entries: the user's, and those that ship.
 */
#pragma once

#include "gemmcl-tuning.h"
#include "kernels/choice.h"

/** An entry: the fastest kernel for a problem on a device. docs/tuning.md has its form in the
 * user's file; a shipped entry has no "units" and no "driver", which the others must match. */
typedef struct {
  GemmclTuningEntry public; /* first: a list of GemmclTuningEntry holds GemmclTuned */
  GemmclGemm gemm;
  GemmclChoice choice;
} GemmclTuned;

/** TRUE if @gemm can have entries: no batch, D is a matrix, and rows of A are not pixels. */
gboolean gemmcl_tuning_has_entries (const GemmclGemm *gemm);

/** TRUE if an entry applies to @gemm on the device. @found: the nearest of the user's entries, or
 * else of the shipped ones */
gboolean gemmcl_tuning_find (const GemmclDeviceInfo *device, const GemmclGemm *gemm,
                             GemmclTuned *found);
