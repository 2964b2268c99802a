/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#define GST_USE_UNSTABLE_API
#include <CL/cl.h>
#include <CL/cl_va_api_media_sharing_intel.h>
#include <gst/app/gstappsrc.h>
#include <gst/va/gstva.h>
#include <gst/video/video.h>
#include <string.h>

#include "doubles.h"
#include "finish.h"
#include "stream.h"
#include "va-display.h"

/* VA surfaces under the doubles: what vapostproc makes gives what the same picture in the system's
 * memory gives, and the element copies none of it. */

#define N       5
#define SOURCE  "videotestsrc num-buffers=%d pattern=smpte ! video/x-raw,%s ! "
#define SURFACE "vapostproc ! video/x-raw(memory:VAMemory),%s ! "

/* Pixels become tensors, whose rows have no padding. */
#define PIXELS  "gemmcl name=g weight=[[.3,.1],[.6,.2],[.1,.9]] "
#define PICTURE "format=NV12,width=66,height=50"

/* Whether there is what the tests need; if not it is said. */
static gboolean
is_ready (void)
{
  if (doubles_missing ())
    g_test_skip (doubles_missing ());
  return !doubles_missing () && finish_has_vapostproc ();
}

/* Nothing was misused, nothing is left, and no picture was fetched but by the element's kernel. */
static void
assert_right (void)
{
  doubles_assert_right ();
  g_assert_true (doubles_wait_for ("live-objects", 0));
  g_assert_true (doubles_wait_for ("live-contexts", 0));
  g_assert_cmpint (doubles_count ("surface-readbacks"), ==, 0);
  g_assert_cmpint (doubles_count ("surface-gets"), ==, 0);
  g_assert_cmpint (doubles_count ("shared-transfers"), ==, 0);
}

static void
check (const gchar *caps, const gchar *element)
{
  g_auto (Finish) plain = {NULL}, shared = {NULL};
  const gint64 before = doubles_count ("maps");
  gint64 writes, copies, maps;

  finish_run (&plain, SOURCE "%s", N, caps, element);
  finish_assert_well (&plain, N);
  writes = doubles_count ("writes");
  copies = doubles_count ("copies");
  maps = doubles_count ("maps");
  finish_run (&shared, SOURCE SURFACE "%s", N, caps, caps, element);
  finish_assert_well (&shared, N);
  finish_assert_same (&plain, &shared);
  g_assert_cmpstr (plain.memory, ==, "system");
  g_assert_cmpstr (shared.memory, ==, "VA to system");
  /* The weight. */
  g_assert_cmpint (doubles_count ("writes") - writes, ==, 1);
  g_assert_cmpint (doubles_count ("copies"), ==, copies);
  /* The results. */
  g_assert_cmpint (doubles_count ("maps") - maps, ==, maps - before);
  assert_right ();
}

static void
check_modes (const gchar *format)
{
  gdouble values[16 * 16 * 3 * 2];
  g_autofree gchar *pixels = NULL, *limited = NULL, *patch = NULL, *small = NULL, *frame = NULL;
  g_autofree gchar *patch_weight = NULL, *frame_weight = NULL;

  fill_values (values, G_N_ELEMENTS (values), 1);
  pixels = g_strdup_printf ("format=%s,width=66,height=50,colorimetry=bt601", format);
  limited = g_strdup_printf ("format=%s,width=38,height=22,colorimetry=bt709", format);
  small = g_strdup_printf ("format=%s,width=16,height=16,colorimetry=bt709", format);
  patch_weight = literal (values, 5 * 4 * 3, 3);
  patch = g_strdup_printf ("gemmcl name=g feature-mode=patch patch-width=5 patch-height=4 "
                           "weight=%s",
                           patch_weight);
  frame_weight = literal (values, 16 * 16 * 3, 2);
  frame = g_strdup_printf ("gemmcl name=g feature-mode=frame weight=%s", frame_weight);
  check (pixels, PIXELS);
  check (limited, PIXELS);
  check (pixels, patch);
  check (small, frame);
}

static void
test_nv12 (void)
{
  if (is_ready ())
    check_modes ("NV12");
}

static void
test_p010 (void)
{
  if (is_ready ())
    check_modes ("P010_10LE");
}

/* Several surfaces on their way at once, each image made once. */
static void
test_flights (void)
{
  const guint n = 40;
  g_auto (Finish) plain = {NULL}, shared = {NULL};
  gint64 objects;

  if (!is_ready ())
    return;
  objects = doubles_count ("va-objects");
  finish_run (&plain, SOURCE PIXELS, n, PICTURE);
  finish_run (&shared, SOURCE SURFACE PIXELS "batch-size=2 queue-depth=3", n, PICTURE, PICTURE);
  finish_assert_well (&shared, n);
  finish_assert_same (&plain, &shared);
  g_assert_cmpint (doubles_count ("va-objects") - objects, <=, n);
  assert_right ();
}

