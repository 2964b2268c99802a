/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * gemmcl_plan_auto_tune(): a plan is run all the time (flow.h) while a faster kernel is found and
 * takes over. The device's clock is the test's (clock.h), which decides which kernel is faster; all
 * else is real. The library's cache directory is the test's own.
 */

#include "../next.h"
#include "clock.h"
#include "files.h"
#include "flow.h"

#define FAST  10  /* microseconds: a search rests 49 times as long */
#define USUAL 20  /* of kernels that are neither fast nor slow */
#define SLOW  900 /* longer than what is run five times at first */

static GemmclContext *context;
static GThread *main_thread;

/* Effects on other threads that create a buffer or build a program. */
typedef enum { PASS, FAIL, BLOCK } Hook;

static GMutex hook_lock; /* guards what follows */
static GCond hook_changed;
static Hook on_buffer, on_build;
static guint n_blocked; /* threads */

static void
set_hooks (Hook buffer, Hook build)
{
  g_mutex_lock (&hook_lock);
  on_buffer = buffer;
  on_build = build;
  g_cond_broadcast (&hook_changed);
  g_mutex_unlock (&hook_lock);
}

/* Returns: whether the call fails. */
static gboolean
pass (const Hook *hook)
{
  gboolean fails;

  if (g_thread_self () == main_thread)
    return FALSE;
  g_mutex_lock (&hook_lock);
  while (*hook == BLOCK) {
    n_blocked++;
    g_cond_wait (&hook_changed, &hook_lock);
    n_blocked--;
  }
  fails = *hook == FAIL;
  g_mutex_unlock (&hook_lock);
  return fails;
}

static gboolean
is_blocked (void)
{
  gboolean blocked;

  g_mutex_lock (&hook_lock);
  blocked = n_blocked > 0;
  g_mutex_unlock (&hook_lock);
  return blocked;
}

/* Stand before OpenCL's. */
cl_mem CL_API_CALL
clCreateBuffer (cl_context where, cl_mem_flags flags, size_t size, void *data, cl_int *status)
{
  if (!pass (&on_buffer))
    return NEXT (clCreateBuffer) (where, flags, size, data, status);
  *status = CL_OUT_OF_RESOURCES;
  return NULL;
}

cl_int CL_API_CALL
clBuildProgram (cl_program program, cl_uint n, const cl_device_id *devices, const char *options,
                void (CL_CALLBACK *notify) (cl_program, void *), void *data)
{
  return pass (&on_build) ? CL_BUILD_PROGRAM_FAILURE
                          : NEXT (clBuildProgram) (program, n, devices, options, notify, data);
}

static gboolean
is_final (Flow *self)
{
  return gemmcl_plan_get_tuning (self->plan, NULL, NULL) >= GEMMCL_TUNING_STATE_KEPT;
}

static gboolean
has_result (Flow *self)
{
  const GemmclTuningResult *result;

  gemmcl_plan_get_tuning (self->plan, &result, NULL);
  return result != NULL;
}

static gboolean
has_blocked (Flow *self G_GNUC_UNUSED)
{
  return is_blocked ();
}

/* All runs are right, and were counted. */
static void
finish (Flow *self)
{
  GemmclPlanStats stats;

  flow_run_some (self);
  flow_check_all (self);
  g_assert_true (gemmcl_plan_cancel_tuning (self->plan, FLOW_LIMIT_US));
  gemmcl_plan_get_stats (self->plan, &stats);
  g_assert_cmpuint (stats.runs, ==, self->n);
  g_assert_cmpfloat (stats.flops, ==, 2.0 * FLOW_M * FLOW_N * FLOW_K * self->n);
  g_test_message ("%u runs", self->n);
}

/* The @index-th candidate of the rules; 0 is their choice. */
static gchar *
get_candidate (guint index)
{
  const GemmclGemm gemm = flow_get_problem (GEMMCL_ADDEND_NONE);
  g_auto (GStrv) names = gemmcl_tuning_list_candidates (context, &gemm);

  g_assert_cmpuint (g_strv_length (names), >, index);
  return g_strdup (names[index]);
}

/* Forgets what was found, and makes a kernel that the rules do not choose the fastest; its name. */
static gchar *
begin (void)
{
  g_autoptr (GError) error = NULL;
  gchar *kernel = get_candidate (2);

  gemmcl_tuning_forget (context, &error);
  g_assert_no_error (error);
  clock_reset ();
  clock_set (NULL, USUAL);
  clock_set (kernel, FAST);
  return kernel;
}

