/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>
#include <unistd.h>

#include "load.h"

/* Elements with many buffers in flight: order, EOS, flushes, caps, settings and states that change
 * under load, leaks, and the memory in use, for which "-p /steady" is a process of its own. Each
 * test sends ten thousand buffers, or some hundred with GEMMCL_TEST_BRIEF. */

/** On GPUs a search would take memory besides the stream's. */
#define GEMMCL "gemmcl auto-tune=off "

static const LoadLine lines[] = {
    {"one", GEMMCL "queue-depth=3 name=a weight=" LOAD_WEIGHT, 2},
    /* They hand on OpenCL memory, and the second one collects batches. */
    {"two",
     GEMMCL "queue-depth=3 weight=" LOAD_WEIGHT " ! " GEMMCL
            "queue-depth=3 batch-size=2 weight=" LOAD_WEIGHT,
     4},
};

static guint
get_n (void)
{
  return g_getenv ("GEMMCL_TEST_BRIEF") ? 300 : 10000;
}

static void
test_flow (gconstpointer flow)
{
  for (guint i = 0; i < G_N_ELEMENTS (lines); i++)
    load_run (flow, &lines[i], NULL, get_n ());
}

static void
test_control (void)
{
  load_run_controlled (GEMMCL "batch-size=3 batch-timeout=1000000 queue-depth=3 qos=true",
                       get_n ());
}

/* Heaps and drivers may need that much more when they are warm. */
#define SLACK_KIB 1024

/* A sanitizer keeps what was freed. */
static gboolean
is_sanitized (void)
{
#if defined(__has_feature)
  #if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  return TRUE;
  #endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return TRUE;
#endif
  return FALSE;
}

/* KiB of memory that the process has in use; 0 where that is not told. */
static guint64
get_resident (void)
{
  g_autofree gchar *text = NULL;
  guint64 pages = 0;

  if (!g_file_get_contents ("/proc/self/statm", &text, NULL, NULL) ||
      sscanf (text, "%*u %" G_GUINT64_FORMAT, &pages) != 1)
    return 0;
  return pages * (guint64)sysconf (_SC_PAGESIZE) / 1024;
}

/* Memory does not grow with the buffers that went through. */
static void
test_steady (gconstpointer line)
{
  const guint n = g_getenv ("GEMMCL_TEST_BRIEF") ? 2000 : 100000, warm = MAX (n / 10, 500);
  g_auto (Load) load = {NULL};
  guint64 before = 0, after;

  load_init (&load, line, NULL, 0);
  for (guint i = 0; i < warm + n; i++) {
    g_assert_cmpint (load_push (&load), ==, GST_FLOW_OK);
    if (i == warm)
      before = get_resident ();
  }
  after = get_resident ();
  g_test_message ("%" G_GUINT64_FORMAT " KiB before, %" G_GUINT64_FORMAT " KiB after", before,
                  after);
  if (!is_sanitized ())
    g_assert_cmpuint (after, <=, before + SLACK_KIB);
}

int
main (int argc, char **argv)
{
  g_autoptr (GstTracer) tracer = NULL;

  stream_test_init (&argc, &argv);
  for (guint i = 0; i < G_N_ELEMENTS (lines); i++) {
    g_autofree gchar *path = g_strconcat ("/steady/", lines[i].name, NULL);

    stream_add_data_test (path, &lines[i], test_steady);
  }
  for (guint i = 0; i < LOAD_N_FLOWS; i++) {
    g_autofree gchar *path = g_strconcat ("/stress/", load_flows[i].name, NULL);

    stream_add_data_test (path, &load_flows[i], test_flow);
  }
  stream_add_test ("/stress/control", test_control);
  tracer = load_start_tracer ();
  g_test_add_data_func ("/stress/leaks", tracer, load_check_leaks);
  return g_test_run ();
}
