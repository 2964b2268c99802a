/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "line.h"

#include "memory/gstgemmclmemory.h"
#include "plugins.h"

void
line_clear (Line *self)
{
  if (self->harness) {
    gst_element_set_bus (self->harness->element, NULL);
    gst_harness_teardown (self->harness);
  }
  gst_clear_object (&self->bus);
  g_clear_pointer (&self->bytes, g_byte_array_unref);
}

void
line_init (Line *self, const gchar *text, const gchar *caps)
{
  self->bytes = g_byte_array_new ();
  self->bus = gst_bus_new ();
  self->harness = gst_harness_new_parse (text);
  g_assert_nonnull (self->harness);
  gst_element_set_bus (self->harness->element, self->bus);
  gst_harness_set_src_caps_str (self->harness, caps);
}

/* Rows of pictures as if they had no gaps. */
static void
collect_frame (Line *self, GstBuffer *buffer, const GstVideoInfo *info)
{
  GstVideoFrame frame;

  g_assert_true (gst_video_frame_map (&frame, info, buffer, GST_MAP_READ));
  for (gint y = 0; y < GST_VIDEO_FRAME_HEIGHT (&frame); y++)
    g_byte_array_append (self->bytes,
                         (guint8 *)GST_VIDEO_FRAME_PLANE_DATA (&frame, 0) +
                             y * GST_VIDEO_FRAME_PLANE_STRIDE (&frame, 0),
                         GST_VIDEO_FRAME_WIDTH (&frame) * GST_VIDEO_FRAME_COMP_PSTRIDE (&frame, 0));
  gst_video_frame_unmap (&frame);
}

void
line_collect (Line *self)
{
  g_autoptr (GstCaps) caps = gst_pad_get_current_caps (self->harness->sinkpad);
  GstBuffer *buffer;
  GstVideoInfo info;
  GstMapInfo map;

  while ((buffer = gst_harness_try_pull (self->harness))) {
    if (gst_video_info_from_caps (&info, caps)) {
      collect_frame (self, buffer, &info);
    } else {
      g_assert_true (gst_buffer_map (buffer, &map, GST_MAP_READ));
      g_byte_array_append (self->bytes, map.data, map.size);
      gst_buffer_unmap (buffer, &map);
    }
    gst_buffer_unref (buffer);
    self->n++;
  }
}

GstBuffer *
noise_bytes (gsize size, guint seed)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  GstBuffer *buffer = gst_buffer_new_allocate (NULL, size, NULL);
  GstMapInfo map;

  gst_buffer_map (buffer, &map, GST_MAP_WRITE);
  for (gsize i = 0; i < size; i++)
    map.data[i] = g_rand_int (rand) >> 24;
  gst_buffer_unmap (buffer, &map);
  GST_BUFFER_PTS (buffer) = seed * GST_SECOND / 10;
  GST_BUFFER_DURATION (buffer) = GST_SECOND / 10;
  return buffer;
}

void
line_push (Line *self, GstBuffer *buffer)
{
  g_assert_cmpstr (gst_flow_get_name (gst_harness_push (self->harness, buffer)), ==, "ok");
}

void
line_end (Line *self)
{
  g_autoptr (GstMessage) message = NULL;
  GstEventType type;

  g_assert_true (gst_harness_push_event (self->harness, gst_event_new_eos ()));
  do { /* behind a queue that takes a while */
    g_autoptr (GstEvent) event = gst_harness_pull_event (self->harness);

    g_assert_nonnull (event);
    type = GST_EVENT_TYPE (event);
  } while (type != GST_EVENT_EOS);
  line_collect (self);
  message = gst_bus_pop_filtered (self->bus, GST_MESSAGE_ERROR | GST_MESSAGE_WARNING);
  g_assert_null (message);
}

/* @n buffers of @size bytes of noise through @text. */
void
line_run (Line *self, const gchar *text, const gchar *caps, gsize size, guint n)
{
  line_init (self, text, caps);
  for (guint i = 0; i < n; i++) {
    line_push (self, noise_bytes (size, i));
    line_collect (self);
  }
  line_end (self);
}

/* RGB pictures, whose rows GStreamer pads. */
void
line_run_pictures (Line *self, const gchar *text, guint n)
{
  line_run (self, text, RGB, 9 * 160, n);
}

void
line_assert_same (const Line *one, const Line *other)
{
  g_assert_cmpuint (one->n, ==, other->n);
  g_assert_cmpuint (one->bytes->len, >, 0);
  g_assert_cmpmem (one->bytes->data, one->bytes->len, other->bytes->data, other->bytes->len);
}

/* Where A and D of an element were, and what it moved through the host. */
void
line_assert_memory (Line *self, const gchar *name, const gchar *memory, guint64 bytes)
{
  g_autoptr (GstElement) element = gst_bin_get_by_name (GST_BIN (self->harness->element), name);
  g_autoptr (GstStructure) stats = NULL;
  guint64 found;

  g_object_get (element, "stats", &stats, NULL);
  g_assert_cmpstr (gst_structure_get_string (stats, "memory"), ==, memory);
  g_assert_true (gst_structure_get_uint64 (stats, "bytes", &found));
  g_assert_cmpuint (found, ==, bytes);
}

void
line_assert_feature (Line *self, const gchar *name, const gchar *pad_name, gboolean opencl)
{
  g_autoptr (GstElement) element = gst_bin_get_by_name (GST_BIN (self->harness->element), name);
  g_autoptr (GstPad) pad = gst_element_get_static_pad (element, pad_name);
  g_autoptr (GstCaps) caps = gst_pad_get_current_caps (pad);

  g_assert_nonnull (caps);
  g_assert_cmpint (
      gst_caps_features_contains (gst_caps_get_features (caps, 0), GST_CAPS_FEATURE_MEMORY_OPENCL),
      ==, opencl);
}

void
line_test_init (int *argc, char ***argv)
{
  g_autoptr (GstPlugin) core = NULL;
  g_autoptr (GError) error = NULL;

  g_test_init (argc, argv, NULL);
  gst_init (argc, argv);
  core = plugins_load ("coreelements", &error);
  g_assert_no_error (error);
}
