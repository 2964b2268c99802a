/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "element/gstgemmcl.h"

#define GST_CAT_DEFAULT gst_gemmcl_debug

struct _GstGemmclBatch {
  gboolean discont;   /* QoS dropped the buffer before the next one */
  GstFlowReturn flow; /* result of the last batch that its timeout ended */

  GstClock *clock;
  GstClockTime deadline; /* of clock */
  GstClockID timer;      /* (nullable): NULL without a timeout */
};

void
gst_gemmcl_batch_start (GstGemmcl *self)
{
  GstGemmclBatch *batch = g_new0 (GstGemmclBatch, 1);

  batch->clock = gst_system_clock_obtain ();
  self->batch = batch;
}

static void
stop_timer (GstGemmclBatch *batch)
{
  if (batch->timer)
    gst_clock_id_unschedule (batch->timer);
  g_clear_pointer (&batch->timer, gst_clock_id_unref);
}

void
gst_gemmcl_batch_clear (GstGemmcl *self)
{
  stop_timer (self->batch);
  self->batch->discont = FALSE;
  self->batch->flow = GST_FLOW_OK;
}

void
gst_gemmcl_batch_stop (GstGemmcl *self)
{
  gst_gemmcl_batch_clear (self);
  gst_object_unref (self->batch->clock);
  g_clear_pointer (&self->batch, g_free);
}

static GstFlowReturn
end (GstGemmcl *self)
{
  stop_timer (self->batch);
  return gst_gemmcl_turns_get_parcel (self)->n > 0 ? gst_gemmcl_turns_take (self) : GST_FLOW_OK;
}

GstFlowReturn
gst_gemmcl_batch_end (GstGemmcl *self)
{
  const GstFlowReturn late = self->batch->flow, flow = end (self);

  self->batch->flow = GST_FLOW_OK;
  return late != GST_FLOW_OK ? late : flow;
}

/* Ends the batch after its timeout, in a thread of GStreamer. By now the batch may be a later one,
 * and the element may have stopped. */
static void
end_late (GstElement *element, gpointer data G_GNUC_UNUSED)
{
  GstGemmcl *self = GST_GEMMCL (element);
  GstPad *pad = GST_BASE_TRANSFORM (self)->sinkpad;
  GstGemmclBatch *batch;
  guint n;

  GST_PAD_STREAM_LOCK (pad);
  batch = self->batch;
  n = batch ? gst_gemmcl_turns_get_parcel (self)->n : 0;
  if (n > 0 && gst_clock_get_time (batch->clock) >= batch->deadline && !GST_PAD_IS_FLUSHING (pad)) {
    GST_LOG_OBJECT (self, "%u of %u buffers at the timeout", n, self->stream.settings.batch_size);
    batch->flow = end (self);
  }
  GST_PAD_STREAM_UNLOCK (pad);
}

/* Runs in the thread of the clock, which must not wait. */
static gboolean
on_timeout (GstClock *clock G_GNUC_UNUSED, GstClockTime time G_GNUC_UNUSED,
            GstClockID id G_GNUC_UNUSED, gpointer data)
{
  gst_element_call_async (GST_ELEMENT (data), end_late, NULL, NULL);
  return TRUE;
}

static void
start_timer (GstGemmcl *self)
{
  const GstGemmclSettings *settings = &self->stream.settings;
  GstClockTime timeout = MAX (settings->batch_timeout, 0);
  GstGemmclBatch *batch = self->batch;

  if (settings->batch_timeout < 0 && GST_CLOCK_TIME_IS_VALID (self->stream.frame_duration))
    timeout = settings->batch_size * self->stream.frame_duration;
  if (timeout == 0)
    return;
  batch->deadline = gst_clock_get_time (batch->clock) + timeout;
  batch->timer = gst_clock_new_single_shot_id (batch->clock, batch->deadline);
  gst_clock_id_wait_async (batch->timer, on_timeout, gst_object_ref (self), gst_object_unref);
}

/* Raises frame_duration to @duration, that of a buffer, since caps may have none. */
static gboolean
learn_duration (GstGemmcl *self, GstClockTime duration)
{
  g_autoptr (GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new (&self->lock);
  GstClockTime *known = &self->stream.frame_duration;

  if (!GST_CLOCK_TIME_IS_VALID (duration) ||
      (GST_CLOCK_TIME_IS_VALID (*known) && duration <= *known))
    return FALSE;
  *known = duration;
  return TRUE;
}

GstFlowReturn
gst_gemmcl_batch_add (GstGemmcl *self, GstBuffer *input)
{
  GstGemmclBatch *batch = self->batch;
  GstGemmclParcel *parcel = gst_gemmcl_turns_get_parcel (self);
  const guint batch_size = self->stream.settings.batch_size;
  GstFlowReturn flow = batch->flow;

  if (batch_size > 1 && learn_duration (self, GST_BUFFER_DURATION (input)))
    gst_element_post_message (GST_ELEMENT (self), gst_message_new_latency (GST_OBJECT (self)));
  if (flow != GST_FLOW_OK ||
      (parcel->n > 0 && gst_buffer_get_size (parcel->inputs[0]) != gst_buffer_get_size (input)))
    flow = gst_gemmcl_batch_end (self);
  if (flow != GST_FLOW_OK) {
    gst_buffer_unref (input);
    return flow;
  }
  /* The end of a batch has taken its parcel. */
  parcel = gst_gemmcl_turns_get_parcel (self);
  if (batch->discont) {
    input = gst_buffer_make_writable (input);
    GST_BUFFER_FLAG_SET (input, GST_BUFFER_FLAG_DISCONT);
    batch->discont = FALSE;
  }
  parcel->inputs[parcel->n++] = input;
  g_ptr_array_add (parcel->items, input);
  if (parcel->n >= MIN (batch_size, gst_gemmcl_runs_get_limit (self, input)))
    return gst_gemmcl_batch_end (self);
  if (parcel->n == 1)
    start_timer (self);
  return GST_FLOW_OK;
}

void
gst_gemmcl_batch_mark_discont (GstGemmcl *self)
{
  self->batch->discont = TRUE;
}

gboolean
gst_gemmcl_batch_hold (GstGemmcl *self, GstEvent *event)
{
  switch (GST_EVENT_TYPE (event)) {
  case GST_EVENT_STREAM_START:
  case GST_EVENT_CAPS:
  case GST_EVENT_SEGMENT:
  case GST_EVENT_SEGMENT_DONE:
  case GST_EVENT_STREAM_GROUP_DONE:
  case GST_EVENT_EOS:
  case GST_EVENT_FLUSH_STOP:
    return FALSE;
  default:
    /* Events that are not serialized come without the stream lock, which guards the batch. */
    if (!GST_EVENT_IS_SERIALIZED (event) || gst_gemmcl_turns_get_parcel (self)->n == 0)
      return FALSE;
    g_ptr_array_add (gst_gemmcl_turns_get_parcel (self)->items, event);
    return TRUE;
  }
}

GstClockTime
gst_gemmcl_batch_get_latency (GstGemmcl *self)
{
  g_autoptr (GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new (&self->lock);
  GstClockTime latency = 0;

  if (self->stream.started && GST_CLOCK_TIME_IS_VALID (self->stream.frame_duration))
    latency = (self->stream.settings.batch_size - 1) * self->stream.frame_duration;
  if (self->stream.settings.batch_timeout > 0)
    latency = MIN (latency, (GstClockTime)self->stream.settings.batch_timeout);
  return latency;
}
