/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The same weights are on a context's device once, and other ones are never taken for them. Shared
 * contexts. */

#include <glib/gstdio.h>
#include <utime.h>

#include "../kernels/problem.h"
#include "files.h"

enum { M = 5, N = 24, K = 40 };

/* Nobody else's weights are in it. */
static GemmclContext *
make_context (void)
{
  g_autoptr (GError) error = NULL;
  GemmclContext *context = gemmcl_context_new (NULL, &error);

  g_assert_no_error (error);
  return context;
}

static GemmclPlan *
make_plan (GemmclContext *context, gsize m, const gchar *kernel, gboolean trans_b)
{
  GemmclGemm gemm = GEMMCL_GEMM_INIT;
  g_autoptr (GError) error = NULL;
  GemmclPlan *plan;

  gemm.m = m;
  gemm.n = N;
  gemm.k = K;
  gemm.trans_b = trans_b;
  plan = gemmcl_plan_new (context, &gemm, kernel, &error);
  if (kernel == NULL)
    g_assert_no_error (error);
  return plan;
}

/* Whole numbers from -2 to 2, which every type holds and whose sums are exact. */
static gfloat
get_b (gsize k, gsize n, guint seed)
{
  return (gfloat)((k * 7 + n * 3 + seed) % 5) - 2;
}

static GemmclMatrix *
make_b (guint seed, gboolean transposed)
{
  gfloat data[K * N];

  for (gsize k = 0; k < K; k++)
    for (gsize n = 0; n < N; n++)
      data[transposed ? n * K + k : k * N + n] = get_b (k, n, seed);
  return gemmcl_matrix_new (GEMMCL_TYPE_F32, transposed ? N : K, transposed ? K : N, data, NULL);
}

static void
set_b (GemmclPlan *plan, GemmclMatrix *b)
{
  g_autoptr (GError) error = NULL;

  gemmcl_plan_set_b (plan, b, &error);
  g_assert_no_error (error);
}

static void
set_seed (GemmclPlan *plan, guint seed)
{
  g_autoptr (GemmclMatrix) b = make_b (seed, FALSE);

  set_b (plan, b);
}

/* Row i of A picks row i of B. */
static void
assert_runs (GemmclPlan *plan, guint seed, const gchar *what)
{
  gfloat a[M * K] = {0}, d[M * N];
  GemmclData host_a = {.host = {a}}, host_d = {.host = {d}};
  const GemmclRun run = {.size = sizeof run, .m = M, .alpha = 1, .a = &host_a, .d = &host_d};
  g_autoptr (GError) error = NULL;

  for (gsize i = 0; i < M; i++)
    a[i * K + i * 7] = 1;
  gemmcl_plan_run (plan, &run, &error);
  g_assert_no_error (error);
  for (gsize i = 0; i < M; i++)
    for (gsize n = 0; n < N; n++)
      if (d[i * N + n] != get_b (i * 7, n, seed))
        g_error ("%s: D[%" G_GSIZE_FORMAT "][%" G_GSIZE_FORMAT "] is %g, expected %g", what, i, n,
                 d[i * N + n], get_b (i * 7, n, seed));
}

static GemmclContextStats
get_stats (GemmclContext *context)
{
  GemmclContextStats stats;

  gemmcl_context_get_stats (context, &stats);
  return stats;
}

