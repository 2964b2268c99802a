/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan/row-outputs.h"

#include "kernels/options.h"
#include "plan/steps.h"
#include "problem/pool.h"

cl_long
gemmcl_row_outputs_get_batch (GemmclKernelPlan *self)
{
  return gemmcl_gemm_get_layout (&self->problem, GEMMCL_OPERAND_ROW_OUTPUTS, TRUE).stride;
}

gchar *
gemmcl_row_outputs_make_options (GemmclKernelPlan *self)
{
  const GemmclGemm *gemm = &self->problem;
  g_autofree gchar *d_options = gemmcl_gemm_make_d_options (gemm);
  GString *options = g_string_new (NULL);

  g_string_printf (
      options, "%s -DGROUP=%u -DWIDTH=%u%s", d_options, self->row_group, self->row_width,
      gemmcl_gemm_get_layout (gemm, GEMMCL_OPERAND_D, FALSE).by_column ? "" : " -DD_UNIT_COL");
  gemmcl_row_outputs_append_options (options, gemm);
  return g_string_free (options, FALSE);
}

gboolean
gemmcl_row_outputs_launch (GemmclKernelPlan *self, GemmclStep *step, GemmclKernelRun *run,
                           GError **error)
{
  const GemmclStrides d = gemmcl_gemm_get_strides (&self->problem, GEMMCL_OPERAND_D, run->tight);
  const cl_long outputs_batch = gemmcl_row_outputs_get_batch (self);
  const cl_int n = self->computed.n;
  const gsize rows = gemmcl_gemm_count_rows_of_d (&self->problem, run->m);
  const gsize global[3] = {rows * self->row_group, 1, run->batch};

  return LAUNCH (&run->chain, step->kernel, "row_outputs", global, IN_A_ROW (self->row_group),
                 error, ARGUMENT (run->d), ARGUMENT (d), ARGUMENT (run->row_outputs),
                 ARGUMENT (outputs_batch), ARGUMENT (n));
}

gchar *
gemmcl_row_outputs_make_merge_options (const GemmclGemm *gemm)
{
  GString *options = g_string_new (NULL);

  gemmcl_row_outputs_append_options (options, gemm);
  return g_string_free (options, FALSE);
}

/* A sum, and elements with their columns. */
gsize
gemmcl_row_outputs_get_collected_bytes (const GemmclGemm *gemm)
{
  const gsize elements = gemm->row_outputs & GEMMCL_ROW_TOP_K ? gemm->top_k : 1;

  return sizeof (gfloat) + elements * (sizeof (gfloat) + sizeof (cl_int));
}

gboolean
gemmcl_row_outputs_merge (GemmclKernelPlan *self, GemmclStep *step, GemmclKernelRun *run,
                          gsize parts, GError **error)
{
  const cl_long outputs_batch = gemmcl_row_outputs_get_batch (self);
  const cl_int n = parts;
  const gsize global[3] = {run->m, 1, run->batch};

  return LAUNCH (&run->chain, step->kernel, step->name, global, IN_A_ROW (1), error,
                 ARGUMENT (step->output), ARGUMENT (n), ARGUMENT (run->row_outputs),
                 ARGUMENT (outputs_batch));
}
