/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan/row-outputs.h"

#include "kernels/options.h"
#include "plan/steps.h"
#include "problem/pool.h"

/* A row has more than one part if it is as wide, and if fewer work-groups would leave units of a
 * GPU idle. */
#define PART_COLUMNS    4096
#define GROUPS_PER_UNIT 16

cl_long
gemmcl_row_outputs_get_batch (GemmclKernelPlan *self)
{
  return gemmcl_gemm_get_layout (&self->problem, GEMMCL_OPERAND_ROW_OUTPUTS, TRUE).stride;
}

gchar *
gemmcl_row_outputs_make_options (GemmclKernelPlan *self)
{
  const GemmclGemm *gemm = &self->problem;
  const gboolean by_column = gemmcl_gemm_get_layout (gemm, GEMMCL_OPERAND_D, FALSE).by_column;
  g_autofree gchar *d_options = gemmcl_gemm_make_d_options (gemm);
  GString *options = g_string_new (NULL);

  g_string_printf (options, "%s -DGROUP=%u -DWIDTH=%u%s%s", d_options, self->row_group,
                   self->row_width, by_column && self->n_tops == 0 ? "" : " -DD_UNIT_COL",
                   self->n_tops > 0 ? " -DTILED_ROWS" : "");
  gemmcl_row_outputs_append_options (options, gemm);
  return g_string_free (options, FALSE);
}

gsize
gemmcl_row_outputs_count_tops (GemmclKernelPlan *self)
{
  const GemmclGemm *gemm = &self->computed;

  return gemmcl_kernel_count_tops (self->kernel, gemm, self->split) *
         (gsize)gemmcl_kernel_get_tiles (self->kernel, gemm->m, gemm->n).n;
}

cl_mem
gemmcl_row_outputs_create_tops (GemmclKernelPlan *self, GError **error)
{
  return gemmcl_kernel_plan_create_memory (self, self->computed.m,
                                           2 * self->n_tops * sizeof (gfloat),
                                           "the largest elements of the tiles", error);
}

gsize
gemmcl_row_outputs_count_parts (GemmclKernelPlan *self)
{
  const GemmclGemm *gemm = &self->problem;
  const gsize groups =
      self->device->compute_units * (gsize)(self->row_group > 1 ? GROUPS_PER_UNIT : 1);
  const gsize rows = gemmcl_gemm_count_rows_of_d (gemm, gemm->m) * gemm->batch;

  return CLAMP (groups / rows, 1, MAX (gemm->n / PART_COLUMNS, 1));
}

gsize
gemmcl_row_outputs_count_collected (GemmclKernelPlan *self)
{
  const GemmclGemm *gemm = &self->problem;
  const gsize elements = gemm->row_outputs & GEMMCL_ROW_TOP_K ? gemm->top_k : 1;
  /* A CollectedRow: a sum, and elements with their columns */
  const gsize bytes = sizeof (gfloat) + elements * (sizeof (gfloat) + sizeof (cl_int));

  return self->n_row_parts > 1 ? self->n_row_parts * bytes : 0;
}

gboolean
gemmcl_row_outputs_launch (GemmclKernelPlan *self, GemmclStep *step, GemmclKernelRun *run,
                           GError **error)
{
  const gsize width = 2 * self->n_tops; /* of a row of tops */
  const cl_mem d = self->tops ? self->tops : run->d;
  const GemmclStrides strides =
      self->tops ? (GemmclStrides){.batch = run->m * width, .row = width, .col = 1}
                 : gemmcl_gemm_get_strides (&self->problem, GEMMCL_OPERAND_D, run->tight);
  const cl_long outputs_batch = gemmcl_row_outputs_get_batch (self);
  const gsize rows = gemmcl_gemm_count_rows_of_d (&self->problem, run->m);
  const gsize parts = self->n_row_parts, vector = self->row_group * self->row_width;
  const cl_int n = self->tops ? self->n_tops : self->computed.n;
  const cl_int length = ROUND_UP ((n - 1) / parts + 1, vector);
  const gsize global[3] = {rows * self->row_group, parts, run->batch};

  run->found = step->output ? step->output : run->row_outputs;
  return LAUNCH (&run->chain, step->kernel, step->name, global, IN_A_ROW (self->row_group), error,
                 ARGUMENT (d), ARGUMENT (strides), ARGUMENT (run->found), ARGUMENT (outputs_batch),
                 ARGUMENT (n), ARGUMENT (length));
}

gboolean
gemmcl_row_outputs_merge (GemmclKernelPlan *self, GemmclStep *step, GemmclKernelRun *run,
                          GError **error)
{
  const cl_long outputs_batch = gemmcl_row_outputs_get_batch (self);
  const cl_int parts = self->n_row_parts;
  const gsize rows = gemmcl_gemm_count_rows_of_d (&self->problem, run->m);
  const gsize global[3] = {rows * self->row_group, 1, run->batch};

  return LAUNCH (&run->chain, step->kernel, step->name, global, IN_A_ROW (self->row_group), error,
                 ARGUMENT (run->found), ARGUMENT (parts), ARGUMENT (run->row_outputs),
                 ARGUMENT (outputs_batch));
}
