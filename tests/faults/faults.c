/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "faults.h"

#include <dlfcn.h>
#include <gemmcl.h>
#include <unistd.h>

#define LIMIT_S   300
#define SETTLE_US (60 * G_USEC_PER_SEC)

const FaultsLayer *faults_layer;

/* The loader may cut the list after the first path, so that the layer should be the first. */
static const FaultsLayer *
find_layer (void)
{
  const gchar *paths = g_getenv ("OPENCL_LAYERS");
  g_auto (GStrv) all = g_strsplit (paths ? paths : "", ":", -1);
  const FaultsLayer *layer = NULL;

  for (guint i = 0; all[i] && !layer; i++) {
    gpointer module = dlopen (all[i], RTLD_NOW);

    layer = module ? dlsym (module, "gemmcl_faults") : NULL;
  }
  return layer;
}

/* The first call of OpenCL makes the loader load its layers. */
guint
faults_count_devices (void)
{
  g_autoptr (GPtrArray) devices = gemmcl_list_devices (NULL, NULL);

  return devices ? devices->len : 0;
}

/* Drops the library's messages about kernels that failed. */
static void
be_quiet (const gchar *domain G_GNUC_UNUSED, GLogLevelFlags level G_GNUC_UNUSED,
          const gchar *text G_GNUC_UNUSED, gpointer data G_GNUC_UNUSED)
{
}

gboolean
faults_init (void)
{
  g_log_set_handler ("gemmcl", G_LOG_LEVEL_DEBUG, be_quiet, NULL);
  if (faults_layer == NULL)
    faults_layer = find_layer ();
  if (faults_layer == NULL)
    g_test_skip ("OPENCL_LAYERS does not name the layer");
  else if (faults_count_devices () == 0)
    g_test_skip ("there is no OpenCL device");
  else if (!faults_layer->get_state ().is_loaded)
    g_test_skip ("OpenCL's loader does not load layers");
  else
    return TRUE;
  return FALSE;
}

/* Returns: the kinds of objects that are left, or were released too often, with their numbers. */
static gchar *
list_objects (void)
{
  static const gchar *const kinds[FAULTS_KINDS] = {"contexts", "queues",  "memory objects",
                                                   "programs", "kernels", "events"};
  const FaultsState state = faults_layer->get_state ();
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < FAULTS_KINDS; i++)
    if (state.objects[i] != 0)
      g_string_append_printf (text, " %s: %d", kinds[i], state.objects[i]);
  return g_string_free (text, FALSE);
}

void
faults_assert_no_objects (void)
{
  const gint64 end = g_get_monotonic_time () + SETTLE_US;
  g_autofree gchar *left = list_objects ();

  while (*left != '\0' && g_get_monotonic_time () < end) {
    g_usleep (1000);
    g_free (left);
    left = list_objects ();
  }
  g_assert_cmpstr (left, ==, "");
}

void
faults_start_case (const gchar *name, FaultsMode mode, guint n)
{
  static const gchar *const modes[] = {
      [FAULTS_NONE] = "no fault",
      [FAULTS_ONE] = "one fault",
      [FAULTS_REST] = "faults from there on",
      [FAULTS_LATE] = "a command that ends with an error",
  };

  g_test_message ("%s, call %u, %s", name, n, modes[mode]);
  alarm (LIMIT_S);
  faults_set (mode, n);
}

void
faults_end_case (void)
{
  faults_set (FAULTS_NONE, 0);
  alarm (0);
}
