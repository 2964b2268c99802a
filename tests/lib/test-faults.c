/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Each OpenCL call of a plan's life fails, alone or with all that follow it. The library reports
 * that or its results are right, nothing leaks or hangs, and the same plan works afterwards. */

#include "faults.h"
#include "files.h"
#include "gemmcl-opencl.h"
#include "gemmcl.h"

#define BATCH 3 /* at most */
#define RUNS  3 /* under way at once; one more follows, with other weights */

/* Cases of a sweep with GEMMCL_TEST_BRIEF, spread over all calls; which, the random seed tells. */
#define BRIEF_CASES 16

G_DEFINE_AUTO_CLEANUP_FREE_FUNC (cl_event, clReleaseEvent, NULL)

/* A is u8 and D f32, with @gap elements between their rows. The rules choose a @kernel of NULL. */
typedef struct {
  const gchar *name, *kernel;
  gsize m, n, k, batch, gap;
  GemmclPrecision precision;
  GemmclAddend addend;
  guint row_outputs;
  gboolean frame;
} Problem;

static const Problem problems[] = {
    {.name = "plain", .m = 33, .n = 5, .k = 17},
    {.name = "split", .kernel = "gemm_naive/2", .m = 4, .n = 8, .k = 64},
    {.name = "previous", .m = 9, .n = 5, .k = 17, .addend = GEMMCL_ADDEND_PREVIOUS},
    {.name = "batch", .m = 9, .n = 5, .k = 17, .batch = BATCH, .gap = 2},
    {.name = "bytes", .m = 16, .n = 16, .k = 32, .precision = GEMMCL_PRECISION_I8},
    {.name = "rows", .m = 9, .n = 5, .k = 17, .row_outputs = GEMMCL_ROW_MAX},
    {.name = "frame", .m = 20, .n = 4, .k = 3, .frame = TRUE},
    {.name = "large", .m = 512, .n = 96, .k = 16},
};

/**
 * Fixture: a plan and its runs
 * @first: the run before which the plan had no output
 * @a, @d, @rows: a batch of matrices for each run
 */
typedef struct {
  const Problem *problem;
  GemmclContext *context;
  GemmclPlan *plan;
  guint batch, first;
  guint8 *a[RUNS + 1][BATCH];
  gfloat *d[RUNS + 1][BATCH], *rows[RUNS + 1][BATCH];
  GemmclData host_a[RUNS + 1][BATCH], host_d[RUNS + 1][BATCH], host_rows[RUNS + 1][BATCH];
  cl_event done[RUNS + 1];
} Fixture;

/* The first two make bytes exact when a row of A and a column of B are quantised anew. */
static gint
get_a (guint run, guint batch, gsize i, gsize k)
{
  return k == 0 ? 0 : k == 1 ? 255 : (gint)((i * 7 + k * 31 + run * 5 + batch) % 256);
}

static gint
get_b (guint run, gsize k, gsize j)
{
  return k == 0 ? 127 : (gint)((k * 5 + j * 11 + (run < RUNS) * 3) % 255) - 127;
}

/* Whole numbers, which floats hold. */
static gdouble
get_d (const Fixture *self, guint run, guint batch, gsize i, gsize j)
{
  gdouble sum = 0;

  for (gsize k = 0; k < self->problem->k; k++)
    sum += get_a (run, batch, i, k) * get_b (run, k, j);
  if (self->problem->addend == GEMMCL_ADDEND_PREVIOUS && run > self->first)
    sum += get_d (self, run - 1, batch, i, j);
  return sum;
}

static void
fixture_init (Fixture *self, const Problem *problem)
{
  *self = (Fixture){.problem = problem, .batch = MAX (problem->batch, 1)};
  for (guint run = 0; run <= RUNS; run++)
    for (guint batch = 0; batch < self->batch; batch++) {
      const gsize lda = problem->k + problem->gap, ldd = problem->n + problem->gap;

      self->a[run][batch] = g_aligned_alloc0 (problem->m, lda, 64);
      self->d[run][batch] = g_aligned_alloc0 (problem->m, ldd * sizeof (gfloat), 64);
      self->rows[run][batch] = g_new0 (gfloat, problem->m);
      self->host_a[run][batch] = (GemmclData){.host = {self->a[run][batch]}, .stride = {lda * 5}};
      self->host_d[run][batch] = (GemmclData){.host = {self->d[run][batch]}};
      self->host_rows[run][batch] = (GemmclData){.host = {self->rows[run][batch]}};
      for (gsize i = 0; i < problem->m; i++)
        for (gsize k = 0; k < problem->k; k++)
          self->a[run][batch][i * lda + k] = get_a (run, batch, i, k);
    }
}

