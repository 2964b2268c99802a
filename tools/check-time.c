/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "check.h"

/* A kernel that takes more than this multiple of the fastest time gets no turns. */
#define TOO_SLOW 4.0

/* Approximate length of a turn, and the most runs of a turn. */
#define TURN_MS   10.0
#define MOST_RUNS 50

#define LEAST_TURNS 3
#define MOST_TURNS  15

struct _CheckTime {
  BenchProblem *problem;
  GPtrArray *kernels; /* of Kernel */
};

typedef struct {
  GemmclPlan *plan;
  gdouble ms;
  GArray *times;
} Kernel;

static void
kernel_free (gpointer data)
{
  Kernel *self = data;

  g_object_unref (self->plan);
  g_array_unref (self->times);
  g_free (self);
}

CheckTime *
check_time_new (GemmclContext *context, const GemmclGemm *gemm, GError **error)
{
  BenchProblem *problem = bench_problem_new (context, gemm, error);
  CheckTime *self;

  if (problem == NULL)
    return NULL;
  self = g_new0 (CheckTime, 1);
  self->problem = problem;
  self->kernels = g_ptr_array_new_with_free_func (kernel_free);
  return self;
}

void
check_time_free (CheckTime *self)
{
  g_ptr_array_unref (self->kernels);
  bench_problem_free (self->problem);
  g_free (self);
}

/* Returns: (nullable) (transfer full): the error of a row of D, if it exceeds its bound. */
static gchar *
describe_wrong (const BenchProblem *problem, gsize row)
{
  GemmclGemm gemm = problem->gemm;
  gdouble worst = 0.0, bound = 0.0;

  gemm.m = 1;
  if (gemmcl_gemm_verify (&gemm, (const gfloat *)problem->a + row * gemm.k, problem->b, NULL, NULL,
                          problem->d + row * gemm.n, &worst, &bound))
    return NULL;
  return g_strdup_printf ("Row %" G_GSIZE_FORMAT
                          " of D is off by up to %.3g, where %.3g is allowed.",
                          row, worst, bound);
}

/* Runs @plan and checks two rows of D. @wrong: (out) (nullable): a description of a wrong result.
 * Returns: FALSE with an error if a run failed. */
static gboolean
try_plan (BenchProblem *problem, GemmclPlan *plan, gdouble *least, gchar **wrong, GError **error)
{
  gdouble ms[3]; /* the first is ignored: the driver may compile or allocate in it */

  if (!gemmcl_plan_set_b (plan, problem->weights, error) || !bench_spoil_output (problem, error))
    return FALSE;
  for (guint i = 0; i < G_N_ELEMENTS (ms); i++)
    if (!bench_run_once (problem, plan, &ms[i], error))
      return FALSE;
  if (!bench_read_output (problem, error))
    return FALSE;
  *least = MIN (ms[1], ms[2]);
  *wrong = describe_wrong (problem, 0);
  if (*wrong == NULL)
    *wrong = describe_wrong (problem, problem->gemm.m - 1);
  return TRUE;
}

json_t *
check_time_prepare (CheckTime *self, GemmclPrecision precision, const gchar *name)
{
  json_t *answer = json_pack ("{s:s, s:s}", "kernel", name, "result", "ok");
  g_autoptr (GemmclPlan) plan = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree gchar *wrong = NULL;
  gdouble ms = 0.0;
  Kernel *kernel;

  if (precision != self->problem->gemm.precision)
    g_ptr_array_set_size (self->kernels, 0);
  self->problem->gemm.precision = precision;
  plan = gemmcl_plan_new (self->problem->context, &self->problem->gemm, name, &error);
  if (plan != NULL)
    check_exact_add_build (plan, answer);
  if (plan == NULL || !try_plan (self->problem, plan, &ms, &wrong, &error)) {
    check_set_result (answer, "failed", error->message);
    json_object_set_new (answer, "lost",
                         json_boolean (g_error_matches (error, GEMMCL_ERROR, GEMMCL_ERROR_OPENCL)));
    return answer;
  }
  json_object_set_new (answer, "ms", json_real (ms));
  if (wrong != NULL) {
    check_set_result (answer, "wrong", wrong);
    return answer;
  }
  kernel = g_new0 (Kernel, 1);
  kernel->plan = g_steal_pointer (&plan);
  kernel->ms = ms;
  kernel->times = g_array_new (FALSE, FALSE, sizeof (gdouble));
  g_ptr_array_add (self->kernels, kernel);
  return answer;
}

static gdouble
find_fastest (const CheckTime *self)
{
  gdouble fastest = G_MAXDOUBLE;

  for (guint i = 0; i < self->kernels->len; i++)
    fastest = MIN (fastest, ((const Kernel *)self->kernels->pdata[i])->ms);
  return fastest;
}

static gboolean
run_turn (const BenchProblem *problem, Kernel *kernel, GError **error)
{
  const guint runs = (guint)CLAMP (TURN_MS / kernel->ms, 1, MOST_RUNS);

  for (guint i = 0; i < runs; i++) {
    gdouble ms;

    if (!bench_run_once (problem, kernel->plan, &ms, error))
      return FALSE;
    g_array_append_val (kernel->times, ms);
  }
  return TRUE;
}

static gboolean
run_turns (CheckTime *self, gdouble seconds, GError **error)
{
  const gint64 deadline = g_get_monotonic_time () + (gint64)(seconds * G_USEC_PER_SEC);
  const gdouble slowest = TOO_SLOW * find_fastest (self);

  for (guint turn = 0; turn < MOST_TURNS; turn++) {
    if (turn >= LEAST_TURNS && g_get_monotonic_time () >= deadline)
      break;
    for (guint i = 0; i < self->kernels->len; i++) {
      Kernel *kernel = g_ptr_array_index (self->kernels, i);

      /* The first kernel is the rules' choice. */
      if ((i == 0 || kernel->ms <= slowest) && !run_turn (self->problem, kernel, error))
        return FALSE;
    }
  }
  return TRUE;
}

static json_t *
list_times (const CheckTime *self)
{
  json_t *times = json_array ();

  for (guint i = 0; i < self->kernels->len; i++) {
    const Kernel *kernel = g_ptr_array_index (self->kernels, i);

    if (kernel->times->len > 0)
      json_array_append_new (
          times, json_pack ("{s:s, s:f, s:f, s:i}", "kernel", gemmcl_plan_get_kernel (kernel->plan),
                            "ms", tool_quantile (kernel->times, 0.5), "min_ms",
                            tool_quantile (kernel->times, 0.0), "runs", (int)kernel->times->len));
  }
  return json_pack ("{s:s, s:o}", "result", "ok", "times", times);
}

json_t *
check_time_run (CheckTime *self, gdouble seconds)
{
  g_autoptr (GError) error = NULL;
  json_t *answer;

  if (run_turns (self, seconds, &error))
    answer = list_times (self);
  else
    answer = tool_child_make_error (error);
  g_ptr_array_set_size (self->kernels, 0);
  return answer;
}
