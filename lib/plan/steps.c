/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The steps of a run. A plan has those rows of the table that it needs; a run launches them in the
 * table's order.
 */
#include "plan/steps.h"

#include "kernels/options.h"
#include "matrix/matrix.h"
#include "plan/data.h"
#include "plan/kept.h"
#include "plan/multiply.h"
#include "plan/pack.h"
#include "plan/pool.h"
#include "plan/row-outputs.h"
#include "problem/pool.h"
#include "shared/quantized.h"

/* A work-group that owns a row grows while each work-item has LEAST_VECTORS or more to read, and
 * while the work-items of all rows are fewer than ITEMS_OF_UNIT for each compute unit. */
#define LEAST_VECTORS 16
#define ITEMS_OF_UNIT 1024

/* A row of the table of steps. */
typedef struct {
  gboolean is_needed;
  const gchar *source, *function; /* NULL: the step launches multiply alone */
  gchar *options;                 /* owned */
  gsize row_bytes;                /* of the step's output; 0: it has none, or none yet */
  const gchar *what;              /* the output, in messages */
  GemmclStepLaunch launch;
} StepRow;

/* An operand as a step finds it. */
typedef struct {
  cl_mem memory;
  GemmclStrides strides;
} View;

static GemmclStrides
tight_strides (gsize rows, gsize cols)
{
  return (GemmclStrides){.batch = rows * cols, .row = cols, .col = 1};
}

/* TRUE if im2col converts frames to rows of A. */
static gboolean
converts_frames (GemmclKernelPlan *self)
{
  const GemmclGemm *gemm =
      self->problem.normalize & GEMMCL_NORMALIZE_A ? &self->problem : &self->computed;

  return gemm->a_frame != NULL && !gemmcl_kernel_takes_pixels (self->kernel, &self->computed);
}

/* TRUE if A of the gemm is the output of im2col or normalize_rows: batch x m x k, tight. */
static gboolean
makes_features (GemmclKernelPlan *self)
{
  return converts_frames (self) || self->problem.normalize & GEMMCL_NORMALIZE_A;
}

static gboolean
normalizes_d (GemmclKernelPlan *self)
{
  return self->problem.normalize & GEMMCL_NORMALIZE_D;
}

/* The strides of an operand as the gemm finds it. @tight makes no difference for the plan's state,
 * whose layout has no gaps. */
static GemmclStrides
get_strides (GemmclKernelPlan *self, GemmclOperand which, gboolean tight)
{
  const GemmclFrame *frame = gemmcl_gemm_get_frame (&self->computed, which);

  if (which == GEMMCL_OPERAND_A && makes_features (self))
    return tight_strides (self->computed.m, self->computed.k);
  return frame ? (GemmclStrides){.batch = gemmcl_frame_count_samples (frame)}
               : gemmcl_gemm_get_strides (&self->computed, which, tight);
}

/* D of the gemm and of the steps up to store. */
static View
get_d (GemmclKernelPlan *self, const GemmclKernelRun *run)
{
  return (View){self->state ? self->state : run->d,
                get_strides (self, GEMMCL_OPERAND_D, run->tight)};
}

/* Returns: work-items for a row of @length elements, which a work-group owns: more for long rows,
 * until an item has few vectors to read or the rows fill the device. */
static guint
get_row_group (GemmclKernelPlan *self, gsize length)
{
  const gsize rows = self->computed.m * self->computed.batch;
  const gsize most = (gsize)self->device->compute_units * ITEMS_OF_UNIT;
  guint group = self->row_group;

  while (group > 1 && rows * group < most &&
         length >= (gsize)group * self->row_width * LEAST_VECTORS &&
         gemmcl_kernel_plan_fit_group (self, 2 * group) > 1)
    group *= 2;
  return group;
}

/* The options of steps that read rows of @gemm's A (kernels/shared/row_steps.clh). If A is frames,
 * im2col made the rows. */
