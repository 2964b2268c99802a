/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A piece of memory has up to two places:
 *
 *     device   buffer   what kernels read and write
 *     host     pinned   what the CPU reads and writes; only where the device has memory of its own
 *
 *     need_upload     the host's is newer: sent by the next map with GST_MAP_OPENCL
 *     need_download   the device's is newer: fetched by the next map without
 *
 * Waiting is for the CPU alone, in maps of the host; what the device does is ordered by events.
 */

/* clCreateCommandQueue: its successor does not exist on OpenCL 1.2 devices. */
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include "gemmcl-memory.h"

#include <gemmcl-opencl.h>

#include "gemmcl-events.h"

GST_DEBUG_CATEGORY_STATIC (memory_debug);
#define GST_CAT_DEFAULT memory_debug

/* OpenCL aligns buffers for its widest type, and what it maps of them likewise. */
#define ALIGNMENT 128

struct _GstGemmclAllocator {
  GstAllocator parent;

  GemmclContext *context;
  GstGemmclHostSide side;
  cl_command_queue queue; /* of copies and maps; nothing there waits for what stands before it */
  guint64 up, down;       /* under the object's lock */
};

G_DEFINE_FINAL_TYPE_WITH_CODE (GstGemmclAllocator, gst_gemmcl_allocator, GST_TYPE_ALLOCATOR,
                               GST_DEBUG_CATEGORY_INIT (memory_debug, "gemmclmemory", 0,
                                                        "OpenCL memory"))

/* Of a sub-memory only @parent means something: the rest is its root's. */
typedef struct {
  GstMemory parent;

  cl_mem buffer;

  GMutex host_lock; /* held while the CPU waits for the host's side; taken before lock */
  gpointer mapped;  /* buffer, as the host sees it while n_maps is not 0 */
  guint n_maps;
  GstMapFlags mapped_access;
  cl_mem pinned;
  guchar *staging; /* pinned, as the host sees it */

  GMutex lock; /* never held while anything is waited for */
  GstGemmclEvents events;
  gboolean need_upload;
  gboolean need_download;
} Memory;

static Memory *
get_root (GstMemory *memory)
{
  return (Memory *)(memory->parent ? memory->parent : memory);
}

static GstGemmclAllocator *
get_allocator (Memory *self)
{
  return GST_GEMMCL_ALLOCATOR (self->parent.allocator);
}

static cl_command_queue
get_queue (Memory *self)
{
  return get_allocator (self)->queue;
}

/* Logs what failed. */
static gboolean
check (Memory *self, cl_int status, const gchar *call)
{
  if (status == CL_SUCCESS)
    return TRUE;
  GST_ERROR_OBJECT (self->parent.allocator,
                    "%s failed with %d for a memory of %" G_GSIZE_FORMAT " bytes", call, status,
                    self->parent.maxsize);
  return FALSE;
}

static void
count (Memory *self, gsize up, gsize down)
{
  GstGemmclAllocator *allocator = get_allocator (self);

  GST_OBJECT_LOCK (allocator);
  allocator->up += up;
  allocator->down += down;
  GST_OBJECT_UNLOCK (allocator);
}

/* Whether what was to be in it never came. */
static gboolean
is_lost (Memory *self)
{
  gboolean failed;

  g_mutex_lock (&self->lock);
  failed = gst_gemmcl_events_failed (&self->events);
  g_mutex_unlock (&self->lock);
  return failed;
}

/* Waits until the host may do @access. FALSE if there is nothing to be read. */
static gboolean
wait_for_device (Memory *self, GstMapFlags access)
{
  cl_event events[GST_OPENCL_MAX_EVENTS];
  guint n;

  g_mutex_lock (&self->lock);
  n = gst_gemmcl_events_get (&self->events, access, events);
  g_mutex_unlock (&self->lock);
  /* One after the other: where a reader failed the memory is none the worse. */
  for (guint i = 0; i < n; i++)
    clWaitForEvents (1, &events[i]);
  gst_opencl_release_events (n, events);
  return !(access & GST_MAP_READ && is_lost (self)) ||
         check (self, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST,
                "the command that was to write");
}

