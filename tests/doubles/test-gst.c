/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#define GST_USE_UNSTABLE_API
#include "rig.h"

#include <gst/allocators/gstdmabuf.h>
#include <gst/app/gstappsink.h>
#include <gst/gst.h>
#include <gst/va/gstva.h>
#include <gst/video/video.h>
#include <sys/mman.h>

/* GStreamer's own va plugin over the fake driver: what vapostproc makes is what OpenCL sees. */

#define N_BUFFERS 3
#define WIDTH     66
#define HEIGHT    50
#define TIMEOUT   (10 * GST_SECOND)

typedef struct {
  GstElement *pipeline;
  GstElement *plain, *shared; /* sinks: of system memory, and of what vapostproc made */
} Pair;

/* Who takes dma-bufs must take their strides and offsets, too: newer vapostprocs insist. */
static GstPadProbeReturn
take_video_meta (GstPad *pad G_GNUC_UNUSED, GstPadProbeInfo *info, gpointer nothing G_GNUC_UNUSED)
{
  GstQuery *query = GST_PAD_PROBE_INFO_QUERY (info);

  if (GST_QUERY_TYPE (query) != GST_QUERY_ALLOCATION)
    return GST_PAD_PROBE_OK;
  gst_query_add_allocation_meta (query, GST_VIDEO_META_API_TYPE, NULL);
  return GST_PAD_PROBE_HANDLED;
}

/* Both branches have the same pictures. Returns: FALSE, with the test skipped, without a va plugin.
 */
static gboolean
pair_start (Pair *self, const gchar *format, const gchar *memory)
{
  g_autofree gchar *line = g_strdup_printf (
      "videotestsrc num-buffers=%d pattern=smpte ! video/x-raw,format=%s,width=%d,height=%d ! "
      "tee name=t t. ! queue ! appsink name=plain sync=false "
      "t. ! queue ! vapostproc ! video/x-raw(memory:%s) ! appsink name=shared sync=false",
      N_BUFFERS, format, WIDTH, HEIGHT, memory);
  g_autoptr (GError) error = NULL;
  g_autoptr (GstPad) pad = NULL;

  *self = (Pair){gst_parse_launch (line, &error)};
  if (g_error_matches (error, GST_PARSE_ERROR, GST_PARSE_ERROR_NO_SUCH_ELEMENT)) {
    g_test_skip (error->message);
    g_clear_object (&self->pipeline);
    return FALSE;
  }
  g_assert_no_error (error);
  self->plain = gst_bin_get_by_name (GST_BIN (self->pipeline), "plain");
  self->shared = gst_bin_get_by_name (GST_BIN (self->pipeline), "shared");
  pad = gst_element_get_static_pad (self->shared, "sink");
  gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM, take_video_meta, NULL, NULL);
  gst_element_set_state (self->pipeline, GST_STATE_PLAYING);
  return TRUE;
}

static void
pair_end (Pair *self)
{
  gst_object_unref (self->plain);
  gst_object_unref (self->shared);
  gst_element_set_state (self->pipeline, GST_STATE_NULL);
  gst_object_unref (self->pipeline);
}

/* The next sample, or what stands in its way as the test's failure. */
static GstSample *
pull (Pair *self, GstElement *sink)
{
  GstSample *sample = gst_app_sink_try_pull_sample (GST_APP_SINK (sink), TIMEOUT);
  g_autoptr (GstBus) bus = gst_element_get_bus (self->pipeline);
  g_autoptr (GstMessage) message = gst_bus_pop_filtered (bus, GST_MESSAGE_ERROR);
  g_autoptr (GError) error = NULL;
  g_autofree gchar *details = NULL;

  if (message)
    gst_message_parse_error (message, &error, &details);
  if (!sample && details)
    g_test_message ("%s", details);
  g_assert_no_error (error);
  g_assert_nonnull (sample);
  return sample;
}