static gchar *
make_row_options (GemmclKernelPlan *self, const GemmclGemm *gemm, const gchar *others)
{
  const GemmclMatrixLayout a = gemmcl_gemm_get_layout (gemm, GEMMCL_OPERAND_A, FALSE);
  /* A CPU may read an application's memory, which need not be aligned for vectors. */
  const gboolean aligned =
      self->row_group > 1 && (a.length | a.ld | a.offset | a.stride) % self->row_width == 0;
  const gboolean scaled = gemm->a_scale != 1.0 || gemm->a_shift != 0.0;

  return g_strdup_printf (
      "-DGROUP=%u -DWIDTH=%u -DA_TYPE=%s%s%s%s%s%s", get_row_group (self, self->computed.k),
      self->row_width, gemmcl_type_get_dtype (gemm->a_frame ? GEMMCL_TYPE_F32 : gemm->a_type),
      scaled ? " -DA_SCALED" : "", gemmcl_gemm_keeps_int8 (gemm) ? " -DA_INT8" : "",
      gemm->a_frame || !a.by_column ? " -DA_UNIT_COL" : "",
      aligned && !a.by_column && !gemm->a_frame ? " -DA_ALIGNED" : "", others);
}

/* The options of a step from rows of f32 to rows of D, of @d_type. */
static gchar *
make_step_options (GemmclKernelPlan *self, GemmclType d_type, const gchar *others)
{
  return g_strdup_printf ("-DGROUP=%u -DWIDTH=%u -DA_TYPE=F32 -DD_TYPE=%s%s",
                          get_row_group (self, self->computed.n), self->row_width,
                          gemmcl_type_get_dtype (d_type), others);
}

/* Writes rows of @cols elements of @from to @to: their softmax, or rows divided by their norms. @to
 * may be @from, with the same strides. */
static gboolean
launch_rows (GemmclKernelPlan *self, const GemmclStep *step, GemmclKernelRun *run, gsize cols,
             View from, View to, gboolean scales, GError **error)
{
  const cl_float scale = self->problem.a_scale, shift = self->problem.a_shift;
  const cl_int n = cols;
  const guint group = get_row_group (self, cols);
  const gsize global[3] = {run->m * group, 1, run->batch};

  return LAUNCH (&run->chain, step->kernel, step->name, global, IN_A_ROW (group), error,
                 ARGUMENT (from.memory), ARGUMENT (from.strides), ARGUMENT (to.memory),
                 ARGUMENT (to.strides), ARGUMENT (n), {scales ? sizeof (scale) : 0, &scale},
                 ARGUMENT (shift));
}

/* Packs a run's own B into panels or an image. */
static gboolean
launch_pack (GemmclKernelPlan *self, GemmclStep *step, GemmclKernelRun *run, GError **error)
{
  const GemmclStrides strides = get_strides (self, GEMMCL_OPERAND_B, FALSE);
  const gsize n = self->computed.b_stride ? self->computed.batch : 1;
  const cl_mem b = run->b;

  if (b == self->kept[GEMMCL_PLAN_B].buffer)
    return TRUE;
  if (run->p.K > 0 && step->output == NULL)
    step->output = gemmcl_pack_create_b (self, n, error);
  run->b = step->output;
  return run->p.K == 0 ||
         (run->b != NULL && gemmcl_pack_launch (self, step->kernel, b, &strides, NULL, run->b,
                                                MIN (run->batch, n), &run->chain, error));
}

static gboolean
launch_im2col (GemmclKernelPlan *self, GemmclStep *step, GemmclKernelRun *run, GError **error)
{
  const GemmclFrame *frame = self->problem.a_frame;
  const GemmclPatches patches = gemmcl_frame_get_patches (frame);
  const cl_ulong frame_bytes = gemmcl_frame_get_planes (frame, NULL);
  const gsize items = frame->channels > 0 ? frame->channels : 1; /* for each pixel */
  const gsize global[3] = {ROUND_UP (patches.across * patches.width * items, GROUP),
                           patches.down * patches.height, run->batch};
  /* The value of a pixel that a_scale and a_shift make 0. */
  const gdouble scale = self->problem.a_scale;
  const cl_float outside = scale != 0 ? -self->problem.a_shift / scale : 0;
  const cl_mem from = run->a;

  run->a = step->output;
  return run->p.K == 0 || LAUNCH (&run->chain, step->kernel, "im2col", global,
                                  IN_A_ROW (gemmcl_kernel_plan_fit_group (self, GROUP)), error,
                                  ARGUMENT (from), ARGUMENT (run->a), ARGUMENT (frame_bytes),
                                  ARGUMENT (outside), ARGUMENT (run->p.progressive));
}