static void
add_event (Memory *self, GstMapFlags access, cl_event event)
{
  g_mutex_lock (&self->lock);
  gst_gemmcl_events_add (&self->events, access, event, get_queue (self));
  g_mutex_unlock (&self->lock);
}

/* Takes the event of a command that was enqueued in the allocator's queue. */
static void
take_event (Memory *self, GstMapFlags access, cl_event event)
{
  clFlush (get_queue (self));
  add_event (self, access, event);
  clReleaseEvent (event);
}

/* Sets @mapped. */
static gboolean
enqueue_map (Memory *self, GstMapFlags access)
{
  const cl_map_flags flags =
      (access & GST_MAP_READ ? CL_MAP_READ : 0) | (access & GST_MAP_WRITE ? CL_MAP_WRITE : 0);
  cl_int status;
  gpointer data;

  if (!wait_for_device (self, access))
    return FALSE;
  data = clEnqueueMapBuffer (get_queue (self), self->buffer, CL_TRUE, flags, 0,
                             self->parent.maxsize, 0, NULL, NULL, &status);
  if (!check (self, status, "clEnqueueMapBuffer"))
    return FALSE;
  self->mapped = data;
  self->mapped_access = access;
  return TRUE;
}

/* One mapping serves all maps, since GStreamer lets none do more than the first. Several of the
 * same buffer at once are what PoCL 3.1 stumbles over. */
static gpointer
map_mapped (Memory *self, GstMapFlags access)
{
  gpointer data = NULL;

  g_mutex_lock (&self->host_lock);
  if (self->n_maps > 0 || enqueue_map (self, access)) {
    self->n_maps++;
    self->mapped_access |= access;
    data = self->mapped;
  }
  g_mutex_unlock (&self->host_lock);
  return data;
}

static void
unmap_mapped (Memory *self)
{
  cl_event done;

  g_mutex_lock (&self->host_lock);
  if (--self->n_maps == 0 &&
      check (self,
             clEnqueueUnmapMemObject (get_queue (self), self->buffer, self->mapped, 0, NULL, &done),
             "clEnqueueUnmapMemObject"))
    take_event (self, self->mapped_access, done);
  g_mutex_unlock (&self->host_lock);
}

static gboolean
make_staging (Memory *self)
{
  const cl_context context = gemmcl_context_get_cl_context (get_allocator (self)->context);
  const gsize size = self->parent.maxsize;
  cl_int status;

  if (self->staging)
    return TRUE;
  self->pinned =
      clCreateBuffer (context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, size, NULL, &status);
  if (status == CL_SUCCESS)
    self->staging =
        clEnqueueMapBuffer (get_queue (self), self->pinned, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0,
                            size, 0, NULL, NULL, &status);
  if (check (self, status, "pinning memory of the host"))
    return TRUE;
  g_clear_pointer (&self->pinned, clReleaseMemObject);
  self->staging = NULL;
  return FALSE;
}

static gboolean
download (Memory *self)
{
  const gsize size = self->parent.maxsize;

  if (!check (self,
              clEnqueueReadBuffer (get_queue (self), self->buffer, CL_TRUE, 0, size, self->staging,
                                   0, NULL, NULL),
              "clEnqueueReadBuffer"))
    return FALSE;
  count (self, 0, size);
  return TRUE;
}

/* Also what is only to be written is fetched: it may be written in part. After gst_gemmcl_memory_
 * recycle() there is nothing to fetch. */
static gboolean
map_staged_locked (Memory *self, GstMapFlags access)
{
  gboolean need_download;

  g_mutex_lock (&self->lock);
  need_download = self->need_download;
  g_mutex_unlock (&self->lock);
  if (!make_staging (self) ||
      ((need_download || access & GST_MAP_WRITE) && !wait_for_device (self, access)) ||
      (need_download && !download (self)))
    return FALSE;
  g_mutex_lock (&self->lock);
  self->need_download = FALSE;
  if (access & GST_MAP_WRITE)
    self->need_upload = TRUE;
  g_mutex_unlock (&self->lock);
  return TRUE;
}

static gpointer
map_staged (Memory *self, GstMapFlags access)
{
  gboolean ok;

  g_mutex_lock (&self->host_lock);
  ok = map_staged_locked (self, access);
  g_mutex_unlock (&self->host_lock);
  return ok ? self->staging : NULL;
}

