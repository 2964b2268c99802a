/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan/pool.h"

#include "plan/steps.h"
#include "problem/pool.h"

/* The elements of a row of D are next to one another, and each has its work-item. */
static gboolean
is_by_row (const GemmclGemm *gemm)
{
  return !gemm->d_frame && !gemmcl_gemm_get_layout (gemm, GEMMCL_OPERAND_D, TRUE).by_column;
}

/* A work-item per element of D, or per pixel of a frame. */
gboolean
gemmcl_pool_launch (GemmclKernelPlan *self, GemmclStep *step, GemmclKernelRun *run, GError **error)
{
  const GemmclStrides state = gemmcl_gemm_get_strides (&self->computed, GEMMCL_OPERAND_D, TRUE);
  const GemmclFrame *frame = self->problem.d_frame;
  const cl_long rows = gemmcl_gemm_count_rows_of_d (&self->problem, run->m);
  const cl_long n = frame ? 1 : self->computed.n;
  const cl_long samples = frame ? gemmcl_frame_count_samples (frame) : 0;
  const GemmclStrides d =
      frame ? (GemmclStrides){.batch = samples, .row = samples / rows}
            : gemmcl_gemm_get_strides (&self->problem, GEMMCL_OPERAND_D, run->tight);
  const gboolean by_row = is_by_row (&self->problem);
  const gsize global[3] = {ROUND_UP (by_row ? n : rows, GROUP), by_row ? rows : n, run->batch};

  return LAUNCH (&run->chain, step->kernel, "pool", global,
                 IN_A_ROW (gemmcl_kernel_plan_fit_group (self, GROUP)), error,
                 ARGUMENT (self->state), ARGUMENT (state), ARGUMENT (run->d), ARGUMENT (d),
                 ARGUMENT (rows), ARGUMENT (n));
}

gchar *
gemmcl_pool_make_options (const GemmclGemm *gemm)
{
  g_autofree gchar *d_options = gemmcl_gemm_make_d_options (gemm);
  const GemmclWindows windows = gemmcl_gemm_get_windows (gemm);

  return g_strdup_printf (
      "%s -DPOOL_MAX=%d -DD_BY_ROW=%d -DACROSS=%zu -DDOWN=%zu -DWIDTH=%zu -DHEIGHT=%zu"
      " -DSTRIDE_X=%zu -DSTRIDE_Y=%zu -DTO_ACROSS=%zu -DTO_DOWN=%zu",
      d_options, gemm->pool == GEMMCL_POOL_MAX, is_by_row (gemm), windows.across, windows.down,
      windows.width, windows.height, windows.stride_x, windows.stride_y, windows.to_across,
      windows.to_down);
}