static gboolean
finish (Fixture *self, guint run, GError **error)
{
  g_auto (cl_event) done = g_steal_pointer (&self->done[run]);
  const cl_int status = clWaitForEvents (1, &done);

  if (status == CL_SUCCESS)
    return TRUE;
  g_set_error (error, GEMMCL_ERROR, GEMMCL_ERROR_OPENCL, "The run failed with %d.", status);
  return FALSE;
}

static void
fixture_clear (Fixture *self)
{
  for (guint run = 0; run <= RUNS; run++)
    if (self->done[run])
      finish (self, run, NULL);
  g_clear_object (&self->plan);
  g_clear_object (&self->context);
  for (guint run = 0; run <= RUNS; run++)
    for (guint batch = 0; batch < self->batch; batch++) {
      g_aligned_free (self->a[run][batch]);
      g_aligned_free (self->d[run][batch]);
      g_free (self->rows[run][batch]);
    }
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Fixture, fixture_clear)

static gboolean
make_context (Fixture *self, GError **error)
{
  if (self->context == NULL)
    self->context = gemmcl_context_new (NULL, error);
  return self->context != NULL;
}

static GemmclGemm
get_gemm (const Fixture *self)
{
  static const GemmclImage image = {
      .format = GEMMCL_PIXEL_RGB, .width = 5, .height = 4, .features = GEMMCL_FEATURE_PIXEL};
  const Problem *problem = self->problem;
  GemmclGemm gemm = GEMMCL_GEMM_INIT;

  gemm.m = problem->m;
  gemm.n = problem->n;
  gemm.k = problem->k;
  gemm.lda = problem->frame ? 0 : problem->k + problem->gap;
  gemm.ldd = problem->n + problem->gap;
  gemm.batch = self->batch;
  gemm.a_type = GEMMCL_TYPE_U8;
  gemm.precision = problem->precision;
  gemm.addend = problem->addend;
  gemm.row_outputs = problem->row_outputs;
  gemm.a_image = problem->frame ? &image : NULL;
  return gemm;
}

static gboolean
make_plan (Fixture *self, GError **error)
{
  const GemmclGemm gemm = get_gemm (self);

  self->plan = gemmcl_plan_new (self->context, &gemm, self->problem->kernel, error);
  return self->plan != NULL;
}

/* The weights of @run. */
static gboolean
set_b (Fixture *self, guint run, GError **error)
{
  const Problem *problem = self->problem;
  g_autofree gfloat *values = g_new (gfloat, problem->k * problem->n);
  g_autoptr (GemmclMatrix) b = NULL;

  for (gsize k = 0; k < problem->k; k++)
    for (gsize j = 0; j < problem->n; j++)
      values[k * problem->n + j] = get_b (run, k, j);
  b = gemmcl_matrix_new (GEMMCL_TYPE_F32, problem->k, problem->n, values, NULL);
  return gemmcl_plan_set_b (self->plan, b, error);
}

static gboolean
submit (Fixture *self, guint run, GError **error)
{
  GemmclRun description = GEMMCL_RUN_INIT;

  description.a = self->host_a[run];
  description.d = self->host_d[run];
  description.rows = self->problem->row_outputs ? self->host_rows[run] : NULL;
  description.beta = self->problem->addend == GEMMCL_ADDEND_PREVIOUS;
  return gemmcl_plan_submit (self->plan, &description, NULL, &self->done[run], error);
}

static void
check_row (const Fixture *self, guint run, guint batch, gsize i)
{
  const Problem *problem = self->problem;
  gdouble largest = -G_MAXDOUBLE;

  for (gsize j = 0; j < problem->n; j++) {
    const gfloat found = self->d[run][batch][i * (problem->n + problem->gap) + j];
    const gdouble expected = get_d (self, run, batch, i, j);

    largest = MAX (largest, expected);
    if (found != expected)
      g_error ("run %u, batch %u: D[%" G_GSIZE_FORMAT "][%" G_GSIZE_FORMAT "] is %g, expected %g",
               run, batch, i, j, found, expected);
  }
  if (problem->row_outputs)
    g_assert_cmpfloat (self->rows[run][batch][i], ==, largest);
}

