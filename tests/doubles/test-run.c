/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "rig.h"

#include <glib/gstdio.h>
#include <jansson.h>
#include <string.h>

/* What run.sh makes of programs: this one, which does wrong or right as its argument says. */

static const gchar *self, *run;

/* What is wrong is left as it is, but where a leak checker finds it. */
static void
use_plane (gboolean rightly)
{
  static Rig *rig;
  VASurfaceID surface;
  cl_mem plane;
  cl_int status;

  rig = rig_new (TRUE);
  surface = rig_new_surface (rig, VA_FOURCC_NV12, 16, 16);
  plane = rig_new_plane (rig, surface, 0);
  status = rig_acquire (rig, plane);
  if (!rightly)
    return;
  if (status == CL_SUCCESS)
    rig_release (rig, plane);
  else
    g_printerr ("acquire failed with %d\n", status);
  clFinish (rig->queue);
  clReleaseMemObject (plane);
  vaDestroySurfaces (rig->display, &surface, 1);
  rig_free (rig);
}

/* Returns: the exit status of run.sh; @report: (out): what --report wrote, NULL if nothing. */
static gint
spawn (const gchar *program, const gchar *argument, json_t **report, gchar **errors)
{
  g_autofree gchar *directory = g_dir_make_tmp ("doubles-XXXXXX", NULL);
  g_autofree gchar *path = g_build_filename (directory, "report.json", NULL);
  const gchar *const argv[] = {run, "--report", path, program, argument, NULL};
  g_autoptr (GError) error = NULL;
  gint status;

  g_spawn_sync (NULL, (gchar **)argv, NULL, G_SPAWN_STDOUT_TO_DEV_NULL, NULL, NULL, NULL, errors,
                &status, &error);
  g_assert_no_error (error);
  *report = json_load_file (path, 0, NULL);
  g_remove (path);
  g_rmdir (directory);
  g_assert_true (g_spawn_check_wait_status (status, &error) || error->domain == G_SPAWN_EXIT_ERROR);
  return error ? error->code : 0;
}

static void
test_right (void)
{
  json_t *report;
  g_autofree gchar *errors = NULL;

  g_assert_cmpint (spawn (self, "--right", &report, &errors), ==, 0);
  g_assert_true (json_is_true (json_object_get (report, "ok")));
  g_assert_cmpint (
      json_integer_value (json_object_get (json_object_get (report, "counts"), "acquires")), ==, 1);
  json_decref (report);
}

static void
test_wrong (void)
{
  json_t *report, *misuse;
  g_autofree gchar *errors = NULL;

  g_assert_cmpint (spawn (self, "--wrong", &report, &errors), ==, 1);
  g_assert_true (json_is_false (json_object_get (report, "ok")));
  misuse = json_array_get (json_object_get (report, "misuse"), 0);
  g_assert_cmpstr (json_string_value (json_object_get (misuse, "kind")), ==, "left-acquired");
  g_assert_nonnull (strstr (errors, "left-acquired"));
  json_decref (report);
}

static void
test_fault (void)
{
  json_t *report;
  g_autofree gchar *errors = NULL;

  g_setenv ("GEMMCL_DOUBLES_FAIL", "clEnqueueAcquireVA_APIMediaSurfacesINTEL:1:-5", TRUE);
  g_assert_cmpint (spawn (self, "--right", &report, &errors), ==, 0);
  g_unsetenv ("GEMMCL_DOUBLES_FAIL");
  g_assert_nonnull (strstr (errors, "acquire failed with -5"));
  json_decref (report);
}

static void
test_unused (void)
{
  json_t *report;
  g_autofree gchar *errors = NULL;

  g_assert_cmpint (spawn ("true", NULL, &report, &errors), ==, 1);
  g_assert_null (report);
  g_assert_nonnull (strstr (errors, "neither of the doubles"));
}

static void
test_status (void)
{
  json_t *report;
  g_autofree gchar *errors = NULL;

  g_assert_cmpint (spawn (self, "--77", &report, &errors), ==, 77);
  json_decref (report);
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
  add_test ("/doubles/run/fault", test_fault);
  add_test ("/doubles/run/unused", test_unused);
  add_test ("/doubles/run/status", test_status);
  return g_test_run ();
}
