/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What it is worth that a kernel makes softmax and row outputs by itself: the same plans with
 * GEMMCL_ROWS=apart, for which steps of their own do, taking turns with them.
 *
 *     bench-rows [KERNEL]     KERNEL: as for gemmcl bench; auto if not given
 */
#include <stdio.h>
#include <stdlib.h>

#include "gemmcl-opencl.h"
#include "gemmcl.h"

#define ROUNDS 60
#define ALL    (GEMMCL_ROW_SUM | GEMMCL_ROW_MAX | GEMMCL_ROW_ARG_MAX)

typedef struct {
  gsize m, n, k;
  GemmclActivation activation;
  guint outputs;
} Case;

static const Case cases[] = {
    {4096, 64, 256, GEMMCL_ACTIVATION_SOFTMAX, 0},
    {4096, 64, 256, GEMMCL_ACTIVATION_NONE, ALL},
    {4096, 64, 256, GEMMCL_ACTIVATION_SOFTMAX, ALL},
    {4096, 10, 64, GEMMCL_ACTIVATION_SOFTMAX, GEMMCL_ROW_ARG_MAX},
    {65536, 32, 32, GEMMCL_ACTIVATION_SOFTMAX, 0},
    {64, 64, 1024, GEMMCL_ACTIVATION_SOFTMAX, 0},
};

typedef struct {
  GemmclPlan *plan;
  GemmclDeviceRun run;
  gdouble seconds[ROUNDS];
} Way;

static cl_mem
create_buffer (GemmclContext *context, gsize n, GError **error)
{
  const cl_float half = 0.5f;
  cl_int status;
  cl_mem buffer = clCreateBuffer (gemmcl_context_get_cl_context (context), CL_MEM_READ_WRITE,
                                  n * sizeof (half), NULL, &status);

  if (buffer == NULL ||
      clEnqueueFillBuffer (gemmcl_context_get_cl_queue (context), buffer, &half, sizeof (half), 0,
                           n * sizeof (half), 0, NULL, NULL) != CL_SUCCESS)
    g_set_error (error, GEMMCL_ERROR, GEMMCL_ERROR_OPENCL, "There is no buffer of %zu floats.", n);
  return buffer;
}

static void
way_clear (Way *self)
{
  const cl_mem buffers[] = {self->run.a, self->run.d, self->run.rows};

  g_clear_object (&self->plan);
  for (gsize i = 0; i < G_N_ELEMENTS (buffers); i++)
    if (buffers[i] != NULL)
      clReleaseMemObject (buffers[i]);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Way, way_clear)

static gboolean
way_init (Way *self, GemmclContext *context, const Case *what, const gchar *kernel, gboolean apart,
          GError **error)
{
  g_autofree gfloat *weights = g_new (gfloat, what->k * what->n);
  g_autoptr (GemmclMatrix) b = NULL;
  GemmclGemm gemm = GEMMCL_GEMM_INIT;

  gemm.m = what->m;
  gemm.n = what->n;
  gemm.k = what->k;
  gemm.activation = what->activation;
  gemm.row_outputs = what->outputs;
  for (gsize i = 0; i < what->k * what->n; i++)
    weights[i] = (gfloat)(i * 7 % 19) / 190;
  if (apart)
    g_setenv ("GEMMCL_ROWS", "apart", TRUE);
  self->plan = gemmcl_plan_new (context, &gemm, kernel, error);
  g_unsetenv ("GEMMCL_ROWS");
  if (self->plan != NULL)
    b = gemmcl_matrix_new (GEMMCL_TYPE_F32, what->k, what->n, weights, error);
  if (b == NULL || !gemmcl_plan_set_b (self->plan, b, error) ||
      !(self->run.a = create_buffer (context, what->m * what->k, error)) ||
      !(self->run.d = create_buffer (context, what->m * what->n, error)))
    return FALSE;
  if (what->outputs)
    self->run.rows = create_buffer (context, what->m * 3, error);
  return !what->outputs || self->run.rows != NULL;
}

static gboolean
way_run (Way *self, cl_command_queue queue, gdouble *seconds, GError **error)
{
  const gint64 begin = g_get_monotonic_time ();

  if (!gemmcl_plan_enqueue (self->plan, &self->run, queue, 0, NULL, NULL, NULL, error))
    return FALSE;
  clFinish (queue);
  *seconds = (g_get_monotonic_time () - begin) / 1e6;
  return TRUE;
}

static int
compare (const void *a, const void *b)
{
  const gdouble x = *(const gdouble *)a, y = *(const gdouble *)b;
  return (x > y) - (x < y);
}

static gdouble
get_median (Way *self)
{
  qsort (self->seconds, ROUNDS, sizeof (gdouble), compare);
  return self->seconds[ROUNDS / 2];
}

static gboolean
run_case (GemmclContext *context, const Case *what, const gchar *kernel, GError **error)
{
  const cl_command_queue queue = gemmcl_context_get_cl_queue (context);
  g_auto (Way) whole = {0};
  g_auto (Way) apart = {0};
  gdouble ignored;

  if (!way_init (&whole, context, what, kernel, FALSE, error) ||
      !way_init (&apart, context, what, kernel, TRUE, error) ||
      !way_run (&whole, queue, &ignored, error) || !way_run (&apart, queue, &ignored, error))
    return FALSE;
  for (guint i = 0; i < ROUNDS; i++)
    if (!way_run (&whole, queue, &whole.seconds[i], error) ||
        !way_run (&apart, queue, &apart.seconds[i], error))
      return FALSE;
  printf ("%6zu %4zu %5zu  %-8s %-12s %-18s %6.2f\n", what->m, what->n, what->k,
          gemmcl_activation_get_name (what->activation), what->outputs ? "row outputs" : "",
          gemmcl_plan_get_kernel (whole.plan), get_median (&apart) / get_median (&whole));
  return TRUE;
}

int
main (int argc, char **argv)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GemmclContext) context = gemmcl_context_new (NULL, &error);

  printf ("     M    N     K                        kernel             apart / whole\n");
  for (gsize i = 0; i < G_N_ELEMENTS (cases) && error == NULL; i++)
    if (context != NULL)
      run_case (context, &cases[i], argc > 1 ? argv[1] : NULL, &error);
  if (error == NULL)
    return 0;
  fprintf (stderr, "%s\n", error->message);
  return 1;
}