static gboolean
finish_right (Fixture *self, guint run, GError **error)
{
  if (!finish (self, run, error))
    return FALSE;
  for (guint batch = 0; batch < self->batch; batch++)
    for (gsize i = 0; i < self->problem->m; i++)
      check_row (self, run, batch, i);
  return TRUE;
}

/* The plan's life; its end is fixture_clear(). */
static gboolean
live (Fixture *self, GError **error)
{
  if (!make_context (self, error) || !make_plan (self, error) || !set_b (self, 0, error))
    return FALSE;
  for (guint run = 0; run < RUNS; run++)
    if (!submit (self, run, error))
      return FALSE;
  for (guint run = 0; run < RUNS; run++)
    if (!finish_right (self, run, error))
      return FALSE;
  return set_b (self, RUNS, error) && submit (self, RUNS, error) &&
         finish_right (self, RUNS, error);
}

/* A search for the fastest kernel. That one fails costs it no more than that candidate; what is
 * found works. */
static gboolean
search (Fixture *self, GError **error)
{
  const GemmclGemm gemm = get_gemm (self);
  GemmclTuningOptions options = GEMMCL_TUNING_OPTIONS_INIT;
  g_autoptr (GemmclTuningResult) result = NULL;

  options.candidates = 3;
  options.share = 1.0;
  options.seconds = 1e-3; /* so that turns are of one run */
  options.dry_run = TRUE;
  result = gemmcl_tuning_search (self->context, &gemm, &options, NULL, error);
  if (result == NULL)
    return FALSE;
  for (guint i = 0; i < result->candidates->len; i++) {
    const GemmclTuningCandidate *candidate = g_ptr_array_index (result->candidates, i);

    g_assert_true (!candidate->faulty || (candidate != result->best && candidate->why != NULL));
  }
  return TRUE;
}

/* After a call that failed, others do not. */
static void
recover (Fixture *self)
{
  g_autoptr (GError) error = NULL;

  for (guint run = 0; run <= RUNS; run++)
    if (self->done[run])
      finish (self, run, NULL);
  if (self->plan == NULL && !make_plan (self, &error))
    g_error ("The next plan: %s", error->message);
  gemmcl_plan_reset_previous (self->plan);
  self->first = RUNS;
  if (!set_b (self, RUNS, &error) || !submit (self, RUNS, &error) ||
      !finish_right (self, RUNS, &error))
    g_error ("The next run: %s", error->message);
}

static void
check_error (const GError *error)
{
  g_assert_nonnull (error);
  g_assert_cmpstr (g_quark_to_string (error->domain), ==, g_quark_to_string (GEMMCL_ERROR));
  g_assert_cmpuint (strlen (error->message), >, 0);
  g_assert_true (g_utf8_validate (error->message, -1, NULL));
}

static void
forget_programs (void)
{
  g_autofree gchar *dir = g_build_filename (g_get_user_cache_dir (), "gemmcl", NULL);

  files_remove_all (dir);
}

/**
 * Sweep: a case for each call
 * @makes_context: the context is made while calls fail; otherwise before
 * @compiles: there are no programs in the disk's cache
 * @searches: not a plan's life, but a search
 */
typedef struct {
  const Problem *problem;
  FaultsMode mode;
  gboolean makes_context, compiles, searches;
} Sweep;

/* Returns: whether the library reported an error. */
static gboolean
run_case (const Sweep *sweep, FaultsMode mode, guint n)
{
  g_auto (Fixture) self = {0};
  g_autoptr (GError) error = NULL;
  gboolean lived;

  if (sweep->compiles)
    forget_programs ();
  fixture_init (&self, sweep->problem);
  if (!sweep->makes_context)
    make_context (&self, NULL);
  faults_start_case (sweep->problem->name, mode, n);
  lived = sweep->searches ? search (&self, &error) : live (&self, &error);
  if (!lived)
    check_error (error);
  if (!lived && mode != FAULTS_REST && !sweep->makes_context) {
    faults_set (FAULTS_NONE, 0);
    recover (&self);
  }
  g_clear_object (&self.plan);
  g_clear_object (&self.context);
  faults_end_case ();
  return !lived;
}

