/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "load.h"

#include <string.h>

/* All numbers alike, so that one that was harmed is seen. */
static GstBuffer *
make_tensor (gpointer data G_GNUC_UNUSED, guint n, gboolean is_long)
{
  const gsize size = LOAD_SHORT_SIZE * (is_long ? 2 : 1);
  GstBuffer *buffer = gst_buffer_new_allocate (NULL, size, NULL);
  GstMapInfo map;

  g_assert_true (gst_buffer_map (buffer, &map, GST_MAP_WRITE));
  for (gsize i = 0; i < size / sizeof (gfloat); i++)
    ((gfloat *)map.data)[i] = n;
  gst_buffer_unmap (buffer, &map);
  return buffer;
}

/* Columns of what comes out. */
static guint
get_columns (GstPad *pad)
{
  g_autoptr (GstCaps) caps = gst_pad_get_current_caps (pad);

  return g_ascii_strtoull (
      gst_structure_get_string (gst_caps_get_structure (caps, 0), "dimensions"), NULL, 10);
}

static void
check_tensor (Load *self, GstPad *pad, GstBuffer *buffer, guint n)
{
  const guint columns = get_columns (pad);
  GstMapInfo map;

  g_assert_true (gst_buffer_map (buffer, &map, GST_MAP_READ));
  g_assert_cmpuint (map.size % (4 * columns * sizeof (gfloat)), ==, 0);
  g_assert_cmpuint (map.size, >, 0);
  for (gsize i = 0; i < map.size / sizeof (gfloat); i++)
    g_assert_cmpfloat (((gfloat *)map.data)[i], ==,
                       i % columns < 4 ? self->factor * (gfloat)n : 0.0f);
  gst_buffer_unmap (buffer, &map);
}

/* What was pushed before must not come after: until then it may be on its way still. */
static GstPadProbeReturn
see_flush (GstPad *pad G_GNUC_UNUSED, GstPadProbeInfo *info, gpointer data)
{
  Load *self = data;

  g_mutex_lock (&self->lock);
  if (GST_EVENT_TYPE (GST_PAD_PROBE_INFO_EVENT (info)) == GST_EVENT_FLUSH_STOP)
    self->floor = self->next;
  g_mutex_unlock (&self->lock);
  return GST_PAD_PROBE_OK;
}

static GstPadProbeReturn
see (GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  Load *self = data;
  GstBuffer *buffer = GST_PAD_PROBE_INFO_BUFFER (info);
  const guint n = GST_BUFFER_PTS (buffer) / LOAD_FRAME;

  self->source->check (self, pad, buffer, n);
  g_mutex_lock (&self->lock);
  g_assert_cmpint (n, >, self->last);
  g_assert_cmpuint (n, >=, self->floor);
  self->last = n;
  self->seen++;
  g_cond_broadcast (&self->changed);
  g_mutex_unlock (&self->lock);
  return GST_PAD_PROBE_OK;
}

void
load_init (Load *self, const gchar *text, gfloat factor)
{
  static const LoadSource tensors = {
      {LOAD_SHORT, LOAD_LONG}, {LOAD_WEIGHT_5, LOAD_WEIGHT}, make_tensor, check_tensor, NULL};

  load_init_with (self, text, factor, &tensors);
}

void
load_init_with (Load *self, const gchar *text, gfloat factor, const LoadSource *source)
{
  *self = (Load){.source = source, .factor = factor, .last = -1};
  g_mutex_init (&self->lock);
  g_cond_init (&self->changed);
  line_init (&self->line, text, source->caps[0]);
  gst_harness_set_drop_buffers (self->line.harness, TRUE);
  gst_pad_add_probe (self->line.harness->sinkpad, GST_PAD_PROBE_TYPE_BUFFER, see, self, NULL);
  gst_pad_add_probe (self->line.harness->sinkpad, GST_PAD_PROBE_TYPE_EVENT_FLUSH, see_flush, self,
                     NULL);
}

