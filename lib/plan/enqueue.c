/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The steps of a run: building them, and enqueuing them.
 */
#include "kernels/options.h"
#include "matrix/matrix.h"
#include "plan/body.h"
#include "shared/quantized.h"

/* A tight f32 matrix with @cols elements for each row of D. */
static cl_mem
create_floats (GemmclBody *self, gsize cols, const gchar *what, GError **error)
{
  return gemmcl_body_create_memory (self, self->gemm.m, cols * sizeof (gfloat), what, error);
}

/* The options of steps that read rows of @gemm's A (row_steps.clh). If A is frames, im2col
 * made the rows. */
static gchar *
make_row_options (GemmclBody *self, const GemmclGemm *gemm)
{
  const GemmclMatrixLayout a = gemmcl_gemm_get_layout (gemm, GEMMCL_OPERAND_A, FALSE);
  /* A CPU may read an application's memory, which need not be aligned for vectors. */
  const gboolean aligned =
      self->row_group > 1 && (a.length | a.ld | a.offset | a.stride) % self->row_width == 0;
  const gboolean scaled = gemm->a_scale != 1.0 || gemm->a_shift != 0.0;

  return g_strdup_printf (
      "-DGROUP=%u -DWIDTH=%u -DA_TYPE=%s%s%s%s%s", self->row_group, self->row_width,
      gemmcl_type_get_dtype (gemm->a_frame ? GEMMCL_TYPE_F32 : gemm->a_type),
      scaled ? " -DA_SCALED" : "", gemmcl_gemm_keeps_int8 (gemm) ? " -DA_INT8" : "",
      gemm->a_frame || !a.by_column ? " -DA_UNIT_COL" : "",
      aligned && !a.by_column && !gemm->a_frame ? " -DA_ALIGNED" : "");
}

/* Builds im2col and normalize_a, which works in the output of im2col. */
static gboolean
build_features (GemmclBody *self, GError **error)
{
  const GemmclFrame *frame = self->problem.a_frame;
  const gboolean from_frames =
      frame != NULL && !gemmcl_kernel_takes_pixels (self->kernel, &self->gemm);
  const gboolean normalizes = self->problem.normalize & GEMMCL_NORMALIZE_A;
  g_autofree gchar *options = make_row_options (self, &self->problem);

  if (!from_frames && !normalizes)
    return TRUE;
  return (!from_frames || gemmcl_body_build_step (self, &self->im2col, "steps/frames.cl", "im2col",
                                                  gemmcl_frame_get_defines (frame, "A_"), error)) &&
         (!normalizes || gemmcl_body_build_step (
                             self, &self->normalize_a, "steps/normalize.cl", "normalize_rows",
                             g_strconcat (options, " -DD_TYPE=F32 -DD_UNIT_COL", NULL), error)) &&
         (self->features = create_floats (self, self->gemm.k, "the features of A", error)) != NULL;
}

static gboolean
build_quantize (GemmclBody *self, GError **error)
{
  if (!gemmcl_body_is_int8 (self))
    return TRUE;
  return gemmcl_body_build_step (self, &self->quantize, "steps/quantize.cl", "quantize",
                                 make_row_options (self, &self->gemm), error) &&
         (self->int8_a = gemmcl_body_create_memory (self, self->gemm.m, INT8_ROW (self->gemm.k),
                                                    "the int8 copy of A", error)) != NULL;
}

static gboolean
build_reduce (GemmclBody *self, GError **error)
{
  if (self->split == 1)
    return TRUE;
  return gemmcl_body_build_step (
             self, &self->reduce, "steps/reduce.cl", "reduce",
             gemmcl_kernel_make_reduce_options (self->kernel, &self->gemm, self->split), error) &&
         (self->no_bias = gemmcl_body_create_bias (self, error)) != NULL &&
         (self->workspace = create_floats (self, self->gemm.n * self->split,
                                           "the split-K workspace", error)) != NULL;
}

/* TRUE if rows of D are normalized, by the step that stores D. */
static gboolean
normalizes_d (GemmclBody *self)
{
  return self->problem.normalize & GEMMCL_NORMALIZE_D;
}

/* The options of a step from f32 to elements of @d_type. */
static gchar *
make_step_options (GemmclBody *self, GemmclType d_type, const gchar *others)
{
  return g_strdup_printf ("-DGROUP=%u -DWIDTH=%u -DA_TYPE=F32 -DD_TYPE=%s%s", self->row_group,
                          self->row_width, gemmcl_type_get_dtype (d_type), others);
}