static void
assert_swapped (Flow *self, const gchar *kernel)
{
  assert_state (self, "swapped");
  g_assert_cmpstr (gemmcl_plan_get_kernel (self->plan), ==, kernel);
  g_assert_cmpint (gemmcl_plan_get_choice_source (self->plan), ==, GEMMCL_CHOICE_TUNED);
}

static void
assert_first (Flow *self, const gchar *state)
{
  assert_state (self, state);
  g_assert_cmpstr (gemmcl_plan_get_kernel (self->plan), ==, self->first);
}

/* The swap, with all operands; and the next plan, which takes the kernel from the file. */
static void
test_swap (void)
{
  g_autofree gchar *kernel = begin ();
  const GemmclTuningResult *result;
  const gchar *why;
  g_auto (Flow) flow = {NULL};
  g_auto (Flow) next = {NULL};

  flow_init (&flow, context, NULL, GEMMCL_AUTO_TUNE_ON, GEMMCL_ADDEND_MATRIX);
  flow_set_bias (&flow, 1);
  flow_set_c (&flow, 1);
  g_assert_cmpint (gemmcl_plan_get_choice_source (flow.plan), ==, GEMMCL_CHOICE_RULES);
  flow_run_until (&flow, is_final);
  assert_swapped (&flow, kernel);
  finish (&flow);
  assert_swapped (&flow, kernel);
  gemmcl_plan_get_tuning (flow.plan, &result, &why);
  g_assert_cmpstr (result->first->kernel, ==, flow.first);
  g_assert_cmpstr (result->best->kernel, ==, kernel);
  g_assert_true (result->stored);
  g_assert_null (why);
  clock_reset ();
  flow_init (&next, context, NULL, GEMMCL_AUTO_TUNE_ON, GEMMCL_ADDEND_MATRIX);
  finish (&next);
  assert_state (&next, "known");
  g_assert_cmpstr (gemmcl_plan_get_kernel (next.plan), ==, kernel);
  g_assert_cmpuint (clock_count (kernel), ==, next.n);
}

/* The previous result goes over to the other kernel. */
static void
test_previous (void)
{
  g_autofree gchar *kernel = begin ();
  g_auto (Flow) flow = {NULL};

  flow_init (&flow, context, NULL, GEMMCL_AUTO_TUNE_ON, GEMMCL_ADDEND_PREVIOUS);
  flow_run_until (&flow, is_final);
  assert_swapped (&flow, kernel);
  finish (&flow);
}

static gboolean
change_operands (Flow *self)
{
  if (self->n % 10 == 0)
    flow_set_b (self, self->seed + 1);
  if (self->n % 35 == 0)
    flow_set_bias (self, self->bias + 1);
  return is_final (self);
}

/* Operands that change all the time go over, too. */
static void
test_operands (void)
{
  g_autofree gchar *kernel = begin ();
  g_auto (Flow) flow = {NULL};

  flow_init (&flow, context, NULL, GEMMCL_AUTO_TUNE_ON, GEMMCL_ADDEND_NONE);
  flow_run_until (&flow, change_operands);
  assert_swapped (&flow, kernel);
  flow_run_some (&flow);
  flow_set_b (&flow, 1000);
  flow_set_bias (&flow, 1000);
  finish (&flow);
}

/* An operand that was prepared and not used keeps the kernel, until it is used or freed. */
static void
test_prepared (void)
{
  for (guint i = 0; i < 2; i++) {
    g_autofree gchar *kernel = begin ();
    g_autoptr (GemmclMatrix) b = flow_make_b (2);
    GemmclPrepared *prepared;
    g_auto (Flow) flow = {NULL};

    flow_init (&flow, context, NULL, GEMMCL_AUTO_TUNE_ON, GEMMCL_ADDEND_NONE);
    prepared = flow_prepare (&flow, GEMMCL_PLAN_B, b);
    flow_run_until (&flow, has_result);
    for (guint j = 0; j < 5; j++) {
      flow_run_some (&flow);
      g_usleep (G_USEC_PER_SEC / 10);
    }
    assert_first (&flow, "searching");
    if (i == 0) {
      gemmcl_plan_use (flow.plan, prepared);
      flow.seed = 2;
      /* The operand that it holds now keeps nothing. */
      flow_run_until (&flow, is_final);
    }
    gemmcl_prepared_free (prepared);
    flow_run_until (&flow, is_final);
    assert_swapped (&flow, kernel);
    finish (&flow);
  }
}

