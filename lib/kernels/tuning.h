/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "kernels/choice.h"
#include "gemmcl-tuning.h"

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