/* With the lock held. */
static gboolean
upload (Memory *self)
{
  const gsize size = self->parent.maxsize;
  cl_event wait_list[GST_OPENCL_MAX_EVENTS], done;
  guint n = gst_gemmcl_events_get (&self->events, GST_MAP_WRITE, wait_list);
  cl_int status = clEnqueueWriteBuffer (get_queue (self), self->buffer, CL_FALSE, 0, size,
                                        self->staging, n, n > 0 ? wait_list : NULL, &done);

  gst_opencl_release_events (n, wait_list);
  if (!check (self, status, "clEnqueueWriteBuffer"))
    return FALSE;
  clFlush (get_queue (self));
  gst_gemmcl_events_add (&self->events, GST_MAP_WRITE, done, get_queue (self));
  clReleaseEvent (done);
  self->need_upload = FALSE;
  count (self, size, 0);
  return TRUE;
}

/* Makes ready for @access by the device. */
static gboolean
open_device (Memory *self, GstMapFlags access)
{
  gboolean ok;

  g_mutex_lock (&self->lock);
  ok = !self->need_upload || upload (self);
  if (ok && access & GST_MAP_WRITE)
    self->need_download = get_allocator (self)->side == GST_GEMMCL_HOST_SIDE_STAGED;
  g_mutex_unlock (&self->lock);
  return ok;
}

/* GStreamer adds the offset to what this returns: a cl_mem has to come out of that as it is. */
static gpointer
memory_map (GstMemory *memory, GstMapInfo *info, gsize maxsize G_GNUC_UNUSED)
{
  Memory *self = get_root (memory);

  if (info->flags & GST_MAP_OPENCL)
    return open_device (self, info->flags) ? (guchar *)self->buffer - memory->offset : NULL;
  if (get_allocator (self)->side == GST_GEMMCL_HOST_SIDE_STAGED)
    return map_staged (self, info->flags);
  return map_mapped (self, info->flags);
}

static void
memory_unmap (GstMemory *memory, GstMapInfo *info)
{
  Memory *self = get_root (memory);

  if (!(info->flags & GST_MAP_OPENCL) && get_allocator (self)->side == GST_GEMMCL_HOST_SIDE_MAPPED)
    unmap_mapped (self);
}

/* Sub-memories are read-only, as GStreamer's own are: their root is locked while they live. */
static GstMemory *
memory_share (GstMemory *memory, gssize offset, gssize size)
{
  GstMemory *root = &get_root (memory)->parent;
  Memory *self = g_new0 (Memory, 1);

  if (size == -1)
    size = memory->size - offset;
  gst_memory_init (&self->parent, GST_MINI_OBJECT_FLAGS (root) | GST_MINI_OBJECT_FLAG_LOCK_READONLY,
                   memory->allocator, root, root->maxsize, root->align, memory->offset + offset,
                   size);
  return &self->parent;
}

static gboolean
enqueue_copy (Memory *from, gsize offset, Memory *to)
{
  cl_event wait_list[GST_OPENCL_MAX_EVENTS], done;
  cl_int status;
  guint n;

  if (!open_device (from, GST_MAP_READ) || !open_device (to, GST_MAP_WRITE))
    return FALSE;
  g_mutex_lock (&from->lock);
  n = gst_gemmcl_events_get (&from->events, GST_MAP_READ, wait_list);
  g_mutex_unlock (&from->lock);
  status = clEnqueueCopyBuffer (get_queue (from), from->buffer, to->buffer, offset, 0,
                                to->parent.size, n, n > 0 ? wait_list : NULL, &done);
  gst_opencl_release_events (n, wait_list);
  if (!check (from, status, "clEnqueueCopyBuffer"))
    return FALSE;
  add_event (to, GST_MAP_WRITE, done);
  take_event (from, GST_MAP_READ, done);
  return TRUE;
}

