/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include <CL/cl_va_api_media_sharing_intel.h>
#include <gemmcl-context.h>
#include <gst/gst.h>

#include "doubles.h"
#include "va-display.h"

/* VA surfaces of the fake libva driver on Intel's own OpenCL driver, which computes nothing without
 * a GPU (tools/intel-driver.sh is the wrapper to run this with) but checks and records each call.
 * It is told that the display is its GPU's (tests/doubles/cl-sharing.c). */

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

static cl_context
new_context (cl_platform_id platform, VADisplay display)
{
  const cl_context_properties properties[] = {CL_CONTEXT_VA_API_DISPLAY_INTEL,
                                              (cl_context_properties)display,
                                              CL_CONTEXT_INTEROP_USER_SYNC, CL_TRUE, 0};
  cl_device_id device;
  cl_int status;
  cl_context context;

  clGetDeviceIDs (platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
  context = clCreateContext (properties, 1, &device, NULL, NULL, &status);
  g_assert_cmpint (status, ==, CL_SUCCESS);
  return context;
}

/* The driver makes images of a surface's planes, with its context on the display; no command uses
 * them. */
static void
test_planes (void)
{
  clCreateFromVA_APIMediaSurfaceINTEL_fn create;
  VADisplay display;
  cl_platform_id platform;
  cl_context context;
  VASurfaceID surface;

  if (!is_driver ())
    return;
  display = va_display_new ();
  clGetPlatformIDs (1, &platform, NULL);
  context = new_context (platform, display);
  create = (clCreateFromVA_APIMediaSurfaceINTEL_fn)clGetExtensionFunctionAddressForPlatform (
      platform, "clCreateFromVA_APIMediaSurfaceINTEL");
  g_assert_cmpint (vaCreateSurfaces (display, VA_RT_FORMAT_YUV420, 66, 50, &surface, 1, NULL, 0),
                   ==, VA_STATUS_SUCCESS);
  for (guint plane = 0; plane < 2; plane++) {
    cl_int status;
    cl_mem image = create (context, CL_MEM_READ_ONLY, &surface, plane, &status);
    gsize width = 0, height = 0;
    cl_image_format format = {0};
    cl_uint number = 9;

    g_assert_cmpint (status, ==, CL_SUCCESS);
    clGetImageInfo (image, CL_IMAGE_WIDTH, sizeof width, &width, NULL);
    clGetImageInfo (image, CL_IMAGE_HEIGHT, sizeof height, &height, NULL);
    clGetImageInfo (image, CL_IMAGE_FORMAT, sizeof format, &format, NULL);
    clGetImageInfo (image, CL_IMAGE_VA_API_PLANE_INTEL, sizeof number, &number, NULL);
    g_assert_cmpuint (width, ==, plane ? 33 : 66);
    g_assert_cmpuint (height, ==, plane ? 25 : 50);
    g_assert_cmphex (format.image_channel_order, ==, plane ? CL_RG : CL_R);
    g_assert_cmphex (format.image_channel_data_type, ==, CL_UNORM_INT8);
    g_assert_cmpuint (number, ==, plane);
    clReleaseMemObject (image);
  }
  clReleaseContext (context);
  vaDestroySurfaces (display, &surface, 1);
  vaTerminate (display);
}

/* Plays N frames of a format, and asserts that none of their pixels went through the host. */
static void
play (const gchar *format, const gchar *settings)
{
  g_autofree gchar *text = g_strdup_printf (
      "videotestsrc num-buffers=%d ! video/x-raw,format=%s,width=66,height=50 ! vapostproc ! "
      "video/x-raw(memory:VAMemory) ! gemmcl name=g %s ! fakesink",
      N, format, settings);
  g_autoptr (GError) error = NULL;
  g_autoptr (GstElement) pipeline = gst_parse_launch (text, &error), element = NULL;
  g_autoptr (GstStructure) stats = NULL;
  g_autoptr (GstMessage) message = NULL;
  g_autoptr (GstBus) bus = NULL;
  guint64 buffers;

  g_assert_no_error (error);
  element = gst_bin_get_by_name (GST_BIN (pipeline), "g");
  bus = gst_element_get_bus (pipeline);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  message = gst_bus_timed_pop_filtered (bus, GST_CLOCK_TIME_NONE,
                                        GST_MESSAGE_ERROR | GST_MESSAGE_WARNING | GST_MESSAGE_EOS);
  g_assert_cmpstr (GST_MESSAGE_TYPE_NAME (message), ==, "eos");
  g_object_get (element, "stats", &stats, NULL);
  g_assert_cmpstr (gst_structure_get_string (stats, "memory"), ==, "VA to system");
  g_assert_true (gst_structure_get_uint64 (stats, "buffers", &buffers));
  g_assert_cmpuint (buffers, ==, N);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  g_assert_cmpint (doubles_count (surface_readbacks), ==, 0);
  g_assert_cmpint (doubles_count (surface_exports), >, 0);
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
      g_str_has_prefix (((GemmclDeviceInfo *)g_ptr_array_index (devices, 0))->driver, "22.")) {
    g_test_skip (vapostproc ? "This version crashes when it records what it knows of surfaces."
                            : "GStreamer's va plugin is not there.");
    return;
  }
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    play (cases[i][0], cases[i][1]);
}

int
main (int argc, char **argv)
{
  gst_init (&argc, &argv);
  g_test_init (&argc, &argv, NULL);
  devices = gemmcl_list_devices (NULL, NULL);
  g_test_add_func ("/va-driver/planes", test_planes);
  g_test_add_func ("/va-driver/pipelines", test_pipelines);
  return g_test_run ();
}
