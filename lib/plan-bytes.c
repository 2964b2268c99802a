/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan-bytes.h"

#include <math.h>

#include "context.h"
#include "kernel-options.h"
#include "kernels.h"
#include "quantized.h"

/* On GPUs work-items that share a row, and what each reads at a time; a CPU gives a row to one. */
#define GPU_GROUP 64
#define GPU_WIDTH 4
#define CPU_WIDTH 16

/* What makes a byte without a sign one with: its zero point goes along. */
#define UNSIGNED_SHIFT 128

gboolean
gemmcl_plan_takes_bytes (GemmclPlan *self)
{
  return self->row->precision == GEMMCL_PRECISION_I8;
}

gboolean
gemmcl_plan_build_quantize (GemmclPlan *self, GError **error)
{
  const GemmclGemm *gemm = &self->gemm;
  const gboolean cpu = gemmcl_plan_is_cpu (self);
  const GemmclStored a = gemmcl_gemm_get_stored (gemm, GEMMCL_OPERAND_A, FALSE);
  const gboolean scaled = gemm->a_scale != 1.0 || gemm->a_shift != 0.0;
  g_autofree gchar *options = NULL;

  self->quantize_group = cpu ? 1 : GPU_GROUP;
  options = g_strdup_printf (
      "-DGROUP=%u -DWIDTH=%d -DA_TYPE=%d%s%s", self->quantize_group, cpu ? CPU_WIDTH : GPU_WIDTH,
      gemm->a_image ? GEMMCL_TYPE_F32 : gemm->a_type, scaled ? " -DA_SCALED" : "",
      gemm->a_image || !a.by_column ? " -DA_UNIT_COL" : "");
  self->quantize =
      gemmcl_context_create_kernel (self->context, "quantize.cl", options, "quantize", error);
  if (self->quantize == NULL)
    return FALSE;
  self->bytes =
      gemmcl_plan_create_memory (self, gemm->m, BYTES_ROW (gemm->k), "A, in bytes,", error);
  return self->bytes != NULL;
}

gboolean
gemmcl_plan_launch_quantize (GemmclPlan *self, cl_mem from, GemmclProblem *p, gsize batch,
                             GemmclChain *chain, GError **error)
{
  const gboolean shared = p->a.batch == 0;
  const gsize global[3] = {(gsize)p->M * self->quantize_group, 1, shared ? 1 : batch};
  const gsize local[3] = {self->quantize_group, 1, 1};
  const GemmclStrides a = p->a;
  const cl_int k = p->K;
  GemmclArguments arguments = {.kernel = self->quantize};

  p->a = (GemmclStrides){.row = BYTES_ROW ((gint64)k), .col = 1};
  p->a.batch = shared ? 0 : p->M * p->a.row;
  if (k == 0)
    return TRUE;
  ADD_ARGUMENT (&arguments, from);
  ADD_ARGUMENT (&arguments, a);
  ADD_ARGUMENT (&arguments, self->bytes);
  ADD_ARGUMENT (&arguments, k);
  ADD_ARGUMENT (&arguments, p->a_scale);
  ADD_ARGUMENT (&arguments, p->a_shift);
  return gemmcl_chain_launch (chain, &arguments, global, local, "quantize", error);
}

cl_kernel
gemmcl_plan_create_pack_bytes (GemmclPlan *self, GError **error)
{
  g_autofree gchar *options =
      g_strdup_printf ("-DPANEL=%u -DA_TYPE=0", gemmcl_kernel_get_panel (self->row));

  return gemmcl_context_create_kernel (self->context, "pack_bytes.cl", options, "pack_bytes",
                                       error);
}

void
gemmcl_byte_scales_clear (GemmclByteScales *self)
{
  g_clear_pointer (&self->scales, clReleaseMemObject);
  g_clear_pointer (&self->zeros, clReleaseMemObject);
}

/* Whether the bytes of @b can be taken as they are: one scale, or one for each column of op(B). */
static gboolean
states_scales (GemmclPlan *self, GemmclMatrix *b)
{
  const GemmclType type = gemmcl_matrix_get_element_type (b);
  GemmclMatrix *scales = gemmcl_matrix_get_scales (b);

  if (!gemmcl_plan_takes_bytes (self) || (type != GEMMCL_TYPE_I8 && type != GEMMCL_TYPE_U8))
    return FALSE;
  return scales == NULL || (self->gemm.trans_b ? gemmcl_matrix_get_cols (scales)
                                               : gemmcl_matrix_get_rows (scales)) == 1;
}

