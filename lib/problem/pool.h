/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Grids of rows and their windows. Any thread.
 */
#pragma once

#include "gemmcl-gemm.h"

/** The grids that a valid problem pools, and their windows, with all defaults filled in. */
typedef struct {
  gsize grids;
  gsize across, down; /* of a grid before pooling */
  gsize width, height, stride_x, stride_y;
  gsize to_across, to_down; /* of a grid of windows */
} GemmclWindows;

GemmclWindows gemmcl_gemm_get_windows (const GemmclGemm *gemm);

/** The rows of D, and of the row outputs, in a run of @m rows of A. */
gsize gemmcl_gemm_count_rows_of_d (const GemmclGemm *gemm, gsize m);

/** Checks the fields of pooling of a problem whose other sizes and frames are valid. */
gboolean gemmcl_pool_validate (const GemmclGemm *gemm, GError **error);
