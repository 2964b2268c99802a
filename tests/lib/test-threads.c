/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Plans, weights and contexts that several threads use at once. The scripts test their use by one
 * thread. */
#define _GNU_SOURCE
#include "../support/next.h"
#include "gemmcl-opencl.h"
#include "gemmcl.h"

enum { M = 5, N = 24, K = 40, RUNS = 6 };

static GemmclContext *context;

/* A clock by which runs of the kernel @fast, while it is set, take 10 microseconds, and all other
 * runs 20. hooks.c calls these functions in place of the library's and OpenCL's. */
extern __typeof__ (gemmcl_plan_submit) *hook_gemmcl_plan_submit;
extern __typeof__ (clGetEventProfilingInfo) *hook_clGetEventProfilingInfo;

static GMutex clock_lock; /* guards the following variables */
static const gchar *fast; /* the kernel */
static GHashTable *fast_events;

static void
set_fast (const gchar *kernel)
{
  g_mutex_lock (&clock_lock);
  fast = kernel;
  g_mutex_unlock (&clock_lock);
}

static gboolean
submit_timed (GemmclPlan *plan, const GemmclRun *run, cl_event *first, cl_event *done,
              GError **error)
{
  const gchar *kernel = gemmcl_plan_get_kernel (plan);

  if (!NEXT (gemmcl_plan_submit) (plan, run, first, done, error))
    return FALSE;
  g_mutex_lock (&clock_lock);
  if (g_strcmp0 (kernel, fast) == 0)
    g_hash_table_add (fast_events, *done);
  else
    g_hash_table_remove (fast_events, *done);
  g_mutex_unlock (&clock_lock);
  return TRUE;
}

static cl_int CL_API_CALL
get_time (cl_event event, cl_profiling_info name, size_t size, void *value, size_t *size_ret)
{
  const cl_int status = NEXT (clGetEventProfilingInfo) (event, name, size, value, size_ret);

  g_mutex_lock (&clock_lock);
  if (status == CL_SUCCESS && fast != NULL)
    *(cl_ulong *)value = name != CL_PROFILING_COMMAND_END             ? 0
                         : g_hash_table_contains (fast_events, event) ? 10000
                                                                      : 20000;
  g_mutex_unlock (&clock_lock);
  return status;
}

/* Run i has an A full of i + 1. */
typedef struct {
  gfloat a[M * K], d[M * N];
  GemmclData data_a, data_d;
  cl_event done;
} Run;

static void
run_init (Run *self, guint i)
{
  *self = (Run){.data_a = {.host = {self->a}}, .data_d = {.host = {self->d}}};
  for (guint j = 0; j < M * K; j++)
    self->a[j] = i + 1;
}

static void
submit (Run *self, GemmclPlan *plan)
{
  const GemmclRun run = {.size = sizeof run, .alpha = 1, .a = &self->data_a, .d = &self->data_d};
  g_autoptr (GError) error = NULL;

  gemmcl_plan_submit (plan, &run, NULL, &self->done, &error);
  g_assert_no_error (error);
}

/* Returns: the number that fills B. Checks that one number fills D. */
static gdouble
finish (Run *self)
{
  g_assert_cmpint (clWaitForEvents (1, &self->done), ==, CL_SUCCESS);
  clReleaseEvent (self->done);
  for (guint j = 0; j < M * N; j++)
    g_assert_cmpfloat (self->d[j], ==, self->d[0]);
  return self->d[0] / K / self->a[0];
}

static GemmclGemm
describe (gsize m, gsize n, gsize k)
{
  GemmclGemm gemm = GEMMCL_GEMM_INIT;

  gemm.m = m;
  gemm.n = n;
  gemm.k = k;
  return gemm;
}

static GemmclPlan *
make_plan (const gchar *kernel)
{
  const GemmclGemm gemm = describe (M, N, K);
  g_autoptr (GError) error = NULL;
  GemmclPlan *plan = gemmcl_plan_new (context, &gemm, kernel, &error);

  g_assert_no_error (error);
  return plan;
}