/* What @matrix (nullable: @otherwise) says of column @j. */
static gfloat
get_of_column (const GemmclMatrix *matrix, gsize j, gfloat otherwise)
{
  const gsize n = matrix ? gemmcl_matrix_get_rows (matrix) * gemmcl_matrix_get_cols (matrix) : 0;

  return n == 0 ? otherwise : ((const gfloat *)gemmcl_matrix_get_data (matrix))[n == 1 ? 0 : j];
}

static cl_mem
upload (GemmclPlan *self, cl_command_queue queue, gpointer data, gsize n, const gchar *what,
        GError **error)
{
  g_auto (cl_mem) buffer = gemmcl_context_create_buffer (self->context, n * 4, what, error);

  if (buffer == NULL || !gemmcl_cl_check (clEnqueueWriteBuffer (queue, buffer, CL_TRUE, 0, n * 4,
                                                                data, 0, NULL, NULL),
                                          error, "clEnqueueWriteBuffer for %s", what))
    return NULL;
  return g_steal_pointer (&buffer);
}

gboolean
gemmcl_byte_scales_init (GemmclByteScales *self, GemmclPlan *plan, cl_command_queue queue,
                         GemmclMatrix *b, GError **error)
{
  const gsize n = plan->gemm.n;
  const gint shift = gemmcl_matrix_get_element_type (b) == GEMMCL_TYPE_U8 ? UNSIGNED_SHIFT : 0;
  g_autofree gfloat *scales = NULL;
  g_autofree gint32 *zeros = NULL;

  *self = (GemmclByteScales){0};
  if (!states_scales (plan, b))
    return TRUE;
  scales = g_new (gfloat, n);
  zeros = g_new (gint32, n);
  for (gsize j = 0; j < n; j++) {
    scales[j] = get_of_column (gemmcl_matrix_get_scales (b), j, 1);
    zeros[j] = get_of_column (gemmcl_matrix_get_zero_points (b), j, 0) - shift;
  }
  self->scales = upload (plan, queue, scales, n, "the scales of B", error);
  self->zeros = self->scales ? upload (plan, queue, zeros, n, "the zero points of B", error) : NULL;
  return self->zeros != NULL;
}

gboolean
gemmcl_check_finite (const gfloat *b, gsize n, GError **error)
{
  for (gsize i = 0; i < n; i++)
    if (!isfinite (b[i])) {
      g_set_error (error, GEMMCL_ERROR, GEMMCL_ERROR_INVALID,
                   "B has an element %g, of which no byte can be made; choose the precision f32.",
                   b[i]);
      return FALSE;
    }
  return TRUE;
}

gchar *
gemmcl_plan_describe_scales (GemmclPlan *self, GemmclMatrix *b)
{
  const gsize n = self->gemm.n;
  g_autofree gfloat *both = NULL;

  if (!states_scales (self, b))
    return g_strdup ("");
  both = g_new (gfloat, 2 * n);
  for (gsize j = 0; j < n; j++) {
    both[j] = get_of_column (gemmcl_matrix_get_scales (b), j, 1);
    both[n + j] = get_of_column (gemmcl_matrix_get_zero_points (b), j, 0);
  }
  return gemmcl_weights_make_key (both, 2 * n,
                                  gemmcl_type_get_name (gemmcl_matrix_get_element_type (b)));
}

gboolean
gemmcl_plan_launch_pack_bytes (GemmclPlan *self, cl_kernel pack, cl_mem b,
                               const GemmclStrides *strides, cl_mem packed, gsize columns,
                               gsize batch, const GemmclByteScales *scales, GemmclChain *chain,
                               GError **error)
{
  const cl_int n = self->gemm.n, k = self->gemm.k;
  const gsize global[3] = {columns, 1, batch};
  const gsize local[3] = {gemmcl_kernel_get_panel (self->row), 1, 1};
  GemmclArguments arguments = {.kernel = pack};

  ADD_ARGUMENT (&arguments, b);
  ADD_ARGUMENT (&arguments, packed);
  ADD_ARGUMENT (&arguments, *strides);
  ADD_ARGUMENT (&arguments, n);
  ADD_ARGUMENT (&arguments, k);
  ADD_ARGUMENT (&arguments, scales->scales);
  ADD_ARGUMENT (&arguments, scales->zeros);
  return gemmcl_chain_launch (chain, &arguments, global, local, "pack_bytes", error);
}
