/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan-rows.h"

#include "context.h"
#include "kernel-options.h"

/* On GPUs work-items that share a row, and what each reads at a time; a CPU gives a row to one. */
#define GPU_GROUP 64
#define GPU_WIDTH 4
#define CPU_WIDTH 16

gboolean
gemmcl_plan_build_rows (GemmclPlan *self, GError **error)
{
  const GemmclGemm *gemm = &self->stated;
  const GemmclStored d = gemmcl_gemm_get_stored (gemm, GEMMCL_OPERAND_D, FALSE);
  const gboolean cpu = gemmcl_plan_is_cpu (self);
  g_autoptr (GString) options = g_string_new (NULL);

  if (gemm->row_outputs == 0)
    return TRUE;
  if (gemmcl_kernel_makes_row_outputs (self->row, &self->gemm, self->split)) {
    clRetainKernel (self->multiply);
    self->rows = self->multiply;
    return TRUE;
  }
  self->rows_group = cpu ? 1 : GPU_GROUP;
  g_string_printf (options, "-DD_TYPE=%d -DGROUP=%u -DWIDTH=%d", gemm->d_type, self->rows_group,
                   cpu ? CPU_WIDTH : GPU_WIDTH);
  if (!d.by_column)
    g_string_append (options, " -DD_UNIT_COL");
  gemmcl_row_outputs_append_options (options, gemm);
  self->rows = gemmcl_context_create_kernel (self->context, "row_outputs.cl", options->str,
                                             "row_outputs", error);
  return self->rows != NULL;
}

gsize
gemmcl_plan_get_rows_bytes (GemmclPlan *self, gsize m)
{
  return m * gemmcl_gemm_count_row_outputs (&self->stated) * sizeof (gfloat);
}

gint64
gemmcl_plan_get_rows_stride (GemmclPlan *self)
{
  return self->gemm.m * gemmcl_gemm_count_row_outputs (&self->stated);
}

gboolean
gemmcl_plan_launch_rows (GemmclPlan *self, cl_mem d, const GemmclStrides *strides, cl_mem rows,
                         gsize m, gsize batch, GemmclChain *chain, GError **error)
{
  const cl_long rows_batch = gemmcl_plan_get_rows_stride (self);
  const cl_int n = self->gemm.n;
  const gsize global[3] = {m * self->rows_group, 1, batch};
  const gsize local[3] = {self->rows_group, 1, 1};
  GemmclArguments arguments = {.kernel = self->rows};

  ADD_ARGUMENT (&arguments, d);
  ADD_ARGUMENT (&arguments, *strides);
  ADD_ARGUMENT (&arguments, rows);
  ADD_ARGUMENT (&arguments, rows_batch);
  ADD_ARGUMENT (&arguments, n);
  return gemmcl_chain_launch (chain, &arguments, global, local, "row_outputs", error);
}