/* On the device. */
static GstMemory *
memory_copy (GstMemory *memory, gssize offset, gssize size)
{
  GstMemory *copy;

  if (size == -1)
    size = memory->size > (gsize)offset ? memory->size - offset : 0;
  /* A driver may never come to the end of a command that is to wait for one that failed already. */
  if (is_lost (get_root (memory)))
    return NULL;
  copy = gst_allocator_alloc (memory->allocator, size, NULL);
  if (copy && size > 0 &&
      !enqueue_copy (get_root (memory), memory->offset + offset, (Memory *)copy))
    g_clear_pointer (&copy, gst_memory_unref);
  return copy;
}

static cl_mem
create_buffer (GstGemmclAllocator *self, gsize size)
{
  const GemmclDeviceInfo *info = gemmcl_context_get_device_info (self->context);
  const cl_mem_flags host = self->side == GST_GEMMCL_HOST_SIDE_MAPPED ? CL_MEM_ALLOC_HOST_PTR : 0;
  cl_int status = CL_INVALID_BUFFER_SIZE;
  cl_mem buffer = NULL;

  if (size <= info->max_alloc_bytes)
    buffer = clCreateBuffer (gemmcl_context_get_cl_context (self->context),
                             CL_MEM_READ_WRITE | host, size, NULL, &status);
  if (status != CL_SUCCESS)
    GST_ERROR_OBJECT (self,
                      "no memory of %" G_GSIZE_FORMAT " bytes on %s, which has %" G_GUINT64_FORMAT
                      " and gives %" G_GUINT64_FORMAT " at once: error %d",
                      size, info->name, info->global_bytes, info->max_alloc_bytes, status);
  return buffer;
}

static GstMemory *
allocator_alloc (GstAllocator *allocator, gsize size, GstAllocationParams *params)
{
  gsize maxsize;
  Memory *self;
  cl_mem buffer;

  if (params->align >= ALIGNMENT || !g_size_checked_add (&maxsize, size, params->prefix) ||
      !g_size_checked_add (&maxsize, maxsize, params->padding)) {
    GST_ERROR_OBJECT (allocator,
                      "%" G_GSIZE_FORMAT " bytes aligned by %" G_GSIZE_FORMAT " cannot be had",
                      size, params->align);
    return NULL;
  }
  /* OpenCL has no buffers without bytes. */
  maxsize = MAX (maxsize, 1);
  buffer = create_buffer (GST_GEMMCL_ALLOCATOR (allocator), maxsize);
  if (!buffer)
    return NULL;
  self = g_new0 (Memory, 1);
  self->buffer = buffer;
  g_mutex_init (&self->host_lock);
  g_mutex_init (&self->lock);
  gst_memory_init (&self->parent, 0, allocator, NULL, maxsize, params->align, params->prefix, size);
  return &self->parent;
}

/* What is under way keeps the buffers; of the pinned one the mapping, too, once this is enqueued.
 */
static void
free_staging (Memory *self)
{
  cl_event wait_list[GST_OPENCL_MAX_EVENTS];
  guint n;

  if (!self->staging)
    return;
  n = gst_gemmcl_events_get (&self->events, GST_MAP_WRITE, wait_list);
  check (self,
         clEnqueueUnmapMemObject (get_queue (self), self->pinned, self->staging, n,
                                  n > 0 ? wait_list : NULL, NULL),
         "clEnqueueUnmapMemObject");
  clFlush (get_queue (self));
  gst_opencl_release_events (n, wait_list);
  clReleaseMemObject (self->pinned);
}

static void
allocator_free (GstAllocator *allocator G_GNUC_UNUSED, GstMemory *memory)
{
  Memory *self = (Memory *)memory;

  if (!memory->parent) {
    free_staging (self);
    gst_gemmcl_events_clear (&self->events);
    clReleaseMemObject (self->buffer);
    g_mutex_clear (&self->host_lock);
    g_mutex_clear (&self->lock);
  }
  g_free (self);
}

static cl_context
get_context (GstMemory *memory)
{
  return gemmcl_context_get_cl_context (get_allocator (get_root (memory))->context);
}

static guint
get_events (GstMemory *memory, GstMapFlags access, cl_event events[GST_OPENCL_MAX_EVENTS])
{
  Memory *self = get_root (memory);
  guint n;

  g_mutex_lock (&self->lock);
  n = gst_gemmcl_events_get (&self->events, access, events);
  g_mutex_unlock (&self->lock);
  return n;
}

