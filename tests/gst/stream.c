/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "stream.h"

#include <gemmcl.h>
#include <string.h>

GstPlugin *
plugins_load (const gchar *name)
{
  const gchar *folder = g_getenv ("GEMMCL_TEST_PLUGINS");
  g_autofree gchar *path =
      g_strdup_printf ("%s/libgst%s.so", folder ? folder : PLUGINS_FOLDER, name);

  return gst_plugin_load_file (path, NULL);
}

void
stream_test_init (int *argc, char ***argv)
{
  g_autoptr (GstPlugin) core = NULL;

  g_test_init (argc, argv, NULL);
  gst_init (argc, argv);
  core = plugins_load ("coreelements");
  g_assert_nonnull (core);
}

static void
skip (gconstpointer data G_GNUC_UNUSED)
{
  g_test_skip ("there is no OpenCL device");
}

static void
run_func (gconstpointer func)
{
  ((void (*) (void))func) ();
}

void
stream_add_data_test (const gchar *path, gconstpointer data, GTestDataFunc func)
{
  g_autoptr (GPtrArray) devices = gemmcl_list_devices (NULL, NULL);

  g_test_add_data_func (path, data, devices ? func : skip);
}

void
stream_add_test (const gchar *path, void (*func) (void))
{
  stream_add_data_test (path, (gconstpointer)func, run_func);
}

static Stream *
parse (const gchar *text)
{
  Stream *self = g_new0 (Stream, 1);
  g_autoptr (GError) error = NULL;

  self->element = strchr (text, '!') ? gst_parse_bin_from_description (text, TRUE, &error)
                                     : gst_parse_launch (text, &error);
  g_assert_no_error (error);
  gst_object_ref_sink (self->element);
  self->bus = gst_bus_new ();
  gst_element_set_bus (self->element, self->bus);
  return self;
}

Stream *
stream_new (const gchar *format, ...)
{
  g_autofree gchar *text = NULL;
  va_list arguments;

  va_start (arguments, format);
  text = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  return parse (text);
}

/* Returns: whether they were accepted. */
static gboolean
push_caps (Stream *self, const gchar *text)
{
  g_autoptr (GstCaps) caps = gst_caps_from_string (text), accepted = NULL;
  g_autoptr (GstPad) pad = gst_element_get_static_pad (self->element, "sink");

  g_assert_nonnull (caps);
  g_assert_true (gst_caps_is_fixed (caps));
  gst_harness_set_src_caps (self->harness, gst_caps_ref (caps));
  accepted = gst_pad_get_current_caps (pad);
  return accepted && gst_caps_is_equal (accepted, caps);
}

gboolean
stream_play (Stream *self, const gchar *input, const gchar *output)
{
  self->harness = gst_harness_new_with_element (self->element, "sink", "src");
  if (output)
    gst_harness_set_sink_caps_str (self->harness, output);
  return push_caps (self, input);
}

Stream *
stream_start (const gchar *caps, const gchar *format, ...)
{
  g_autofree gchar *text = NULL;
  va_list arguments;
  Stream *self;

  va_start (arguments, format);
  text = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  self = parse (text);
  g_assert_true (stream_play (self, caps, NULL));
  return self;
}

void
stream_free (Stream *self)
{
  if (self->harness)
    gst_harness_teardown (self->harness);
  gst_element_set_state (self->element, GST_STATE_NULL);
  gst_element_set_bus (self->element, NULL);
  gst_object_unref (self->element);
  gst_object_unref (self->bus);
  g_free (self);
}

GstElement *
stream_get (Stream *self, const gchar *name)
{
  g_autoptr (GstElement) element = NULL;

  if (!GST_IS_BIN (self->element))
    return self->element;
  element = gst_bin_get_by_name (GST_BIN (self->element), name);
  g_assert_nonnull (element);
  return element;
}

void
stream_set_state (Stream *self, GstState state)
{
  g_assert_cmpint (gst_element_set_state (self->element, state), !=, GST_STATE_CHANGE_FAILURE);
}

void
stream_push_event (Stream *self, GstEvent *event)
{
  g_assert_true (gst_harness_push_event (self->harness, event));
}

void
stream_begin (Stream *self, const gchar *caps)
{
  GstSegment segment;

  stream_push_event (self, gst_event_new_stream_start ("again"));
  g_assert_true (push_caps (self, caps));
  gst_segment_init (&segment, GST_FORMAT_TIME);
  stream_push_event (self, gst_event_new_segment (&segment));
}

void
stream_push (Stream *self, GstBuffer *buffer)
{
  g_assert_cmpstr (gst_flow_get_name (gst_harness_push (self->harness, buffer)), ==, "ok");
}

GstBuffer *
stream_run (Stream *self, GstBuffer *input)
{
  GstBuffer *output;

  stream_push (self, input);
  output = gst_harness_pull (self->harness);
  g_assert_nonnull (output);
  return output;
}

GstStructure *
stream_get_stats (Stream *self, const gchar *name)
{
  GstStructure *stats = NULL;

  g_object_get (stream_get (self, name), "stats", &stats, NULL);
  return stats;
}

/* Returns: (nullable): the next error, or warning, that was posted. */
static GError *
pop_message (Stream *self, GstMessageType type)
{
  g_autoptr (GstMessage) message = gst_bus_pop_filtered (self->bus, type);
  GError *error = NULL;

  if (message && type == GST_MESSAGE_ERROR)
    gst_message_parse_error (message, &error, NULL);
  else if (message)
    gst_message_parse_warning (message, &error, NULL);
  return error;
}

void
stream_assert_message (Stream *self, GstMessageType type, const gchar *words)
{
  g_autoptr (GError) error = pop_message (self, type);
  g_auto (GStrv) each = g_strsplit (words, "|", -1);

  g_assert_nonnull (error);
  g_test_message ("%s", error->message);
  for (guint i = 0; each[i]; i++)
    if (!strstr (error->message, each[i]))
      g_error ("\"%s\" is not in \"%s\"", each[i], error->message);
}

void
stream_assert_quiet (Stream *self)
{
  g_autoptr (GError) error = pop_message (self, GST_MESSAGE_ERROR);
  g_autoptr (GError) warning = pop_message (self, GST_MESSAGE_WARNING);

  g_assert_no_error (error);
  g_assert_no_error (warning);
}
