/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include <gemmcl-context.h>
#include <gst/gst.h>

#include "doubles.h"
#include "finish.h"

/* VA surfaces of the fake libva driver on Intel's own OpenCL driver, which computes nothing without
 * a GPU (tools/intel-driver.sh is the wrapper to run this with) but checks and records each call.
 * It is told that the display is its GPU's: see cl-driver-layer.c. */

#define N 6

static GPtrArray *devices;

/* Returns: whether it is that driver; skips the test if not. */
static gboolean
is_driver (void)
{
  const GemmclDeviceInfo *device = devices ? g_ptr_array_index (devices, 0) : NULL;

  if (device && device->intel && device->type == GEMMCL_DEVICE_TYPE_GPU)
    return TRUE;
  g_test_skip ("This is not Intel's driver for GPUs: tools/intel-driver.sh runs it.");
  return FALSE;
}

/* The driver records the commands of a pipeline. */
static void
test_pipelines (void)
{
  static const gchar *const cases[][2] = {
      {"NV12", "weight=[[.3],[.6],[.1]]"},
      {"P010_10LE", "weight=[[.3],[.6],[.1]]"},
      {"NV12", "feature-mode=patch patch-width=2 patch-height=1 batch-size=2 "
               "weight=[[1,2],[3,4],[5,6],[7,8],[9,10],[11,12]]"},
  };
  g_autoptr (GstElementFactory) vapostproc = gst_element_factory_find ("vapostproc");

  if (!is_driver ())
    return;
  if (!vapostproc ||
      !g_str_has_prefix (((GemmclDeviceInfo *)g_ptr_array_index (devices, 0))->driver, "22.")) {
    g_test_skip (vapostproc ? "This version crashes when it records what it knows of surfaces."
                            : "GStreamer's va plugin is not there.");
    return;
  }
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_auto (Finish) shared = {NULL};

    finish_run (&shared, NULL, NULL,
                "videotestsrc num-buffers=%d ! video/x-raw,format=%s,width=66,height=50 ! "
                "vapostproc ! video/x-raw(memory:VAMemory) ! gemmcl name=g %s",
                N, cases[i][0], cases[i][1]);
    finish_assert_well (&shared, N, "VA to system");
    g_assert_cmpint (doubles_count ("surface-readbacks"), ==, 0);
    g_assert_cmpint (doubles_count ("surface-exports"), >, 0);
  }
}

int
main (int argc, char **argv)
{
  gst_init (&argc, &argv);
  g_test_init (&argc, &argv, NULL);
  devices = gemmcl_list_devices (NULL, NULL);
  g_test_add_func ("/va-driver/pipelines", test_pipelines);
  return g_test_run ();
}