static gboolean
build_softmax (GemmclBody *self, GError **error)
{
  const GemmclType type = normalizes_d (self) ? GEMMCL_TYPE_F32 : self->gemm.d_type;

  return !gemmcl_kernel_needs_softmax (self->kernel, &self->gemm, self->split) ||
         gemmcl_body_build_step (self, &self->softmax, "steps/softmax.cl", "softmax",
                                 make_step_options (self, type, ""), error);
}

static gboolean
build_normalize_d (GemmclBody *self, GError **error)
{
  const gboolean by_column =
      gemmcl_gemm_get_layout (&self->gemm, GEMMCL_OPERAND_D, FALSE).by_column;
  const gchar *units = !by_column     ? " -DA_UNIT_COL -DD_UNIT_COL"
                       : self->logits ? " -DA_UNIT_COL"
                                      : "";

  return !normalizes_d (self) ||
         gemmcl_body_build_step (self, &self->normalize_d, "steps/normalize.cl", "normalize_rows",
                                 make_step_options (self, self->gemm.d_type, units), error);
}

static gboolean
build_row_outputs (GemmclBody *self, GError **error)
{
  const GemmclGemm *gemm = &self->problem;
  g_autofree gchar *d_options = gemmcl_gemm_make_d_options (gemm);
  GString *options;

  if (gemm->row_outputs == 0 ||
      gemmcl_kernel_makes_row_outputs (self->kernel, &self->gemm, self->split))
    return TRUE;
  options = g_string_new (NULL);
  g_string_printf (
      options, "%s -DGROUP=%u -DWIDTH=%u%s", d_options, self->row_group, self->row_width,
      gemmcl_gemm_get_layout (gemm, GEMMCL_OPERAND_D, FALSE).by_column ? "" : " -DD_UNIT_COL");
  gemmcl_row_outputs_append_options (options, gemm);
  return gemmcl_body_build_step (self, &self->row_outputs, "steps/row_outputs.cl", "row_outputs",
                                 g_string_free (options, FALSE), error);
}

gboolean
gemmcl_body_build_steps (GemmclBody *self, GError **error)
{
  const gboolean packs = self->kernel->packed || self->kernel->images;
  const gboolean cpu = self->device->type == GEMMCL_DEVICE_TYPE_CPU;

  self->row_group = cpu ? 1 : gemmcl_body_fit_group (self, GROUP);
  self->row_width = cpu ? 16 : 4;
  return gemmcl_body_build_gather (self, error) && gemmcl_body_build_pack_a (self, error) &&
         (!packs || gemmcl_body_build_pack (self, &self->pack, error)) &&
         build_features (self, error) && build_quantize (self, error) &&
         build_reduce (self, error) &&
         (!gemmcl_kernel_needs_logits (self->kernel, &self->gemm, self->split) ||
          (self->logits =
               create_floats (self, self->gemm.n, "D before softmax or norms", error))) &&
         build_softmax (self, error) && build_normalize_d (self, error) &&
         gemmcl_body_build_state (self, error) && build_row_outputs (self, error) &&
         (self->operands[GEMMCL_PLAN_BIAS].buffer = gemmcl_body_create_bias (self, error)) != NULL;
}

static GemmclStrides
tight_strides (gsize rows, gsize cols)
{
  return (GemmclStrides){.batch = rows * cols, .row = cols, .col = 1};
}

/* The strides of an operand as the kernels find it. @tight makes no difference for the plan's
 * state, whose layout has no gaps. */
static GemmclStrides
get_strides (GemmclBody *self, GemmclOperand which, gboolean tight)
{
  const GemmclFrame *frame = gemmcl_gemm_get_frame (&self->gemm, which);

  if (which == GEMMCL_OPERAND_A && self->features)
    return tight_strides (self->gemm.m, self->gemm.k);
  return frame
             ? (GemmclStrides){.batch = gemmcl_frame_get_planes (frame, NULL) /
                                        gemmcl_type_get_size (gemmcl_frame_get_sample_type (frame))}
             : gemmcl_gemm_get_strides (&self->gemm, which, tight);
}

/* An operand as the kernels find it. */
typedef struct {
  cl_mem memory;
  GemmclStrides strides;
} View;

/* The operands of a run. */
typedef struct {
  View a, b, c, d;
  View sums; /* the output of multiply or reduce: D, or the input of the steps after them */
} Views;