/* Runs go on while the thread prepares an operand that changed, however long that takes. */
static void
test_block (void)
{
  g_autofree gchar *kernel = begin ();
  g_autoptr (GemmclMatrix) bias = flow_make_c (1, 5);
  GemmclPrepared *prepared;
  g_auto (Flow) flow = {NULL};

  flow_init (&flow, context, NULL, GEMMCL_AUTO_TUNE_ON, GEMMCL_ADDEND_NONE);
  prepared = flow_prepare (&flow, GEMMCL_PLAN_BIAS, bias);
  flow_run_until (&flow, has_result);
  set_hooks (BLOCK, PASS);
  gemmcl_plan_use (flow.plan, prepared);
  gemmcl_prepared_free (prepared);
  flow.bias = 5;
  flow_run_until (&flow, has_blocked);
  flow_run_some (&flow);
  assert_first (&flow, "searching");
  set_hooks (PASS, PASS);
  flow_run_until (&flow, is_final);
  assert_swapped (&flow, kernel);
  finish (&flow);
}

/* Another context, which has built no candidate yet. */
static void
renew_context (void)
{
  g_autoptr (GError) error = NULL;

  g_clear_object (&context);
  context = gemmcl_context_new (NULL, &error);
  g_assert_no_error (error);
}

/* A compiler that does not return keeps its thread. It keeps neither the plan from running and from
 * going, nor others of the context from what they compile. */
static void
test_stuck (void)
{
  g_auto (Flow) flow = {NULL};
  g_auto (Flow) named = {NULL};
  gint64 begun;

  renew_context ();
  g_free (begin ());
  set_hooks (PASS, BLOCK);
  flow_init (&flow, context, NULL, GEMMCL_AUTO_TUNE_ON, GEMMCL_ADDEND_NONE);
  flow_run_until (&flow, has_blocked);
  flow_run_some (&flow);
  flow_check_all (&flow);
  assert_first (&flow, "searching");
  flow_set_b (&flow, 2);
  flow_init (&named, context, "gemm_naive", GEMMCL_AUTO_TUNE_ON, GEMMCL_ADDEND_NONE);
  finish (&named);
  g_assert_false (gemmcl_plan_cancel_tuning (flow.plan, 0));
  begun = g_get_monotonic_time ();
  g_assert_false (gemmcl_plan_cancel_tuning (flow.plan, G_USEC_PER_SEC / 10));
  g_assert_cmpint (g_get_monotonic_time () - begun, >=, G_USEC_PER_SEC / 10);
  assert_first (&flow, "off");
  g_clear_object (&flow.plan);
  set_hooks (PASS, PASS);
}

/* A plan is dropped, or its search cancelled, at any moment. */
static void
test_drop (void)
{
  for (guint i = 0; i < 8; i++) {
    g_auto (Flow) flow = {NULL};

    g_free (begin ());
    flow_init (&flow, context, NULL, GEMMCL_AUTO_TUNE_ON, GEMMCL_ADDEND_NONE);
    flow_run_one (&flow);
    g_usleep (i * i * 5000);
    if (i % 2 == 0) {
      g_assert_true (gemmcl_plan_cancel_tuning (flow.plan, FLOW_LIMIT_US));
      if (!is_final (&flow))
        assert_first (&flow, "off");
      finish (&flow);
    }
    flow_check_all (&flow);
  }
}

static gboolean
is_searching (Flow *self)
{
  return gemmcl_plan_get_tuning (self->plan, NULL, NULL) == GEMMCL_TUNING_STATE_SEARCHING;
}

/* Searches take turns, and one does not look for what another has found. */
static void
test_turns (void)
{
  g_autofree gchar *kernel = begin (), *slow = get_candidate (1);
  g_auto (Flow) one = {NULL};
  g_auto (Flow) two = {NULL};
  g_auto (Flow) three = {NULL};

  /* Its first run is its last, so that it counts the searches. */
  clock_set (slow, SLOW);
  flow_init (&one, context, NULL, GEMMCL_AUTO_TUNE_ON, GEMMCL_ADDEND_NONE);
  flow_run_until (&one, is_searching);
  flow_init (&two, context, NULL, GEMMCL_AUTO_TUNE_ON, GEMMCL_ADDEND_NONE);
  flow_init (&three, context, NULL, GEMMCL_AUTO_TUNE_ON, GEMMCL_ADDEND_NONE);
  assert_state (&two, "waiting");
  assert_state (&three, "waiting");
  g_assert_true (gemmcl_plan_cancel_tuning (three.plan, FLOW_LIMIT_US));
  assert_state (&three, "off");
  assert_state (&one, "searching");
  flow_run_until (&one, is_final);
  flow_run_until (&two, is_final);
  assert_swapped (&one, kernel);
  assert_swapped (&two, kernel);
  g_assert_true (has_result (&one));
  g_assert_false (has_result (&two));
  g_assert_cmpuint (clock_count (slow), ==, 1);
  finish (&one);
  finish (&two);
  finish (&three);
  assert_first (&three, "off");
}

