/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "problem/pool.h"

#include "device/base.h"

/* The number of windows side by side. */
static gsize
count_windows (gsize grid, gsize window, gsize stride)
{
  return window <= grid ? (grid - window) / stride + 1 : 0;
}

GemmclWindows
gemmcl_gemm_get_windows (const GemmclGemm *gemm)
{
  GemmclWindows self = {
      .across = gemm->pool_across ? gemm->pool_across : gemm->m,
      .down = gemm->pool_down,
  };

  if (gemm->a_frame)
    gemmcl_frame_get_grid (gemm->a_frame, &self.across, &self.down);
  if (self.down == 0)
    self.down = MAX (gemm->m / self.across, 1);
  self.width = gemm->pool_width ? gemm->pool_width : self.across;
  self.height = gemm->pool_height ? gemm->pool_height : self.down;
  self.stride_x = gemm->pool_stride_x ? gemm->pool_stride_x : self.width;
  self.stride_y = gemm->pool_stride_y ? gemm->pool_stride_y : self.height;
  self.grids = gemm->m / self.across / self.down;
  self.to_across = count_windows (self.across, self.width, self.stride_x);
  self.to_down = count_windows (self.down, self.height, self.stride_y);
  return self;
}

gsize
gemmcl_gemm_get_pooled_grid (const GemmclGemm *gemm, gsize *across, gsize *down)
{
  GemmclWindows windows;

  g_return_val_if_fail (gemm != NULL && gemm->pool != GEMMCL_POOL_NONE, 0);
  g_return_val_if_fail (across != NULL && down != NULL, 0);
  windows = gemmcl_gemm_get_windows (gemm);
  *across = windows.to_across;
  *down = windows.to_down;
  return windows.grids * windows.to_across * windows.to_down;
}

gsize
gemmcl_gemm_count_rows_of_d (const GemmclGemm *gemm, gsize m)
{
  gsize across, down;

  return gemm->pool == GEMMCL_POOL_NONE ? m : gemmcl_gemm_get_pooled_grid (gemm, &across, &down);
}

gboolean
gemmcl_pool_validate (const GemmclGemm *gemm, GError **error)
{
  const gsize sizes[] = {gemm->pool_across, gemm->pool_down,     gemm->pool_width,
                         gemm->pool_height, gemm->pool_stride_x, gemm->pool_stride_y};
  gsize across, down;
  GemmclWindows windows;

  if (gemm->pool == GEMMCL_POOL_NONE)
    return TRUE;
  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++)
    if (sizes[i] > G_MAXINT32)
      return gemmcl_fail (error, GEMMCL_ERROR_TOO_LARGE,
                          "A size or stride of pooling is %zu; at most %d is possible.", sizes[i],
                          G_MAXINT32);
  if (gemm->normalize & GEMMCL_NORMALIZE_D || gemm->addend == GEMMCL_ADDEND_OUTPUT ||
      gemm->addend == GEMMCL_ADDEND_PREVIOUS)
    return gemmcl_fail (error, GEMMCL_ERROR_INVALID,
                        "Pooling needs a D without GEMMCL_NORMALIZE_D, and an addend other than "
                        "GEMMCL_ADDEND_OUTPUT and GEMMCL_ADDEND_PREVIOUS.");
  windows = gemmcl_gemm_get_windows (gemm);
  if (gemm->a_frame) {
    gemmcl_frame_get_grid (gemm->a_frame, &across, &down);
    if ((gemm->pool_across != 0 && gemm->pool_across != across) ||
        (gemm->pool_down != 0 && gemm->pool_down != down))
      return gemmcl_fail (error, GEMMCL_ERROR_INVALID,
                          "Pooling is told a grid of %zu x %zu, but the frame of A has %zu x %zu. "
                          "Expected that grid, or zeros.",
                          gemm->pool_across, gemm->pool_down, across, down);
  }
  if (windows.grids * windows.across * windows.down != gemm->m)
    return gemmcl_fail (error, GEMMCL_ERROR_INVALID,
                        "M is %zu; pooling in a grid of %zu x %zu needs a multiple of %zu.",
                        gemm->m, windows.across, windows.down, windows.across * windows.down);
  if (windows.to_across == 0 || windows.to_down == 0)
    return gemmcl_fail (error, GEMMCL_ERROR_INVALID,
                        "A pooling window of %zu x %zu does not fit a grid of %zu x %zu.",
                        windows.width, windows.height, windows.across, windows.down);
  return TRUE;
}
