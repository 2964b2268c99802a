/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The result in f32 that a step converts to D: a plan keeps it for its next run with
 * GEMMCL_ADDEND_PREVIOUS, and has it if D is scaled.
 */
#include "plan/body.h"

gboolean
gemmcl_body_build_state (GemmclBody *self, GError **error)
{
  const GemmclGemm *gemm = &self->problem;
  const gboolean is_kept = gemm->addend == GEMMCL_ADDEND_PREVIOUS;

  if (!is_kept && !gemmcl_gemm_scales_d (gemm))
    return TRUE;
  self->state =
      gemmcl_body_create_memory (self, self->gemm.m, self->gemm.n * sizeof (gfloat),
                                 is_kept ? "The previous result" : "D before its scale", error);
  return self->state != NULL &&
         (!is_kept || gemmcl_body_build_step (self, &self->load, "store.cl", "load",
                                              gemmcl_gemm_make_d_options (gemm), error)) &&
         gemmcl_body_build_step (self, &self->store, "store.cl", "store",
                                 gemmcl_gemm_make_d_options (gemm), error);
}

/* The contiguous runs of elements that a step converts: their number, length and strides on both
 * sides. */
typedef struct {
  GemmclStrides state, d;
  gsize runs, length;
} Runs;

static Runs
get_pixels (GemmclBody *self)
{
  const GemmclImage *image = self->problem.d_image;
  GemmclPlane planes[GEMMCL_MAX_PLANES];
  const gsize bytes = gemmcl_image_get_planes (image, planes);
  const gsize samples = bytes / gemmcl_pixel_format_get_sample_bytes (image->format);
  const gsize m = self->gemm.m, n = self->gemm.n;

  return (Runs){
      .state = {.batch = m * n, .col = n},
      .d = {.batch = samples, .col = samples / m},
      .runs = 1,
      .length = m,
  };
}

static Runs
get_runs (GemmclBody *self, gsize m, gboolean tight)
{
  const GemmclMatrixLayout state = gemmcl_gemm_get_layout (&self->gemm, GEMMCL_OPERAND_D, TRUE);
  const GemmclMatrixLayout d = gemmcl_gemm_get_layout (&self->problem, GEMMCL_OPERAND_D, tight);
  Runs runs = {
      .state = {.batch = state.stride, .row = state.ld, .col = 1},
      .d = {.offset = d.offset, .batch = d.stride, .row = d.ld, .col = 1},
      .runs = d.by_column ? d.runs : m,
      .length = d.by_column ? m : d.length,
  };

  if (state.ld == runs.length && d.ld == runs.length) {
    runs.length *= runs.runs;
    runs.runs = 1;
  }
  return runs;
}

static gboolean
launch (GemmclBody *self, cl_kernel kernel, cl_mem d, const GemmclOperands *operands,
        GemmclChain *chain, GError **error)
{
  const Runs runs =
      self->problem.d_image ? get_pixels (self) : get_runs (self, operands->m, operands->tight);
  const gsize global[3] = {ROUND_UP (runs.length, GROUP), runs.runs, operands->batch};
  const cl_long length = runs.length;

  return LAUNCH (chain, kernel, "store.cl", global, IN_A_ROW (GROUP), error, ARGUMENT (self->state),
                 ARGUMENT (runs.state), ARGUMENT (d), ARGUMENT (runs.d), ARGUMENT (length));
}

/* Fills the whole state, since the next run may have more rows and problems than this one. */
static gboolean
fill (GemmclBody *self, GemmclChain *chain, GError **error)
{
  const gsize size = self->gemm.m * self->gemm.n * self->gemm.batch * sizeof (gfloat);
  const gfloat zero = 0.0f;
  cl_event done = NULL;
  const cl_int status = clEnqueueFillBuffer (chain->queue, self->state, &zero, sizeof (zero), 0,
                                             size, CHAIN_WAIT (chain), &done);

  if (!gemmcl_chain_add (chain, status, done, "clEnqueueFillBuffer for the previous result", error))
    return FALSE;
  self->state_is_void = FALSE;
  return TRUE;
}

gboolean
gemmcl_body_launch_load (GemmclBody *self, const GemmclOperands *operands, GemmclChain *chain,
                         GError **error)
{
  if (self->load == NULL)
    return TRUE;
  return (!self->state_is_void || fill (self, chain, error)) &&
         (operands->previous == NULL ||
          launch (self, self->load, operands->previous, operands, chain, error));
}

gboolean
gemmcl_body_launch_store (GemmclBody *self, const GemmclOperands *operands, GemmclChain *chain,
                          GError **error)
{
  return self->state == NULL || launch (self, self->store, operands->d, operands, chain, error);
}

/* Exchanges the memory of both, so that neither has to allocate. */
void
gemmcl_body_adopt_previous (GemmclBody *self, GemmclBody *from)
{
  const GemmclGemm *a = &self->gemm, *b = &from->gemm;
  cl_mem own = self->state;

  self->state_is_void = TRUE;
  if (self->context != from->context || self->problem.addend != GEMMCL_ADDEND_PREVIOUS ||
      from->problem.addend != GEMMCL_ADDEND_PREVIOUS || a->m != b->m || a->n != b->n ||
      a->batch != b->batch || a->layout != b->layout)
    return;
  self->state = from->state;
  self->state_is_void = from->state_is_void;
  from->state = own;
  from->state_is_void = TRUE;
}