/* With alpha 0 there may be no B; a kernel that reads images then gets any image. */
static View
find_b (GemmclBody *self, const GemmclOperands *operands)
{
  View b = {self->operands[GEMMCL_PLAN_B].buffer, {.row = self->gemm.n, .col = 1}};

  if (operands->b != NULL && self->pack == NULL)
    return (View){operands->b, get_strides (self, GEMMCL_OPERAND_B, FALSE)};
  if (operands->b != NULL) {
    b.memory = self->run_b;
    b.strides.batch = self->gemm.b_stride ? gemmcl_body_get_packed_size (self) : 0;
  }
  if (b.memory == NULL)
    b.memory = self->image_a;
  return b;
}

/* C as the kernels find it; {0} if C is zeros or the problem has none. The plan's own C is shared
 * by all problems of the batch; a run's own C has the problem's layout. */
static View
find_c (GemmclBody *self, const GemmclOperands *operands, View d)
{
  const gboolean own = operands->c == NULL;
  View c = {own ? self->operands[GEMMCL_PLAN_C].buffer : operands->c, {.col = 1}};

  if (self->gemm.addend == GEMMCL_ADDEND_OUTPUT)
    return d;
  if (self->gemm.addend == GEMMCL_ADDEND_NONE || c.memory == NULL)
    return (View){0};
  if (self->gemm.addend == GEMMCL_ADDEND_MATRIX)
    c.strides = get_strides (self, GEMMCL_OPERAND_C, own);
  else if (!own)
    c.strides.offset = self->gemm.c_offset;
  if (own)
    c.strides.batch = 0;
  return c;
}

static Views
find_views (GemmclBody *self, const GemmclOperands *operands)
{
  const View d = {self->state ? self->state : operands->d,
                  get_strides (self, GEMMCL_OPERAND_D, operands->tight)};

  return (Views){
      .a = {self->features ? self->features : operands->a,
            get_strides (self, GEMMCL_OPERAND_A, operands->tight)},
      .b = find_b (self, operands),
      .c = find_c (self, operands, d),
      .d = d,
      .sums = self->logits ? (View){self->logits, tight_strides (self->gemm.m, self->gemm.n)} : d,
  };
}

/* TRUE if multiply computes the row outputs. */
static gboolean
makes_row_outputs (GemmclBody *self)
{
  return self->problem.row_outputs != 0 && self->row_outputs == NULL;
}

/* Floats from a problem's row outputs to the next problem's. */
static cl_long
get_outputs_batch (GemmclBody *self)
{
  return gemmcl_gemm_get_layout (&self->problem, GEMMCL_OPERAND_ROW_OUTPUTS, TRUE).stride;
}

/* Makes the batch one tall problem if its problems share B, and the rows of A, D, C and the row
 * outputs of each follow those of the problem before. A C that is a row qualifies. */
static void
collapse_batch (GemmclBody *self, GemmclProblem *p, gsize *batch)
{
  const gsize max_m = self->kernel->max_m, rows = p->M * *batch;

  if (*batch == 1 || (makes_row_outputs (self) && (gsize)p->M != self->gemm.m) ||
      (max_m && rows > max_m) || p->b.batch != 0 || rows > G_MAXINT32 ||
      p->a.batch != p->M * p->a.row || p->d.batch != p->M * p->d.row ||
      p->c.batch != p->M * p->c.row)
    return;
  p->M = rows;
  *batch = 1;
}

static GemmclProblem
make_problem (GemmclBody *self, const GemmclOperands *operands, const Views *views, gsize *batch)
{
  GemmclProblem p = {
      .a = views->a.strides,
      .b = views->b.strides,
      .c = views->c.strides,
      .d = views->sums.strides,
      .M = operands->m,
      .N = self->gemm.n,
      .K = operands->alpha != 0.0f ? self->gemm.k : 0,
      .alpha = operands->alpha,
      .beta = views->c.memory ? operands->beta : 0.0f,
      .a_scale = self->gemm.a_scale,
      .a_shift = self->gemm.a_shift,
      .progressive = operands->progressive,
  };

  collapse_batch (self, &p, batch);
  return p;
}

/* @p as multiply gets it with a split K: the parts of K are a batch, whose results reduce adds
 * up. */
static GemmclProblem
get_parts (GemmclBody *self, const GemmclProblem *p)
{
  const gsize part = self->gemm.k / self->split;
  GemmclProblem parts = *p;

  parts.K = p->K ? part : 0;
  parts.a.batch = part * p->a.col;
  parts.b.batch = self->pack ? gemmcl_body_get_packed_size (self) : part * p->b.row;
  parts.c = (GemmclStrides){0};
  parts.d = tight_strides (p->M, p->N);
  parts.alpha = 1;
  parts.beta = 0;
  return parts;
}

