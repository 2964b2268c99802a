/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The host's and the device's access to OpenCL memory. Only maps wait; events order the commands of
 * the device. */
#include "memory/memory.h"

#include "memory/queues.h"

GST_DEBUG_CATEGORY (gst_gemmcl_memory_debug);
#define GST_CAT_DEFAULT gst_gemmcl_memory_debug

static GstGemmclAllocator *
get_allocator (const GstGemmclMemory *self)
{
  return GST_GEMMCL_ALLOCATOR (self->parent.allocator);
}

/* Returns: the queue for the next copy. */
static cl_command_queue
get_queue (const GstGemmclMemory *self)
{
  return g_atomic_pointer_get (&get_allocator (self)->queue);
}

/* Returns: the queue for the next map or unmap. */
static cl_command_queue
get_map_queue (const GstGemmclMemory *self)
{
  const cl_command_queue maps = g_atomic_pointer_get (&get_allocator (self)->maps);

  return maps ? maps : get_queue (self);
}

/* Releases the events of all reads or, without @all, of reads that have ended. */
static void
drop_read (GstGemmclEvents *self, gboolean all)
{
  guint n = 0;

  for (guint i = 0; i < self->n_read; i++) {
    if (!all && !gst_gemmcl_event_has_ended (self->read[i]))
      self->read[n++] = self->read[i];
    else
      clReleaseEvent (self->read[i]);
  }
  self->n_read = n;
}

/* Releases the events of all commands or, without @all, of commands that have ended. */
static void
events_drop (GstGemmclEvents *self, gboolean all)
{
  if (all || gst_gemmcl_event_has_ended (self->written))
    g_clear_pointer (&self->written, clReleaseEvent);
  self->lost = FALSE;
  drop_read (self, all);
}

/* @events: (out): retained events that a command of @access waits for. Returns: their number. A
 * reader waits for the last write even if it is complete: only a wait for its event makes its
 * result visible in another queue. */
static guint
events_get (GstGemmclEvents *self, GstMapFlags access, cl_event events[GST_GEMMCL_MAX_EVENTS])
{
  guint n = 0;

  if (access & GST_MAP_WRITE)
    drop_read (self, FALSE);
  if (self->written && (access & GST_MAP_READ || !gst_gemmcl_event_has_ended (self->written)))
    events[n++] = self->written;
  for (guint i = 0; access & GST_MAP_WRITE && i < self->n_read; i++)
    events[n++] = self->read[i];
  for (guint i = 0; i < n; i++)
    clRetainEvent (events[i]);
  return n;
}

/* Replaces the events of all reads by one event, or waits for the reads if that fails. */
static void
join_read (GstGemmclEvents *self, GstGemmclAllocator *allocator)
{
  const cl_command_queue queue = g_atomic_pointer_get (&allocator->queue);
  cl_event all = NULL;

  if (clEnqueueMarkerWithWaitList (queue, self->n_read, self->read, &all) == CL_SUCCESS)
    clFlush (queue);
  for (guint i = 0; !all && i < self->n_read; i++)
    gst_gemmcl_queues_wait (allocator, self->read[i]);
  drop_read (self, TRUE);
  if (all)
    self->read[self->n_read++] = all;
}

static void
events_add (GstGemmclEvents *self, GstMapFlags access, cl_event event,
            GstGemmclAllocator *allocator)
{
  if (event)
    clRetainEvent (event);
  if (access & GST_MAP_WRITE) {
    events_drop (self, TRUE);
    self->written = event;
  } else if (event) {
    if (self->n_read == G_N_ELEMENTS (self->read))
      drop_read (self, FALSE);
    if (self->n_read == G_N_ELEMENTS (self->read))
      join_read (self, allocator);
    self->read[self->n_read++] = event;
  }
}

/* FALSE unless @status is CL_SUCCESS: logs that @call failed and leaves its @queue, (nullable). */
static gboolean
check (GstGemmclMemory *self, cl_command_queue queue, cl_int status, const gchar *call)
{
  if (status == CL_SUCCESS)
    return TRUE;
  if (queue)
    gst_gemmcl_queues_leave (self->parent.allocator, queue);
  GST_ERROR_OBJECT (get_allocator (self), "%s failed with %d for a memory of %zu bytes", call,
                    status, self->parent.maxsize);
  return FALSE;
}

