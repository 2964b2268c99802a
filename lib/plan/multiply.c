/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan/multiply.h"

#include "plan/pack.h"
#include "plan/row-outputs.h"
#include "plan/steps.h"

/* @row_outputs: (nullable). @p: the arguments of the whole gemm, or of its parts. With alpha 0
 * there may be no B; a kernel then gets any image or buffer instead: llvmpipe reads B even where no
 * work-item does. */
static gboolean
multiply (GemmclKernelPlan *self, GemmclKernelRun *run, const GemmclArguments *p, gsize batch,
          cl_mem c, cl_mem bias, cl_mem d, cl_mem row_outputs, GError **error)
{
  const gsize group = self->kernel->group_m * self->kernel->group_n;
  const GemmclTiles groups =
      gemmcl_kernel_get_groups (self->kernel, self->device, &self->computed, p->M, batch);
  const gsize global[3] = {groups.m * group, groups.n, batch};
  const cl_mem b = run->b ? run->b : self->image ? self->image : self->zeros;
  const gboolean leaves_rows = self->makes_row_outputs || self->tops != NULL;
  const cl_long rows_batch =
      self->tops ? (cl_long)(run->m * 2 * self->n_tops) : gemmcl_row_outputs_get_batch (self);
  const cl_mem *last = self->parts ? &self->parts : self->tops ? &self->tops : &row_outputs;

  return LAUNCH (&run->chain, self->multiply, self->kernel->name, global, IN_A_ROW (group), error,
                 ARGUMENT (run->a), ARGUMENT (b), ARGUMENT (c), ARGUMENT (bias), ARGUMENT (d),
                 ARGUMENT (*p), {self->parts || leaves_rows ? sizeof (cl_mem) : 0, last},
                 {leaves_rows ? sizeof (rows_batch) : 0, &rows_batch});
}

gboolean
gemmcl_multiply_launch (GemmclKernelPlan *self, G_GNUC_UNUSED GemmclStep *step,
                        GemmclKernelRun *run, GError **error)
{
  return multiply (self, run, &run->p, run->gemm_batch, run->c, self->kept[GEMMCL_PLAN_BIAS].buffer,
                   run->sums, run->row_outputs, error);
}

/* The parts of a split K as a batch of multiply. */
static GemmclArguments
get_parts (GemmclKernelPlan *self, const GemmclArguments *p)
{
  const gsize part = self->computed.k / self->split;
  GemmclArguments parts = *p;

  parts.K = p->K ? part : 0;
  parts.a.batch = part * p->a.col;
  parts.b.batch = self->kernel->packed ? gemmcl_pack_get_size (self) : part * p->b.row;
  return parts;
}

/* The tiles of D, and the floats of one in `parts` (SPLIT_TILE of mma_tile.clh). */
static void
get_tiles (GemmclKernelPlan *self, gsize *n, gsize *floats)
{
  const GemmclTiles tiles =
      gemmcl_kernel_get_tiles (self->kernel, self->computed.m, self->computed.n);

  *n = (gsize)tiles.m * tiles.n;
  *floats = self->split * tiles.rows * tiles.cols + 4;
}

cl_mem
gemmcl_multiply_create_parts (GemmclKernelPlan *self, GError **error)
{
  gsize n, floats;

  get_tiles (self, &n, &floats);
  self->parts_are_void = TRUE;
  return gemmcl_kernel_plan_create_memory (self, n, floats * sizeof (gfloat),
                                           "the split-K workspace", error);
}

/* Adds a command that clears the counts, in each run until one is known to have succeeded: runs
 * in flight behind one that fails must not find other counts. */
static gboolean
clear_parts (GemmclKernelPlan *self, GemmclChain *chain, GError **error)
{
  gsize n, floats;

  if (self->parts_cleared && gemmcl_event_get_status (self->parts_cleared) == CL_COMPLETE) {
    self->parts_are_void = FALSE;
    return TRUE;
  }
  get_tiles (self, &n, &floats);
  g_clear_pointer (&self->parts_cleared, clReleaseEvent);
  if (!gemmcl_chain_fill (chain, self->parts, n * floats,
                          "clEnqueueFillBuffer for the split-K workspace", error))
    return FALSE;
  /* A warm-up leaves out groups, so it leaves counts behind. */
  if (!chain->warm_up && clRetainEvent (chain->last) == CL_SUCCESS)
    self->parts_cleared = chain->last;
  return TRUE;
}

gboolean
gemmcl_multiply_launch_parts (GemmclKernelPlan *self, G_GNUC_UNUSED GemmclStep *step,
                              GemmclKernelRun *run, GError **error)
{
  GemmclArguments parts = get_parts (self, &run->p);

  parts.c.batch = parts.d.batch = 0;
  return (!self->parts_are_void || clear_parts (self, &run->chain, error)) &&
         multiply (self, run, &parts, self->split, run->c, self->kept[GEMMCL_PLAN_BIAS].buffer,
                   run->sums, NULL, error);
}

gboolean
gemmcl_multiply_launch_and_reduce (GemmclKernelPlan *self, GemmclStep *step, GemmclKernelRun *run,
                                   GError **error)
{
  const GemmclArguments *p = &run->p;
  const gsize global[3] = {ROUND_UP (((gsize)p->N + 3) / 4, GROUP), p->M, 1};
  GemmclArguments parts = get_parts (self, p);

  parts.c = (GemmclStrides){0};
  parts.d = (GemmclStrides){.batch = (gsize)p->M * p->N, .row = p->N, .col = 1};
  parts.alpha = 1;
  parts.beta = 0;
  return multiply (self, run, &parts, self->split, NULL, self->zeros, step->output, NULL, error) &&
         LAUNCH (&run->chain, step->kernel, "reduce", global,
                 IN_A_ROW (gemmcl_kernel_plan_fit_group (self, GROUP)), error,
                 ARGUMENT (step->output), ARGUMENT (run->c),
                 ARGUMENT (self->kept[GEMMCL_PLAN_BIAS].buffer), ARGUMENT (run->sums),
                 ARGUMENT (*p));
}
