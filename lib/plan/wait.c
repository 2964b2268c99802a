/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Runs that are waited for, and gemmcl_gemm_run(), which makes a plan for one.
 */
#include "plan/plan.h"

gboolean
gemmcl_plan_run (GemmclPlan *self, const GemmclRun *run, GError **error)
{
  g_auto (cl_event) done = NULL;

  return gemmcl_plan_submit (self, run, NULL, &done, error) &&
         gemmcl_cl_check (clWaitForEvents (1, &done), error, "clWaitForEvents after %s",
                          gemmcl_plan_get_kernel (self));
}

gboolean
gemmcl_plan_run_host (GemmclPlan *self, gdouble alpha, gdouble beta, gconstpointer a, gpointer d,
                      gpointer rows, GError **error)
{
  const GemmclData in = {.host = {(gpointer)a}}, out = {.host = {d}},
                   row_outputs = {.host = {rows}};
  GemmclRun run = GEMMCL_RUN_INIT;

  run.batch = 1;
  run.alpha = alpha;
  run.beta = beta;
  run.a = a ? &in : NULL;
  run.d = &out;
  run.rows = rows ? &row_outputs : NULL;
  return gemmcl_plan_run (self, &run, error);
}

/* Returns: a buffer with B or C of all batches, from @host. */
static cl_mem
upload (GemmclContext *context, const GemmclGemm *gemm, GemmclOperand which, const gfloat *host,
        const gchar *what, GError **error)
{
  g_auto (cl_mem) buffer = NULL;
  gsize size;

  if (!gemmcl_gemm_get_extent (gemm, which, &size))
    size = G_MAXSIZE;
  buffer = gemmcl_context_create_buffer (context, size, what, error);
  if (buffer == NULL ||
      !gemmcl_cl_check (clEnqueueWriteBuffer (gemmcl_context_get_cl_queue (context), buffer,
                                              CL_TRUE, 0, size, host, 0, NULL, NULL),
                        error, "clEnqueueWriteBuffer for %s", what))
    return NULL;
  return g_steal_pointer (&buffer);
}

/* Returns: the places of A or D of each problem. */
static GemmclData *
find_problems (const GemmclGemm *gemm, GemmclOperand which, gconstpointer data)
{
  const GemmclMatrixLayout layout = gemmcl_gemm_get_layout (gemm, which, FALSE);
  const gsize size = gemmcl_gemm_get_element_size (gemm, which);
  const gsize batch = gemmcl_gemm_get_batch (gemm);
  GemmclData *found = g_new0 (GemmclData, batch);

  for (gsize i = 0; i < batch; i++)
    found[i].host[0] = (guchar *)data + (layout.offset + i * layout.stride) * size;
  return found;
}

gboolean
gemmcl_gemm_run (GemmclContext *context, const GemmclGemm *gemm, const gchar *kernel,
                 gconstpointer a, const gfloat *b, const gfloat *c, const gfloat *bias, gpointer d,
                 GError **error)
{
  g_autoptr (GemmclPlan) plan = NULL;
  g_autoptr (GemmclMatrix) values = NULL;
  g_autofree GemmclData *host_a = NULL, *host_d = NULL;
  g_auto (cl_mem) device_b = NULL;
  g_auto (cl_mem) device_c = NULL;
  GemmclRun run = GEMMCL_RUN_INIT;
  gboolean has_c;

  g_return_val_if_fail (GEMMCL_IS_CONTEXT (context), FALSE);
  g_return_val_if_fail (gemm != NULL && d != NULL, FALSE);
  g_return_val_if_fail (gemm->a_image == NULL && gemm->d_image == NULL, FALSE);
  g_return_val_if_fail (gemm->row_outputs == 0, FALSE);
  g_return_val_if_fail (gemm->alpha == 0.0 || (a != NULL && b != NULL), FALSE);
  has_c = gemm->addend == GEMMCL_ADDEND_MATRIX || gemm->addend == GEMMCL_ADDEND_ROW;
  g_return_val_if_fail ((c != NULL) == has_c && (bias != NULL) == !!gemm->bias, FALSE);

  plan = gemmcl_plan_new (context, gemm, kernel, error);
  if (plan == NULL)
    return FALSE;
  if (bias != NULL && (!(values = gemmcl_matrix_new (GEMMCL_TYPE_F32, 1, gemm->n, bias, error)) ||
                       !gemmcl_plan_set_bias (plan, values, error)))
    return FALSE;
  if (gemm->alpha != 0.0 && !(device_b = upload (context, gemm, GEMMCL_OPERAND_B, b, "B", error)))
    return FALSE;
  if (has_c && !(device_c = upload (context, gemm, GEMMCL_OPERAND_C, c, "C", error)))
    return FALSE;
  run.alpha = gemm->alpha;
  run.beta = gemm->beta;
  run.a = host_a = a ? find_problems (gemm, GEMMCL_OPERAND_A, a) : NULL;
  run.d = host_d = find_problems (gemm, GEMMCL_OPERAND_D, d);
  run.b = device_b;
  run.c = device_c;
  return gemmcl_plan_run (plan, &run, error);
}