void
load_clear (Load *self)
{
  g_clear_pointer (&self->pusher, g_thread_join);
  line_clear (&self->line);
  g_mutex_clear (&self->lock);
  g_cond_clear (&self->changed);
}

GstFlowReturn
load_push (Load *self)
{
  const gboolean is_long = self->caps_period > 0 && self->next / self->caps_period % 2 > 0;
  GstBuffer *buffer = self->source->make (self->source->data, self->next, is_long);
  GstFlowReturn flow;

  GST_BUFFER_PTS (buffer) = self->next * LOAD_FRAME;
  GST_BUFFER_DURATION (buffer) = LOAD_FRAME;
  if (self->caps_period > 0 && self->next % self->caps_period == 0)
    gst_harness_set_src_caps_str (self->line.harness, self->source->caps[is_long]);
  flow = gst_harness_push (self->line.harness, buffer);
  g_mutex_lock (&self->lock);
  self->next++;
  self->taken += flow == GST_FLOW_OK;
  g_mutex_unlock (&self->lock);
  return flow;
}

static void
park (Load *self)
{
  g_mutex_lock (&self->lock);
  self->parked = TRUE;
  g_cond_broadcast (&self->changed);
  while (self->parked)
    g_cond_wait (&self->changed, &self->lock);
  g_mutex_unlock (&self->lock);
}

static gpointer
push_all (gpointer data)
{
  Load *self = data;

  while (self->taken < self->wanted) {
    const GstFlowReturn flow = load_push (self);

    if (flow == GST_FLOW_FLUSHING)
      park (self);
    else
      g_assert_cmpstr (gst_flow_get_name (flow), ==, "ok");
  }
  g_mutex_lock (&self->lock);
  self->done = TRUE;
  g_cond_broadcast (&self->changed);
  g_mutex_unlock (&self->lock);
  return NULL;
}

void
load_start (Load *self, guint wanted, guint caps_period)
{
  self->wanted = wanted;
  self->caps_period = caps_period;
  self->pusher = g_thread_new ("pusher", push_all, self);
}

gboolean
load_wait (Load *self, guint n)
{
  gboolean pushing;
  guint until;

  g_mutex_lock (&self->lock);
  until = self->seen + n;
  while (!self->done && self->seen < until)
    g_cond_wait (&self->changed, &self->lock);
  pushing = !self->done;
  g_mutex_unlock (&self->lock);
  return pushing;
}

gboolean
load_wait_parked (Load *self)
{
  gboolean parked;

  g_mutex_lock (&self->lock);
  while (!self->done && !self->parked)
    g_cond_wait (&self->changed, &self->lock);
  parked = self->parked;
  g_mutex_unlock (&self->lock);
  return parked;
}

void
load_resume (Load *self, gboolean anew)
{
  GstHarness *harness = self->line.harness;
  GstSegment segment;

  gst_segment_init (&segment, GST_FORMAT_TIME);
  if (anew) {
    g_assert_true (gst_harness_push_event (harness, gst_event_new_stream_start ("again")));
    gst_harness_set_src_caps_str (harness, self->source->caps[0]);
  }
  g_assert_true (gst_harness_push_event (harness, gst_event_new_segment (&segment)));
  g_mutex_lock (&self->lock);
  self->parked = FALSE;
  g_cond_broadcast (&self->changed);
  g_mutex_unlock (&self->lock);
}

void
load_end (Load *self)
{
  g_autoptr (GstMessage) message = NULL;
  g_autoptr (GError) error = NULL;

  g_clear_pointer (&self->pusher, g_thread_join);
  g_assert_true (gst_harness_push_event (self->line.harness, gst_event_new_eos ()));
  message = gst_bus_pop_filtered (self->line.bus, GST_MESSAGE_ERROR | GST_MESSAGE_WARNING);
  if (message && GST_MESSAGE_TYPE (message) == GST_MESSAGE_WARNING)
    gst_message_parse_warning (message, &error, NULL);
  else if (message)
    gst_message_parse_error (message, &error, NULL);
  g_assert_no_error (error);
}
