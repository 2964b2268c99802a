/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Several runs of a plan under way at once. */

#include "../kernels/problem.h"

#define M    33
#define N    5
#define K    17
#define RUNS 6

/* Run i has an A full of i + 1. */
typedef struct {
  GemmclPlan *plan;
  GemmclPendingRun *pending[RUNS];
  gfloat a[RUNS][M * K], d[RUNS][M * N];
  GemmclHostData host_a[RUNS], host_d[RUNS];
} Fixture;

static void
fixture_clear (Fixture *self)
{
  g_clear_object (&self->plan);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Fixture, fixture_clear)

static void
set_b (Fixture *self, gfloat value)
{
  g_autoptr (GemmclMatrix) b = NULL;
  g_autoptr (GError) error = NULL;
  gfloat data[K * N];

  for (guint i = 0; i < K * N; i++)
    data[i] = value;
  b = gemmcl_matrix_new (GEMMCL_TYPE_F32, K, N, data, &error);
  g_assert_no_error (error);
  gemmcl_plan_set_b (self->plan, b, &error);
  g_assert_no_error (error);
}

/* Returns: %FALSE, with the test skipped, without a device. */
static gboolean
fixture_init (Fixture *self, gdouble beta)
{
  GemmclGemm gemm = GEMMCL_GEMM_INIT;
  GemmclContext *context = test_get_context ();
  g_autoptr (GError) error = NULL;

  if (context == NULL)
    return FALSE;
  gemm.m = M;
  gemm.n = N;
  gemm.k = K;
  gemm.addend = GEMMCL_ADDEND_OUTPUT;
  gemm.beta = beta;
  self->plan = gemmcl_plan_new (context, &gemm, NULL, &error);
  g_assert_no_error (error);
  for (guint i = 0; i < RUNS; i++) {
    for (guint j = 0; j < M * K; j++)
      self->a[i][j] = i + 1;
    self->host_a[i].data[0] = self->a[i];
    self->host_d[i].data[0] = self->d[i];
  }
  set_b (self, 1);
  return TRUE;
}

static void
submit (Fixture *self, guint i)
{
  const GemmclHostRun run = {.a = &self->host_a[i], .d = &self->host_d[i]};
  g_autoptr (GError) error = NULL;

  self->pending[i] = gemmcl_plan_submit (self->plan, &run, &error);
  g_assert_no_error (error);
  g_assert_nonnull (self->pending[i]);
}

static void
finish (Fixture *self, guint i, gdouble expected)
{
  g_autoptr (GError) error = NULL;

  gemmcl_plan_finish (self->plan, self->pending[i], &error);
  g_assert_no_error (error);
  for (guint j = 0; j < M * N; j++)
    g_assert_cmpfloat (self->d[i][j], ==, expected);
}

static void
test_order (void)
{
  g_auto (Fixture) self = {NULL};
  GemmclPlanStats stats;

  if (!fixture_init (&self, 0))
    return;
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
  g_assert_cmpuint (stats.bytes_out, ==, 2 * sizeof self.d);
}

/* D = A B + D of the run before, whichever buffers that has. */
static void
test_previous_output (void)
{
  g_auto (Fixture) self = {NULL};
  gdouble sum = 0;

  if (!fixture_init (&self, 1))
    return;
  for (guint i = 0; i < RUNS; i++) {
    if (i == 4)
      gemmcl_plan_reset_output (self.plan);
    submit (&self, i);
  }
  for (guint i = 0; i < RUNS; i++) {
    sum = (i == 4 ? 0 : sum) + K * (i + 1);
    finish (&self, i, sum);
  }
  /* A run that does not read it still is what the next one finds. */
  gemmcl_plan_set_scalars (self.plan, 1, 0);
  submit (&self, 0);
  submit (&self, 1);
  gemmcl_plan_set_scalars (self.plan, 1, 1);
  submit (&self, 2);
  finish (&self, 0, K);
  finish (&self, 1, 2 * K);
  finish (&self, 2, 5 * K);
}

/* Each has what was set when it was submitted. */
static void
test_changes (void)
{
  g_auto (Fixture) self = {NULL};

  if (!fixture_init (&self, 0))
    return;
  submit (&self, 0);
  set_b (&self, 10);
  submit (&self, 1);
  gemmcl_plan_set_scalars (self.plan, 0.5, 0);
  submit (&self, 2);
  finish (&self, 0, K);
  finish (&self, 1, 20 * K);
  finish (&self, 2, 15 * K);
}

static void
test_failure (void)
{
  g_auto (Fixture) self = {NULL};
  GemmclHostRun run = {.m = M + 1, .a = self.host_a, .d = self.host_d};
  g_autoptr (GError) error = NULL;

  if (!fixture_init (&self, 0))
    return;
  submit (&self, 0);
  g_assert_null (gemmcl_plan_submit (self.plan, &run, &error));
  g_assert_error (error, GEMMCL_ERROR, GEMMCL_ERROR_INVALID);
  finish (&self, 0, K);
}