static void
test_sweep (gconstpointer data)
{
  const Sweep *self = data;
  const FaultsMode counting = self->mode == FAULTS_LATE ? FAULTS_LATE : FAULTS_ONE;
  guint calls, step, cases = 0, reported = 0;

  if (!faults_init ())
    return;
  g_assert_false (run_case (self, FAULTS_NONE, 0));
  g_assert_false (run_case (self, counting, 0));
  faults_assert_no_objects ();
  calls = faults_get_calls ();
  /* Most calls of a search are of runs, one like the other. A search has fewer on a busy machine,
   * so the first one is always among those that fail. */
  step = g_getenv ("GEMMCL_TEST_BRIEF") || self->searches ? calls / BRIEF_CASES + 1 : 1;
  for (guint n = 1; n <= calls; n += g_test_rand_int_range (1, 2 * step), cases++) {
    reported += run_case (self, self->mode, n);
    faults_assert_no_objects ();
  }
  g_assert_cmpuint (reported, >, 0);
  g_test_message ("%u of %u calls: %u errors, and the results of the others are right", cases,
                  calls, reported);
}

/* Memory and launches of a new plan's warm-up, which are its last calls, behind a queue of its own:
 * each may fail, and the plan is made all the same and works. */
static void
test_warm_up (void)
{
  g_auto (Fixture) self = {0};
  g_autoptr (GError) error = NULL;
  guint calls, forgiven = 0, buffers = 0;
  gboolean in_warm_up = TRUE;

  if (!faults_init ())
    return;
  fixture_init (&self, &problems[0]);
  g_assert_true (make_context (&self, NULL));
  if (gemmcl_context_get_device_info (self.context)->type != GEMMCL_DEVICE_TYPE_CPU) {
    g_test_skip ("Only CPUs are warmed up.");
    return;
  }
  g_assert_true (make_plan (&self, NULL)); /* compiles, which others need not */
  g_clear_object (&self.plan);
  faults_start_case ("warm-up", FAULTS_ONE, 0);
  g_assert_true (make_plan (&self, NULL));
  calls = faults_get_calls ();
  for (guint n = calls; in_warm_up; n--, forgiven++) {
    g_clear_object (&self.plan);
    faults_set (FAULTS_ONE, n);
    make_plan (&self, &error);
    faults_set (FAULTS_NONE, 0);
    g_test_message ("call %u of %u, %s", n, calls, faults_get_failed ());
    g_assert_no_error (error);
    buffers += g_str_equal (faults_get_failed (), "clCreateBuffer");
    in_warm_up = !g_str_has_prefix (faults_get_failed (), "clCreateCommandQueue");
    recover (&self);
  }
  faults_end_case ();
  g_assert_cmpuint (buffers, >=, 3); /* A, B and D */
  g_assert_cmpuint (forgiven, >, buffers + 1);
}

static void
add_test (const gchar *group, const Sweep *sweep)
{
  static const gchar *const modes[] = {
      [FAULTS_ONE] = "one", [FAULTS_REST] = "rest", [FAULTS_LATE] = "late"};
  g_autofree gchar *path = g_strdup_printf ("/faults/%s/%s", group, modes[sweep->mode]);

  g_test_add_data_func_full (path, g_memdup2 (sweep, sizeof *sweep), test_sweep, g_free);
}

int
main (int argc, char **argv)
{
  g_auto (Files) files = {0};
  gint status;

  files_init (&files);
  g_setenv ("XDG_CACHE_HOME", files.dir, TRUE);
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (problems); i++)
    for (FaultsMode mode = FAULTS_ONE; mode <= FAULTS_LATE; mode++)
      add_test (problems[i].name, &(Sweep){&problems[i], mode, FALSE, FALSE, FALSE});
  for (FaultsMode mode = FAULTS_ONE; mode <= FAULTS_LATE; mode++)
    add_test ("search", &(Sweep){&problems[0], mode, FALSE, FALSE, TRUE});
  for (FaultsMode mode = FAULTS_ONE; mode <= FAULTS_REST; mode++) {
    add_test ("context", &(Sweep){&problems[0], mode, TRUE, FALSE, FALSE});
    add_test ("compile", &(Sweep){&problems[0], mode, TRUE, TRUE, FALSE});
  }
  g_test_add_func ("/faults/warm-up", test_warm_up);
  status = g_test_run ();
  forget_programs ();
  return status;
}