/* Works in im2col's output if there is one. */
static gboolean
launch_normalize_a (GemmclKernelPlan *self, GemmclStep *step, GemmclKernelRun *run, GError **error)
{
  const View own = {run->a, gemmcl_gemm_get_strides (&self->problem, GEMMCL_OPERAND_A, run->tight)};
  const View features = {step->output ? step->output : run->a, run->p.a};

  run->a = features.memory;
  return run->p.K == 0 || launch_rows (self, step, run, self->computed.k,
                                       step->output ? own : features, features, TRUE, error);
}

static gboolean
launch_quantize (GemmclKernelPlan *self, GemmclStep *step, GemmclKernelRun *run, GError **error)
{
  GemmclArguments *p = &run->p;
  const gboolean shared = p->a.batch == 0;
  const guint group = get_row_group (self, self->computed.k);
  const gsize global[3] = {(gsize)p->M * group, 1, shared ? 1 : run->gemm_batch};
  const GemmclStrides a = p->a;
  const cl_mem from = run->a;

  run->a = step->output;
  p->a = (GemmclStrides){.row = INT8_ROW ((gint64)p->K), .col = 1};
  p->a.batch = shared ? 0 : p->M * p->a.row;
  return p->K == 0 || LAUNCH (&run->chain, step->kernel, "quantize", global, IN_A_ROW (group),
                              error, ARGUMENT (from), ARGUMENT (a), ARGUMENT (run->a),
                              ARGUMENT (p->K), ARGUMENT (p->a_scale), ARGUMENT (p->a_shift));
}

static gboolean
launch_pack_a (GemmclKernelPlan *self, GemmclStep *step, GemmclKernelRun *run, GError **error)
{
  const cl_mem from = run->a;

  run->a = self->image;
  return gemmcl_pack_launch_a (self, step->kernel, from, &run->p, run->gemm_batch, &run->chain,
                               error);
}

static gboolean
keeps_previous (GemmclKernelPlan *self)
{
  return self->problem.addend == GEMMCL_ADDEND_PREVIOUS;
}

/* The lines of contiguous elements that a step converts: their number, length, and strides
 * in the state and in D. */
typedef struct {
  GemmclStrides state, d;
  gsize count, length;
} Lines;

static Lines
get_pixels (GemmclKernelPlan *self)
{
  const gsize samples = gemmcl_frame_count_samples (self->problem.d_frame);
  const gsize m = self->computed.m, n = self->computed.n;

  return (Lines){
      .state = {.batch = m * n, .col = n},
      .d = {.batch = samples, .col = samples / m},
      .count = 1,
      .length = m,
  };
}

static Lines
get_lines (GemmclKernelPlan *self, gsize m, gboolean tight)
{
  const GemmclMatrixLayout state = gemmcl_gemm_get_layout (&self->computed, GEMMCL_OPERAND_D, TRUE);
  const GemmclMatrixLayout d = gemmcl_gemm_get_layout (&self->problem, GEMMCL_OPERAND_D, tight);
  Lines lines = {
      .state = {.batch = state.stride, .row = state.ld, .col = 1},
      .d = {.offset = d.offset, .batch = d.stride, .row = d.ld, .col = 1},
      .count = d.by_column ? d.lines : m,
      .length = d.by_column ? m : d.length,
  };

  if (state.ld == lines.length && d.ld == lines.length) {
    lines.length *= lines.count;
    lines.count = 1;
  }
  return lines;
}

static gboolean
convert_state (GemmclKernelPlan *self, GemmclStep *step, cl_mem d, GemmclKernelRun *run,
               GError **error)
{
  const Lines lines =
      self->problem.d_frame ? get_pixels (self) : get_lines (self, run->m, run->tight);
  const gsize global[3] = {ROUND_UP (lines.length, GROUP), lines.count, run->batch};
  const cl_long length = lines.length;

  return LAUNCH (&run->chain, step->kernel, step->name, global,
                 IN_A_ROW (gemmcl_kernel_plan_fit_group (self, GROUP)), error,
                 ARGUMENT (self->state), ARGUMENT (lines.state), ARGUMENT (d), ARGUMENT (lines.d),
                 ARGUMENT (length));
}