/* Large ones in the caller's memory, or with copies where it lies at an odd address: alike, and
 * nothing around them is written. */
static void
test_large (void)
{
  const gsize m = 200, n = 96, k = 16, room = m * n + 2;
  GemmclGemm gemm = GEMMCL_GEMM_INIT;
  GemmclContext *context = test_get_context ();
  g_autoptr (GemmclMatrix) b = NULL;
  g_autoptr (GemmclPlan) plan = NULL;
  g_autofree gfloat *a = g_new (gfloat, m * k), *ones = g_new (gfloat, k * n);
  g_autofree gfloat *d = g_new (gfloat, RUNS * room);

  if (context == NULL)
    return;
  gemm.m = m;
  gemm.n = n;
  gemm.k = k;
  for (gsize i = 0; i < m * k; i++)
    a[i] = i / k;
  for (gsize i = 0; i < k * n; i++)
    ones[i] = 1;
  for (gsize i = 0; i < RUNS * room; i++)
    d[i] = -1;
  b = gemmcl_matrix_new (GEMMCL_TYPE_F32, k, n, ones, NULL);
  plan = gemmcl_plan_new (context, &gemm, NULL, NULL);
  g_assert_true (gemmcl_plan_set_b (plan, b, NULL));
  for (guint round = 0; round < RUNS; round += 3) {
    GemmclHostData host_a = {.data = {a}}, host_d[3];
    GemmclPendingRun *pending[3];

    for (guint i = 0; i < 3; i++) {
      const GemmclHostRun run = {.a = &host_a, .d = &host_d[i]};

      host_d[i] = (GemmclHostData){.data = {d + (round + i) * room + (i < 2 ? 0 : 1)}};
      pending[i] = gemmcl_plan_submit (plan, &run, NULL);
      g_assert_nonnull (pending[i]);
    }
    for (guint i = 0; i < 3; i++)
      g_assert_true (gemmcl_plan_finish (plan, pending[i], NULL));
  }
  for (guint i = 0; i < RUNS; i++) {
    const gfloat *found = d + i * room + (i % 3 < 2 ? 0 : 1);

    for (gsize j = 0; j < m * n; j++)
      g_assert_cmpfloat (found[j], ==, k * (j / n));
    g_assert_cmpfloat (found[m * n], ==, -1);
  }
}

/* A run that waits until somebody opens the gate. */
static cl_event
submit_gated (Fixture *self, guint i)
{
  cl_event gate = clCreateUserEvent (gemmcl_context_get_cl_context (test_get_context ()), NULL);
  const GemmclMixedRun run = {
      .host_a = &self->host_a[i], .host_d = &self->host_d[i], .n_wait = 1, .wait = &gate};
  g_autoptr (GError) error = NULL;

  self->pending[i] = gemmcl_plan_submit_mixed (self->plan, &run, NULL, &error);
  g_assert_no_error (error);
  return gate;
}

/* After a while in which whatever does not wait for it runs. */
static void
open_gate (cl_event gate)
{
  g_usleep (20000);
  g_assert_cmpint (clSetUserEventStatus (gate, CL_COMPLETE), ==, CL_SUCCESS);
  g_assert_cmpint (clReleaseEvent (gate), ==, CL_SUCCESS);
}

/* Runs that do not scale the last output may overtake one another, but not those that do. */
static void
test_overtaking (void)
{
  g_auto (Fixture) self = {NULL};
  cl_event gate;

  if (!fixture_init (&self, 0))
    return;
  gate = submit_gated (&self, 0);
  gemmcl_plan_set_scalars (self.plan, 1, 0.5);
  submit (&self, 1);
  open_gate (gate);
  finish (&self, 0, K);
  finish (&self, 1, 2.5 * K);
  /* The last of these has the memory of what the one before reads. */
  gate = submit_gated (&self, 2);
  gemmcl_plan_set_scalars (self.plan, 1, 0);
  submit (&self, 3);
  open_gate (gate);
  finish (&self, 2, 4.25 * K);
  finish (&self, 3, 4 * K);
}

/* The plan waits for what nobody does. */
static void
test_drop (void)
{
  g_auto (Fixture) self = {NULL};

  if (!fixture_init (&self, 0))
    return;
  submit (&self, 0);
  submit (&self, 1);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/submit/order", test_order);
  g_test_add_func ("/submit/previous-output", test_previous_output);
  g_test_add_func ("/submit/changes", test_changes);
  g_test_add_func ("/submit/failure", test_failure);
  g_test_add_func ("/submit/large", test_large);
  g_test_add_func ("/submit/overtaking", test_overtaking);
  g_test_add_func ("/submit/drop", test_drop);
  return g_test_run ();
}
