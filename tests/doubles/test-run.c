/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "rig.h"

#include <glib/gstdio.h>
#include <string.h>

/* Tests run.sh with programs: with this one, which misuses OpenCL if its argument says so. */

static const gchar *self, *run;

/* Misuses OpenCL and does not undo it, except leaks, which a leak checker would find. */
static void
use_plane (gboolean rightly)
{
  static Rig *rig;
  VASurfaceID surface;
  cl_mem plane;

  rig = rig_new (TRUE);
  surface = rig_new_surface (rig, 16, 16);
  plane = rig_new_plane (rig, surface, 0);
  ASSERT_GOOD (rig_acquire (rig, plane));
  if (!rightly)
    return;
  ASSERT_GOOD (rig_release (rig, plane));
  clFinish (rig->queue);
  clReleaseMemObject (plane);
  vaDestroySurfaces (rig->display, &surface, 1);
  rig_free (rig);
}

/* Runs @program under run.sh, which must exit with @status, print @words on the standard error and
 * report @line (NULL: no report). */
static void
check (const gchar *program, const gchar *argument, gint status, const gchar *words,
       const gchar *line)
{
  g_autofree gchar *directory = g_dir_make_tmp ("doubles-XXXXXX", NULL);
  g_autofree gchar *path = g_build_filename (directory, "report", NULL);
  g_autofree gchar *errors = NULL, *report = NULL;
  const gchar *const argv[] = {run, "--report", path, program, argument, NULL};
  g_autoptr (GError) error = NULL;
  gint wait_status;

  g_spawn_sync (NULL, (gchar **)argv, NULL, G_SPAWN_STDOUT_TO_DEV_NULL, NULL, NULL, NULL, &errors,
                &wait_status, &error);
  g_assert_no_error (error);
  g_file_get_contents (path, &report, NULL, NULL);
  g_remove (path);
  g_rmdir (directory);
  if (!g_spawn_check_wait_status (wait_status, &error))
    g_assert_true (error->domain == G_SPAWN_EXIT_ERROR);
  g_assert_cmpint (error ? error->code : 0, ==, status);
  g_assert_nonnull (strstr (errors, words));
  g_assert_true (line ? report && strstr (report, line) : !report);
}

static void
test_right (void)
{
  check (self, "--right", 0, "", "misuse 0\n");
  check (self, "--right", 0, "", "\nacquires 1\n");
}

static void
test_wrong (void)
{
  check (self, "--wrong", 1, "left-acquired", "misuse 1\n# left-acquired: ");
}

static void
test_unused (void)
{
  check ("true", NULL, 1, "neither of the doubles", NULL);
}

static void
test_status (void)
{
  check (self, "--77", 77, "", NULL);
}

static void
skip (void)
{
  g_test_skip (doubles_unfit ());
}

static void
add_test (const gchar *path, void (*func) (void))
{
  g_test_add_func (path, doubles_unfit () ? skip : func);
}

int
main (int argc, char **argv)
{
  if (argc == 2 && strcmp (argv[1], "--77") == 0)
    return 77;
  if (argc == 2 && (strcmp (argv[1], "--right") == 0 || strcmp (argv[1], "--wrong") == 0)) {
    use_plane (strcmp (argv[1], "--right") == 0);
    return 0;
  }
  g_test_init (&argc, &argv, NULL);
  if (argc != 2) {
    g_printerr ("usage: %s RUN.SH\n", argv[0]);
    return 2;
  }
  self = argv[0];
  run = argv[1];
  add_test ("/doubles/run/right", test_right);
  add_test ("/doubles/run/wrong", test_wrong);
  add_test ("/doubles/run/unused", test_unused);
  add_test ("/doubles/run/status", test_status);
  return g_test_run ();
}