/* A rig's kernels in a context of the display that the buffer came with. */
static void
check_plane (Rig *rig, GstBuffer *buffer, GstVideoFrame *frame, guint plane)
{
  const gsize columns = (gsize)GST_VIDEO_FRAME_COMP_WIDTH (frame, plane);
  const gsize rows = (gsize)GST_VIDEO_FRAME_COMP_HEIGHT (frame, plane), n = columns * rows;
  const gsize channels = plane > 0 ? 2 : 1;
  g_autofree gfloat *values = g_new0 (gfloat, 2 * n);
  cl_int status;
  cl_mem image = rig_new_plane (rig, gst_va_buffer_get_surface (buffer), plane);
  cl_mem output = clCreateBuffer (rig->context, CL_MEM_READ_WRITE, n * 8, NULL, &status);

  g_assert_cmpint (rig_acquire (rig, image), ==, CL_SUCCESS);
  g_assert_cmpint (rig_enqueue (rig, KERNEL_READ, image, output, columns, rows), ==, CL_SUCCESS);
  g_assert_cmpint (rig_release (rig, image), ==, CL_SUCCESS);
  clEnqueueReadBuffer (rig->queue, output, CL_TRUE, 0, n * 8, values, 0, NULL, NULL);
  for (gsize i = 0; i < n; i++)
    for (gsize c = 0; c < channels; c++) {
      const guint8 *row = (const guint8 *)GST_VIDEO_FRAME_PLANE_DATA (frame, plane) +
                          (gint)(i / columns) * GST_VIDEO_FRAME_PLANE_STRIDE (frame, plane);
      const gsize at = i % columns * channels + c;
      const gboolean wide = GST_VIDEO_FRAME_FORMAT (frame) == GST_VIDEO_FORMAT_P010_10LE;
      const guint expected = wide ? row[2 * at] | (guint)row[2 * at + 1] << 8 : row[at];

      g_assert_cmpfloat_with_epsilon (values[2 * i + c] * (wide ? 65535 : 255), expected, 0.01);
    }
  clReleaseMemObject (image);
  clReleaseMemObject (output);
}

static void
check_frame (Rig **rig, GstSample *plain, GstSample *shared)
{
  GstBuffer *buffer = gst_sample_get_buffer (shared);
  VADisplay display = gst_va_display_get_va_dpy (gst_va_buffer_peek_display (buffer));
  GstVideoInfo info;
  GstVideoFrame frame;

  if (!*rig)
    *rig = rig_new_for_display (display, TRUE);
  g_assert_true ((*rig)->display == display);
  vaSyncSurface (display, gst_va_buffer_get_surface (buffer));
  gst_video_info_from_caps (&info, gst_sample_get_caps (plain));
  g_assert_true (gst_video_frame_map (&frame, &info, gst_sample_get_buffer (plain), GST_MAP_READ));
  check_plane (*rig, buffer, &frame, 0);
  check_plane (*rig, buffer, &frame, 1);
  gst_video_frame_unmap (&frame);
}

static void
test_surfaces (const gchar *format)
{
  const gint64 readbacks = doubles_count ("surface-readbacks");
  Rig *rig = NULL;
  Pair pair;

  if (!pair_start (&pair, format, "VAMemory"))
    return;
  for (guint i = 0; i < N_BUFFERS; i++) {
    g_autoptr (GstSample) plain = pull (&pair, pair.plain);
    g_autoptr (GstSample) shared = pull (&pair, pair.shared);

    check_frame (&rig, plain, shared);
    clFinish (rig->queue);
  }
  g_assert_cmpint (doubles_count ("surface-readbacks"), ==, readbacks);
  g_assert_cmpint (doubles_count ("shared-transfers"), ==, 0);
  pair_end (&pair);
  rig_free (rig);
}

static void
test_nv12 (void)
{
  test_surfaces ("NV12");
}

static void
test_p010 (void)
{
  test_surfaces ("P010_10LE");
}

