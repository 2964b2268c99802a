/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Runs of a plan that are under way at once, what they wait for and what is refused. */

#include "../kernels/problem.h"
#include "files.h"

#define M    33
#define N    5
#define K    17
#define RUNS 6

/* Run i has an A full of i + 1. */
typedef struct {
  GemmclPlan *plan;
  gfloat a[RUNS][M * K], d[RUNS][M * N];
  GemmclData data_a[RUNS], data_d[RUNS];
  cl_event done[RUNS];
} Fixture;

static void
fixture_clear (Fixture *self)
{
  g_clear_object (&self->plan);
  for (guint i = 0; i < RUNS; i++)
    g_clear_pointer (&self->done[i], clReleaseEvent);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Fixture, fixture_clear)

static void
set_b (Fixture *self, gfloat value)
{
  g_autoptr (GemmclMatrix) b = test_make_filled (K, N, value);
  g_autoptr (GError) error = NULL;

  gemmcl_plan_set_b (self->plan, b, &error);
  g_assert_no_error (error);
}

static void
fixture_init (Fixture *self)
{
  GemmclGemm gemm = GEMMCL_GEMM_INIT;

  gemm.m = M;
  gemm.n = N;
  gemm.k = K;
  self->plan = test_make_plan (&gemm, NULL, NULL);
  for (guint i = 0; i < RUNS; i++) {
    for (guint j = 0; j < M * K; j++)
      self->a[i][j] = i + 1;
    self->data_a[i].host[0] = self->a[i];
    self->data_d[i].host[0] = self->d[i];
  }
  set_b (self, 1);
}

static GemmclRun
make_run (Fixture *self, guint i)
{
  GemmclRun run = GEMMCL_RUN_INIT;

  run.a = &self->data_a[i];
  run.d = &self->data_d[i];
  return run;
}

static void
submit_run (Fixture *self, guint i, const GemmclRun *run)
{
  g_autoptr (GError) error = NULL;

  g_clear_pointer (&self->done[i], clReleaseEvent);
  gemmcl_plan_submit (self->plan, run, NULL, &self->done[i], &error);
  g_assert_no_error (error);
  g_assert_nonnull (self->done[i]);
}

static void
submit (Fixture *self, guint i)
{
  const GemmclRun run = make_run (self, i);

  submit_run (self, i, &run);
}

static void
finish (Fixture *self, guint i, gdouble expected)
{
  g_assert_cmpint (clWaitForEvents (1, &self->done[i]), ==, CL_SUCCESS);
  for (guint j = 0; j < M * N; j++)
    g_assert_cmpfloat (self->d[i][j], ==, expected);
}

static void
test_order (void)
{
  g_auto (Fixture) self = {NULL};
  GemmclPlanStats stats;

  fixture_init (&self);
  for (guint i = 0; i < RUNS; i++)
    submit (&self, i);
  for (guint i = 0; i < RUNS; i++)
    finish (&self, i, K * (i + 1));
  for (guint i = 0; i < RUNS; i++)
    submit (&self, RUNS - 1 - i);
  for (guint i = 0; i < RUNS; i++)
    finish (&self, i, K * (i + 1));
  gemmcl_plan_get_stats (self.plan, &stats);
  g_assert_cmpuint (stats.runs, ==, 2 * RUNS);
  g_assert_cmpuint (stats.bytes_in, ==, 2 * sizeof self.a);
  g_assert_cmpuint (stats.bytes_out, ==, 2 * sizeof self.d);
  g_assert_cmpfloat (stats.flops, ==, 2.0 * M * N * K * 2 * RUNS);
}

/* Nobody waits for them but the plan that is dropped: statistics have only those that are done. */
static void
test_many (void)
{
  g_auto (Fixture) self = {NULL};
  GemmclPlanStats stats;

  fixture_init (&self);
  for (guint i = 0; i < 500; i++)
    submit (&self, i % RUNS);
  for (guint i = 0; i < RUNS; i++)
    finish (&self, i, K * (i + 1));
  gemmcl_plan_get_stats (self.plan, &stats);
  g_assert_cmpuint (stats.runs, ==, 500);
  submit (&self, 0);
  submit (&self, 1);
}

/* Each has what was set when it was submitted. */
static void
test_changes (void)
{
  g_auto (Fixture) self = {NULL};
  GemmclRun half;

  fixture_init (&self);
  submit (&self, 0);
  set_b (&self, 10);
  submit (&self, 1);
  half = make_run (&self, 2);
  half.alpha = 0.5;
  submit_run (&self, 2, &half);
  finish (&self, 0, K);
  finish (&self, 1, 20 * K);
  finish (&self, 2, 15 * K);
}

