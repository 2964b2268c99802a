/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#define GST_USE_UNSTABLE_API
#include <CL/cl.h>
#include <dlfcn.h>
#include <gst/allocators/gstdmabuf.h>
#include <gst/va/gstva.h>
#include <gst/video/video.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../support/doubles.h"
#include "load.h"

/* The tests of test-stress.c with foreign memory: VA surfaces, a media driver's dma-bufs, and
 * imported dma-bufs. The doubles report memory that is read while it is not acquired, written while
 * it is read, or used after its end. Each test sends ten thousand buffers without delay. With
 * GEMMCL_TEST_BRIEF it sends a few dozen, and the doubles delay each acquire.
 *
 *     test-va-stress libgstgemmcl.so */

#define FRAME(memory, height)                                                                      \
  "video/x-raw(memory:" memory "),format=NV12,width=16,height=" height                             \
  ",framerate=1000/1,colorimetry=1:4:0:0"
#define HEIGHT 8

static const DoublesCounts *counts;
static VADisplay (*new_display) (void);

#define COUNT(name) g_atomic_int_get (&counts->name)

/* The caps of frames that a media driver exports. */
#if GST_CHECK_VERSION(1, 24, 0)
  #define EXPORTED(height)                                                                         \
    "video/x-raw(memory:DMABuf),format=DMA_DRM,drm-format=NV12,width=16,height=" height            \
    ",framerate=1000/1,colorimetry=1:4:0:0"
#else
  #define EXPORTED(height) FRAME ("DMABuf", height)
#endif

/* Weights that select red. For grey frames red is the brightness, in one channel or three. */
#define ONE_CHANNEL    "[[1],[0],[0]]"
#define THREE_CHANNELS "[[1,1,1],[0,0,0],[0,0,0]]"

static guint
get_n (void)
{
  return g_getenv ("GEMMCL_TEST_BRIEF") ? 24 : 10000;
}

static guint8
get_brightness (guint n)
{
  return (guint8)(1 + n % 251);
}

/* All pixels of a frame are equal, so that a wrong pixel is found. */
static void
draw (GstBuffer *buffer, guint n, guint height)
{
  GstVideoInfo info;
  GstVideoFrame frame;

  gst_video_info_set_format (&info, GST_VIDEO_FORMAT_NV12, 16, height);
  g_assert_true (gst_video_frame_map (&frame, &info, buffer, GST_MAP_WRITE));
  for (guint plane = 0; plane < 2; plane++)
    for (guint y = 0; y < height / (1 + plane); y++)
      memset ((guint8 *)GST_VIDEO_FRAME_PLANE_DATA (&frame, plane) +
                  y * (guint)GST_VIDEO_FRAME_PLANE_STRIDE (&frame, plane),
              plane == 0 ? get_brightness (n) : 128, 16);
  gst_video_frame_unmap (&frame);
}

static void
check_frame (const Load *load G_GNUC_UNUSED, GstPad *pad G_GNUC_UNUSED, GstBuffer *buffer, guint n)
{
  GstMapInfo map;

  g_assert_true (gst_buffer_map (buffer, &map, GST_MAP_READ));
  g_assert_cmpuint (map.size, >=, 16 * HEIGHT);
  for (gsize i = 0; i < map.size; i++)
    g_assert_cmpuint (map.data[i], ==, get_brightness (n));
  gst_buffer_unmap (buffer, &map);
}

/* Returns: a buffer from one of the two pools in @data. */
static GstBuffer *
take_surface (gpointer data, guint n, gboolean is_long)
{
  GstBufferPool **pools = data;
  GstBuffer *buffer = NULL;

  g_assert_cmpint (gst_buffer_pool_acquire_buffer (pools[is_long], &buffer, NULL), ==, GST_FLOW_OK);
  draw (buffer, n, HEIGHT << is_long);
  return buffer;
}

#define N_MEMORIES 6

