/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The measured entries: the user's, and those that ship.
 */
#pragma once

#include "kernels/choice.h"

/**
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

/** TRUE if @gemm can have entries: no batch, D is a matrix, and rows of A are not pixels. */
gboolean gemmcl_tuning_has_entries (const GemmclGemm *gemm);

/** TRUE if an entry applies to @gemm on the device. @found: the nearest of the user's entries, or
 * else of the shipped ones */
gboolean gemmcl_tuning_find (const GemmclDeviceInfo *device, const GemmclGemm *gemm,
                             GemmclTuned *found);
