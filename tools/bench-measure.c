/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench-measure.h"

#include <math.h>

#include "bench-run.h"
#include "interrupt.h"
#include "quantile.h"

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

/* A run, unless there was a Ctrl-C before. */
static gboolean
run_once (const BenchProblem *problem, GemmclPlan *plan, gdouble *ms, GError **error)
{
  return tool_check_interrupt (error) && bench_run_once (problem, plan, 0, ms, error);
}

static gboolean
verify_output (BenchProblem *problem, BenchResult *result, GError **error)
{
  if (!bench_read_output (problem, error))
    return FALSE;
  result->verified = TRUE;
  result->right = gemmcl_gemm_verify (&problem->gemm, problem->a, problem->b, problem->c, NULL,
                                      problem->d, &result->max_error, &result->error_bound);
  return TRUE;
}

/* Of runs all of which took time. */
static void
summarise (BenchResult *result, const GemmclGemm *gemm)
{
  for (guint i = 0; i < result->times->len; i++)
    if (isnan (g_array_index (result->times, gdouble, i)))
      return;
  result->min = tool_quantile (result->times, 0.0);
  result->median = tool_quantile (result->times, 0.5);
  result->max = tool_quantile (result->times, 1.0);
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
  if (!tool_check_interrupt (error))
    return NULL;
  plan = gemmcl_plan_new (problem->context, &problem->gemm, kernel, error);
  if (plan == NULL || !gemmcl_plan_set_b (plan, problem->weights, error))
    return NULL;
  result->kernel = gemmcl_plan_get_kernel (plan);
  result->choice = gemmcl_plan_get_choice_source (plan);
  if (iterations == 0)
    return g_steal_pointer (&result);

  if (verify && !bench_spoil_output (problem, error))
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