static void
set_b (GemmclPlan *plan, gfloat value)
{
  gfloat values[K * N];
  g_autoptr (GemmclMatrix) b = NULL;
  g_autoptr (GemmclPrepared) prepared = NULL;

  for (guint i = 0; i < K * N; i++)
    values[i] = value;
  b = gemmcl_matrix_new (GEMMCL_TYPE_F32, K, N, values, NULL);
  prepared = gemmcl_plan_prepare (plan, GEMMCL_PLAN_B, b, NULL);
  g_assert_nonnull (prepared);
  gemmcl_plan_use (plan, prepared);
}

typedef struct {
  GemmclPlan *plan;
  gint stop;
} Swapper;

static gpointer
swap_weights (gpointer data)
{
  Swapper *self = data;
  GemmclPlanStats stats;

  for (guint i = 0; !g_atomic_int_get (&self->stop); i++) {
    set_b (self->plan, 1 + i % 50);
    gemmcl_plan_get_stats (self->plan, &stats);
  }
  return NULL;
}

static gboolean
is_searching (GemmclPlan *plan)
{
  const GemmclTuningState state = gemmcl_plan_get_tuning (plan, NULL, NULL);

  return state == GEMMCL_TUNING_STATE_WAITING || state == GEMMCL_TUNING_STATE_SEARCHING;
}

/* Weights change under load, and kernels by a search; every result comes from a single B. */
static void
run_swapped (GemmclPlan *plan)
{
  Swapper swapper = {.plan = plan};
  GThread *thread;
  Run runs[RUNS];

  for (guint i = 0; i < RUNS; i++)
    run_init (&runs[i], i);
  set_b (plan, 1);
  thread = g_thread_new ("swapper", swap_weights, &swapper);
  for (guint i = 0; i < 300 || is_searching (plan); i++) {
    if (i >= RUNS)
      g_assert_cmpfloat (finish (&runs[i % RUNS]), >=, 1);
    submit (&runs[i % RUNS], plan);
  }
  for (guint i = 0; i < RUNS; i++)
    finish (&runs[i]);
  g_atomic_int_set (&swapper.stop, TRUE);
  g_thread_join (thread);
}

static void
test_swap (void)
{
  g_autoptr (GemmclPlan) plan = make_plan ("gemm_naive");

  run_swapped (plan);
}

static guint64
count_weights (void)
{
  GemmclContextStats stats;

  gemmcl_context_get_stats (context, &stats);
  return stats.weights;
}

/* The searches of plans that wait for another search are cancelled, or their plans dropped. Their
 * threads may free what they hold after the plans. */
static void
test_tune (void)
{
  g_autoptr (GemmclPlan) plan = make_plan (NULL), cancelled = make_plan (NULL),
                         dropped = make_plan (NULL);
  GemmclPlan *const plans[] = {plan, cancelled, dropped};
  const GemmclGemm gemm = describe (M, N, K);
  g_auto (GStrv) names = gemmcl_tuning_list_candidates (context, &gemm);

  set_fast (names[1]);
  for (guint i = 0; i < G_N_ELEMENTS (plans); i++)
    gemmcl_plan_auto_tune (plans[i], GEMMCL_AUTO_TUNE_ON);
  gemmcl_plan_cancel_tuning (cancelled, G_MAXINT32);
  g_clear_object (&dropped);
  run_swapped (plan);
  g_assert_cmpstr (gemmcl_plan_get_kernel (plan), ==, names[1]);
  set_fast (NULL);
  g_clear_object (&plan);
  g_clear_object (&cancelled);
  while (count_weights () > 0)
    g_usleep (1000);
}

static gpointer
change_often (gpointer data G_GNUC_UNUSED)
{
  g_autoptr (GemmclPlan) plan = make_plan ("gemm_naive");
  Run run;

  run_init (&run, 0);
  for (guint i = 0; i < 200; i++) {
    set_b (plan, 1 + i % 2);
    submit (&run, plan);
    g_assert_cmpfloat (finish (&run), ==, 1 + i % 2);
  }
  return NULL;
}