/* Fills the whole state, since the next run may have more rows and problems than this one. */
static gboolean
fill_state (GemmclKernelPlan *self, GemmclChain *chain, GError **error)
{
  if (!gemmcl_chain_fill (chain, self->state,
                          self->computed.m * self->computed.n * self->computed.batch,
                          "clEnqueueFillBuffer for the previous result", error))
    return FALSE;
  self->state_is_void = FALSE;
  return TRUE;
}

/* Fills the previous result with zeros, or with the run's own. */
static gboolean
launch_load (GemmclKernelPlan *self, GemmclStep *step, GemmclKernelRun *run, GError **error)
{
  return (!self->state_is_void || fill_state (self, &run->chain, error)) &&
         (run->previous == NULL || convert_state (self, step, run->previous, run, error));
}

static gboolean
launch_store (GemmclKernelPlan *self, GemmclStep *step, GemmclKernelRun *run, GError **error)
{
  return convert_state (self, step, run->d, run, error);
}

static gboolean
launch_softmax (GemmclKernelPlan *self, GemmclStep *step, GemmclKernelRun *run, GError **error)
{
  const View sums = {run->sums, run->p.d};

  return launch_rows (self, step, run, self->computed.n, sums,
                      normalizes_d (self) ? sums : get_d (self, run), FALSE, error);
}

static gboolean
launch_normalize_d (GemmclKernelPlan *self, GemmclStep *step, GemmclKernelRun *run, GError **error)
{
  const View sums = {run->sums, run->p.d};

  return launch_rows (self, step, run, self->computed.n, sums, get_d (self, run), TRUE, error);
}

static gchar *
make_normalize_d_options (GemmclKernelPlan *self)
{
  const gboolean by_column =
      gemmcl_gemm_get_layout (&self->computed, GEMMCL_OPERAND_D, FALSE).by_column;

  return make_step_options (self, self->computed.d_type,
                            !by_column     ? " -DA_UNIT_COL -DD_UNIT_COL"
                            : self->logits ? " -DA_UNIT_COL"
                                           : "");
}

/* A tight f32 matrix of D's size for each problem. */
static cl_mem
create_floats (GemmclKernelPlan *self, const gchar *what, GError **error)
{
  return gemmcl_kernel_plan_create_memory (self, self->computed.m,
                                           self->computed.n * sizeof (gfloat), what, error);
}

/* TRUE if D of the problem is in memory: of the caller, or the plan's own. */
static gboolean
stores_d (GemmclKernelPlan *self)
{
  return !self->problem.omit_d || (!self->makes_row_outputs && self->n_tops == 0);
}

/* Allocates the memory that several steps use. */
static gboolean
allocate_shared (GemmclKernelPlan *self, GError **error)
{
  const gboolean keeps = keeps_previous (self);
  const gchar *state = keeps                   ? "the previous result"
                       : self->problem.pool    ? "D before pooling"
                       : self->problem.d_frame ? "D before its pixels"
                                               : "D before its scale";

  self->zeros = gemmcl_kept_create_zeros (self, error);
  if (self->zeros == NULL)
    return FALSE;
  clRetainMemObject (self->zeros);
  self->kept[GEMMCL_PLAN_BIAS].buffer = self->zeros;
  return (!gemmcl_kernel_adds_parts (self->kernel, self->split) ||
          (self->parts = gemmcl_multiply_create_parts (self, error))) &&
         (!gemmcl_kernel_needs_logits (self->kernel, &self->computed, self->split) ||
          (self->logits = create_floats (self, "D before softmax or norms", error))) &&
         ((!keeps && !gemmcl_gemm_finishes_d (&self->problem)) ||
          (self->state = create_floats (self, state, error))) &&
         (self->n_tops == 0 || (self->tops = gemmcl_row_outputs_create_tops (self, error))) &&
         (!self->problem.omit_d || !stores_d (self) ||
          (self->omitted = gemmcl_data_create_copy (self, GEMMCL_OPERAND_D, error))) &&
         (!self->kernel->images || (self->image = gemmcl_pack_create_a (self, error)));
}

static gboolean
add_step (GemmclKernelPlan *self, const StepRow *row, GError **error)
{
  GemmclStep *step = &self->steps[self->n_steps++];

  step->launch = row->launch;
  step->name = row->function;
  return (row->source == NULL ||
          (step->kernel = gemmcl_context_create_kernel (self->context, row->source, row->options,
                                                        row->function, error))) &&
         (row->row_bytes == 0 || (step->output = gemmcl_kernel_plan_create_memory (
                                      self, self->computed.m, row->row_bytes, row->what, error)));
}