/* What is behind the one that reads surfaces has its context: nothing goes through the host. */
static void
test_chain (void)
{
  static const gchar second[] = "! gemmcl weight=[[1,.5],[.5,1]] ";
  g_auto (Finish) plain = {NULL}, shared = {NULL};

  if (!is_ready ())
    return;
  finish_run (&plain, SOURCE PIXELS "%s", N, PICTURE, second);
  finish_run (&shared, SOURCE SURFACE PIXELS "%s", N, PICTURE, PICTURE, second);
  finish_assert_well (&shared, N);
  finish_assert_same (&plain, &shared);
  g_assert_cmpstr (shared.memory, ==, "VA to OpenCL");
  assert_right ();
}

/* Two elements read the same surfaces at the same time. */
static void
test_tee (void)
{
  g_auto (Finish) plain = {NULL}, shared = {NULL};

  if (!is_ready ())
    return;
  finish_run (&plain, SOURCE PIXELS, 20, PICTURE);
  finish_run (&shared,
              SOURCE SURFACE "tee name=t t. ! queue ! gemmcl weight=[[1],[1],[1]] ! fakesink "
                             "t. ! queue ! " PIXELS,
              20, PICTURE, PICTURE);
  finish_assert_well (&shared, 20);
  finish_assert_same (&plain, &shared);
  assert_right ();
}

/* Without a product no picture is read, and so none is acquired. */
static void
test_no_product (void)
{
  g_auto (Finish) shared = {NULL};
  gint64 acquires;

  if (!is_ready ())
    return;
  acquires = doubles_count ("acquires");
  finish_run (&shared, SOURCE SURFACE PIXELS "alpha=0 bias=[1,2]", N, PICTURE, PICTURE);
  finish_assert_well (&shared, N);
  g_assert_cmpint (doubles_count ("acquires"), ==, acquires);
  assert_right ();
}

#define BYTES    "video/x-raw,format=NV12,width=64,height=48,framerate=30/1"
#define SURFACES "video/x-raw(memory:VAMemory),format=NV12,width=64,height=48,framerate=30/1"

static GstBufferPool *
new_pool (GstVaDisplay *display, GstCaps *caps)
{
  const GstVideoFormat nv12 = GST_VIDEO_FORMAT_NV12;
  GArray *formats = g_array_new (FALSE, FALSE, sizeof (GstVideoFormat));
  g_autoptr (GstAllocator) allocator = NULL;

  g_array_append_val (formats, nv12);
  allocator = gst_va_allocator_new (display, formats);
#if GST_CHECK_VERSION(1, 23, 0)
  return gst_va_pool_new_with_config (caps, 1, 0, VA_SURFACE_ATTRIB_USAGE_HINT_GENERIC,
                                      GST_VA_FEATURE_AUTO, allocator, NULL);
#else
  return gst_va_pool_new_with_config (caps, 64 * 48 * 3 / 2, 1, 0,
                                      VA_SURFACE_ATTRIB_USAGE_HINT_GENERIC, GST_VA_FEATURE_AUTO,
                                      allocator, NULL);
#endif
}

/* The @index-th picture, the same whatever lies between its rows. */
static void
draw (GstBuffer *buffer, guint index)
{
  GstVideoInfo info;
  GstVideoFrame frame;

  gst_video_info_set_format (&info, GST_VIDEO_FORMAT_NV12, 64, 48);
  g_assert_true (gst_video_frame_map (&frame, &info, buffer, GST_MAP_WRITE));
  for (guint plane = 0; plane < 2; plane++)
    for (guint y = 0; y < 48 / (1 + plane); y++)
      for (guint x = 0; x < 64; x++)
        ((guint8 *)GST_VIDEO_FRAME_PLANE_DATA (
            &frame, plane))[y * (guint)GST_VIDEO_FRAME_PLANE_STRIDE (&frame, plane) + x] =
            (guint8)(16 + (x * 7 + y * 13 + index * 31 + plane * 5) % 220);
  gst_video_frame_unmap (&frame);
}

/* @pools: (nullable): two, of surfaces of which no element and no bin knows the display; else the
 * system's memory. */
