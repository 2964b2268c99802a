/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gemmcl-events.h"

/* CL_COMPLETE is 0; what has still to run is above that, what failed is below. */
static cl_int
get_status (cl_event event)
{
  cl_int status = CL_COMPLETE;

  clGetEventInfo (event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL);
  return status;
}

static void
clear_read (GstGemmclEvents *self)
{
  gst_opencl_release_events (self->n_read, self->read);
  self->n_read = 0;
}

void
gst_gemmcl_events_clear (GstGemmclEvents *self)
{
  g_clear_pointer (&self->written, clReleaseEvent);
  clear_read (self);
}

static void
prune_read (GstGemmclEvents *self)
{
  guint n = 0;

  for (guint i = 0; i < self->n_read; i++) {
    if (get_status (self->read[i]) > CL_COMPLETE)
      self->read[n++] = self->read[i];
    else
      clReleaseEvent (self->read[i]);
  }
  self->n_read = n;
}

void
gst_gemmcl_events_prune (GstGemmclEvents *self)
{
  if (self->written && get_status (self->written) <= CL_COMPLETE)
    g_clear_pointer (&self->written, clReleaseEvent);
  prune_read (self);
}

/* To a reader the last write is given even when it is done: only to wait for it makes what was
 * written visible in another queue. */
guint
gst_gemmcl_events_get (GstGemmclEvents *self, GstMapFlags access,
                       cl_event events[GST_OPENCL_MAX_EVENTS])
{
  guint n = 0;

  if (access & GST_MAP_WRITE)
    prune_read (self);
  if (self->written && (access & GST_MAP_READ || get_status (self->written) > CL_COMPLETE))
    events[n++] = self->written;
  for (guint i = 0; access & GST_MAP_WRITE && i < self->n_read; i++)
    events[n++] = self->read[i];
  for (guint i = 0; i < n; i++)
    clRetainEvent (events[i]);
  return n;
}

/* One event that stands for all, or their end. */
static void
join_read (GstGemmclEvents *self, cl_command_queue queue)
{
  cl_event all = NULL;

  if (clEnqueueMarkerWithWaitList (queue, self->n_read, self->read, &all) == CL_SUCCESS)
    clFlush (queue);
  else
    clWaitForEvents (self->n_read, self->read);
  clear_read (self);
  if (all)
    self->read[self->n_read++] = all;
}

void
gst_gemmcl_events_add (GstGemmclEvents *self, GstMapFlags access, cl_event event,
                       cl_command_queue queue)
{
  if (event)
    clRetainEvent (event);
  if (access & GST_MAP_WRITE) {
    gst_gemmcl_events_clear (self);
    self->written = event;
  } else if (event) {
    if (self->n_read == G_N_ELEMENTS (self->read))
      prune_read (self);
    if (self->n_read == G_N_ELEMENTS (self->read))
      join_read (self, queue);
    self->read[self->n_read++] = event;
  }
}

gboolean
gst_gemmcl_events_failed (const GstGemmclEvents *self)
{
  return self->written && get_status (self->written) < CL_COMPLETE;
}