/* The table of steps, in the order of a run. */
static gboolean
add_steps (GemmclKernelPlan *self, GError **error)
{
  const GemmclKernel *kernel = self->kernel;
  const GemmclGemm *problem = &self->problem, *gemm = &self->computed;
  const guint split = self->split;
  const gsize k_bytes = gemm->k * sizeof (gfloat), n_bytes = gemm->n * sizeof (gfloat);
  const gboolean from_frames = converts_frames (self), norms_d = normalizes_d (self);
  const StepRow table[] = {
      {kernel->packed, "steps/pack.cl", "pack", gemmcl_pack_make_options (self),
       .launch = launch_pack},
      {kernel->images, "steps/pack.cl", "pack_image",
       gemmcl_pack_make_image_options (self, GEMMCL_OPERAND_B), .launch = launch_pack},
      {from_frames, "steps/frames.cl", "im2col",
       from_frames ? gemmcl_frame_get_defines (problem->a_frame, "A_") : NULL, k_bytes,
       "the features of A", launch_im2col},
      {(problem->normalize & GEMMCL_NORMALIZE_A) != 0, "steps/normalize.cl", "normalize_rows",
       make_row_options (self, problem, " -DD_TYPE=F32 -DD_UNIT_COL"), from_frames ? 0 : k_bytes,
       "the features of A", launch_normalize_a},
      {gemmcl_kernel_quantizes_a (self->kernel, gemm), "steps/quantize.cl", "quantize",
       make_row_options (self, gemm, ""), INT8_ROW (gemm->k), "the int8 copy of A",
       launch_quantize},
      {kernel->images, "steps/pack.cl", "pack_image",
       gemmcl_pack_make_image_options (self, GEMMCL_OPERAND_A), .launch = launch_pack_a},
      {keeps_previous (self), "steps/store.cl", "load", gemmcl_gemm_make_d_options (problem),
       .launch = launch_load},
      {split == 1, .launch = gemmcl_multiply_launch},
      {self->parts != NULL, .launch = gemmcl_multiply_launch_parts},
      {split > 1 && self->parts == NULL, "steps/reduce.cl", "reduce",
       gemmcl_kernel_make_reduce_options (kernel, gemm, split), n_bytes * split,
       "the split-K workspace", gemmcl_multiply_launch_and_reduce},
      {gemmcl_kernel_needs_softmax (kernel, gemm, split), "steps/softmax.cl", "softmax",
       make_step_options (self, norms_d ? GEMMCL_TYPE_F32 : gemm->d_type, ""),
       .launch = launch_softmax},
      {norms_d, "steps/normalize.cl", "normalize_rows", make_normalize_d_options (self),
       .launch = launch_normalize_d},
      {problem->pool != GEMMCL_POOL_NONE, "steps/pool.cl", "pool",
       problem->pool ? gemmcl_pool_make_options (problem) : NULL, .launch = gemmcl_pool_launch},
      {self->state != NULL && !problem->pool && stores_d (self), "steps/store.cl", "store",
       gemmcl_gemm_make_d_options (problem), .launch = launch_store},
      {problem->row_outputs != 0 && !self->makes_row_outputs, "steps/row_outputs.cl", "row_outputs",
       gemmcl_row_outputs_make_options (self), gemmcl_row_outputs_count_collected (self),
       "collected row outputs", gemmcl_row_outputs_launch},
      {self->n_row_parts > 1, "steps/row_outputs.cl", "merge_rows",
       gemmcl_row_outputs_make_options (self), .launch = gemmcl_row_outputs_merge},
  };
  gboolean ok = TRUE;

  G_STATIC_ASSERT (G_N_ELEMENTS (table) <= GEMMCL_MAX_STEPS);
  for (gsize i = 0; i < G_N_ELEMENTS (table); i++) {
    ok = ok && (!table[i].is_needed || add_step (self, &table[i], error));
    g_free (table[i].options);
  }
  return ok;
}