static void
push (GstElement *pipeline, gpointer pools)
{
  g_autoptr (GstElement) source = gst_bin_get_by_name (GST_BIN (pipeline), "in");
  g_autoptr (GstCaps) caps = gst_caps_from_string (pools ? SURFACES : BYTES);

  gst_app_src_set_caps (GST_APP_SRC (source), caps);
  for (guint i = 0; i < 4; i++) {
    GstBuffer *buffer = NULL;

    if (pools)
      gst_buffer_pool_acquire_buffer (((GstBufferPool **)pools)[i / 2], &buffer, NULL);
    else
      buffer = gst_buffer_new_allocate (NULL, 64 * 48 * 3 / 2, NULL);
    g_assert_nonnull (buffer);
    draw (buffer, i);
    GST_BUFFER_PTS (buffer) = i * GST_SECOND / 30;
    gst_app_src_push_buffer (GST_APP_SRC (source), buffer);
  }
  gst_app_src_end_of_stream (GST_APP_SRC (source));
}

/* The display comes with the first buffer, and another one with the third. */
static void
test_displays (void)
{
  static const gchar line[] = "appsrc name=in format=time ! " PIXELS;
  g_autoptr (GstCaps) caps = gst_caps_from_string (SURFACES);
  g_auto (Finish) plain = {NULL}, shared = {NULL};
  GstVaDisplay *displays[2];
  GstBufferPool *pools[2];

  if (!is_ready ())
    return;
  for (guint i = 0; i < 2; i++) {
    displays[i] = gst_va_display_wrapped_new (va_display_new ());
    pools[i] = new_pool (displays[i], caps);
    g_assert_true (gst_buffer_pool_set_active (pools[i], TRUE));
  }
  finish_run_with (&plain, push, NULL, line);
  finish_run_with (&shared, push, pools, line);
  finish_assert_well (&shared, 4);
  finish_assert_same (&plain, &shared);
  g_assert_cmpstr (shared.memory, ==, "VA to system");
  for (guint i = 0; i < 2; i++) {
    gst_buffer_pool_set_active (pools[i], FALSE);
    gst_object_unref (pools[i]);
    gst_object_unref (displays[i]);
  }
  doubles_assert_right ();
}

/* An application's own cl_context, and the surfaces of the pools. */
typedef struct {
  cl_context context;
  GstBufferPool *pools[2];
} Own;

static void
give_context (GstElement *pipeline, gpointer data)
{
  const Own *own = data;
  g_autoptr (GstContext) shared = gst_context_new ("OpenCL", TRUE);

  gst_structure_set (gst_context_writable_structure (shared), "cl_context", G_TYPE_POINTER,
                     own->context, NULL);
  gst_element_set_context (pipeline, shared);
  push (pipeline, (gpointer)own->pools);
}

static cl_context
new_context (VADisplay display)
{
  cl_platform_id platform;
  cl_device_id device;
  cl_int status;

  clGetPlatformIDs (1, &platform, NULL);
  clGetDeviceIDs (platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
  {
    const cl_context_properties properties[] = {
        CL_CONTEXT_PLATFORM,
        (cl_context_properties)platform,
        display ? CL_CONTEXT_VA_API_DISPLAY_INTEL : 0,
        (cl_context_properties)display,
        CL_CONTEXT_INTEROP_USER_SYNC,
        CL_TRUE,
        0,
    };
    cl_context context = clCreateContext (properties, 1, &device, NULL, NULL, &status);

    g_assert_cmpint (status, ==, CL_SUCCESS);
    return context;
  }
}

/* It is taken as it is, with the display or without. */
static void
test_own_context (void)
{
  static const gchar line[] = "appsrc name=in format=time ! " PIXELS;
  g_autoptr (GstCaps) caps = gst_caps_from_string (SURFACES);
  g_autoptr (GstVaDisplay) display = NULL;
  g_auto (Finish) plain = {NULL}, shared = {NULL}, refused = {NULL};
  GstBufferPool *pool;
  Own own;

  if (!is_ready ())
    return;
  display = gst_va_display_wrapped_new (va_display_new ());
  pool = new_pool (display, caps);
  own.pools[0] = own.pools[1] = pool;
  g_assert_true (gst_buffer_pool_set_active (pool, TRUE));
  finish_run_with (&plain, push, NULL, line);

  own.context = new_context (gst_va_display_get_va_dpy (display));
  finish_run_with (&shared, give_context, &own, line);
  clReleaseContext (own.context);
  finish_assert_well (&shared, 4);
  finish_assert_same (&plain, &shared);
  g_assert_cmpstr (shared.memory, ==, "VA to system");

  own.context = new_context (NULL);
  finish_run_with (&refused, give_context, &own, line);
  clReleaseContext (own.context);
  finish_assert_failed (&refused, "was made without a VADisplay", NULL);
  gst_buffer_pool_set_active (pool, FALSE);
  gst_object_unref (pool);
  doubles_assert_right ();
}

/* Calls that fail end in an error that names them, and nothing is left acquired. */
static void
test_failures (void)
{
  static const struct {
    const gchar *function;
    guint n;
    gint error;
    const gchar *words;
  } cases[] = {
      {"clCreateFromVA_APIMediaSurfaceINTEL", 2, 2,
       "clCreateFromVA_APIMediaSurfaceINTEL for plane 1"},
      {"clCreateFromVA_APIMediaSurfaceINTEL", 1, -6, "OpenCL error -6"},
      {"clEnqueueAcquireVA_APIMediaSurfacesINTEL", 1, -6, "Acquiring shared memory objects"},
      {"clEnqueueAcquireVA_APIMediaSurfacesINTEL", 3, -6, "Acquiring shared memory objects"},
      {"clEnqueueReleaseVA_APIMediaSurfacesINTEL", 1, -6, "Releasing shared memory objects"},
      /* A new plan launches its kernels once, the picture takes a gather for each plane. */
      {"clEnqueueNDRangeKernel", 1, -5, "clEnqueueNDRangeKernel for gather"},
      {"clEnqueueNDRangeKernel", 4, -5, "clEnqueueNDRangeKernel for gather"},
      {"clEnqueueNDRangeKernel", 5, -5, "clEnqueueNDRangeKernel for "},
  };

  if (!is_ready ())
    return;
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_auto (Finish) shared = {NULL};

    doubles_fail (cases[i].function, cases[i].n, cases[i].error);
    finish_run (&shared, SOURCE SURFACE PIXELS, N, PICTURE, PICTURE);
    finish_assert_failed (&shared, cases[i].words, NULL);
    g_assert_true (doubles_wait_for ("live-objects", 0));
    g_assert_true (doubles_wait_for ("live-contexts", 0));
    /* What cannot be released stays acquired, whatever the element does. */
    if (strstr (cases[i].function, "Release")) {
      doubles_forgive ("left-acquired");
      doubles_forgive ("destroyed-in-use");
    }
    doubles_assert_right ();
  }
}