static void
test_one_file (void)
{
  g_autoptr (GemmclContext) context = make_context ();
  g_autoptr (GemmclMatrix) made = make_b (1, FALSE);
  g_autoptr (GemmclMatrix) first = NULL, second = NULL;
  g_autoptr (GemmclPlan) small = NULL, large = NULL;
  g_auto (Files) files = {0};
  g_autofree gchar *path = NULL;
  guint64 bytes;

  files_init (&files);
  path = files_path (&files, "b.npy");
  g_assert_true (gemmcl_matrix_save_npy (made, path, NULL));
  first = gemmcl_matrix_load (path, NULL);
  second = gemmcl_matrix_load (path, NULL);
  g_assert_cmpuint (get_stats (context).weights, ==, 0);
  small = make_plan (context, M, "gemm_naive", FALSE);
  large = make_plan (context, 100 * M, "gemm_naive", FALSE);
  set_b (small, first);
  bytes = get_stats (context).weight_bytes;
  g_assert_cmpuint (bytes, ==, K * N * sizeof (gfloat));
  set_b (large, second);
  g_assert_cmpuint (get_stats (context).weights, ==, 1);
  g_assert_cmpuint (get_stats (context).weight_bytes, ==, bytes);
  g_clear_object (&small);
  g_assert_cmpuint (get_stats (context).weights, ==, 1);
  assert_runs (large, 1, "what is left");
  g_clear_object (&large);
  g_assert_cmpuint (get_stats (context).weights, ==, 0);
  g_assert_cmpuint (get_stats (context).weight_bytes, ==, 0);
}

/* [in, out] and [out, in] of the same layer are the same. */
static void
test_transposed (void)
{
  g_autoptr (GemmclContext) context = make_context ();
  g_autoptr (GemmclMatrix) b = make_b (1, FALSE), transposed = make_b (1, TRUE);
  g_autoptr (GemmclPlan) one = NULL, other = NULL;

  one = make_plan (context, M, "gemm_naive", FALSE);
  other = make_plan (context, M, "gemm_naive", TRUE);
  set_b (one, b);
  set_b (other, transposed);
  g_assert_cmpuint (get_stats (context).weights, ==, 1);
  assert_runs (other, 1, "transposed");
}

/* A change of one plan's is no change of another's. */
static void
test_changed (void)
{
  g_autoptr (GemmclContext) context = make_context ();
  g_autoptr (GemmclPlan) one = NULL, other = NULL;

  one = make_plan (context, M, NULL, FALSE);
  other = make_plan (context, M, NULL, FALSE);
  set_seed (one, 1);
  set_seed (other, 1);
  set_seed (other, 2);
  g_assert_cmpuint (get_stats (context).weights, ==, 2);
  assert_runs (one, 1, "the one that stays");
  assert_runs (other, 2, "the one that changes");
  set_seed (one, 2);
  g_assert_cmpuint (get_stats (context).weights, ==, 1);
  assert_runs (one, 2, "the one that follows");
}

/* The same path, size and times, but other numbers. */
static void
test_rewritten (void)
{
  const struct utimbuf times = {1000000000, 1000000000};
  g_autoptr (GemmclContext) context = make_context ();
  GemmclPlan *plans[2];
  g_auto (Files) files = {0};
  g_autofree gchar *path = NULL;

  files_init (&files);
  path = files_path (&files, "b.npy");
  for (guint i = 0; i < 2; i++) {
    g_autoptr (GemmclMatrix) made = make_b (i, FALSE), loaded = NULL;

    g_assert_true (gemmcl_matrix_save_npy (made, path, NULL));
    g_assert_cmpint (utime (path, &times), ==, 0);
    loaded = gemmcl_matrix_load (path, NULL);
    plans[i] = make_plan (context, M, NULL, FALSE);
    set_b (plans[i], loaded);
  }
  assert_runs (plans[0], 0, "what was in the file");
  assert_runs (plans[1], 1, "what is in the file");
  g_object_unref (plans[0]);
  g_object_unref (plans[1]);
}

/* With GEMMCL_TEST_BRIEF the first kernel of a method, and those that compile fast. */
static gboolean
is_tried (guint i)
{
  const gchar *method = gemmcl_get_kernel (i)->method;

  return g_getenv ("GEMMCL_TEST_BRIEF") == NULL || i == 0 || g_str_equal (method, "vector") ||
         !g_str_equal (method, gemmcl_get_kernel (i - 1)->method);
}