static void
add_memory_event (GstMemory *memory, GstMapFlags access, cl_event event)
{
  add_event (get_root (memory), access, event);
}

static const GstOpenCLMemoryMethods methods = {
    .size = sizeof (GstOpenCLMemoryMethods),
    .get_context = get_context,
    .get_events = get_events,
    .add_event = add_memory_event,
};

gboolean
gst_is_gemmcl_memory (GstMemory *memory)
{
  return memory->allocator && GST_IS_GEMMCL_ALLOCATOR (memory->allocator);
}

void
gst_gemmcl_memory_recycle (GstMemory *memory)
{
  Memory *self = get_root (memory);

  g_mutex_lock (&self->lock);
  gst_gemmcl_events_prune (&self->events);
  self->need_upload = self->need_download = FALSE;
  g_mutex_unlock (&self->lock);
}

static void
gst_gemmcl_allocator_init (GstGemmclAllocator *self)
{
  GstAllocator *allocator = GST_ALLOCATOR (self);

  allocator->mem_type = GST_OPENCL_MEMORY_TYPE_NAME;
  allocator->mem_map_full = memory_map;
  allocator->mem_unmap_full = memory_unmap;
  allocator->mem_share = memory_share;
  allocator->mem_copy = memory_copy;
  g_object_set_data (G_OBJECT (self), GST_OPENCL_MEMORY_METHODS, (gpointer)&methods);
}

static void
gst_gemmcl_allocator_finalize (GObject *object)
{
  GstGemmclAllocator *self = GST_GEMMCL_ALLOCATOR (object);

  g_clear_pointer (&self->queue, clReleaseCommandQueue);
  g_clear_object (&self->context);
  G_OBJECT_CLASS (gst_gemmcl_allocator_parent_class)->finalize (object);
}

static void
gst_gemmcl_allocator_class_init (GstGemmclAllocatorClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = gst_gemmcl_allocator_finalize;
  GST_ALLOCATOR_CLASS (klass)->alloc = allocator_alloc;
  GST_ALLOCATOR_CLASS (klass)->free = allocator_free;
}

/* Out of order, where there is such a queue: else a copy that has to wait holds up all others. */
static cl_command_queue
create_queue (GemmclContext *context, GError **error)
{
  const cl_context cl = gemmcl_context_get_cl_context (context);
  const cl_device_id device = gemmcl_context_get_cl_device (context);
  cl_command_queue queue;
  cl_int status;

  queue = clCreateCommandQueue (cl, device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &status);
  if (status != CL_SUCCESS)
    queue = clCreateCommandQueue (cl, device, 0, &status);
  if (status == CL_SUCCESS)
    return queue;
  g_set_error (error, GEMMCL_ERROR, GEMMCL_ERROR_OPENCL,
               "clCreateCommandQueue on %s failed with %d.",
               gemmcl_context_get_device_info (context)->name, status);
  return NULL;
}

GstAllocator *
gst_gemmcl_allocator_new_with_side (GemmclContext *context, GstGemmclHostSide side, GError **error)
{
  cl_command_queue queue = create_queue (context, error);
  GstGemmclAllocator *self;

  if (!queue)
    return NULL;
  self = gst_object_ref_sink (g_object_new (GST_TYPE_GEMMCL_ALLOCATOR, NULL));
  self->context = g_object_ref (context);
  self->side = side;
  self->queue = queue;
  return GST_ALLOCATOR (self);
}

GstAllocator *
gst_gemmcl_allocator_new (GemmclContext *context, GError **error)
{
  return gst_gemmcl_allocator_new_with_side (context,
                                             gemmcl_context_get_device_info (context)->host_unified
                                                 ? GST_GEMMCL_HOST_SIDE_MAPPED
                                                 : GST_GEMMCL_HOST_SIDE_STAGED,
                                             error);
}

GemmclContext *
gst_gemmcl_allocator_get_context (GstGemmclAllocator *self)
{
  return self->context;
}

void
gst_gemmcl_allocator_get_traffic (GstGemmclAllocator *self, guint64 *up, guint64 *down)
{
  GST_OBJECT_LOCK (self);
  *up = self->up;
  *down = self->down;
  GST_OBJECT_UNLOCK (self);
}
