/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <dlfcn.h>
#include <string.h>

#include "../support/faults.h"
#include "load.h"

/* Elements with many buffers in flight: order, leaks, and flushes, caps, settings and states that
 * change under load. Each test sends ten thousand buffers, or 300 with GEMMCL_TEST_BRIEF. With
 * GEMMCL_TEST_DEVICES the elements use several devices, and one device fails. */

/* One element, and two with OpenCL memory between them; the second one collects batches. */
static LoadLine lines[] = {{NULL, 2}, {NULL, 4}};

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
test_control (gconstpointer element)
{
  load_run_controlled (element, get_n ());
}

/* If a device fails, the other device does its buffers. */
static void
test_failure (void)
{
  const gchar *layers = g_getenv ("OPENCL_LAYERS");
  g_auto (GStrv) paths = g_strsplit (layers ? layers : "", ":", 2);
  gpointer module = paths[0] ? dlopen (paths[0], RTLD_NOW) : NULL;
  const FaultsLayer *faults = module ? dlsym (module, "gemmcl_faults") : NULL;
  g_auto (Load) load = {NULL};
  g_autoptr (GError) warning = NULL;

  load_init (&load, &lines[0], NULL, 0);
  if (!faults || !faults->get_state ().is_loaded) {
    g_test_skip ("OpenCL's loader does not load layers");
    return;
  }
  for (guint i = 0; i < 16; i++) {
    if (i == 4)
      faults->set (FAULTS_LATE, 1);
    g_assert_cmpint (load_push (&load), ==, GST_FLOW_OK);
  }
  warning = load_pop_message (&load);
  g_assert_nonnull (warning);
  g_assert_nonnull (strstr (warning->message, "is not used any more"));
  faults->set (FAULTS_NONE, 0);
}

int
main (int argc, char **argv)
{
  const gchar *devices = g_getenv ("GEMMCL_TEST_DEVICES");
  const guint n_devices = load_test_init (&argc, &argv);
  /* On GPUs a search for a faster kernel would take the device's time. */
  g_autofree gchar *element =
      g_strdup_printf ("gemmcl auto-tune=off queue-depth=3 weight=" LOAD_WEIGHT " devices=\"%s\"",
                       devices ? devices : "");
  g_autofree gchar *one = g_strconcat (element, " name=a", NULL);
  g_autofree gchar *two = g_strconcat (element, " ! ", element, " batch-size=2", NULL);
  g_autofree gchar *live = g_strconcat (one, " batch-size=3 batch-timeout=1000000 qos=true", NULL);

  if (n_devices == 0)
    return 0;
  lines[0].text = one;
  lines[1].text = two;
  for (guint i = 0; i < LOAD_N_FLOWS; i++) {
    g_autofree gchar *path = g_strconcat ("/", load_flows[i].name, NULL);

    g_test_add_data_func (path, &load_flows[i], test_flow);
  }
  g_test_add_data_func ("/control", live, test_control);
  if (devices && n_devices > 1)
    g_test_add_func ("/failure", test_failure);
  return load_test_run ();
}
