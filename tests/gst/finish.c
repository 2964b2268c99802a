/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#define GST_USE_UNSTABLE_API
#include "finish.h"

#include <gst/app/gstappsink.h>
#include <gst/video/video.h>

#include "doubles.h"

void
finish_clear (Finish *self)
{
  g_clear_pointer (&self->bytes, g_byte_array_unref);
  g_clear_pointer (&self->failure, g_free);
  g_clear_pointer (&self->warning, g_free);
  g_clear_pointer (&self->memory, g_free);
  self->n = 0;
}

static void
collect (Finish *self, GstSample *sample)
{
  GstMapInfo map;

  g_assert_true (gst_buffer_map (gst_sample_get_buffer (sample), &map, GST_MAP_READ));
  g_byte_array_append (self->bytes, map.data, (guint)map.size);
  gst_buffer_unmap (gst_sample_get_buffer (sample), &map);
  self->n++;
}

static void
note (Finish *self, GstBus *bus)
{
  GstMessage *message;

  while ((message = gst_bus_pop_filtered (bus, GST_MESSAGE_ERROR | GST_MESSAGE_WARNING))) {
    const gboolean failed = GST_MESSAGE_TYPE (message) == GST_MESSAGE_ERROR;
    gchar **text = failed ? &self->failure : &self->warning;
    g_autoptr (GError) error = NULL;

    if (failed)
      gst_message_parse_error (message, &error, NULL);
    else
      gst_message_parse_warning (message, &error, NULL);
    if (!*text)
      *text = g_strdup (error->message);
    gst_message_unref (message);
  }
}

/* Until there are no more. An element that fails posts an error, and may not end the stream. */
static void
take_all (Finish *self, GstElement *pipeline)
{
  g_autoptr (GstElement) sink = gst_bin_get_by_name (GST_BIN (pipeline), "out");
  g_autoptr (GstElement) element = gst_bin_get_by_name (GST_BIN (pipeline), "g");
  g_autoptr (GstBus) bus = gst_element_get_bus (pipeline);
  g_autoptr (GstStructure) stats = NULL;

  while (!self->failure && !gst_app_sink_is_eos (GST_APP_SINK (sink))) {
    g_autoptr (GstSample) sample =
        gst_app_sink_try_pull_sample (GST_APP_SINK (sink), 20 * GST_MSECOND);

    if (sample)
      collect (self, sample);
    note (self, bus);
  }
  note (self, bus);
  g_object_get (element, "stats", &stats, NULL);
  self->memory = g_strdup (gst_structure_get_string (stats, "memory"));
}

void
finish_run (Finish *self, FinishSetUp set_up, gpointer data, const gchar *format, ...)
{
  g_autofree gchar *line = NULL, *text = NULL;
  g_autoptr (GstElement) pipeline = NULL;
  g_autoptr (GError) error = NULL;
  va_list arguments;

  va_start (arguments, format);
  line = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  text = g_strdup_printf ("%s ! appsink name=out sync=false", line);
  pipeline = gst_parse_launch (text, &error);
  g_assert_no_error (error);
  *self = (Finish){g_byte_array_new ()};
  if (set_up)
    set_up (pipeline, data);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  take_all (self, pipeline);
  g_assert_cmpint (gst_element_set_state (pipeline, GST_STATE_NULL), ==, GST_STATE_CHANGE_SUCCESS);
}

void
finish_assert_well (const Finish *self, guint n, const gchar *memory)
{
  g_assert_cmpstr (self->failure, ==, NULL);
  g_assert_cmpstr (self->warning, ==, NULL);
  g_assert_cmpuint (self->n, ==, n);
  g_assert_cmpstr (self->memory, ==, memory);
}

void
finish_assert_same (const Finish *one, const Finish *other)
{
  g_assert_cmpuint (one->n, ==, other->n);
  g_assert_cmpmem (one->bytes->data, one->bytes->len, other->bytes->data, other->bytes->len);
}

