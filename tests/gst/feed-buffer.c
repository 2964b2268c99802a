/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "feed-private.h"

static gdouble
pick_sample (Feed *self)
{
  switch (self->shape.type) {
  case SAMPLE_F32:
    return feed_pick_float (self, -1, 1);
  case SAMPLE_S16:
    return feed_is_true (self, 3) ? G_MAXINT16 : g_rand_int_range (self->rand, -3000, 3001);
  default:
    return g_rand_int_range (self->rand, 0, 256);
  }
}

/* Of audio many buffers are as long as the one before, and few longer than all others. */
static gsize
pick_rows (Feed *self)
{
  static const gsize choice[] = {1, 7, 16, 33};

  if (self->shape.medium != MEDIUM_AUDIO)
    return self->shape.rows;
  if (feed_is_true (self, 25))
    self->samples = choice[g_rand_int_range (self->rand, 0, G_N_ELEMENTS (choice))];
  return feed_is_true (self, 1) ? (gsize)g_rand_int_range (self->rand, 1000, 2500) : self->samples;
}

static GstBuffer *
make_buffer (Feed *self, gboolean is_gap)
{
  const gsize rows = pick_rows (self), n = rows * self->shape.columns;
  g_autofree gdouble *values = g_new0 (gdouble, n);

  for (gsize i = 0; i < n && !(is_gap && self->shape.medium == MEDIUM_AUDIO); i++)
    values[i] = pick_sample (self);
  return shape_write (&self->shape, rows, values);
}

static void
set_times (Feed *self, GstBuffer *buffer)
{
  GST_BUFFER_PTS (buffer) = self->time;
  GST_BUFFER_DTS (buffer) = feed_is_true (self, 50) ? self->time / 2 : GST_CLOCK_TIME_NONE;
  GST_BUFFER_DURATION (buffer) = FEED_FRAME;
  GST_BUFFER_OFFSET (buffer) = self->n;
  GST_BUFFER_OFFSET_END (buffer) = self->n + 1;
  self->n++;
  self->time += FEED_FRAME;
}

static void
sync_scalar (Feed *self, GstControlSource *source, GstClockTime time, gdouble *value)
{
  guint64 stream_time = gst_segment_to_stream_time (&self->segment, GST_FORMAT_TIME, time);

  if (source)
    g_assert_true (gst_control_source_get_value (source, stream_time, value));
}

static void
add_buffer (Feed *self, GstBuffer *buffer)
{
  Item *item = g_new0 (Item, 1);

  sync_scalar (self, self->alpha, GST_BUFFER_PTS (buffer), &self->terms.alpha);
  sync_scalar (self, self->beta, GST_BUFFER_PTS (buffer), &self->terms.beta);
  item->kind = ITEM_BUFFER;
  item->buffer = gst_buffer_ref (buffer);
  item->caps = gst_caps_from_string (self->caps);
  item->resets = self->resets || GST_BUFFER_IS_DISCONT (buffer);
  terms_copy (&item->terms, &self->terms);
  g_ptr_array_add (self->items, item);
  self->resets = self->n_changed = FALSE;
}

void
feed_push_buffer (Feed *self)
{
  const gboolean is_gap = feed_is_true (self, 10);
  GstBuffer *buffer =
      is_gap && feed_is_true (self, 40) ? gst_buffer_new () : make_buffer (self, is_gap);
  GstFlowReturn flow;

  set_times (self, buffer);
  if (is_gap)
    GST_BUFFER_FLAG_SET (buffer, GST_BUFFER_FLAG_GAP);
  if (feed_is_true (self, 7))
    GST_BUFFER_FLAG_SET (buffer, GST_BUFFER_FLAG_DISCONT);
  if (feed_is_true (self, 20))
    GST_BUFFER_FLAG_SET (buffer, GST_BUFFER_FLAG_MARKER);
  g_string_append_printf (self->script, "%s%s%" G_GSIZE_FORMAT,
                          GST_BUFFER_IS_DISCONT (buffer) ? "D" : "", is_gap ? "G" : "",
                          gst_buffer_get_size (buffer));
  add_buffer (self, buffer);
  flow = gst_harness_push (self->stream->harness, buffer);
  if (flow != GST_FLOW_OK)
    feed_refuse (self, gst_flow_get_name (flow));
}