/* Returns: a memory that is no longer in use; sometimes a new one, which replaces another. */
static GstMemory *
get_memory (GstMemory **memories, guint n)
{
  const guint slot = n % N_MEMORIES;
  const gsize size = 16 * HEIGHT * 2 * 3 / 2;

  if (!memories[slot] || GST_MINI_OBJECT_REFCOUNT_VALUE (memories[slot]) > 1 || n % 37 == 0) {
    g_autoptr (GstAllocator) allocator = gst_dmabuf_allocator_new ();
    const int fd = memfd_create ("frame", MFD_CLOEXEC);

    g_assert_cmpint (ftruncate (fd, (off_t)size), ==, 0);
    g_clear_pointer (&memories[slot], gst_memory_unref);
    memories[slot] = gst_dmabuf_allocator_alloc (allocator, fd, size);
  }
  return gst_memory_ref (memories[slot]);
}

static GstBuffer *
take_dmabuf (gpointer data, guint n, gboolean is_long)
{
  const guint height = HEIGHT << is_long;
  gsize offset[GST_VIDEO_MAX_PLANES] = {0, 16 * height};
  gint stride[GST_VIDEO_MAX_PLANES] = {16, 16};
  GstBuffer *buffer = gst_buffer_new ();

  gst_buffer_append_memory (buffer, get_memory (data, n));
  gst_buffer_add_video_meta_full (buffer, 0, GST_VIDEO_FORMAT_NV12, 16, height, 2, offset, stride);
  draw (buffer, n, height);
  return buffer;
}

/* Runs a flow through one element, and through two elements, of which one collects batches. */
static void
run_lines (const LoadFlow *flow, const LoadSource *source)
{
  static const LoadLine lines[] = {{"gemmcl queue-depth=3 name=a weight=" ONE_CHANNEL, 1},
                                   {"gemmcl queue-depth=3 batch-size=2 weight=" ONE_CHANNEL
                                    " ! gemmcl queue-depth=3 weight=[1]",
                                    1}};

  for (guint i = 0; i < G_N_ELEMENTS (lines); i++)
    load_run (flow, &lines[i], source, get_n ());
}

/* Asserts that no object, context or surface is left, after a moment for OpenCL's threads. */
static void
assert_right (void)
{
  const gint64 end = g_get_monotonic_time () + LOAD_SECONDS * G_TIME_SPAN_SECOND;

  while (COUNT (live_objects) + COUNT (live_contexts) > 0 && g_get_monotonic_time () < end)
    g_usleep (1000);
  g_assert_cmpint (COUNT (live_objects), ==, 0);
  g_assert_cmpint (COUNT (live_contexts), ==, 0);
  g_assert_cmpint (COUNT (live_surfaces), ==, 0);
}

/* Returns: (transfer full): an active pool of surfaces, exported as dma-bufs with @dmabufs. */
static GstBufferPool *
new_pool (GstVaDisplay *display, const gchar *text, gboolean dmabufs)
{
  const GstVideoFormat nv12 = GST_VIDEO_FORMAT_NV12;
  GstBufferPool *pool = gst_va_pool_new ();
  GstStructure *config = gst_buffer_pool_get_config (pool);
  g_autoptr (GstCaps) caps = gst_caps_from_string (text);
  g_autoptr (GArray) formats =
      g_array_append_vals (g_array_new (FALSE, FALSE, sizeof nv12), &nv12, 1);
  g_autoptr (GstAllocator) allocator = dmabufs
                                           ? gst_va_dmabuf_allocator_new (display)
                                           : gst_va_allocator_new (display, g_array_ref (formats));

  gst_buffer_pool_config_set_params (config, caps, 1, 1, 0);
  gst_buffer_pool_config_add_option (config, GST_BUFFER_POOL_OPTION_VIDEO_META);
  gst_buffer_pool_config_set_allocator (config, allocator, NULL);
  gst_buffer_pool_config_set_va_allocation_params (config, VA_SURFACE_ATTRIB_USAGE_HINT_GENERIC,
                                                   GST_VA_FEATURE_AUTO);
  g_assert_true (gst_buffer_pool_set_config (pool, config));
  g_assert_true (gst_buffer_pool_set_active (pool, TRUE));
  return pool;
}