void
finish_compare (guint n, const gchar *memory, const gchar *plain, const gchar *shared)
{
  g_auto (Finish) one = {NULL}, other = {NULL};

  finish_run (&one, NULL, NULL, "%s", plain);
  finish_run (&other, NULL, NULL, "%s", shared);
  finish_assert_well (&one, n, one.memory);
  finish_assert_well (&other, n, memory);
  finish_assert_same (&one, &other);
  doubles_assert_clean ();
}

typedef struct {
  GTestDataFunc func;
  gconstpointer data;
  const gchar *needs;
} Test;

static void
run_test (gconstpointer data)
{
  const Test *self = data;
  g_autoptr (GstElementFactory) needed =
      self->needs ? gst_element_factory_find (self->needs) : NULL;

  if (doubles_missing ())
    g_test_skip (doubles_missing ());
  else if (self->needs && !needed)
    g_test_skip ("GStreamer's va plugin is not there.");
  else
    self->func (self->data);
}

void
finish_add_data_test (const gchar *path, gconstpointer data, GTestDataFunc func, const gchar *needs)
{
  const Test test = {func, data, needs};

  g_test_add_data_func_full (path, g_memdup2 (&test, sizeof test), run_test, g_free);
}

static void
run_func (gconstpointer func)
{
  ((void (*) (void))func) ();
}

void
finish_add_test (const gchar *path, void (*func) (void), const gchar *needs)
{
  finish_add_data_test (path, (gconstpointer)func, run_func, needs);
}

gboolean
finish_has_drm_formats (void)
{
  guint major, minor, micro, nano;

  gst_version (&major, &minor, &micro, &nano);
  if (minor < 24)
    g_test_skip ("GStreamer before 1.24 has no DRM formats.");
  return minor >= 24;
}

void
finish_draw (GstBuffer *buffer, const gchar *text, guint index)
{
  g_autoptr (GstCaps) caps = gst_caps_from_string (text);
  GstVideoFrame frame;
  GstVideoInfo info;
  gint comps[GST_VIDEO_MAX_COMPONENTS];

  g_assert_true (gst_video_info_from_caps (&info, caps));
  g_assert_true (gst_video_frame_map (&frame, &info, buffer, GST_MAP_WRITE));
  for (guint plane = 0; plane < GST_VIDEO_INFO_N_PLANES (&info); plane++) {
    gst_video_format_info_component (info.finfo, plane, comps);
    for (gint y = 0; y < GST_VIDEO_INFO_COMP_HEIGHT (&info, comps[0]); y++) {
      guint8 *row = (guint8 *)GST_VIDEO_FRAME_PLANE_DATA (&frame, plane) +
                    y * GST_VIDEO_FRAME_PLANE_STRIDE (&frame, plane);

      for (gint x = 0; x < GST_VIDEO_INFO_COMP_WIDTH (&info, comps[0]) *
                               GST_VIDEO_INFO_COMP_PSTRIDE (&info, comps[0]);
           x++)
        row[x] = (guint8)(16 + (x * 7 + y * 13 + (gint)index * 31 + (gint)plane * 5) % 220);
    }
  }
  gst_video_frame_unmap (&frame);
}

GstBufferPool *
finish_new_va_pool (GstVaDisplay *display, const gchar *text, gsize size, gboolean dmabufs)
{
  const GstVideoFormat nv12 = GST_VIDEO_FORMAT_NV12;
  g_autoptr (GstCaps) caps = gst_caps_from_string (text);
  GArray *formats = g_array_append_vals (g_array_new (FALSE, FALSE, sizeof nv12), &nv12, 1);
  g_autoptr (GstAllocator) allocator =
      dmabufs ? gst_va_dmabuf_allocator_new (display) : gst_va_allocator_new (display, formats);
  GstBufferPool *pool = gst_va_pool_new_with_config (caps,
#if !GST_CHECK_VERSION(1, 23, 0)
                                                     (gint)size,
#endif
                                                     1, 0, VA_SURFACE_ATTRIB_USAGE_HINT_GENERIC,
                                                     GST_VA_FEATURE_AUTO, allocator, NULL);

  (void)size;
  if (dmabufs)
    g_array_unref (formats);
  g_assert_true (gst_buffer_pool_set_active (pool, TRUE));
  return pool;
}