/* The dma-buf that vapostproc exports, imported without a copy. */
static void
test_dmabuf (void)
{
  Pair pair;

  if (!pair_start (&pair, "NV12", "DMABuf"))
    return;
  g_autoptr (GstSample) plain = pull (&pair, pair.plain);
  g_autoptr (GstSample) shared = pull (&pair, pair.shared);
  GstBuffer *buffer = gst_sample_get_buffer (shared);
  const GstVideoMeta *meta = gst_buffer_get_video_meta (buffer);
  GstMemory *memory = gst_buffer_peek_memory (buffer, 0);
  GstVideoInfo info;
  GstVideoFrame frame;
  guint8 *data;

  g_assert_true (gst_is_dmabuf_memory (memory));
  g_assert_nonnull (meta);
  data = mmap (NULL, memory->maxsize, PROT_READ, MAP_SHARED, gst_dmabuf_memory_get_fd (memory), 0);
  g_assert_true (data != MAP_FAILED);
  gst_video_info_from_caps (&info, gst_sample_get_caps (plain));
  g_assert_true (gst_video_frame_map (&frame, &info, gst_sample_get_buffer (plain), GST_MAP_READ));
  for (guint y = 0; y < HEIGHT; y++)
    g_assert_cmpmem (data + memory->offset + meta->offset[0] + y * (guint)meta->stride[0], WIDTH,
                     (const guint8 *)GST_VIDEO_FRAME_PLANE_DATA (&frame, 0) +
                         (gint)y * GST_VIDEO_FRAME_PLANE_STRIDE (&frame, 0),
                     WIDTH);
  gst_video_frame_unmap (&frame);
  munmap (data, memory->maxsize);
  pair_end (&pair);
}

/* Buffers without a plugin: a display of the test's own, wrapped, and a pool. */
static void
test_pool (void)
{
  g_autoptr (Rig) rig = rig_new (TRUE);
  g_autoptr (GstVaDisplay) display = gst_va_display_wrapped_new (rig->display);
  g_autoptr (GArray) formats = g_array_new (FALSE, FALSE, sizeof (GstVideoFormat));
  const GstVideoFormat nv12 = GST_VIDEO_FORMAT_NV12;
  g_autoptr (GstCaps) caps = gst_caps_from_string (
      "video/x-raw(memory:VAMemory),format=NV12,width=70,height=50,framerate=30/1");
  g_autoptr (GstAllocator) allocator = NULL;
  g_autoptr (GstBufferPool) pool = NULL;
  g_autoptr (GstBuffer) buffer = NULL;

  g_array_append_val (formats, nv12);
  g_assert_cmpint (gst_va_display_get_implementation (display), ==,
                   GST_VA_IMPLEMENTATION_INTEL_IHD);
  allocator = gst_va_allocator_new (display, g_steal_pointer (&formats));
#if GST_CHECK_VERSION(1, 23, 0)
  pool = gst_va_pool_new_with_config (caps, 1, 0, VA_SURFACE_ATTRIB_USAGE_HINT_GENERIC,
                                      GST_VA_FEATURE_AUTO, allocator, NULL);
#else
  pool = gst_va_pool_new_with_config (caps, 70 * 50 * 3 / 2, 1, 0,
                                      VA_SURFACE_ATTRIB_USAGE_HINT_GENERIC, GST_VA_FEATURE_AUTO,
                                      allocator, NULL);
#endif
  g_assert_true (gst_buffer_pool_set_active (pool, TRUE));
  g_assert_cmpint (gst_buffer_pool_acquire_buffer (pool, &buffer, NULL), ==, GST_FLOW_OK);
  g_assert_cmpuint (gst_va_buffer_get_surface (buffer), !=, VA_INVALID_SURFACE);
  g_assert_true (gst_va_buffer_peek_display (buffer) == display);
  g_assert_cmpint (doubles_count ("live-surfaces"), >=, 1);
  g_clear_pointer (&buffer, gst_buffer_unref);
  gst_buffer_pool_set_active (pool, FALSE);
}

int
main (int argc, char **argv)
{
  gst_init (&argc, &argv);
  g_test_init (&argc, &argv, NULL);
  rig_add_test ("/doubles/gst/nv12", test_nv12);
  rig_add_test ("/doubles/gst/p010", test_p010);
  rig_add_test ("/doubles/gst/dmabuf", test_dmabuf);
  rig_add_test ("/doubles/gst/pool", test_pool);
  return g_test_run ();
}