/* Where no context can be made with the display, surfaces are not taken. */
static void
test_no_context (void)
{
  g_auto (Finish) shared = {NULL};

  if (!is_ready ())
    return;
  doubles_fail ("clCreateContext", 1, -6);
  finish_run (&shared, SOURCE SURFACE PIXELS, N, PICTURE, PICTURE);
  g_assert_nonnull (shared.failure);
  g_assert_nonnull (shared.warning);
  g_assert_nonnull (strstr (shared.warning, "VA surfaces cannot be shared"));
  doubles_assert_right ();
}

/* A device that cannot share says so, and takes what else upstream has. */
static void
refuse (const gchar *words)
{
  g_auto (Finish) refused = {NULL}, plain = {NULL}, other = {NULL};

  finish_run (&refused, SOURCE SURFACE PIXELS, N, PICTURE, PICTURE);
  g_assert_nonnull (refused.failure);
  g_assert_nonnull (refused.warning);
  g_assert_nonnull (strstr (refused.warning, "tiled dma-bufs) are not taken."));
  g_assert_nonnull (strstr (refused.warning, words));
  finish_run (&plain, SOURCE PIXELS, N, PICTURE);
  finish_run (&other, SOURCE "vapostproc ! " PIXELS, N, PICTURE);
  finish_assert_well (&other, N);
  finish_assert_same (&plain, &other);
  g_assert_cmpstr (other.memory, ==, "system");
  doubles_assert_right ();
}

static void
test_extension (void)
{
  if (!is_ready ())
    return;
  g_setenv ("GEMMCL_DOUBLES_WITHOUT", "va,dmabuf", TRUE);
  refuse ("has no cl_intel_va_api_media_sharing");
  g_unsetenv ("GEMMCL_DOUBLES_WITHOUT");
}

/* In an environment of its own: another driver's displays must not even be asked about. */
static void
test_vendor (void)
{
  if (is_ready ())
    refuse ("with Intel's media driver only");
}

int
main (int argc, char **argv)
{
  gst_init (&argc, &argv);
  g_test_init (&argc, &argv, NULL);
  if (g_getenv ("GEMMCL_DOUBLES_VENDOR")) {
    g_test_add_func ("/va/vendor", test_vendor);
    return g_test_run ();
  }
  g_test_add_func ("/va/nv12", test_nv12);
  g_test_add_func ("/va/p010", test_p010);
  g_test_add_func ("/va/flights", test_flights);
  g_test_add_func ("/va/chain", test_chain);
  g_test_add_func ("/va/tee", test_tee);
  g_test_add_func ("/va/no-product", test_no_product);
  g_test_add_func ("/va/displays", test_displays);
  g_test_add_func ("/va/own-context", test_own_context);
  g_test_add_func ("/va/failures", test_failures);
  g_test_add_func ("/va/no-context", test_no_context);
  g_test_add_func ("/va/extension", test_extension);
  return g_test_run ();
}