/* Every kernel, whole and with K in parts, has what it needs while all others have theirs. */
static void
test_kernels (void)
{
  static const gchar *const parts[] = {"", "/2"};
  g_autoptr (GemmclContext) context = make_context ();
  g_autoptr (GPtrArray) plans = g_ptr_array_new_with_free_func (g_object_unref);
  GemmclContextStats stats;

  for (guint i = 0; i < gemmcl_get_n_kernels (); i++)
    for (guint p = 0; is_tried (i) && p < G_N_ELEMENTS (parts); p++) {
      g_autofree gchar *name = g_strconcat (gemmcl_get_kernel (i)->name, parts[p], NULL);
      GemmclPlan *plan = make_plan (context, M, name, FALSE);

      if (plan == NULL)
        continue;
      g_ptr_array_add (plans, plan);
      set_seed (plan, 3);
    }
  stats = get_stats (context);
  g_test_message ("%u plans, %u weights, %" G_GUINT64_FORMAT " bytes", plans->len, stats.weights,
                  stats.weight_bytes);
  g_assert_cmpuint (plans->len, >=, 20);
  g_assert_cmpuint (stats.weights, >, 1);
  g_assert_cmpuint (stats.weights, <, plans->len);
  for (guint i = 0; i < plans->len; i++)
    assert_runs (plans->pdata[i], 3, gemmcl_plan_get_kernel (plans->pdata[i]));
  g_ptr_array_set_size (plans, 0);
  g_assert_cmpuint (get_stats (context).weights, ==, 0);
}

static gpointer
change_often (gpointer data)
{
  g_autoptr (GemmclPlan) plan = make_plan (data, M, "gemm_naive", FALSE);

  for (guint i = 0; i < 200; i++) {
    set_seed (plan, i % 2);
    assert_runs (plan, i % 2, "one of several threads");
  }
  return NULL;
}

static void
test_threads (void)
{
  g_autoptr (GemmclContext) context = make_context ();
  GThread *threads[4];

  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    threads[i] = g_thread_new ("plan", change_often, context);
  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    g_thread_join (threads[i]);
  g_assert_cmpuint (get_stats (context).weights, ==, 0);
  g_assert_cmpuint (get_stats (context).weight_bytes, ==, 0);
}

static gpointer
get_shared (gpointer data G_GNUC_UNUSED)
{
  return gemmcl_context_get_shared (NULL, NULL);
}

/* Those who ask at once get one, and it goes with the last of them. */
static void
test_shared (void)
{
  g_autoptr (GemmclContext) own = make_context ();
  GemmclContext *contexts[8];
  GThread *threads[G_N_ELEMENTS (contexts)];
  gpointer gone;

  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    threads[i] = g_thread_new ("asks", get_shared, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    contexts[i] = g_thread_join (threads[i]);
  gone = contexts[0];
  g_object_add_weak_pointer (G_OBJECT (contexts[0]), &gone);
  for (guint i = 0; i < G_N_ELEMENTS (contexts); i++) {
    g_assert_true (contexts[i] == contexts[0]);
    g_assert_true (contexts[i] != own);
  }
  for (guint i = 0; i < G_N_ELEMENTS (contexts); i++) {
    g_assert_nonnull (gone);
    g_object_unref (contexts[i]);
  }
  g_assert_null (gone);
}

int
main (int argc, char **argv)
{
  test_init_device (&argc, &argv);
  g_test_add_func ("/weights/one-file", test_one_file);
  g_test_add_func ("/weights/transposed", test_transposed);
  g_test_add_func ("/weights/changed", test_changed);
  g_test_add_func ("/weights/rewritten", test_rewritten);
  g_test_add_func ("/weights/kernels", test_kernels);
  g_test_add_func ("/weights/threads", test_threads);
  g_test_add_func ("/weights/shared", test_shared);
  return g_test_run ();
}
