/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "arrivals.h"

struct _Arrivals {
  GstPad *pad;
  gulong probe;
  gboolean maps;
  GAsyncQueue *all; /* (element-type Arrival) */
  Arrival *next;    /* (nullable): taken from there */
};

static void
arrival_free (gpointer data)
{
  Arrival *self = data;

  if (!self)
    return;
  gst_clear_buffer (&self->buffer);
  gst_clear_caps (&self->caps);
  gst_clear_event (&self->event);
  g_free (self);
}

static void
add (Arrivals *self, const Arrival *arrival)
{
  g_async_queue_push (self->all, g_memdup2 (arrival, sizeof *arrival));
}

static void
add_event (Arrivals *self, GstEvent *event)
{
  switch (GST_EVENT_TYPE (event)) {
  case GST_EVENT_STREAM_START:
  case GST_EVENT_CAPS:
  case GST_EVENT_FLUSH_START:
    return;
  case GST_EVENT_FLUSH_STOP:
    add (self, &(Arrival){.kind = ARRIVAL_FLUSH});
    return;
  default:
    add (self, &(Arrival){.kind = ARRIVAL_EVENT, .event = gst_event_ref (event)});
  }
}

static GstPadProbeReturn
note (GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  Arrivals *self = data;
  GstBuffer *buffer;
  GstMapInfo map;

  if (!(info->type & GST_PAD_PROBE_TYPE_BUFFER)) {
    add_event (self, GST_PAD_PROBE_INFO_EVENT (info));
    return GST_PAD_PROBE_OK;
  }
  buffer = GST_PAD_PROBE_INFO_BUFFER (info);
  if (self->maps && gst_buffer_map (buffer, &map, GST_MAP_READ))
    gst_buffer_unmap (buffer, &map);
  add (self, &(Arrival){.kind = ARRIVAL_BUFFER,
                        .buffer = gst_buffer_ref (buffer),
                        .caps = gst_pad_get_current_caps (pad)});
  return GST_PAD_PROBE_DROP;
}

Arrivals *
arrivals_new (GstPad *pad, gboolean maps)
{
  Arrivals *self = g_new0 (Arrivals, 1);

  self->pad = gst_object_ref (pad);
  self->maps = maps;
  self->all = g_async_queue_new_full (arrival_free);
  self->probe = gst_pad_add_probe (pad,
                                   GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM |
                                       GST_PAD_PROBE_TYPE_EVENT_FLUSH,
                                   note, self, NULL);
  return self;
}

void
arrivals_free (Arrivals *self)
{
  gst_pad_remove_probe (self->pad, self->probe);
  gst_object_unref (self->pad);
  arrivals_drop (self);
  g_async_queue_unref (self->all);
  g_free (self);
}

const Arrival *
arrivals_peek (Arrivals *self, guint64 timeout)
{
  if (!self->next)
    self->next = g_async_queue_timeout_pop (self->all, timeout);
  return self->next;
}

void
arrivals_drop (Arrivals *self)
{
  g_clear_pointer (&self->next, arrival_free);
}
