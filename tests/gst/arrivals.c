/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "arrivals.h"

struct _Arrivals {
  GstPad *pad;
  gulong probe;
  gboolean maps;
  GMutex lock;
  GCond changed;
  GPtrArray *all;
};

static void
arrival_free (gpointer data)
{
  Arrival *self = data;

  gst_clear_buffer (&self->buffer);
  gst_clear_caps (&self->caps);
  gst_clear_event (&self->event);
  g_free (self);
}

static void
add (Arrivals *self, const Arrival *arrival)
{
  g_mutex_lock (&self->lock);
  g_ptr_array_add (self->all, g_memdup2 (arrival, sizeof *arrival));
  g_cond_broadcast (&self->changed);
  g_mutex_unlock (&self->lock);
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
  g_mutex_init (&self->lock);
  g_cond_init (&self->changed);
  self->all = g_ptr_array_new_with_free_func (arrival_free);
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
  g_ptr_array_unref (self->all);
  g_mutex_clear (&self->lock);
  g_cond_clear (&self->changed);
  g_free (self);
}

const Arrival *
arrivals_get (Arrivals *self, guint index)
{
  const Arrival *arrival;

  g_mutex_lock (&self->lock);
  arrival = index < self->all->len ? g_ptr_array_index (self->all, index) : NULL;
  g_mutex_unlock (&self->lock);
  return arrival;
}

gboolean
arrivals_wait (Arrivals *self, guint n, gint64 timeout)
{
  const gint64 end = g_get_monotonic_time () + timeout;
  gboolean there = TRUE;

  g_mutex_lock (&self->lock);
  while (self->all->len < n && there)
    there = g_cond_wait_until (&self->changed, &self->lock, end);
  there = self->all->len >= n;
  g_mutex_unlock (&self->lock);
  return there;
}
