/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench-measure.h"

#include <math.h>
#include <signal.h>

#include "tool.h"

static volatile sig_atomic_t interrupted;

static void
on_interrupt (G_GNUC_UNUSED int number)
{
  interrupted = 1;
}

void
bench_catch_interrupt (void)
{
  /* The second Ctrl-C does what it always does. */
  struct sigaction action = {.sa_handler = on_interrupt,
                             .sa_flags = (int)SA_RESETHAND | SA_RESTART};

  sigaction (SIGINT, &action, NULL);
}

static gboolean
check_interrupt (GError **error)
{
  if (!interrupted)
    return TRUE;
  g_set_error_literal (error, TOOL_ERROR, TOOL_ERROR_INTERRUPTED, "Stopped by Ctrl-C.");
  return FALSE;
}

void
bench_result_free (BenchResult *self)
{
  g_array_unref (self->times);
  g_free (self);
}

gdouble
bench_gflops (const GemmclGemm *gemm, gdouble ms)
{
  return 2.0 * gemm->m * gemm->n * gemm->k / (ms * 1e6);
}

static gboolean
check_cl (cl_int status, const gchar *call, GError **error)
{
  if (status == CL_SUCCESS)
    return TRUE;
  g_set_error (error, GEMMCL_ERROR, GEMMCL_ERROR_OPENCL, "%s failed with status %d.", call, status);
  return FALSE;
}

static gboolean
get_duration (cl_event first, cl_event last, gdouble *ms, GError **error)
{
  cl_ulong start = 0, end = 0;

  if (!check_cl (clWaitForEvents (1, &last), "clWaitForEvents", error) ||
      !check_cl (
          clGetEventProfilingInfo (first, CL_PROFILING_COMMAND_START, sizeof start, &start, NULL),
          "clGetEventProfilingInfo", error) ||
      !check_cl (clGetEventProfilingInfo (last, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL),
                 "clGetEventProfilingInfo", error))
    return FALSE;
  /* No shorter than the clock's tick, lest a rate be infinite. */
  *ms = MAX (end - start, 1) / 1e6;
  return TRUE;
}

/* With all steps of the run, such as A's way into an image. */
static gboolean
run_once (BenchProblem *problem, GemmclPlan *plan, gdouble *ms, GError **error)
{
  const GemmclDeviceRun run = {
      .a = problem->device_a, .c = problem->device_c, .d = problem->device_d};
  cl_event first = NULL, last = NULL;
  gboolean ok;

  if (!check_interrupt (error) ||
      !gemmcl_plan_enqueue (plan, &run, gemmcl_context_get_cl_queue (problem->context), 0, NULL,
                            &first, &last, error))
    return FALSE;
  ok = get_duration (first, last, ms, error);
  clReleaseEvent (first);
  clReleaseEvent (last);
  return ok;
}

/* What the kernel forgets to write must not look right because an earlier one wrote it. */
static gboolean
spoil_output (BenchProblem *problem, GError **error)
{
  const gfloat nan = NAN;

  return check_cl (clEnqueueFillBuffer (gemmcl_context_get_cl_queue (problem->context),
                                        problem->device_d, &nan, sizeof nan, 0,
                                        problem->size_d * sizeof (gfloat), 0, NULL, NULL),
                   "clEnqueueFillBuffer", error);
}

static gboolean
verify_output (BenchProblem *problem, BenchResult *result, GError **error)
{
  if (!check_cl (clEnqueueReadBuffer (gemmcl_context_get_cl_queue (problem->context),
                                      problem->device_d, CL_TRUE, 0,
                                      problem->size_d * sizeof (gfloat), problem->d, 0, NULL, NULL),
                 "clEnqueueReadBuffer", error))
    return FALSE;
  result->verified = TRUE;
  result->right = gemmcl_gemm_verify (&problem->gemm, problem->a, problem->b, problem->c, NULL,
                                      problem->d, &result->max_error, &result->error_bound);
  return TRUE;
}

static gint
compare_times (gconstpointer a, gconstpointer b)
{
  gdouble x = *(const gdouble *)a, y = *(const gdouble *)b;

  return (x > y) - (x < y);
}

static void
summarise (BenchResult *result, const GemmclGemm *gemm)
{
  guint n = result->times->len;
  g_autoptr (GArray) sorted = g_array_copy (result->times);
  const gdouble *times = (const gdouble *)sorted->data;

  if (n == 0)
    return;
  g_array_sort (sorted, compare_times);
  result->min = times[0];
  result->median = (times[(n - 1) / 2] + times[n / 2]) / 2;
  result->max = times[n - 1];
  result->gflops = bench_gflops (gemm, result->median);
}

BenchResult *
bench_measure (BenchProblem *problem, const gchar *kernel, guint iterations, gboolean verify,
               GError **error)
{
  g_autoptr (BenchResult) result = g_new0 (BenchResult, 1);
  g_autoptr (GemmclPlan) plan = NULL;
  gdouble ms = 0.0;

  *result = (BenchResult){
      .min = NAN, .median = NAN, .max = NAN, .gflops = NAN, .max_error = NAN, .error_bound = NAN};
  result->times = g_array_new (FALSE, FALSE, sizeof (gdouble));
  if (!check_interrupt (error))
    return NULL;
  plan = gemmcl_plan_new (problem->context, &problem->gemm, kernel, error);
  if (plan == NULL || !gemmcl_plan_set_b (plan, problem->weights, error))
    return NULL;
  result->kernel = gemmcl_plan_get_kernel (plan);
  if (iterations == 0)
    return g_steal_pointer (&result);

  if (verify && !spoil_output (problem, error))
    return NULL;
  if (!run_once (problem, plan, &ms, error) || (verify && !verify_output (problem, result, error)))
    return NULL;
  for (guint i = 0; i < iterations; i++) {
    if (!run_once (problem, plan, &ms, error))
      return NULL;
    g_array_append_val (result->times, ms);
  }
  summarise (result, &problem->gemm);
  return g_steal_pointer (&result);
}
