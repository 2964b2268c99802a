/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The first use of OpenCL in a process, by several threads at once. Drivers set themselves up then,
 * and PoCL 3.1 does so without a lock. */
#include <pthread.h>

#include "gemmcl.h"

enum { THREADS = 4, STARTS = 20 };

static pthread_barrier_t start;

static gpointer
use_device (gpointer shared)
{
  const gfloat a = 3, b = 5;
  gfloat d = 0;
  GemmclGemm gemm = GEMMCL_GEMM_INIT;
  g_autoptr (GPtrArray) devices = NULL;
  g_autoptr (GemmclContext) context = NULL;
  g_autoptr (GError) error = NULL;

  gemm.m = gemm.n = gemm.k = 1;
  pthread_barrier_wait (&start);
  devices = gemmcl_list_devices (NULL, &error);
  g_assert_no_error (error);
  context = shared ? gemmcl_context_get_shared (NULL, &error) : gemmcl_context_new (NULL, &error);
  g_assert_no_error (error);
  gemmcl_gemm_run (context, &gemm, NULL, &a, &b, NULL, NULL, &d, &error);
  g_assert_no_error (error);
  g_assert_cmpfloat (d, ==, a * b);
  return GUINT_TO_POINTER (devices->len);
}

/* One start of a process. Runs only in processes that test_threads() starts. */
static void
test_start (void)
{
  GThread *threads[THREADS];
  guint found[THREADS];

  /* ThreadSanitizer does not see the lock under which GLib initialises a class. */
  g_type_class_unref (g_type_class_ref (GEMMCL_TYPE_CONTEXT));
  g_assert_cmpint (pthread_barrier_init (&start, NULL, THREADS), ==, 0);
  for (guint i = 0; i < THREADS; i++)
    threads[i] = g_thread_new ("first-use", use_device, GUINT_TO_POINTER (i % 2));
  for (guint i = 0; i < THREADS; i++)
    found[i] = GPOINTER_TO_UINT (g_thread_join (threads[i]));
  for (guint i = 0; i < THREADS; i++)
    g_assert_cmpuint (found[i], ==, found[0]);
  pthread_barrier_destroy (&start);
}

static void
test_threads (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) devices = gemmcl_list_devices (NULL, &error);

  if (devices == NULL) {
    g_test_skip (error->message);
    return;
  }
  for (guint i = 0; i < STARTS; i++) {
    g_test_trap_subprocess ("/first-use/threads/subprocess", 0, G_TEST_SUBPROCESS_INHERIT_STDERR);
    g_test_trap_assert_passed ();
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/first-use/threads", test_threads);
  g_test_add_func ("/first-use/threads/subprocess", test_start);
  return g_test_run ();
}
