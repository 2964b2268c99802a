/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include <gemmcl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "load.h"

/* Memory does not grow with the buffers that went through: 100000 of them, with GEMMCL_TEST_BRIEF
 * 2000. A process of its own, so that nothing else does. */

/* What heaps and drivers may need more of when they are warm, whatever went through. */
#define SLACK_KIB 1024

static guint
get_n (void)
{
  return g_getenv ("GEMMCL_TEST_BRIEF") ? 2000 : 100000;
}

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

static void
push (Load *load, guint n)
{
  for (guint i = 0; i < n; i++)
    g_assert_cmpint (load_push (load), ==, GST_FLOW_OK);
}

static void
test_steady (gconstpointer text)
{
  const guint n = get_n ();
  g_auto (Load) load = {.wanted = 0};
  g_autoptr (GTimer) timer = NULL;
  guint64 before, after;

  load_init (&load, text, strchr (text, '!') ? 4 : 2);
  push (&load, MAX (n / 10, 500));
  timer = g_timer_new ();
  before = get_resident ();
  push (&load, n);
  after = get_resident ();
  load_end (&load);
  g_assert_cmpuint (load.seen, ==, load.taken);
  g_test_message ("%u buffers in %.2f s; %" G_GUINT64_FORMAT " KiB before, %" G_GUINT64_FORMAT
                  " KiB after",
                  n, g_timer_elapsed (timer, NULL), before, after);
  if (!is_sanitized ())
    g_assert_cmpuint (after, <=, before + SLACK_KIB);
}

static void
skip (gconstpointer data G_GNUC_UNUSED)
{
  g_test_skip ("there is no OpenCL device");
}

int
main (int argc, char **argv)
{
  static const struct {
    const gchar *path, *text;
  } lines[] = {
      {"/steady/one", "gemmcl weight=" LOAD_WEIGHT},
      {"/steady/in-flight", "gemmcl queue-depth=3 weight=" LOAD_WEIGHT},
      {"/steady/opencl", "gemmcl queue-depth=3 weight=" LOAD_WEIGHT
                         " ! gemmcl queue-depth=3 batch-size=2 weight=" LOAD_WEIGHT},
  };
  g_autoptr (GPtrArray) devices = NULL;

  line_test_init (&argc, &argv);
  devices = gemmcl_list_devices (NULL, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (lines); i++)
    g_test_add_data_func (lines[i].path, lines[i].text, devices ? test_steady : skip);
  return g_test_run ();
}
