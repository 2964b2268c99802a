/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "stream.h"

#include <gemmcl.h>
#include <gst/base/gstbasetransform.h>
#include <math.h>
#include <string.h>

static void
skip (void)
{
  g_test_skip ("there is no OpenCL device");
}

void
stream_add_test (const gchar *path, void (*func) (void))
{
  g_autoptr (GPtrArray) devices = gemmcl_list_devices (NULL, NULL);

  g_test_add_func (path, devices ? func : skip);
}

Stream *
stream_new (const gchar *first_property, ...)
{
  Stream *self = g_new0 (Stream, 1);
  va_list args;

  self->element = gst_object_ref_sink (gst_element_factory_make ("gemmcl", NULL));
  g_assert_nonnull (self->element);
  self->bus = gst_bus_new ();
  gst_element_set_bus (self->element, self->bus);
  va_start (args, first_property);
  g_object_set_valist (G_OBJECT (self->element), first_property, args);
  va_end (args);
  return self;
}

gboolean
stream_push_caps (Stream *self, const gchar *text)
{
  g_autoptr (GstCaps) caps = gst_caps_from_string (text), accepted = NULL;

  g_assert_nonnull (caps);
  g_assert_true (gst_caps_is_fixed (caps));
  gst_harness_set_src_caps (self->harness, gst_caps_ref (caps));
  accepted = gst_pad_get_current_caps (GST_BASE_TRANSFORM_SINK_PAD (self->element));
  return accepted && gst_caps_is_equal (accepted, caps);
}

gboolean
stream_play (Stream *self, const gchar *input, const gchar *output)
{
  self->harness = gst_harness_new_with_element (self->element, "sink", "src");
  if (output)
    gst_harness_set_sink_caps_str (self->harness, output);
  return stream_push_caps (self, input);
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

gchar *
stream_pop_message (Stream *self, GstMessageType type, GQuark *domain)
{
  g_autoptr (GstMessage) message = gst_bus_pop_filtered (self->bus, type);
  g_autoptr (GError) error = NULL;

  if (!message)
    return NULL;
  if (type == GST_MESSAGE_ERROR)
    gst_message_parse_error (message, &error, NULL);
  else
    gst_message_parse_warning (message, &error, NULL);
  if (domain)
    *domain = error->domain;
  return g_strdup (error->message);
}

static void
assert_words (const gchar *text, va_list words)
{
  const gchar *word;

  g_assert_nonnull (text);
  g_test_message ("%s", text);
  while ((word = va_arg (words, const gchar *))) {
    if (!strstr (text, word))
      g_error ("\"%s\" is not in \"%s\"", word, text);
  }
}

void
stream_assert_error (Stream *self, GQuark domain, ...)
{
  GQuark found = 0;
  g_autofree gchar *text = stream_pop_message (self, GST_MESSAGE_ERROR, &found);
  va_list words;

  va_start (words, domain);
  assert_words (text, words);
  va_end (words);
  g_assert_cmpstr (g_quark_to_string (found), ==, g_quark_to_string (domain));
}

void
stream_assert_warning (Stream *self, ...)
{
  g_autofree gchar *text = stream_pop_message (self, GST_MESSAGE_WARNING, NULL);
  va_list words;

  va_start (words, self);
  assert_words (text, words);
  va_end (words);
}

void
stream_assert_quiet (Stream *self)
{
  g_autofree gchar *error = stream_pop_message (self, GST_MESSAGE_ERROR, NULL);
  g_autofree gchar *warning = stream_pop_message (self, GST_MESSAGE_WARNING, NULL);

  g_assert_cmpstr (error, ==, NULL);
  g_assert_cmpstr (warning, ==, NULL);
}

GstCaps *
stream_get_output_caps (Stream *self)
{
  GstCaps *caps = gst_pad_get_current_caps (GST_BASE_TRANSFORM_SRC_PAD (self->element));

  g_assert_nonnull (caps);
  return caps;
}

void
assert_caps (GstCaps *caps, const gchar *text)
{
  g_autoptr (GstCaps) expected = gst_caps_from_string (text);
  g_autofree gchar *found = gst_caps_to_string (caps);

  g_assert_nonnull (expected);
  g_test_message ("%s", found);
  if (!gst_caps_is_subset (caps, expected))
    g_error ("%s is not of %s", found, text);
}

GstBuffer *
buffer_new (gconstpointer data, gsize size)
{
  GstBuffer *buffer = gst_buffer_new_allocate (NULL, size, NULL);

  gst_buffer_fill (buffer, 0, data, size);
  return buffer;
}

GstBuffer *
stream_run (Stream *self, GstBuffer *input)
{
  GstBuffer *output;

  g_assert_cmpstr (gst_flow_get_name (gst_harness_push (self->harness, input)), ==, "ok");
  output = gst_harness_pull (self->harness);
  g_assert_nonnull (output);
  return output;
}

void
assert_floats (GstBuffer *buffer, const gdouble *expected, gsize n, gdouble tolerance)
{
  GstMapInfo map;

  g_assert_true (gst_buffer_map (buffer, &map, GST_MAP_READ));
  g_assert_cmpuint (map.size, ==, n * sizeof (gfloat));
  for (gsize i = 0; i < n; i++) {
    gfloat found;

    memcpy (&found, map.data + i * sizeof (gfloat), sizeof (gfloat));
    if (!(fabs (found - expected[i]) <= tolerance * (1.0 + fabs (expected[i]))))
      g_error ("element %" G_GSIZE_FORMAT " is %g, expected %g", i, found, expected[i]);
  }
  gst_buffer_unmap (buffer, &map);
}

void
reference_gemm (gsize m, gsize n, gsize k, gdouble alpha, const gdouble *a, const gdouble *b,
                gdouble beta, const gdouble *c, const gdouble *bias, gdouble *d)
{
  for (gsize i = 0; i < m; i++) {
    for (gsize j = 0; j < n; j++) {
      gdouble sum = 0.0;

      for (gsize l = 0; l < k; l++)
        sum += a[i * k + l] * b[l * n + j];
      d[i * n + j] = alpha * sum + (c ? beta * c[i * n + j] : 0.0) + (bias ? bias[j] : 0.0);
    }
  }
}

gchar *
literal (const gdouble *values, gsize rows, gsize cols)
{
  GString *text = g_string_new ("[");

  for (gsize i = 0; i < rows; i++) {
    g_string_append (text, i ? ",[" : "[");
    for (gsize j = 0; j < cols; j++) {
      gchar number[G_ASCII_DTOSTR_BUF_SIZE];

      g_string_append_printf (text, "%s%s", j ? "," : "",
                              g_ascii_dtostr (number, sizeof number, values[i * cols + j]));
    }
    g_string_append (text, "]");
  }
  g_string_append (text, "]");
  return g_string_free (text, FALSE);
}

void
fill_values (gdouble *values, gsize n, guint seed)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);

  for (gsize i = 0; i < n; i++)
    values[i] = g_rand_int_range (rand, -8, 9) / 8.0;
}

