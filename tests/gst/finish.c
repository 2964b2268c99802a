/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "finish.h"

#include <gst/app/gstappsink.h>
#include <string.h>

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
note (Finish *self, GstMessage *message)
{
  g_autoptr (GError) error = NULL;

  if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_WARNING) {
    gst_message_parse_warning (message, &error, NULL);
    if (!self->warning)
      self->warning = g_strdup (error->message);
  } else if (!self->failure) {
    gst_message_parse_error (message, &error, NULL);
    self->failure = g_strdup (error->message);
  }
}

static void
note_memory (Finish *self, GstElement *pipeline)
{
  g_autoptr (GstElement) element = gst_bin_get_by_name (GST_BIN (pipeline), "g");
  g_autoptr (GstStructure) stats = NULL;

  if (!element)
    return;
  g_object_get (element, "stats", &stats, NULL);
  self->memory = g_strdup (gst_structure_get_string (stats, "memory"));
}

static void
note_all (Finish *self, GstBus *bus)
{
  GstMessage *message;

  while ((message = gst_bus_pop_filtered (bus, GST_MESSAGE_ERROR | GST_MESSAGE_WARNING))) {
    note (self, message);
    gst_message_unref (message);
  }
}

/* Until there are no more. Whoever fails posts an error, and then ends the stream, or does not. */
static void
take_all (Finish *self, GstElement *pipeline)
{
  g_autoptr (GstElement) sink = gst_bin_get_by_name (GST_BIN (pipeline), "out");
  g_autoptr (GstBus) bus = gst_element_get_bus (pipeline);

  while (!self->failure && !gst_app_sink_is_eos (GST_APP_SINK (sink))) {
    g_autoptr (GstSample) sample =
        gst_app_sink_try_pull_sample (GST_APP_SINK (sink), 20 * GST_MSECOND);

    if (sample)
      collect (self, sample);
    note_all (self, bus);
  }
  note_all (self, bus);
}

void
finish_run_with (Finish *self, void (*set_up) (GstElement *pipeline, gpointer data), gpointer data,
                 const gchar *line)
{
  g_autofree gchar *text = g_strdup_printf ("%s ! appsink name=out sync=false", line);
  g_autoptr (GError) error = NULL;
  g_autoptr (GstElement) pipeline = gst_parse_launch (text, &error);

  g_assert_no_error (error);
  *self = (Finish){g_byte_array_new ()};
  if (set_up)
    set_up (pipeline, data);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  take_all (self, pipeline);
  note_memory (self, pipeline);
  g_assert_cmpint (gst_element_set_state (pipeline, GST_STATE_NULL), ==, GST_STATE_CHANGE_SUCCESS);
}

void
finish_run (Finish *self, const gchar *format, ...)
{
  g_autofree gchar *line = NULL;
  va_list arguments;

  va_start (arguments, format);
  line = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  finish_run_with (self, NULL, NULL, line);
}

gboolean
finish_has_vapostproc (void)
{
  g_autoptr (GstElementFactory) vapostproc = gst_element_factory_find ("vapostproc");

  if (!vapostproc)
    g_test_skip ("GStreamer's va plugin is not there.");
  return vapostproc != NULL;
}

void
finish_assert_well (const Finish *self, guint n)
{
  g_assert_cmpstr (self->failure, ==, NULL);
  g_assert_cmpstr (self->warning, ==, NULL);
  g_assert_cmpuint (self->n, ==, n);
}

void
finish_assert_same (const Finish *one, const Finish *other)
{
  g_assert_cmpuint (one->n, ==, other->n);
  g_assert_cmpmem (one->bytes->data, one->bytes->len, other->bytes->data, other->bytes->len);
}

void
finish_assert_failed (const Finish *self, ...)
{
  const gchar *word;
  va_list words;

  g_assert_nonnull (self->failure);
  va_start (words, self);
  while ((word = va_arg (words, const gchar *)))
    if (!strstr (self->failure, word))
      g_error ("expected \"%s\" in: %s", word, self->failure);
  va_end (words);
}
