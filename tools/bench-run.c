/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench-run.h"

#include <math.h>

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
  *ms = end > start ? (end - start) / 1e6 : NAN;
  return TRUE;
}

gboolean
bench_run_once (const BenchProblem *problem, GemmclPlan *plan, gsize m, gdouble *ms, GError **error)
{
  const GemmclData a = {.kind = GEMMCL_DATA_BUFFER, .objects = {problem->device_a}};
  const GemmclData d = {.kind = GEMMCL_DATA_BUFFER, .objects = {problem->device_d}};
  GemmclRun run = GEMMCL_RUN_INIT;
  cl_event first = NULL, last = NULL;
  gboolean ok;

  run.m = m;
  run.alpha = problem->gemm.alpha;
  run.beta = problem->gemm.beta;
  run.a = &a;
  run.c = problem->device_c;
  run.d = &d;
  run.strided = TRUE;
  if (!gemmcl_plan_submit (plan, &run, &first, &last, error))
    return FALSE;
  ok = get_duration (first, last, ms, error);
  clReleaseEvent (first);
  clReleaseEvent (last);
  return ok;
}

gboolean
bench_spoil_output (const BenchProblem *problem, GError **error)
{
  const gfloat nan = NAN;

  return check_cl (clEnqueueFillBuffer (gemmcl_context_get_cl_queue (problem->context),
                                        problem->device_d, &nan, sizeof nan, 0,
                                        problem->size_d * sizeof (gfloat), 0, NULL, NULL),
                   "clEnqueueFillBuffer", error);
}

gboolean
bench_read_output (BenchProblem *problem, GError **error)
{
  return check_cl (clEnqueueReadBuffer (
                       gemmcl_context_get_cl_queue (problem->context), problem->device_d, CL_TRUE,
                       0, problem->size_d * sizeof (gfloat), problem->d, 0, NULL, NULL),
                   "clEnqueueReadBuffer", error);
}
