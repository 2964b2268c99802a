/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The candidates of each shape take turns, so that disturbances and changes of the device's clock
 * affect all of them alike.
 */
#include "check.h"
#include "options.h"

#include <math.h>

/* A kernel that takes more than this multiple of the fastest time gets no turns. */
#define TOO_SLOW 4.0

/* Approximate length of a turn, and the most runs of a turn. */
#define TURN_MS   10.0
#define MOST_RUNS 50

#define LEAST_TURNS 3
#define MOST_TURNS  15

/* Limit for the turns of all candidates of a problem, in seconds. After HANG_SECONDS more they are
 * taken to hang. */
#define MOST_TURN_SECONDS 1.5
#define HANG_SECONDS      15.0

typedef struct {
  GemmclPlan *plan;
  gsize candidate; /* its index */
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

/* An entry of "speed" whose candidates are timed. */
typedef struct {
  const json_t *entry;
  gsize index;
  BenchProblem *problem; /* (nullable): also of the entry before */
  GPtrArray *kernels;    /* Kernel: those that are right */
} Shape;

static json_t *
get_candidates (const Shape *self)
{
  return json_object_get (self->entry, "candidates");
}

static json_t *
get_path (const Shape *self, gsize candidate)
{
  return json_pack ("[s, s, I, s, I]", "report", "speed", (json_int_t)self->index, "candidates",
                    (json_int_t)candidate);
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
  return g_strdup_printf ("Row %zu of D is off by up to %.3g, where %.3g is allowed.", row, worst,
                          bound);
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

/* Builds a kernel, runs it three times and checks the first and the last row of D. A kernel with a
 * right result takes part in the turns. Returns: the result. */
static json_t *
prepare (Shape *self, gsize candidate, const gchar *name)
{
  const GemmclGemm *gemm = &self->problem->gemm;
  json_t *answer = json_pack ("{s:s}", "result", "ok");
  g_autoptr (GError) error = NULL;
  g_autoptr (GemmclPlan) plan = gemmcl_plan_new (self->problem->context, gemm, name, &error);
  g_autofree gchar *wrong = NULL;
  gdouble ms = 0.0;
  Kernel *kernel;

  if (plan != NULL)
    check_add_build (plan, answer);
  if (plan == NULL || !try_plan (self->problem, plan, &ms, &wrong, &error)) {
    check_fail (answer, error, error->message);
    return answer;
  }
  json_object_set_new (answer, "ms", json_real (ms));
  if (wrong != NULL) {
    check_set_result (answer, "wrong", wrong);
    return answer;
  }
  kernel = g_new0 (Kernel, 1);
  kernel->plan = g_steal_pointer (&plan);
  kernel->candidate = candidate;
  kernel->ms = ms;
  kernel->times = g_array_new (FALSE, FALSE, sizeof (gdouble));
  g_ptr_array_add (self->kernels, kernel);
  return answer;
}

/* Prepares the candidates without a fault: the first one in any case, others until the deadline.
 * A worker before this one may have prepared some of them. */
static void
prepare_all (const Check *check, Shape *self, gint64 deadline)
{
  const json_t *candidates = get_candidates (self);

  for (gsize i = 0; i < json_array_size (candidates); i++) {
    const json_t *candidate = json_array_get (candidates, i);

    if (!check_is_open (candidate) &&
        g_strcmp0 (tool_json_get_string (candidate, "result"), "ok") != 0)
      continue;
    if (check_get_left (i > 0 ? deadline : check->deadline) <= 0.0)
      break;
    tool_worker_begin (get_path (self, i), check->patience, json_pack ("{s:s}", "result", "lost"));
    tool_worker_set (get_path (self, i),
                     prepare (self, i, tool_json_get_string (candidate, "kernel")));
  }
}

static void
run_turn (const Shape *self, Kernel *kernel)
{
  const guint runs = (guint)CLAMP (TURN_MS / kernel->ms, 1, MOST_RUNS);
  g_autoptr (GError) error = NULL;

  for (guint i = 0; i < runs; i++) {
    gdouble ms;

    if (!bench_run_once (self->problem, kernel->plan, &ms, &error))
      tool_worker_lose (error->message);
    g_array_append_val (kernel->times, ms);
  }
}

/* A kernel that was much slower than the fastest when it was prepared gets no turns, unless it is
 * the rules' choice. */
static void
run_turns (const Shape *self, gdouble seconds)
{
  const gint64 deadline = g_get_monotonic_time () + (gint64)(seconds * G_USEC_PER_SEC);
  gdouble fastest = G_MAXDOUBLE;

  for (guint i = 0; i < self->kernels->len; i++)
    fastest = MIN (fastest, ((const Kernel *)self->kernels->pdata[i])->ms);
  for (guint turn = 0; turn < MOST_TURNS; turn++) {
    if (turn >= LEAST_TURNS && g_get_monotonic_time () >= deadline)
      break;
    for (guint i = 0; i < self->kernels->len; i++) {
      Kernel *kernel = g_ptr_array_index (self->kernels, i);

      if (kernel->candidate == 0 || kernel->ms <= TOO_SLOW * fastest)
        run_turn (self, kernel);
    }
  }
}

/* Sets the times, the fastest candidate, and its gain over the rules' choice. */
static void
conclude (const Check *check, const Shape *self)
{
  const gdouble peak = gemmcl_context_get_device_info (check->context)->peak_gflops;
  const gchar *fastest = NULL;
  gdouble least = NAN, rules = NAN;

  for (guint i = 0; i < self->kernels->len; i++) {
    const Kernel *kernel = g_ptr_array_index (self->kernels, i);
    const gdouble ms = tool_quantile (kernel->times, 0.5);
    const gdouble gflops = bench_gflops (&self->problem->gemm, ms);

    if (kernel->times->len == 0)
      continue;
    tool_worker_set (get_path (self, kernel->candidate),
                     json_pack ("{s:f, s:f, s:i, s:o, s:o}", "ms", ms, "min_ms",
                                tool_quantile (kernel->times, 0.0), "runs", (int)kernel->times->len,
                                "gflops", tool_json_number (gflops), "efficiency",
                                tool_json_number (peak > 0 ? gflops / peak : NAN)));
    if (kernel->candidate == 0)
      rules = ms;
    if (fastest == NULL || ms < least) {
      least = ms;
      fastest = tool_json_get_string (json_array_get (get_candidates (self), kernel->candidate),
                                      "kernel");
    }
  }
  if (fastest != NULL)
    tool_worker_set (
        json_pack ("[s, s, I]", "report", "speed", (json_int_t)self->index),
        json_pack ("{s:s, s:o}", "fastest", fastest, "gain", tool_json_number (rules / least)));
}

/* Keeps the matrices while only the precision changes. */
static gboolean
set_problem (Shape *self, const Check *check)
{
  GemmclGemm gemm = tool_gemm;
  const GemmclGemm *known = self->problem != NULL ? &self->problem->gemm : NULL;
  g_autoptr (GError) error = NULL;

  tool_set_choice ("--precision", tool_json_get_string (self->entry, "precision"), NULL, NULL);
  gemm.precision = tool_gemm.precision;
  tool_json_get_sizes (self->entry, &gemm);
  if (known == NULL || gemm.m != known->m || gemm.n != known->n || gemm.k != known->k) {
    g_clear_pointer (&self->problem, bench_problem_free);
    self->problem = bench_problem_new (check->context, &gemm, &error);
  }
  if (self->problem != NULL) {
    self->problem->gemm.precision = gemm.precision;
    return TRUE;
  }
  tool_worker_set (
      json_pack ("[s, s, I]", "report", "speed", (json_int_t)self->index),
      json_pack ("{s:s, s:o}", "result", "not reached", "why", tool_json_string (error->message)));
  return FALSE;
}

static void
measure (const Check *check, Shape *self, gdouble seconds)
{
  const gint64 deadline = g_get_monotonic_time () + (gint64)(seconds * G_USEC_PER_SEC);
  gdouble turns;

  if (!set_problem (self, check))
    return;
  g_ptr_array_set_size (self->kernels, 0);
  prepare_all (check, self, deadline);
  turns = MIN (check_get_left (deadline), MOST_TURN_SECONDS);
  tool_worker_begin (json_pack ("[s, s, I]", "report", "speed", (json_int_t)self->index),
                     turns + HANG_SECONDS, json_pack ("{s:s}", "result", "lost"));
  run_turns (self, turns);
  conclude (check, self);
}

void
check_speed (const Check *check)
{
  const json_t *entries = json_object_get (check->report, "speed");
  g_autoptr (GPtrArray) kernels = g_ptr_array_new_with_free_func (kernel_free);
  Shape self = {.kernels = kernels};

  for (; self.index < json_array_size (entries); self.index++) {
    const gsize n_left = json_array_size (entries) - self.index;
    g_autofree gchar *problem = NULL, *step = NULL;

    self.entry = json_array_get (entries, self.index);
    if (!check_is_open (self.entry) || json_object_get (self.entry, "fastest") != NULL)
      continue;
    if (check_get_left (check->deadline) <= 0.0)
      break;
    problem = tool_json_get_problem (self.entry);
    step = g_strdup_printf ("%s %s", problem, tool_json_get_string (self.entry, "precision"));
    tool_worker_step (step);
    measure (check, &self, check_get_left (check->deadline) / (gdouble)n_left);
  }
  g_ptr_array_set_size (kernels, 0);
  g_clear_pointer (&self.problem, bench_problem_free);
}