gboolean
gemmcl_steps_build (GemmclKernelPlan *self, GError **error)
{
  const gboolean cpu = self->device->type == GEMMCL_DEVICE_TYPE_CPU;

  self->row_group = cpu ? 1 : gemmcl_kernel_plan_fit_group (self, GROUP);
  self->row_width = cpu ? 16 : 4;
  self->makes_row_outputs =
      gemmcl_kernel_makes_row_outputs (self->kernel, &self->computed, self->split);
  self->n_tops = gemmcl_row_outputs_count_tops (self);
  self->n_row_parts =
      self->problem.row_outputs != 0 && !self->makes_row_outputs && self->n_tops == 0
          ? gemmcl_row_outputs_count_parts (self)
          : 1;
  return allocate_shared (self, error) && add_steps (self, error);
}

/* Sets B of the gemm: the run's own, before it is packed, or the plan's. If there is neither, as
 * alpha is 0, all strides are 0: skinny reads B to estimate its results, and the buffer in its
 * place has N elements. */
static void
set_b (GemmclKernelPlan *self, GemmclKernelRun *run)
{
  run->p.b = (GemmclStrides){.row = self->computed.n, .col = 1};
  if (run->b != NULL && !gemmcl_pack_is_needed (self))
    run->p.b = get_strides (self, GEMMCL_OPERAND_B, FALSE);
  else if (run->b != NULL && self->computed.b_stride)
    run->p.b.batch = gemmcl_pack_get_size (self);
  if (run->b == NULL)
    run->b = self->kept[GEMMCL_PLAN_B].buffer;
  if (run->b == NULL)
    run->p.b = (GemmclStrides){0};
}

/* Sets C of the gemm, and a beta of 0 if C is zeros or the problem has none. The plan's own C is
 * shared by all problems of the batch; a run's own C has the problem's layout. */
static void
set_c (GemmclKernelPlan *self, GemmclKernelRun *run, View d)
{
  const gboolean own = run->c == NULL;
  const GemmclAddend addend = self->computed.addend;

  run->p.c = (GemmclStrides){0};
  if (own)
    run->c = self->kept[GEMMCL_PLAN_C].buffer;
  if (addend == GEMMCL_ADDEND_OUTPUT) {
    run->c = d.memory;
    run->p.c = d.strides;
  } else if (addend == GEMMCL_ADDEND_NONE || run->c == NULL) {
    run->c = NULL;
    run->p.beta = 0.0f;
  } else {
    run->p.c = addend == GEMMCL_ADDEND_MATRIX
                   ? get_strides (self, GEMMCL_OPERAND_C, own)
                   : (GemmclStrides){.offset = own ? 0 : self->computed.c_start, .col = 1};
    if (own)
      run->p.c.batch = 0;
  }
}

/* Makes the batch one tall problem if its problems share B, and the rows of A, D, C and the row
 * outputs of each follow those of the problem before. C with one row for all, whose row stride is
 * 0, also passes. */
static void
collapse_batch (GemmclKernelPlan *self, GemmclKernelRun *run)
{
  GemmclArguments *p = &run->p;
  const gsize max_m = self->kernel->max_m, rows = p->M * run->batch;

  run->gemm_batch = run->batch;
  if (run->batch == 1 || (self->makes_row_outputs && (gsize)p->M != self->computed.m) ||
      (max_m && rows > max_m) || p->b.batch != 0 || rows > G_MAXINT32 ||
      p->a.batch != p->M * p->a.row || p->d.batch != p->M * p->d.row ||
      p->c.batch != p->M * p->c.row)
    return;
  p->M = rows;
  run->gemm_batch = 1;
}

gboolean
gemmcl_steps_enqueue (GemmclKernelPlan *self, GemmclKernelRun *run, GError **error)
{
  View d;
  GemmclArguments *p = &run->p;

  if (self->omitted)
    run->d = self->omitted;
  d = get_d (self, run);
  p->M = run->m;
  p->N = self->computed.n;
  p->K = p->alpha != 0.0f ? self->computed.k : 0;
  p->a_scale = self->computed.a_scale;
  p->a_shift = self->computed.a_shift;
  p->a = get_strides (self, GEMMCL_OPERAND_A, run->tight);
  p->d = self->logits ? tight_strides (self->computed.m, self->computed.n) : d.strides;
  run->sums = self->logits ? self->logits : d.memory;
  set_b (self, run);
  set_c (self, run, d);
  collapse_batch (self, run);
  for (guint i = 0; i < self->n_steps; i++)
    if (!self->steps[i].launch (self, &self->steps[i], run, error))
      return FALSE;
  return TRUE;
}
