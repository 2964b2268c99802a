/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "memory/inflight.h"

struct _GstGemmclInflight {
  GMutex lock; /* guards what follows; nothing is waited for while it is held */
  guint64 number;
  cl_event done; /* NULL: there is no run, or its end was seen by the owner */
  guint n;       /* inputs that are held */
  GstBuffer **inputs;
  GstGemmclMapping *mappings;
};

void
gst_gemmcl_mapping_clear (GstGemmclMapping *self)
{
  if (self->is_frame)
    gst_video_frame_unmap (&self->frame);
  if (self->memory) {
    gst_memory_unmap (self->memory, &self->map);
    gst_memory_unref (self->memory);
  }
  self->is_frame = FALSE;
  self->memory = NULL;
}

GstGemmclInflight *
gst_gemmcl_inflight_new (guint batch)
{
  GstGemmclInflight *self = g_atomic_rc_box_new0 (GstGemmclInflight);

  g_mutex_init (&self->lock);
  self->inputs = g_new0 (GstBuffer *, batch);
  self->mappings = g_new0 (GstGemmclMapping, batch);
  return self;
}

static void
clear (gpointer data)
{
  GstGemmclInflight *self = data;

  gst_gemmcl_inflight_finish (self);
  g_mutex_clear (&self->lock);
  g_free (self->inputs);
  g_free (self->mappings);
}

void
gst_gemmcl_inflight_unref (GstGemmclInflight *self)
{
  g_atomic_rc_box_release_full (self, clear);
}

GstGemmclMapping *
gst_gemmcl_inflight_get_mapping (GstGemmclInflight *self, guint index)
{
  return &self->mappings[index];
}

guint64
gst_gemmcl_inflight_begin (GstGemmclInflight *self, guint n, GstBuffer *const *inputs,
                           cl_event done)
{
  g_autoptr (GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new (&self->lock);

  self->done = done;
  self->n = n;
  for (guint i = 0; i < n; i++)
    self->inputs[i] = gst_buffer_ref (inputs[i]);
  return ++self->number;
}

cl_int
gst_gemmcl_event_get_status (cl_event event)
{
  cl_int status = CL_COMPLETE;

  if (event)
    clGetEventInfo (event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL);
  return status;
}

gboolean
gst_gemmcl_inflight_is_busy (GstGemmclInflight *self)
{
  g_autoptr (GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new (&self->lock);

  return gst_gemmcl_event_get_status (self->done) > CL_COMPLETE;
}

static void
release_locked (GstGemmclInflight *self)
{
  for (guint i = 0; i < self->n; i++) {
    gst_gemmcl_mapping_clear (&self->mappings[i]);
    gst_clear_buffer (&self->inputs[i]);
  }
  self->n = 0;
}

cl_int
gst_gemmcl_inflight_finish (GstGemmclInflight *self)
{
  cl_event done = NULL;
  cl_int status;

  g_mutex_lock (&self->lock);
  done = g_steal_pointer (&self->done);
  g_mutex_unlock (&self->lock);
  if (!done)
    return CL_SUCCESS;
  clWaitForEvents (1, &done);
  status = gst_gemmcl_event_get_status (done);
  clReleaseEvent (done);
  g_mutex_lock (&self->lock);
  release_locked (self);
  g_mutex_unlock (&self->lock);
  return MIN (status, CL_SUCCESS);
}

void
gst_gemmcl_inflight_finish_run (GstGemmclInflight *self, guint64 number)
{
  g_autoptr (GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new (&self->lock);

  if (self->number == number && self->done &&
      gst_gemmcl_event_get_status (self->done) <= CL_COMPLETE)
    release_locked (self);
}

guint
gst_gemmcl_inflight_count (GstGemmclInflight *self)
{
  g_autoptr (GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new (&self->lock);

  return self->n;
}