/* TRUE if the last write failed, or if the driver does not tell. */
static gboolean
is_lost (GstGemmclMemory *self)
{
  g_autoptr (GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new (&self->lock);
  cl_int status;

  return self->events.lost || !gst_gemmcl_event_ask (self->events.written, &status) ||
         status < CL_COMPLETE;
}

static guint
get_events (GstMemory *memory, GstMapFlags access, cl_event events[GST_GEMMCL_MAX_EVENTS])
{
  GstGemmclMemory *self = gst_gemmcl_memory_get (memory);
  g_autoptr (GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new (&self->lock);

  return events_get (&self->events, access, events);
}

/* Waits until the host may access the memory by @access. FALSE if the host reads and the last write
 * failed, or if a command may still use the memory. */
static gboolean
wait_for_device (GstGemmclMemory *self, GstMapFlags access)
{
  cl_event events[GST_GEMMCL_MAX_EVENTS];
  const guint n = get_events (&self->parent, access, events);
  gboolean ok = TRUE;

  /* One event at a time: a failed read does not matter, but would end a wait for all early. */
  for (guint i = 0; i < n; i++)
    ok &= gst_gemmcl_queues_wait (get_allocator (self), events[i]) ||
          gst_gemmcl_event_has_ended (events[i]);
  gst_gemmcl_release_events (n, events);
  return (ok && !(access & GST_MAP_READ && is_lost (self))) ||
         check (self, NULL, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST,
                "the last write of the device");
}

static void
add_event (GstMemory *memory, GstMapFlags access, cl_event event)
{
  GstGemmclMemory *self = gst_gemmcl_memory_get (memory);
  g_autoptr (GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new (&self->lock);

  events_add (&self->events, access, event, get_allocator (self));
}

/* Finishes the enqueueing of @call, a command of @access in @queue. Releases the @n @events that it
 * waits for and its event @done, which it records. Needs @lock. */
static gboolean
end_command (GstGemmclMemory *self, cl_command_queue queue, cl_int status, const gchar *call,
             GstMapFlags access, guint n, const cl_event *events, cl_event done)
{
  gst_gemmcl_release_events (n, events);
  if (!check (self, queue, status, call))
    return FALSE;
  clFlush (queue);
  events_add (&self->events, access, done, get_allocator (self));
  clReleaseEvent (done);
  return TRUE;
}

/* Maps @buffer, which no command uses. Returns NULL, and logs @what, if that fails. */
static gpointer
map_buffer (GstGemmclMemory *self, cl_mem buffer, cl_map_flags flags, const gchar *what)
{
  const cl_command_queue queue = get_map_queue (self);
  gboolean ok;
  cl_event done = NULL;
  cl_int status;
  gpointer data = clEnqueueMapBuffer (queue, buffer, CL_FALSE, flags, 0, self->parent.maxsize, 0,
                                      NULL, &done, &status);

  if (!check (self, queue, status, what))
    return NULL;
  ok = gst_gemmcl_queues_wait (get_allocator (self), done);
  clReleaseEvent (done);
  if (ok)
    return data;
  clEnqueueUnmapMemObject (get_map_queue (self), buffer, data, 0, NULL, NULL);
  check (self, NULL, CL_MAP_FAILURE, what);
  return NULL;
}

/* Maps the buffer once for all maps of the host. GStreamer does not allow a later map more access
 * than the first has, and PoCL 3.1 fails with several mappings of one buffer. */
static gpointer
map_mapped (GstGemmclMemory *self, GstMapFlags access)
{
  const cl_map_flags flags =
      (access & GST_MAP_READ ? CL_MAP_READ : 0) | (access & GST_MAP_WRITE ? CL_MAP_WRITE : 0);
  g_autoptr (GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new (&self->host_lock);

  if (self->n_maps == 0) {
    if (!wait_for_device (self, access) ||
        !(self->mapped = map_buffer (self, self->buffer, flags, "clEnqueueMapBuffer")))
      return NULL;
    self->mapped_access = 0;
  }
  self->n_maps++;
  self->mapped_access |= access;
  return self->mapped;
}

static gboolean
make_staging (GstGemmclMemory *self)
{
  const cl_context context = gemmcl_context_get_cl_context (get_allocator (self)->context);
  const gsize size = self->parent.maxsize;
  cl_int status;

  if (self->staging)
    return TRUE;
  self->pinned =
      clCreateBuffer (context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, size, NULL, &status);
  if (check (self, NULL, status, "pinning memory of the host"))
    self->staging = map_buffer (self, self->pinned, CL_MAP_READ | CL_MAP_WRITE,
                                "mapping pinned memory of the host");
  if (!self->staging)
    g_clear_pointer (&self->pinned, clReleaseMemObject);
  return self->staging != NULL;
}

/* Enqueues a copy to the host after the last write, if a copy is needed. If that write failed there
 * is nothing to copy: FALSE if @access reads. Needs host_lock. */
static gboolean
fetch (GstGemmclMemory *self, GstMapFlags access)
{
  const cl_command_queue queue = g_atomic_pointer_get (&get_allocator (self)->fetches);
  g_autoptr (GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new (&self->lock);
  cl_event wait_list[GST_GEMMCL_MAX_EVENTS], done;
  cl_int status;
  guint n;

  if (!self->need_download)
    return TRUE;
  if (!gst_gemmcl_event_ask (self->events.written, &status) || !make_staging (self))
    return FALSE;
  if (self->events.lost || status < CL_COMPLETE)
    return !(access & GST_MAP_READ);
  n = events_get (&self->events, GST_MAP_READ, wait_list);
  status = clEnqueueReadBuffer (queue, self->buffer, CL_FALSE, 0, self->parent.maxsize,
                                self->staging, n, n > 0 ? wait_list : NULL, &done);
  if (!end_command (self, queue, status, "clEnqueueReadBuffer", GST_MAP_READ, n, wait_list, done))
    return FALSE;
  clRetainEvent (done);
  g_clear_pointer (&self->fetched, clReleaseEvent);
  self->fetched = done;
  self->need_download = FALSE;
  return TRUE;
}

/* Waits for the copy of fetch(), if there is one. FALSE if it failed. */
static gboolean
wait_for_fetched (GstGemmclMemory *self)
{
  cl_event fetched;
  gboolean ok;

  g_mutex_lock (&self->lock);
  fetched = g_steal_pointer (&self->fetched);
  g_mutex_unlock (&self->lock);
  if (!fetched)
    return TRUE;
  ok = gst_gemmcl_queues_wait (get_allocator (self), fetched);
  clReleaseEvent (fetched);
  if (ok)
    return TRUE;
  g_mutex_lock (&self->lock);
  self->need_download = TRUE;
  g_mutex_unlock (&self->lock);
  return check (self, NULL, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, "the copy to the host");
}

/* Copies the content to the host, if that is needed. A copy that was enqueued right after the run
 * and failed, though the run did not, is made once more. */
static gboolean
download (GstGemmclMemory *self, GstMapFlags access)
{
  if (!fetch (self, access))
    return FALSE;
  return wait_for_fetched (self) ||
         (wait_for_device (self, GST_MAP_READ) && fetch (self, access) && wait_for_fetched (self));
}

/* Maps the staging memory and downloads the content into it if needed, also for GST_MAP_WRITE
 * alone: the host may write only a part. After gst_gemmcl_memory_recycle() nothing is downloaded.
 * The host waits first: with some drivers a command that waits for a failed event never ends. */
static gpointer
map_staged (GstGemmclMemory *self, GstMapFlags access)
{
  g_autoptr (GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new (&self->host_lock);
  gboolean need_download;

  g_mutex_lock (&self->lock);
  need_download = self->need_download;
  g_mutex_unlock (&self->lock);
  if (!make_staging (self) ||
      ((need_download || access & GST_MAP_WRITE) && !wait_for_device (self, access)) ||
      !download (self, access))
    return NULL;
  if (access & GST_MAP_WRITE) {
    g_mutex_lock (&self->lock);
    self->need_upload = TRUE;
    self->need_download = FALSE;
    /* wait_for_device() has waited for all commands. */
    events_drop (&self->events, FALSE);
    g_mutex_unlock (&self->lock);
  }
  return self->staging;
}

/* Enqueues the copy of the staging memory to the device. Needs @lock. */
static gboolean
upload (GstGemmclMemory *self)
{
  const gsize size = self->parent.maxsize;
  cl_event wait_list[GST_GEMMCL_MAX_EVENTS], done;
  const cl_command_queue queue = get_queue (self);
  guint n = events_get (&self->events, GST_MAP_WRITE, wait_list);
  cl_int status = clEnqueueWriteBuffer (queue, self->buffer, CL_FALSE, 0, size, self->staging, n,
                                        n > 0 ? wait_list : NULL, &done);

  if (!end_command (self, queue, status, "clEnqueueWriteBuffer", GST_MAP_WRITE, n, wait_list, done))
    return FALSE;
  self->need_upload = FALSE;
  return TRUE;
}

/* Sends the content to the device if needed, without waiting. If @access has neither GST_MAP_READ
 * nor GST_MAP_WRITE, also waits for the last write. FALSE if the sending or that write failed. */
static gboolean
open_device (GstGemmclMemory *self, GstMapFlags access)
{
  gboolean ok;

  g_mutex_lock (&self->lock);
  ok = (!self->need_upload || upload (self)) && !(self->events.lost && access & GST_MAP_READ);
  if (ok && access & GST_MAP_WRITE) {
    self->need_download = get_allocator (self)->is_staged;
    g_clear_pointer (&self->fetched, clReleaseEvent);
  }
  g_mutex_unlock (&self->lock);
  return ok && (access & GST_MAP_READWRITE || wait_for_device (self, GST_MAP_READ));
}

void
gst_gemmcl_memory_set_run (GstMemory *memory, GstGemmclInflight *inflight, gboolean fetches)
{
  GstGemmclMemory *self = gst_gemmcl_memory_get (memory);
  g_autoptr (GstGemmclInflight) old = NULL;

  if (fetches) {
    g_mutex_lock (&self->host_lock);
    fetch (self, GST_MAP_READ);
    g_mutex_unlock (&self->host_lock);
  }
  g_mutex_lock (&self->lock);
  old = self->inflight;
  self->inflight = g_atomic_rc_box_acquire (inflight);
  g_mutex_unlock (&self->lock);
}

gpointer
gst_gemmcl_memory_map (GstMemory *memory, GstMapInfo *info, gsize maxsize G_GNUC_UNUSED)
{
  GstGemmclMemory *self = gst_gemmcl_memory_get (memory);
  g_autoptr (GstGemmclInflight) inflight = NULL;
  gpointer data;

  /* GStreamer adds the offset of @memory to the result, so it is subtracted from a cl_mem. */
  if (info->flags & GST_GEMMCL_MAP_OPENCL)
    return open_device (self, info->flags) ? (guchar *)self->buffer - memory->offset : NULL;
  data = get_allocator (self)->is_staged ? map_staged (self, info->flags)
                                         : map_mapped (self, info->flags);
  if (!data)
    return NULL;
  g_mutex_lock (&self->lock);
  inflight = g_steal_pointer (&self->inflight);
  g_mutex_unlock (&self->lock);
  /* The map has waited for the run that wrote the memory. */
  if (inflight)
    gst_gemmcl_inflight_release (inflight);
  return data;
}

void
gst_gemmcl_memory_unmap (GstMemory *memory, GstMapInfo *info)
{
  GstGemmclMemory *self = gst_gemmcl_memory_get (memory);
  g_autoptr (GMutexLocker) host_locker G_GNUC_UNUSED = NULL, locker G_GNUC_UNUSED = NULL;
  const cl_command_queue queue = get_map_queue (self);
  cl_event done;
  cl_int status;

  if (info->flags & GST_GEMMCL_MAP_OPENCL || get_allocator (self)->is_staged)
    return;
  host_locker = g_mutex_locker_new (&self->host_lock);
  if (--self->n_maps > 0)
    return;
  locker = g_mutex_locker_new (&self->lock);
  status = clEnqueueUnmapMemObject (queue, self->buffer, self->mapped, 0, NULL, &done);
  if (!end_command (self, queue, status, "clEnqueueUnmapMemObject", self->mapped_access, 0, NULL,
                    done) &&
      self->mapped_access & GST_MAP_WRITE)
    self->events.lost = TRUE;
}

gboolean
gst_gemmcl_memory_fill (GstMemory *memory, gconstpointer pattern, gsize size)
{
  GstGemmclMemory *self = gst_gemmcl_memory_get (memory);
  const cl_command_queue queue = get_queue (self);
  cl_event wait_list[GST_GEMMCL_MAX_EVENTS], done;
  g_autoptr (GMutexLocker) locker G_GNUC_UNUSED = NULL;
  cl_int status;
  guint n;

  if (!open_device (self, GST_MAP_WRITE))
    return FALSE;
  locker = g_mutex_locker_new (&self->lock);
  n = events_get (&self->events, GST_MAP_WRITE, wait_list);
  status = clEnqueueFillBuffer (queue, self->buffer, pattern, size, 0, size, n,
                                n > 0 ? wait_list : NULL, &done);
  return end_command (self, queue, status, "clEnqueueFillBuffer", GST_MAP_WRITE, n, wait_list,
                      done);
}

/* Enqueues a copy of the start of @to, of its size, from @from. */
static gboolean
copy_from (GstMemory *to, GstGemmclMemory *from, gsize offset)
{
  const cl_command_queue queue = get_queue (from);
  cl_event wait_list[GST_GEMMCL_MAX_EVENTS], done;
  g_autoptr (GMutexLocker) locker G_GNUC_UNUSED = NULL;
  GstGemmclMemory *target = gst_gemmcl_memory_get (to);
  cl_int status;
  guint n;

  /* With some drivers a command that waits for a failed event never ends. */
  if (is_lost (from) || !open_device (from, GST_MAP_READ) || !open_device (target, GST_MAP_WRITE))
    return FALSE;
  locker = g_mutex_locker_new (&from->lock);
  n = events_get (&from->events, GST_MAP_READ, wait_list);
  status = clEnqueueCopyBuffer (queue, from->buffer, target->buffer, offset, 0, to->size, n,
                                n > 0 ? wait_list : NULL, &done);
  if (status == CL_SUCCESS)
    add_event (to, GST_MAP_WRITE, done);
  return end_command (from, queue, status, "clEnqueueCopyBuffer", GST_MAP_READ, n, wait_list, done);
}

GstMemory *
gst_gemmcl_memory_copy (GstMemory *memory, gssize offset, gssize size)
{
  GstMemory *copy;

  if (size == -1)
    size = memory->size > (gsize)offset ? memory->size - offset : 0;
  copy = gst_allocator_alloc (memory->allocator, size, NULL);
  if (copy && size > 0 &&
      !copy_from (copy, gst_gemmcl_memory_get (memory), memory->offset + offset))
    g_clear_pointer (&copy, gst_memory_unref);
  return copy;
}

void
gst_gemmcl_memory_recycle (GstMemory *memory)
{
  GstGemmclMemory *self = gst_gemmcl_memory_get (memory);
  g_autoptr (GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new (&self->lock);

  events_drop (&self->events, FALSE);
  self->need_upload = self->need_download = FALSE;
  g_clear_pointer (&self->fetched, clReleaseEvent);
}

void
gst_gemmcl_memory_clear (GstGemmclMemory *self)
{
  const cl_command_queue queue = get_queue (self);
  cl_event wait_list[GST_GEMMCL_MAX_EVENTS];
  guint n;

  if (self->staging) {
    n = events_get (&self->events, GST_MAP_WRITE, wait_list);
    check (self, NULL,
           clEnqueueUnmapMemObject (queue, self->pinned, self->staging, n, n > 0 ? wait_list : NULL,
                                    NULL),
           "clEnqueueUnmapMemObject");
    clFlush (queue);
    gst_gemmcl_release_events (n, wait_list);
    clReleaseMemObject (self->pinned);
  }
  g_clear_pointer (&self->fetched, clReleaseEvent);
  g_clear_pointer (&self->inflight, gst_gemmcl_inflight_unref);
  events_drop (&self->events, TRUE);
  clReleaseMemObject (self->buffer);
  g_mutex_clear (&self->host_lock);
  g_mutex_clear (&self->lock);
}

static cl_context
get_context (GstMemory *memory)
{
  return gemmcl_context_get_cl_context (GST_GEMMCL_ALLOCATOR (memory->allocator)->context);
}

const GstGemmclMemoryMethods gst_gemmcl_memory_methods = {
    .size = sizeof (GstGemmclMemoryMethods),
    .get_context = get_context,
    .get_events = get_events,
    .add_event = add_event,
};