/* Runs a flow with surfaces, which a media driver exports as dma-bufs with @dmabufs. */
static void
run_surfaces (const LoadFlow *flow, gboolean dmabufs)
{
  static const gchar *const caps[2][2] = {{FRAME ("VAMemory", "8"), FRAME ("VAMemory", "16")},
                                          {EXPORTED ("8"), EXPORTED ("16")}};
  VADisplay va = new_display ();
  g_autoptr (GstVaDisplay) display = gst_va_display_wrapped_new (va);
  const gint shared = COUNT (va_objects);
  GstBufferPool *pools[2];
  const LoadSource source = {{caps[dmabufs][0], caps[dmabufs][1]},
                             {THREE_CHANNELS, ONE_CHANNEL},
                             take_surface,
                             check_frame,
                             pools};

  for (guint i = 0; i < 2; i++)
    pools[i] = new_pool (display, caps[dmabufs][i], dmabufs);
  run_lines (flow, &source);
  g_assert_cmpint (COUNT (va_objects), >, shared);
  for (guint i = 0; i < 2; i++) {
    gst_buffer_pool_set_active (pools[i], FALSE);
    gst_object_unref (pools[i]);
  }
  assert_right ();
  g_clear_object (&display);
  vaTerminate (va);
}

static void
run_dmabufs (const LoadFlow *flow)
{
  const gint imported = COUNT (dmabuf_objects);
  GstMemory *memories[N_MEMORIES] = {NULL};
  const LoadSource source = {{FRAME ("DMABuf", "8"), FRAME ("DMABuf", "16")},
                             {THREE_CHANNELS, ONE_CHANNEL},
                             take_dmabuf,
                             check_frame,
                             memories};

  run_lines (flow, &source);
  g_assert_cmpint (COUNT (dmabuf_objects), >, imported);
  for (guint i = 0; i < N_MEMORIES; i++)
    g_clear_pointer (&memories[i], gst_memory_unref);
  assert_right ();
}

/* TRUE if the first device runs native kernels, as the doubles require. */
static gboolean
runs_native_kernels (void)
{
  cl_device_exec_capabilities runs = 0;
  cl_platform_id platform;
  cl_device_id device;

  return clGetPlatformIDs (1, &platform, NULL) == CL_SUCCESS &&
         clGetDeviceIDs (platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) == CL_SUCCESS &&
         clGetDeviceInfo (device, CL_DEVICE_EXECUTION_CAPABILITIES, sizeof runs, &runs, NULL) ==
             CL_SUCCESS &&
         runs & CL_EXEC_NATIVE_KERNEL;
}

static void
test_flow (gconstpointer flow)
{
  if (!counts || !runs_native_kernels ()) {
    g_test_skip (counts ? "There is no OpenCL device that runs native kernels."
                        : "It does not run under tests/doubles/run.sh.");
    return;
  }
  run_surfaces (flow, FALSE);
  run_surfaces (flow, TRUE);
  run_dmabufs (flow);
}

int
main (int argc, char **argv)
{
  g_autoptr (GstPlugin) plugin = NULL;

  if (get_n () > 1000)
    g_setenv ("GEMMCL_DOUBLES_LATENCY_MS", "0", FALSE);
  if (load_test_init (&argc, &argv) == 0)
    return 0;
  g_assert_cmpint (argc, ==, 2);
  if (g_getenv ("GEMMCL_DOUBLES"))
    counts = dlsym (dlopen (g_getenv ("GEMMCL_DOUBLES"), RTLD_NOW), "doubles_counts");
  new_display = dlsym (RTLD_DEFAULT, "va_display_new");
  plugin = gst_plugin_load_file (argv[1], NULL);
  g_assert_nonnull (plugin);
  for (guint i = 0; i < LOAD_N_FLOWS; i++) {
    g_autofree gchar *path = g_strconcat ("/va-stress/", load_flows[i].name, NULL);

    g_test_add_data_func (path, &load_flows[i], test_flow);
  }
  return load_test_run ();
}