/* Packs the run's own B. */
static gboolean
launch_pack (GemmclBody *self, const GemmclOperands *operands, GemmclChain *chain, GError **error)
{
  const GemmclStrides strides = get_strides (self, GEMMCL_OPERAND_B, FALSE);
  const gsize n = self->gemm.b_stride ? self->gemm.batch : 1;

  if (self->run_b == NULL)
    self->run_b = gemmcl_body_create_packed (self, n, error);
  return self->run_b != NULL &&
         gemmcl_body_launch_pack (self, self->pack, operands->b, &strides, NULL, self->run_b,
                                  MIN (operands->batch, n), chain, error);
}

static gboolean
launch_im2col (GemmclBody *self, const GemmclOperands *operands, GemmclChain *chain, GError **error)
{
  const GemmclFrame *frame = self->problem.a_frame;
  const GemmclPatches patches = gemmcl_frame_get_patches (frame);
  const cl_ulong frame_bytes = gemmcl_frame_get_planes (frame, NULL);
  const gsize items = frame->channels > 0 ? frame->channels : 1; /* for each pixel */
  const gsize global[3] = {ROUND_UP (patches.across * patches.width * items, GROUP),
                           patches.down * patches.height, operands->batch};
  /* The value of a pixel that a_scale and a_shift make 0. */
  const gdouble scale = self->problem.a_scale;
  const cl_float outside = scale != 0 ? -self->problem.a_shift / scale : 0;

  return LAUNCH (chain, self->im2col, "im2col", global,
                 IN_A_ROW (gemmcl_body_fit_group (self, GROUP)), error, ARGUMENT (operands->a),
                 ARGUMENT (self->features), ARGUMENT (frame_bytes), ARGUMENT (outside),
                 ARGUMENT (operands->progressive));
}

/* Writes rows of @cols elements of @from to @to: their softmax, or rows divided by their norms. @to
 * may be @from, with the same strides. */
static gboolean
launch_rows (GemmclBody *self, cl_kernel kernel, const GemmclOperands *operands, gsize cols,
             View from, View to, GemmclChain *chain, GError **error)
{
  const gboolean is_softmax = kernel == self->softmax;
  const cl_float scale = self->problem.a_scale, shift = self->problem.a_shift;
  const cl_int n = cols;
  const gsize global[3] = {operands->m * self->row_group, 1, operands->batch};

  return LAUNCH (chain, kernel, is_softmax ? "softmax" : "normalize_rows", global,
                 IN_A_ROW (self->row_group), error, ARGUMENT (from.memory), ARGUMENT (from.strides),
                 ARGUMENT (to.memory), ARGUMENT (to.strides), ARGUMENT (n),
                 {is_softmax ? 0 : sizeof (scale), &scale}, ARGUMENT (shift));
}

static gboolean
launch_normalize_a (GemmclBody *self, const GemmclOperands *operands, View features,
                    GemmclChain *chain, GError **error)
{
  const View own = {operands->a,
                    gemmcl_gemm_get_strides (&self->problem, GEMMCL_OPERAND_A, operands->tight)};

  return launch_rows (self, self->normalize_a, operands, self->gemm.k,
                      self->im2col ? features : own, features, chain, error);
}

/* Quantizes A of @p, in @from, and changes the strides of A in @p accordingly. */
static gboolean
launch_quantize (GemmclBody *self, cl_mem from, GemmclProblem *p, gsize batch, GemmclChain *chain,
                 GError **error)
{
  const gboolean shared = p->a.batch == 0;
  const gsize global[3] = {(gsize)p->M * self->row_group, 1, shared ? 1 : batch};
  const GemmclStrides a = p->a;

  p->a = (GemmclStrides){.row = INT8_ROW ((gint64)p->K), .col = 1};
  p->a.batch = shared ? 0 : p->M * p->a.row;
  return p->K == 0 || LAUNCH (chain, self->quantize, "quantize", global, IN_A_ROW (self->row_group),
                              error, ARGUMENT (from), ARGUMENT (a), ARGUMENT (self->int8_a),
                              ARGUMENT (p->K), ARGUMENT (p->a_scale), ARGUMENT (p->a_shift));
}

