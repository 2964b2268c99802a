/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The device of the tests, and the two ways to run a problem on it.
 */
#include <stdlib.h>
#include <string.h>

#include "problem.h"

GemmclContext *
test_get_context (void)
{
  static GemmclContext *context;
  g_autoptr (GError) error = NULL;

  if (context == NULL)
    context = gemmcl_context_new (NULL, &error);
  if (context == NULL)
    g_test_skip (error->message);
  return context;
}

void
test_init_device (int *argc, char ***argv)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) devices = gemmcl_list_devices (NULL, &error);

  g_test_init (argc, argv, NULL);
  if (devices != NULL)
    return;
  g_print ("1..0 # SKIP %s\n", error->message);
  exit (0);
}

gboolean
test_miscompiles_barriers (void)
{
  const GemmclDeviceInfo *device = gemmcl_context_get_device_info (test_get_context ());

  return strstr (device->platform, "Portable Computing Language") &&
         g_str_has_prefix (device->driver, "6.");
}

cl_mem
test_create_buffer (gsize size, gconstpointer data)
{
  const cl_mem_flags flags = CL_MEM_READ_WRITE | (data ? CL_MEM_COPY_HOST_PTR : 0);
  cl_int status;
  cl_mem buffer = clCreateBuffer (gemmcl_context_get_cl_context (test_get_context ()), flags, size,
                                  (gpointer)data, &status);

  g_assert_cmpint (status, ==, CL_SUCCESS);
  return buffer;
}

void
test_read_buffer (cl_mem buffer, gsize size, gpointer data)
{
  const cl_command_queue queue = gemmcl_context_get_cl_queue (test_get_context ());

  g_assert_cmpint (clEnqueueReadBuffer (queue, buffer, CL_TRUE, 0, size, data, 0, NULL, NULL), ==,
                   CL_SUCCESS);
}

GemmclPlan *
test_make_plan (const GemmclGemm *gemm, const gchar *kernel, const gfloat *b)
{
  const gsize rows = gemm->trans_b ? gemm->n : gemm->k, cols = gemm->trans_b ? gemm->k : gemm->n;
  g_autoptr (GError) error = NULL;
  g_autoptr (GemmclMatrix) matrix =
      b ? gemmcl_matrix_new (GEMMCL_TYPE_F32, rows, cols, b, NULL) : NULL;
  GemmclPlan *plan = gemmcl_plan_new (test_get_context (), gemm, kernel, &error);

  g_assert_no_error (error);
  if (matrix != NULL)
    gemmcl_plan_set_b (plan, matrix, &error);
  g_assert_no_error (error);
  return plan;
}

GemmclMatrix *
test_make_filled (gsize rows, gsize cols, gfloat value)
{
  g_autofree gfloat *data = g_new (gfloat, rows * cols);

  for (gsize i = 0; i < rows * cols; i++)
    data[i] = value;
  return gemmcl_matrix_new (GEMMCL_TYPE_F32, rows, cols, data, NULL);
}

gboolean
problem_run_host (Problem *self, GemmclContext *context, const gchar *kernel, GError **error)
{
  return gemmcl_gemm_run (context, &self->gemm, kernel, self->a, self->b, self->c, self->bias,
                          self->d, error);
}

static gboolean
prepare (Problem *self, GemmclPlan *plan, GError **error)
{
  g_autoptr (GemmclMatrix) bias = NULL;
  GemmclBuildInfo build;

  gemmcl_plan_get_build_info (plan, &build);
  self->emulates = build.level == GEMMCL_KERNEL_LEVEL_EMULATED;
  if (self->bias == NULL)
    return TRUE;
  bias = gemmcl_matrix_new (GEMMCL_TYPE_F32, 1, self->gemm.n, self->bias, error);
  return bias != NULL && gemmcl_plan_set_bias (plan, bias, error);
}

static cl_mem
make_buffer (cl_context context, gpointer data, gsize n, GemmclType type)
{
  cl_int status;
  cl_mem buffer;

  if (data == NULL)
    return NULL;
  buffer = clCreateBuffer (context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                           n * gemmcl_type_get_size (type), data, &status);
  g_assert_cmpint (status, ==, CL_SUCCESS);
  return buffer;
}

gboolean
problem_run_device (Problem *self, GemmclContext *context, const gchar *kernel, GError **error)
{
  const cl_context cl = gemmcl_context_get_cl_context (context);
  const cl_command_queue queue = gemmcl_context_get_cl_queue (context);
  const GemmclGemm *gemm = &self->gemm;
  g_autoptr (GemmclPlan) plan = gemmcl_plan_new (context, gemm, kernel, error);
  g_auto (cl_mem) a = NULL;
  g_auto (cl_mem) b = NULL;
  g_auto (cl_mem) c = NULL;
  g_auto (cl_mem) d = NULL;
  GemmclData data_a = {.kind = GEMMCL_DATA_BUFFER}, data_d = data_a;
  GemmclRun run = GEMMCL_RUN_INIT;

  if (plan == NULL || !prepare (self, plan, error))
    return FALSE;
  data_a.objects[0] = a = make_buffer (cl, self->a, self->n_a, gemm->a_type);
  run.b = b = make_buffer (cl, self->b, self->n_b, GEMMCL_TYPE_F32);
  run.c = c = make_buffer (cl, self->c, self->n_c, GEMMCL_TYPE_F32);
  data_d.objects[0] = d = make_buffer (cl, self->d, self->n_d, gemm->d_type);
  run.alpha = gemm->alpha;
  run.beta = gemm->beta;
  run.a = &data_a;
  run.d = &data_d;
  run.strided = TRUE;
  if (!gemmcl_plan_submit (plan, &run, NULL, NULL, error))
    return FALSE;
  g_assert_cmpint (clEnqueueReadBuffer (queue, d, CL_TRUE, 0,
                                        self->n_d * gemmcl_type_get_size (gemm->d_type), self->d, 0,
                                        NULL, NULL),
                   ==, CL_SUCCESS);
  return TRUE;
}