static guint
read_component (GstVideoFrame *frame, guint component, guint x, guint y)
{
  const GstVideoFormatInfo *info = frame->info.finfo;
  const guint8 *data = GST_VIDEO_FRAME_COMP_DATA (frame, component);

  x >>= GST_VIDEO_FORMAT_INFO_W_SUB (info, component);
  y >>= GST_VIDEO_FORMAT_INFO_H_SUB (info, component);
  data += (gssize)y * GST_VIDEO_FRAME_COMP_STRIDE (frame, component) +
          (gssize)x * GST_VIDEO_FRAME_COMP_PSTRIDE (frame, component);
  return GST_VIDEO_FRAME_COMP_DEPTH (frame, component) == 16 ? GST_READ_UINT16_LE (data) : *data;
}

guint
reference_pixel (GstVideoFrame *frame, guint x, guint y, gdouble channels[4])
{
  guint n = GST_VIDEO_FRAME_N_COMPONENTS (frame);

  for (guint i = 0; i < n; i++)
    channels[i] = read_component (frame, i, x, y);
  if (GST_VIDEO_INFO_IS_YUV (&frame->info)) {
    gdouble luma = (channels[0] - 16.0) / 219.0;
    gdouble blue = (channels[1] - 128.0) / 224.0, red = (channels[2] - 128.0) / 224.0;

    channels[0] = 255.0 * CLAMP (luma + 1.402 * red, 0.0, 1.0);
    channels[1] =
        255.0 * CLAMP (luma - (0.114 * 1.772 * blue + 0.299 * 1.402 * red) / 0.587, 0.0, 1.0);
    channels[2] = 255.0 * CLAMP (luma + 1.772 * blue, 0.0, 1.0);
  }
  return n;
}

GstBuffer *
noise_buffer (const GstVideoInfo *info, guint seed)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  GstBuffer *buffer = gst_buffer_new_allocate (NULL, GST_VIDEO_INFO_SIZE (info), NULL);
  GstMapInfo map;

  g_assert_true (gst_buffer_map (buffer, &map, GST_MAP_WRITE));
  for (gsize i = 0; i < map.size; i++)
    map.data[i] = g_rand_int (rand) >> 24;
  gst_buffer_unmap (buffer, &map);
  return buffer;
}