static gboolean
launch_multiply (GemmclBody *self, const GemmclOperands *operands, const Views *views,
                 const GemmclProblem *p, gsize batch, GemmclChain *chain, GError **error)
{
  const gsize group = self->kernel->group_m * self->kernel->group_n;
  const GemmclTiles groups =
      gemmcl_kernel_get_groups (self->kernel, self->device, &self->gemm, p->M, batch);
  const gsize global[3] = {groups.m * group, groups.n, batch};
  const cl_mem converted = self->image_a ? self->image_a : self->int8_a;
  const cl_mem a = converted ? converted : views->a.memory;
  const cl_mem c = self->reduce ? NULL : views->c.memory;
  const cl_mem bias = self->reduce ? self->no_bias : self->operands[GEMMCL_PLAN_BIAS].buffer;
  const cl_mem d = self->reduce ? self->workspace : views->sums.memory;
  const cl_long outputs_batch = get_outputs_batch (self);

  return LAUNCH (chain, self->multiply, self->kernel->name, global, IN_A_ROW (group), error,
                 ARGUMENT (a), ARGUMENT (views->b.memory), ARGUMENT (c), ARGUMENT (bias),
                 ARGUMENT (d), ARGUMENT (*p),
                 {makes_row_outputs (self) ? sizeof (cl_mem) : 0, &operands->row_outputs},
                 ARGUMENT (outputs_batch));
}

/* Enqueues multiply, and reduce if K is split. */
static gboolean
launch_gemm (GemmclBody *self, const GemmclOperands *operands, const Views *views,
             const GemmclProblem *p, gsize batch, GemmclChain *chain, GError **error)
{
  const gsize global[3] = {ROUND_UP ((gsize)p->N, GROUP), p->M, 1};
  GemmclProblem parts;

  if (self->reduce == NULL)
    return launch_multiply (self, operands, views, p, batch, chain, error);
  parts = get_parts (self, p);
  return launch_multiply (self, operands, views, &parts, self->split, chain, error) &&
         LAUNCH (chain, self->reduce, "reduce", global,
                 IN_A_ROW (gemmcl_body_fit_group (self, GROUP)), error, ARGUMENT (self->workspace),
                 ARGUMENT (views->c.memory), ARGUMENT (self->operands[GEMMCL_PLAN_BIAS].buffer),
                 ARGUMENT (views->sums.memory), ARGUMENT (*p));
}

static gboolean
launch_row_outputs (GemmclBody *self, const GemmclOperands *operands, GemmclChain *chain,
                    GError **error)
{
  const GemmclStrides d =
      gemmcl_gemm_get_strides (&self->problem, GEMMCL_OPERAND_D, operands->tight);
  const cl_long outputs_batch = get_outputs_batch (self);
  const cl_int n = self->gemm.n;
  const gsize global[3] = {operands->m * self->row_group, 1, operands->batch};

  return LAUNCH (chain, self->row_outputs, "row_outputs", global, IN_A_ROW (self->row_group), error,
                 ARGUMENT (operands->d), ARGUMENT (d), ARGUMENT (operands->row_outputs),
                 ARGUMENT (outputs_batch), ARGUMENT (n));
}

gboolean
gemmcl_body_enqueue (GemmclBody *self, const GemmclOperands *operands, GemmclChain *chain,
                     GError **error)
{
  const gboolean reads = operands->alpha != 0.0f; /* A and B */
  gsize batch = operands->batch;
  GemmclProblem p;
  Views views;

  if (reads && operands->b != NULL && self->pack != NULL &&
      !launch_pack (self, operands, chain, error))
    return FALSE;
  views = find_views (self, operands);
  p = make_problem (self, operands, &views, &batch);
  return (!reads || self->im2col == NULL || launch_im2col (self, operands, chain, error)) &&
         (!reads || self->normalize_a == NULL ||
          launch_normalize_a (self, operands, views.a, chain, error)) &&
         (self->quantize == NULL ||
          launch_quantize (self, views.a.memory, &p, batch, chain, error)) &&
         (self->pack_a == NULL ||
          gemmcl_body_launch_pack_a (self, views.a.memory, &p, batch, chain, error)) &&
         gemmcl_body_launch_load (self, operands, chain, error) &&
         launch_gemm (self, operands, &views, &p, batch, chain, error) &&
         (self->softmax == NULL ||
          launch_rows (self, self->softmax, operands, self->gemm.n, views.sums,
                       normalizes_d (self) ? views.sums : views.d, chain, error)) &&
         (self->normalize_d == NULL || launch_rows (self, self->normalize_d, operands, self->gemm.n,
                                                    views.sums, views.d, chain, error)) &&
         gemmcl_body_launch_store (self, operands, chain, error) &&
         (self->row_outputs == NULL || launch_row_outputs (self, operands, chain, error));
}