/* A run that waits until somebody opens the gate. */
static cl_event
submit_gated (Fixture *self, guint i)
{
  cl_event gate = clCreateUserEvent (gemmcl_context_get_cl_context (test_get_context ()), NULL);
  GemmclRun run = make_run (self, i);

  run.n_wait = 1;
  run.wait = &gate;
  submit_run (self, i, &run);
  return gate;
}

static void
open_gate (cl_event gate, cl_int status)
{
  g_assert_cmpint (clSetUserEventStatus (gate, status), ==, CL_SUCCESS);
  g_assert_cmpint (clReleaseEvent (gate), ==, CL_SUCCESS);
}

/* Operands are prepared while a run cannot go on, and are those of the next one. */
static void
test_prepare (void)
{
  g_auto (Fixture) self = {NULL};
  g_autoptr (GemmclMatrix) b = test_make_filled (K, N, 3), other = test_make_filled (K, N, 4);
  g_autoptr (GemmclPrepared) dropped = NULL;
  GemmclPrepared *prepared;
  g_autoptr (GError) error = NULL;
  cl_int status;
  cl_event gate;

  fixture_init (&self);
  gate = submit_gated (&self, 0);
  prepared = gemmcl_plan_prepare (self.plan, GEMMCL_PLAN_B, b, &error);
  g_assert_no_error (error);
  dropped = gemmcl_plan_prepare (self.plan, GEMMCL_PLAN_B, other, &error);
  g_assert_no_error (error);
  g_assert_null (gemmcl_plan_prepare (self.plan, GEMMCL_PLAN_BIAS, b, &error));
  files_assert_error (error, GEMMCL_ERROR_INVALID, "without a bias");
  submit (&self, 1);
  gemmcl_plan_use (self.plan, prepared);
  gemmcl_prepared_free (prepared);
  submit (&self, 2);
  clGetEventInfo (self.done[0], CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL);
  g_assert_cmpint (status, >, CL_COMPLETE);
  open_gate (gate, CL_COMPLETE);
  finish (&self, 0, K);
  finish (&self, 1, 2 * K);
  finish (&self, 2, 9 * K);
}

typedef struct {
  Fixture *fixture;
  gint stop;
} Swapper;

static gpointer
swap_weights (gpointer data)
{
  Swapper *self = data;

  for (guint i = 0; !g_atomic_int_get (&self->stop); i++) {
    g_autoptr (GemmclMatrix) b = test_make_filled (K, N, 1 + i % 50);
    g_autoptr (GemmclPrepared) prepared =
        gemmcl_plan_prepare (self->fixture->plan, GEMMCL_PLAN_B, b, NULL);

    g_assert_nonnull (prepared);
    gemmcl_plan_use (self->fixture->plan, prepared);
  }
  return NULL;
}

/* Weights that change under load: every result is wholly of one. */
static void
test_swap (void)
{
  g_auto (Fixture) self = {NULL};
  Swapper swapper = {.fixture = &self};
  GThread *thread;

  fixture_init (&self);
  thread = g_thread_new ("swapper", swap_weights, &swapper);
  for (guint i = 0; i < 300; i++) {
    const guint at = i % RUNS;

    if (self.done[at] != NULL) {
      clWaitForEvents (1, &self.done[at]);
      finish (&self, at, self.d[at][0]);
      g_assert_cmpfloat (self.d[at][0], >=, K * (at + 1));
    }
    submit (&self, at);
  }
  g_atomic_int_set (&swapper.stop, TRUE);
  g_thread_join (thread);
}

/* A run waits for what it is told, and fails with it; and so do those that are told of its end. */
static void
test_wait (void)
{
  for (guint i = 0; i < 4; i++) {
    const gboolean fails = i % 2;
    g_auto (Fixture) self = {NULL};
    g_autoptr (GError) error = NULL;
    GemmclPlanStats stats;
    GemmclRun run;
    cl_event gate;
    cl_int status;

    fixture_init (&self);
    /* An odd address is copied, and not worked in. */
    if (i > 1)
      self.data_d[0].host[0] = self.d[0] + 1;
    gate = submit_gated (&self, 0);
    clGetEventInfo (self.done[0], CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL);
    g_assert_cmpint (status, >, CL_COMPLETE);
    open_gate (gate, fails ? -1 : CL_COMPLETE);
    g_assert_cmpint (clWaitForEvents (1, &self.done[0]) == CL_SUCCESS, ==, !fails);
    run = make_run (&self, 1);
    run.n_wait = 1;
    run.wait = &self.done[0];
    g_assert_cmpint (gemmcl_plan_run (self.plan, &run, &error), ==, !fails);
    if (fails)
      files_assert_error (error, GEMMCL_ERROR_INVALID, "failed");
    /* It is no end of the plan. */
    submit (&self, 2);
    finish (&self, 2, 3 * K);
    gemmcl_plan_get_stats (self.plan, &stats);
    g_assert_cmpuint (stats.runs, ==, fails ? 1 : 3);
  }
}

