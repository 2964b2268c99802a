/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The candidates of each shape take turns, so that disturbances and changes of the device's clock
 * affect all of them alike.
 */
#include "check.h"
#include "options.h"
#include "tool.h"

/* A kernel that takes more than this multiple of the fastest time gets no turns. */
#define TOO_SLOW 4.0

/* Approximate length of a turn, and the most runs of a turn. */
#define TURN_MS   10.0
#define MOST_RUNS 50

#define LEAST_TURNS 3
#define MOST_TURNS  15

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

/* The problem of the child, and its Kernels, which were prepared for it. */
static struct {
  BenchProblem *problem;
  GPtrArray *kernels;
} timed;

/* Keeps the matrices while only the precision changes. */
static gboolean
set_problem (GemmclContext *context, const GemmclGemm *gemm, GError **error)
{
  const GemmclGemm *known = timed.problem != NULL ? &timed.problem->gemm : NULL;

  if (timed.kernels == NULL)
    timed.kernels = g_ptr_array_new_with_free_func (kernel_free);
  if (known == NULL || gemm->m != known->m || gemm->n != known->n || gemm->k != known->k) {
    g_ptr_array_set_size (timed.kernels, 0);
    g_clear_pointer (&timed.problem, bench_problem_free);
    timed.problem = bench_problem_new (context, gemm, error);
  } else if (gemm->precision != known->precision) {
    g_ptr_array_set_size (timed.kernels, 0);
    timed.problem->gemm.precision = gemm->precision;
  }
  return timed.problem != NULL;
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
 * right result takes part in the turns. */
json_t *
check_serve_prepare (GemmclContext *context, const json_t *request)
{
  const gchar *name = tool_json_get_string (request, "kernel");
  g_autoptr (GemmclPlan) plan = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree gchar *wrong = NULL;
  GemmclGemm gemm;
  gdouble ms = 0.0;
  json_t *answer;
  Kernel *kernel;

  if (!tool_set_choice ("--precision", tool_json_get_string (request, "precision"), NULL, NULL))
    return NULL;
  gemm = tool_child_read_problem (request);
  if (!set_problem (context, &gemm, &error))
    return tool_child_make_error (error);
  answer = json_pack ("{s:s, s:s}", "kernel", name, "result", "ok");
  plan = gemmcl_plan_new (context, &gemm, name, &error);
  if (plan != NULL)
    check_add_build (plan, answer);
  if (plan == NULL || !try_plan (timed.problem, plan, &ms, &wrong, &error)) {
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
  g_ptr_array_add (timed.kernels, kernel);
  return answer;
}

static gboolean
run_turn (Kernel *kernel, GError **error)
{
  const guint runs = (guint)CLAMP (TURN_MS / kernel->ms, 1, MOST_RUNS);

  for (guint i = 0; i < runs; i++) {
    gdouble ms;

    if (!bench_run_once (timed.problem, kernel->plan, &ms, error))
      return FALSE;
    g_array_append_val (kernel->times, ms);
  }
  return TRUE;
}

static gboolean
run_turns (gdouble seconds, GError **error)
{
  const gint64 deadline = g_get_monotonic_time () + (gint64)(seconds * G_USEC_PER_SEC);
  gdouble fastest = G_MAXDOUBLE;

  for (guint i = 0; i < timed.kernels->len; i++)
    fastest = MIN (fastest, ((const Kernel *)timed.kernels->pdata[i])->ms);
  for (guint turn = 0; turn < MOST_TURNS; turn++) {
    if (turn >= LEAST_TURNS && g_get_monotonic_time () >= deadline)
      break;
    for (guint i = 0; i < timed.kernels->len; i++) {
      Kernel *kernel = g_ptr_array_index (timed.kernels, i);

      /* The first kernel is the rules' choice. */
      if ((i == 0 || kernel->ms <= TOO_SLOW * fastest) && !run_turn (kernel, error))
        return FALSE;
    }
  }
  return TRUE;
}

static json_t *
list_times (void)
{
  json_t *times = json_array ();

  for (guint i = 0; i < timed.kernels->len; i++) {
    const Kernel *kernel = g_ptr_array_index (timed.kernels, i);

    if (kernel->times->len > 0)
      json_array_append_new (
          times, json_pack ("{s:s, s:f, s:f, s:i}", "kernel", gemmcl_plan_get_kernel (kernel->plan),
                            "ms", tool_quantile (kernel->times, 0.5), "min_ms",
                            tool_quantile (kernel->times, 0.0), "runs", (int)kernel->times->len));
  }
  return json_pack ("{s:s, s:o}", "result", "ok", "times", times);
}

/* Times the prepared kernels, then drops them. A kernel that was much slower than the fastest when
 * it was prepared gets no turns, unless it was prepared first. */
json_t *
check_serve_time (G_GNUC_UNUSED GemmclContext *context, const json_t *request)
{
  g_autoptr (GError) error = NULL;
  json_t *answer;

  if (timed.kernels == NULL)
    return NULL;
  if (run_turns (json_number_value (json_object_get (request, "seconds")), &error))
    answer = list_times ();
  else
    answer = tool_child_make_error (error);
  g_ptr_array_set_size (timed.kernels, 0);
  return answer;
}

/* Seconds after the deadline in which a candidate may still end. */
#define LAST_SECONDS 3.0

/* Limit for the turns of all candidates of a problem, in seconds. After HANG_SECONDS more the
 * worker is taken to hang. */
#define MOST_TURN_SECONDS 1.5
#define HANG_SECONDS      15.0

/* Builds and tries @candidate and sets its result, or that of @entry if there is no memory for the
 * matrices. Returns: FALSE if the check cannot go on. */
static gboolean
prepare (const Check *check, json_t *entry, json_t *candidate, GError **error)
{
  const gdouble limit = MIN (check_get_left (check->deadline) + LAST_SECONDS, check->patience);
  json_t *request = json_pack (
      "{s:s, s:O, s:O, s:O, s:O, s:O}", "do", "prepare", "m", json_object_get (entry, "m"), "n",
      json_object_get (entry, "n"), "k", json_object_get (entry, "k"), "precision",
      json_object_get (entry, "precision"), "kernel", json_object_get (candidate, "kernel"));
  GError *why = NULL;
  g_autoptr (json_t) answer = tool_child_ask (check->worker, request, limit, &why);

  if (answer == NULL)
    return check_explain (candidate, limit < check->patience, why, error);
  if (json_is_true (json_object_get (answer, "error")))
    check_set_result (entry, "not reached", tool_json_get_string (answer, "why"));
  else
    json_object_update (candidate, answer);
  return TRUE;
}

/* Prepares all candidates. After a loss the ones with the result "ok" are prepared again. */
static gboolean
prepare_all (const Check *check, json_t *entry, gint64 deadline, GError **error)
{
  json_t *candidates = json_object_get (entry, "candidates");
  gsize i = 0;

  while (i < json_array_size (candidates) && tool_json_get_string (entry, "result") == NULL) {
    json_t *candidate = json_array_get (candidates, i);
    const gchar *result = tool_json_get_string (candidate, "result");

    if (result != NULL && !g_str_equal (result, "ok"))
      i++;
    else if (check_get_left (i > 0 ? deadline : check->deadline) <= 0.0)
      check_set_result (candidate, "not reached", NULL);
    else if (!prepare (check, entry, candidate, error))
      return FALSE;
    else
      i = g_strcmp0 (tool_json_get_string (candidate, "result"), "lost") == 0 ? 0 : i + 1;
  }
  return TRUE;
}

static void
set_time (const Check *self, const json_t *entry, json_t *candidate, const json_t *time)
{
  const gdouble peak =
      tool_json_get_number (json_object_get (self->report, "device"), "peak_gflops");
  const gdouble ms = tool_json_get_number (time, "ms");
  const gdouble gflops = 2.0 * tool_json_get_number (entry, "m") *
                         tool_json_get_number (entry, "n") * tool_json_get_number (entry, "k") /
                         (ms * 1e6);

  json_object_update (candidate, (json_t *)time);
  json_object_set_new (candidate, "gflops", tool_json_number (gflops));
  json_object_set_new (candidate, "efficiency", tool_json_number (gflops / peak));
}

/* Sets the times, the fastest candidate, and its gain over the rules' choice. */
static void
conclude (Check *self, json_t *entry, const json_t *times)
{
  const json_t *time, *fastest = NULL, *rules;
  gsize i;

  json_array_foreach (times, i, time)
  {
    set_time (self, entry, tool_json_find_candidate (entry, tool_json_get_string (time, "kernel")),
              time);
    if (fastest == NULL || tool_json_get_number (time, "ms") < tool_json_get_number (fastest, "ms"))
      fastest = time;
  }
  if (fastest == NULL)
    return;
  json_object_set (entry, "fastest", json_object_get (fastest, "kernel"));
  rules = tool_json_find_candidate (entry, tool_json_get_string (entry, "rules"));
  json_object_set_new (
      entry, "gain",
      tool_json_number (tool_json_get_number (rules, "ms") / tool_json_get_number (fastest, "ms")));
  tool_progress_set_best (
      self->progress, tool_json_get_string (fastest, "kernel"),
      tool_json_get_number (
          tool_json_find_candidate (entry, tool_json_get_string (fastest, "kernel")), "gflops"));
}

static gboolean
measure (Check *self, json_t *entry, gdouble seconds, GError **error)
{
  const gint64 deadline = g_get_monotonic_time () + (gint64)(seconds * G_USEC_PER_SEC);
  g_autoptr (json_t) answer = NULL;
  GError *why = NULL;
  gdouble turns;

  if (!prepare_all (self, entry, deadline, error))
    return FALSE;
  if (tool_json_get_string (entry, "result") != NULL)
    return TRUE;
  turns = CLAMP (check_get_left (deadline), 0.0, MOST_TURN_SECONDS);
  answer = tool_child_ask (self->worker, json_pack ("{s:s, s:f}", "do", "time", "seconds", turns),
                           turns + HANG_SECONDS, &why);
  if (answer == NULL)
    return check_explain (entry, FALSE, why, error);
  conclude (self, entry, json_object_get (answer, "times"));
  return TRUE;
}

gboolean
check_speed (Check *self, GError **error)
{
  const json_t *entries = json_object_get (self->report, "speed");

  for (gsize i = 0; i < json_array_size (entries); i++) {
    json_t *entry = json_array_get (entries, i);
    const gdouble share = check_get_left (self->deadline) / (json_array_size (entries) - i);
    g_autofree gchar *problem = tool_json_get_problem (entry);
    g_autofree gchar *name =
        g_strdup_printf ("%s %s", problem, tool_json_get_string (entry, "precision"));

    check_begin (self, name, share);
    if (share <= 0.0)
      check_set_result (entry, "not reached", NULL);
    else if (!measure (self, entry, share, error))
      return FALSE;
  }
  return TRUE;
}
