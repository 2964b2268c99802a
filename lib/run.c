/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The one blocking call over host pointers.
 */
#include "context.h"
#include "gemm.h"

typedef struct {
  GemmclContext *context;
  cl_command_queue queue;
  gsize batch;
} Run;

/* Device memory as large as @stored reaches, filled from @host unless that is NULL. */
static cl_mem
upload (const Run *run, const GemmclStored *stored, GemmclType type, gconstpointer host,
        const gchar *what, GError **error)
{
  const gsize size = gemmcl_stored_get_extent (stored, run->batch) * gemmcl_type_get_size (type);
  g_auto (cl_mem) buffer = gemmcl_context_create_buffer (run->context, size, what, error);

  if (buffer == NULL)
    return NULL;
  if (host != NULL && !gemmcl_cl_check (clEnqueueWriteBuffer (run->queue, buffer, CL_TRUE, 0, size,
                                                              host, 0, NULL, NULL),
                                        error, "clEnqueueWriteBuffer for %s", what))
    return NULL;
  return g_steal_pointer (&buffer);
}

/* Copies the elements of D, and no gap between them, to @host. */
static gboolean
download (const Run *run, const GemmclStored *stored, GemmclType type, cl_mem buffer, gpointer host,
          GError **error)
{
  const gsize size = gemmcl_type_get_size (type);
  const gsize region[3] = {stored->length * size, stored->runs, 1};

  for (gsize i = 0; i < run->batch; i++) {
    const gsize origin[3] = {(stored->offset + i * stored->stride) * size, 0, 0};
    if (!gemmcl_cl_check (clEnqueueReadBufferRect (run->queue, buffer, CL_TRUE, origin, origin,
                                                   region, stored->ld * size, 0, stored->ld * size,
                                                   0, host, 0, NULL, NULL),
                          error, "clEnqueueReadBufferRect for D"))
      return FALSE;
  }
  return TRUE;
}

/* C is shared by the rows and batches of ADDEND_ROW; of ADDEND_OUTPUT it is D itself. */
static cl_mem
upload_c (const Run *run, const GemmclGemm *gemm, const gfloat *c, GError **error)
{
  GemmclStored stored = gemmcl_gemm_get_stored (gemm, GEMMCL_OPERAND_C, FALSE);

  if (gemm->addend == GEMMCL_ADDEND_ROW)
    stored = (GemmclStored){.runs = 1, .length = gemm->n, .offset = gemm->c_offset};
  return upload (run, &stored, GEMMCL_TYPE_F32, c, "C", error);
}

static gboolean
set_bias (GemmclPlan *plan, const GemmclGemm *gemm, const gfloat *bias, GError **error)
{
  g_autoptr (GemmclMatrix) matrix = NULL;

  if (!gemm->bias)
    return TRUE;
  matrix = gemmcl_matrix_new (GEMMCL_TYPE_F32, 1, gemm->n, bias, error);
  return matrix != NULL && gemmcl_plan_set_bias (plan, matrix, error);
}

gboolean
gemmcl_gemm_run (GemmclContext *context, const GemmclGemm *gemm, const gchar *kernel,
                 gconstpointer a, const gfloat *b, const gfloat *c, const gfloat *bias, gpointer d,
                 GError **error)
{
  g_autoptr (GemmclPlan) plan = NULL;
  g_auto (cl_mem) device_a = NULL;
  g_auto (cl_mem) device_b = NULL;
  g_auto (cl_mem) device_c = NULL;
  g_auto (cl_mem) device_d = NULL;
  GemmclStored stored_a, stored_b, stored_d;
  GemmclDeviceRun device_run = {0};
  gboolean has_c;
  Run run;

  g_return_val_if_fail (GEMMCL_IS_CONTEXT (context), FALSE);
  g_return_val_if_fail (gemm != NULL && d != NULL, FALSE);
  g_return_val_if_fail (gemm->a_image == NULL && gemm->d_image == NULL, FALSE);
  g_return_val_if_fail (gemm->row_outputs == 0, FALSE);
  g_return_val_if_fail (gemm->alpha == 0.0 || (a != NULL && b != NULL), FALSE);
  has_c = gemm->addend == GEMMCL_ADDEND_MATRIX || gemm->addend == GEMMCL_ADDEND_ROW;
  g_return_val_if_fail ((c != NULL) == has_c && (bias != NULL) == !!gemm->bias, FALSE);

  plan = gemmcl_plan_new (context, gemm, kernel, error);
  if (plan == NULL || !set_bias (plan, gemm, bias, error))
    return FALSE;
  run = (Run){context, gemmcl_context_get_cl_queue (context), gemmcl_gemm_get_batch (gemm)};
  stored_a = gemmcl_gemm_get_stored (gemm, GEMMCL_OPERAND_A, FALSE);
  stored_b = gemmcl_gemm_get_stored (gemm, GEMMCL_OPERAND_B, FALSE);
  stored_d = gemmcl_gemm_get_stored (gemm, GEMMCL_OPERAND_D, FALSE);
  if (gemm->alpha != 0.0 &&
      (!(device_a = upload (&run, &stored_a, gemm->a_type, a, "A", error)) ||
       !(device_b = upload (&run, &stored_b, GEMMCL_TYPE_F32, b, "B", error))))
    return FALSE;
  if (has_c && !(device_c = upload_c (&run, gemm, c, error)))
    return FALSE;
  device_d = upload (&run, &stored_d, gemm->d_type, gemm->addend == GEMMCL_ADDEND_OUTPUT ? d : NULL,
                     "D", error);
  if (device_d == NULL)
    return FALSE;
  device_run.a = device_a;
  device_run.b = device_b;
  device_run.c = device_c;
  device_run.d = device_d;
  return gemmcl_plan_enqueue (plan, &device_run, run.queue, 0, NULL, NULL, NULL, error) &&
         download (&run, &stored_d, gemm->d_type, device_d, d, error);
}