static void
assert_refused (Fixture *self, const GemmclRun *run, const gchar *words)
{
  g_autoptr (GError) error = NULL;
  cl_event done = NULL;

  g_assert_false (gemmcl_plan_submit (self->plan, run, NULL, &done, &error));
  files_assert_error (error, GEMMCL_ERROR_INVALID, words);
  g_assert_null (done);
}

/* A refused run does not affect in-flight runs. */
static void
test_refused (void)
{
  g_auto (Fixture) self = {NULL};
  GemmclData wrong = {.kind = GEMMCL_DATA_BUFFER};
  GemmclRun run;

  fixture_init (&self);
  submit (&self, 0);
  run = make_run (&self, 1);
  run.m = M + 1;
  assert_refused (&self, &run, "34 rows");
  run = make_run (&self, 1);
  run.batch = 2;
  assert_refused (&self, &run, "2 batches");
  run = make_run (&self, 1);
  run.size = G_STRUCT_OFFSET (GemmclRun, wait);
  assert_refused (&self, &run, "shorter");
  run = make_run (&self, 1);
  run.d = &wrong;
  assert_refused (&self, &run, "D of problem 0");
  wrong.kind = GEMMCL_DATA_IMAGES;
  assert_refused (&self, &run, "D of problem 0");
  wrong = (GemmclData){.kind = GEMMCL_DATA_HOST};
  assert_refused (&self, &run, "D of problem 0");
  run = make_run (&self, 1);
  run.strided = TRUE;
  assert_refused (&self, &run, "a buffer, from its start");
  finish (&self, 0, K);
}

/* Large ones in the caller's memory, or with copies where it lies at an odd address: alike, and
 * nothing around them is written. */
static void
test_large (void)
{
  const gsize m = 200, n = 96, k = 16, room = m * n + 2;
  GemmclGemm gemm = GEMMCL_GEMM_INIT;
  g_autoptr (GemmclPlan) plan = NULL;
  g_autofree gfloat *a = g_new (gfloat, m * k), *ones = g_new (gfloat, k * n);
  g_autofree gfloat *d = g_new (gfloat, RUNS * room);

  gemm.m = m;
  gemm.n = n;
  gemm.k = k;
  for (gsize i = 0; i < m * k; i++)
    a[i] = i / k;
  for (gsize i = 0; i < k * n; i++)
    ones[i] = 1;
  for (gsize i = 0; i < RUNS * room; i++)
    d[i] = -1;
  plan = test_make_plan (&gemm, NULL, ones);
  for (guint round = 0; round < RUNS; round += 3) {
    const GemmclData data_a = {.host = {a}};
    cl_event done[3];

    for (guint i = 0; i < 3; i++) {
      const GemmclData data_d = {.host = {d + (round + i) * room + (i < 2 ? 0 : 1)}};
      const GemmclRun run = {.size = sizeof run, .alpha = 1, .a = &data_a, .d = &data_d};

      g_assert_true (gemmcl_plan_submit (plan, &run, NULL, &done[i], NULL));
    }
    for (guint i = 0; i < 3; i++) {
      g_assert_cmpint (clWaitForEvents (1, &done[i]), ==, CL_SUCCESS);
      clReleaseEvent (done[i]);
    }
  }
  for (guint i = 0; i < RUNS; i++) {
    const gfloat *found = d + i * room + (i % 3 < 2 ? 0 : 1);

    for (gsize j = 0; j < m * n; j++)
      g_assert_cmpfloat (found[j], ==, k * (j / n));
    g_assert_cmpfloat (found[m * n], ==, -1);
  }
}

int
main (int argc, char **argv)
{
  test_init_device (&argc, &argv);
  g_test_add_func ("/submit/order", test_order);
  g_test_add_func ("/submit/many", test_many);
  g_test_add_func ("/submit/changes", test_changes);
  g_test_add_func ("/submit/prepare", test_prepare);
  g_test_add_func ("/submit/swap", test_swap);
  g_test_add_func ("/submit/wait", test_wait);
  g_test_add_func ("/submit/refused", test_refused);
  g_test_add_func ("/submit/large", test_large);
  return g_test_run ();
}
