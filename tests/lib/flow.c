/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "flow.h"

#define MORE 40 /* runs of flow_run_some() */

static gint
get_a (guint index, gsize i, gsize k)
{
  return (gint)((index * 7 + i * 3 + k * 5 + i * k % 11) % 9) - 4;
}

static gint
get_b (guint seed, gsize k, gsize j)
{
  return (gint)((k * 5 + j * 3 + seed * 2 + k * j % 13) % 7) - 3;
}

static gint
get_c (guint seed, gsize i, gsize j)
{
  return seed > 0 ? (gint)((i + 2 * j + seed) % 15) : 0;
}

GemmclMatrix *
flow_make_b (guint seed)
{
  gfloat data[FLOW_K * FLOW_N];

  for (gsize k = 0; k < FLOW_K; k++)
    for (gsize j = 0; j < FLOW_N; j++)
      data[k * FLOW_N + j] = get_b (seed, k, j);
  return gemmcl_matrix_new (GEMMCL_TYPE_F32, FLOW_K, FLOW_N, data, NULL);
}

/* C, or of one row a bias. */
GemmclMatrix *
flow_make_c (gsize rows, guint seed)
{
  gfloat data[FLOW_M * FLOW_N];

  for (gsize i = 0; i < rows; i++)
    for (gsize j = 0; j < FLOW_N; j++)
      data[i * FLOW_N + j] = get_c (seed, i, j);
  return gemmcl_matrix_new (GEMMCL_TYPE_F32, rows, FLOW_N, data, NULL);
}

typedef gboolean (*Set) (GemmclPlan *, GemmclMatrix *, GError **);

static void
set (Flow *self, Set set_operand, GemmclMatrix *matrix)
{
  g_autoptr (GError) error = NULL;

  set_operand (self->plan, matrix, &error);
  g_assert_no_error (error);
  gemmcl_matrix_unref (matrix);
}

void
flow_set_b (Flow *self, guint seed)
{
  set (self, gemmcl_plan_set_b, flow_make_b (seed));
  self->seed = seed;
}

void
flow_set_bias (Flow *self, guint seed)
{
  set (self, gemmcl_plan_set_bias, flow_make_c (1, seed));
  self->bias = seed;
}

void
flow_set_c (Flow *self, guint seed)
{
  set (self, gemmcl_plan_set_c, flow_make_c (FLOW_M, seed));
  self->c = seed;
}

GemmclPrepared *
flow_prepare (Flow *self, GemmclPlanOperand operand, GemmclMatrix *matrix)
{
  g_autoptr (GError) error = NULL;
  GemmclPrepared *prepared = gemmcl_plan_prepare (self->plan, operand, matrix, &error);

  g_assert_no_error (error);
  return prepared;
}

GemmclGemm
flow_get_problem (GemmclAddend addend)
{
  GemmclGemm gemm = GEMMCL_GEMM_INIT;

  gemm.m = FLOW_M;
  gemm.n = FLOW_N;
  gemm.k = FLOW_K;
  gemm.bias = TRUE;
  gemm.addend = addend;
  return gemm;
}

void
flow_init (Flow *self, GemmclContext *context, const gchar *kernel, GemmclAutoTune mode,
           GemmclAddend addend)
{
  const GemmclGemm gemm = flow_get_problem (addend);
  g_autoptr (GError) error = NULL;

  self->plan = gemmcl_plan_new (context, &gemm, kernel, &error);
  g_assert_no_error (error);
  gemmcl_plan_auto_tune (self->plan, mode);
  self->first = g_strdup (gemmcl_plan_get_kernel (self->plan));
  if (addend == GEMMCL_ADDEND_PREVIOUS)
    self->sums = g_new0 (gint, FLOW_M * FLOW_N);
  flow_set_b (self, 1);
}

void
flow_clear (Flow *self)
{
  for (guint i = 0; i < FLOW_DEPTH; i++)
    g_clear_pointer (&self->runs[i].done, clReleaseEvent);
  g_clear_object (&self->plan);
  g_free (self->first);
  g_free (self->sums);
}

/* Waits for the oldest run. */
static void
check (Flow *self)
{
  FlowRun *run = &self->runs[self->n_checked++ % FLOW_DEPTH];

  g_assert_cmpint (clWaitForEvents (1, &run->done), ==, CL_SUCCESS);
  g_clear_pointer (&run->done, clReleaseEvent);
  for (gsize i = 0; i < FLOW_M; i++)
    for (gsize j = 0; j < FLOW_N; j++) {
      const gfloat found = run->d[i * FLOW_N + j];
      gint sum = get_c (run->bias, 0, j) + get_c (self->c, i, j);

      for (gsize k = 0; k < FLOW_K; k++)
        sum += get_a (run->index, i, k) * get_b (run->seed, k, j);
      if (self->sums != NULL)
        sum = self->sums[i * FLOW_N + j] += sum;
      if (found != sum)
        g_error ("run %u, element %zu, %zu: %g; expected %d", run->index, i, j, found, sum);
    }
}

void
flow_check_all (Flow *self)
{
  while (self->n_checked < self->n)
    check (self);
}

void
flow_run_one (Flow *self)
{
  GemmclRun run = GEMMCL_RUN_INIT;
  GemmclData a = {.kind = GEMMCL_DATA_HOST}, d = {.kind = GEMMCL_DATA_HOST};
  g_autoptr (GError) error = NULL;
  FlowRun *next;

  if (self->n - self->n_checked == FLOW_DEPTH)
    check (self);
  next = &self->runs[self->n % FLOW_DEPTH];
  next->index = self->n++;
  next->seed = self->seed;
  next->bias = self->bias;
  for (gsize i = 0; i < FLOW_M; i++)
    for (gsize k = 0; k < FLOW_K; k++)
      next->a[i * FLOW_K + k] = get_a (next->index, i, k);
  a.host[0] = next->a;
  d.host[0] = next->d;
  run.beta = 1;
  run.a = &a;
  run.d = &d;
  gemmcl_plan_submit (self->plan, &run, NULL, &next->done, &error);
  g_assert_no_error (error);
}

void
flow_run_some (Flow *self)
{
  for (guint i = 0; i < MORE; i++)
    flow_run_one (self);
}

/* Runs until @is_so, which it must become, and leaves the other threads their share of the CPU. */
void
flow_run_until (Flow *self, gboolean (*is_so) (Flow *self))
{
  const gint64 until = g_get_monotonic_time () + FLOW_LIMIT_US;

  while (!is_so (self)) {
    if (g_get_monotonic_time () > until)
      g_error ("%s after %u runs",
               gemmcl_tuning_state_get_name (gemmcl_plan_get_tuning (self->plan, NULL, NULL)),
               self->n);
    flow_run_one (self);
    g_usleep (200);
  }
}