/* Plans of several threads share their weights, which are freed with the last plan. */
static void
test_weights (void)
{
  GThread *threads[4];
  GemmclContextStats stats;

  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    threads[i] = g_thread_new ("plan", change_often, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    g_thread_join (threads[i]);
  gemmcl_context_get_stats (context, &stats);
  g_assert_cmpuint (stats.weights, ==, 0);
  g_assert_cmpuint (stats.weight_bytes, ==, 0);
}

static gpointer
get_shared (gpointer data)
{
  while (!g_atomic_int_get ((gint *)data))
    g_thread_yield ();
  return gemmcl_context_get_shared (NULL, NULL);
}

static void
check_shared (void)
{
  GemmclContext *contexts[8];
  GThread *threads[G_N_ELEMENTS (contexts)];
  gpointer gone;
  gint begin = FALSE;

  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    threads[i] = g_thread_new ("asks", get_shared, &begin);
  g_atomic_int_set (&begin, TRUE);
  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    contexts[i] = g_thread_join (threads[i]);
  gone = contexts[0];
  g_object_add_weak_pointer (G_OBJECT (contexts[0]), &gone);
  g_assert_true (contexts[0] != context);
  for (guint i = 1; i < G_N_ELEMENTS (contexts); i++)
    g_assert_true (contexts[i] == contexts[0]);
  for (guint i = 0; i < G_N_ELEMENTS (contexts); i++) {
    g_assert_nonnull (gone);
    g_object_unref (contexts[i]);
  }
  g_assert_null (gone);
}

/* Threads that ask for a context at once get the same one, which the last reference frees. */
static void
test_shared (void)
{
  for (guint i = 0; i < 30; i++)
    check_shared ();
}

static gpointer
store_one (gpointer gemm)
{
  g_autoptr (GError) error = NULL;

  gemmcl_tuning_store (context, gemm, "gemm_naive", 12.5, NULL, &error);
  g_assert_no_error (error);
  return NULL;
}

/* Results of tuning that several threads store at once are all in the file. */
static void
test_writers (void)
{
  GemmclGemm gemms[8];
  GThread *threads[G_N_ELEMENTS (gemms)];

  for (guint i = 0; i < G_N_ELEMENTS (gemms); i++) {
    gemms[i] = describe (96, 64, (gsize)8 << i);
    threads[i] = g_thread_new ("writer", store_one, &gemms[i]);
  }
  for (guint i = 0; i < G_N_ELEMENTS (gemms); i++)
    g_thread_join (threads[i]);
  for (guint i = 0; i < G_N_ELEMENTS (gemms); i++) {
    g_autoptr (GemmclPlan) plan = gemmcl_plan_new (context, &gemms[i], NULL, NULL);
    GemmclPlanInfo info;

    g_assert_nonnull (plan);
    gemmcl_plan_get_info (plan, &info);
    g_assert_cmpint (info.source, ==, GEMMCL_CHOICE_TUNED);
  }
}

int
main (int argc, char **argv)
{
  g_autoptr (GError) error = NULL;
  int status;

  g_test_init (&argc, &argv, NULL);
  context = gemmcl_context_new (NULL, &error);
  if (context == NULL) {
    g_print ("1..0 # SKIP %s\n", error->message);
    return 0;
  }
  gemmcl_tuning_forget (context, &error);
  g_assert_no_error (error);
  fast_events = g_hash_table_new (NULL, NULL);
  hook_gemmcl_plan_submit = submit_timed;
  hook_clGetEventProfilingInfo = get_time;
  g_test_add_func ("/threads/swap", test_swap);
  g_test_add_func ("/threads/tune", test_tune);
  g_test_add_func ("/threads/weights", test_weights);
  g_test_add_func ("/threads/shared", test_shared);
  g_test_add_func ("/threads/writers", test_writers);
  status = g_test_run ();
  g_clear_object (&context);
  g_hash_table_unref (fast_events);
  return status;
}