/* Where the rules chose well, all stays as it is. */
static void
test_kept (void)
{
  g_auto (Flow) flow = {NULL};

  g_free (begin ());
  clock_reset ();
  clock_set (NULL, USUAL);
  flow_init (&flow, context, NULL, GEMMCL_AUTO_TUNE_ON, GEMMCL_ADDEND_NONE);
  flow_run_until (&flow, is_final);
  assert_first (&flow, "kept");
  g_assert_cmpint (gemmcl_plan_get_choice_source (flow.plan), ==, GEMMCL_CHOICE_RULES);
  finish (&flow);
}

/* Candidates that do not build are not used; nor is a search a loss that finds no memory, or an
 * operand that cannot be prepared for the other kernel. */
static void
test_failures (void)
{
  const GemmclTuningResult *result;
  const gchar *why;

  for (guint i = 0; i < 3; i++) {
    g_autoptr (GemmclMatrix) bias = flow_make_c (1, 5);
    g_auto (Flow) flow = {NULL};

    renew_context ();
    g_free (begin ());
    set_hooks (i == 1 ? FAIL : PASS, i == 0 ? FAIL : PASS);
    flow_init (&flow, context, NULL, GEMMCL_AUTO_TUNE_ON, GEMMCL_ADDEND_NONE);
    if (i == 2) {
      GemmclPrepared *prepared = flow_prepare (&flow, GEMMCL_PLAN_BIAS, bias);

      flow_run_until (&flow, has_result);
      set_hooks (FAIL, PASS);
      gemmcl_plan_use (flow.plan, prepared);
      gemmcl_prepared_free (prepared);
      flow.bias = 5;
    }
    flow_run_until (&flow, is_final);
    assert_first (&flow, i == 0 ? "kept" : "failed");
    gemmcl_plan_get_tuning (flow.plan, &result, &why);
    for (guint j = 1; i == 0 && j < result->candidates->len; j++)
      g_assert_true (((GemmclTuningCandidate *)g_ptr_array_index (result->candidates, j))->faulty);
    g_assert_cmpint (result != NULL, ==, i != 1);
    if (i > 0)
      g_assert_nonnull (strstr (why, "CL_OUT_OF_RESOURCES"));
    flow_set_b (&flow, 2);
    finish (&flow);
    assert_first (&flow, i == 0 ? "kept" : "failed");
    set_hooks (PASS, PASS);
  }
}

/* By default CPUs are not tuned, and a kernel that was named is never left. */
static void
test_off (void)
{
  static const struct {
    const gchar *kernel;
    GemmclAutoTune mode;
  } cases[] = {{NULL, GEMMCL_AUTO_TUNE_OFF},
               {"gemm_naive", GEMMCL_AUTO_TUNE_ON},
               {NULL, GEMMCL_AUTO_TUNE_AUTO}};
  const gboolean is_cpu = gemmcl_context_get_device_info (context)->type == GEMMCL_DEVICE_TYPE_CPU;

  for (guint i = 0; i < G_N_ELEMENTS (cases) - (is_cpu ? 0 : 1); i++) {
    g_autofree gchar *kernel = begin ();
    g_auto (Flow) flow = {NULL};

    flow_init (&flow, context, cases[i].kernel, cases[i].mode, GEMMCL_ADDEND_NONE);
    finish (&flow);
    assert_first (&flow, "off");
    g_assert_cmpuint (clock_count (kernel), ==, 0);
  }
}

int
main (int argc, char **argv)
{
  g_autoptr (GError) error = NULL;
  g_auto (Files) files = {NULL};
  gint status;

  files_init (&files);
  files_enter_cache (&files);
  g_test_init (&argc, &argv, NULL);
  main_thread = g_thread_self ();
  context = gemmcl_context_new (NULL, &error);
  if (context == NULL) {
    g_print ("1..0 # SKIP %s\n", error->message);
    return 0;
  }
  g_test_add_func ("/auto-tune/swap", test_swap);
  g_test_add_func ("/auto-tune/previous", test_previous);
  g_test_add_func ("/auto-tune/operands", test_operands);
  g_test_add_func ("/auto-tune/prepared", test_prepared);
  g_test_add_func ("/auto-tune/block", test_block);
  g_test_add_func ("/auto-tune/stuck", test_stuck);
  g_test_add_func ("/auto-tune/drop", test_drop);
  g_test_add_func ("/auto-tune/turns", test_turns);
  g_test_add_func ("/auto-tune/kept", test_kept);
  g_test_add_func ("/auto-tune/failures", test_failures);
  g_test_add_func ("/auto-tune/off", test_off);
  status = g_test_run ();
  g_clear_object (&context);
  return status;
}
