/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cl-objects.h"

#include "cl-layer.h"

#include <string.h>
#include <sys/mman.h>

#define DEFAULT_LATENCY 2
#define CHANNELS        4
#define SPOIL_BYTE      0x5a
#define ALIGNMENT       4096

/** A shared memory object, an atomic reference-counted box. */
typedef struct {
  cl_context context;
  guint8 *bytes; /* of the memory object */
  gsize size;
  gboolean acquired;

  Surface *surface; /* (nullable): the owner of the plane */
  guint plane;

  gpointer map; /* of a dma-buf; keeps the memory alive, like a driver's import */
} SharedObject;

static GHashTable *objects; /* by cl_mem */

static void
clear (gpointer data)
{
  SharedObject *self = data;

  if (self->map)
    munmap (self->map, self->size);
  g_clear_pointer (&self->surface, surface_unref);
  g_aligned_free (self->bytes);
}

static void
shared_object_unref (gpointer self)
{
  g_atomic_rc_box_release_full (self, clear);
}

static SharedObject *
new_object (cl_context context, gsize size)
{
  SharedObject *self = g_atomic_rc_box_new0 (SharedObject);

  *self = (SharedObject){context, g_aligned_alloc (1, size, ALIGNMENT), size};
  memset (self->bytes, SPOIL_BYTE, size);
  return self;
}

static void CL_CALLBACK
forget (cl_mem mem, void *data)
{
  const SharedObject *self = data;
  DOUBLES_LOCK ();

  if (self->acquired)
    g_error ("A shared object was acquired and never released: enqueue the release before the "
             "object or the program ends.");
  g_hash_table_remove (objects, mem);
  g_atomic_int_add (&doubles_counts.live_objects, -1);
}

/* @self: (transfer full). Returns: @mem (nullable) */
static cl_mem
add (SharedObject *self, cl_mem mem)
{
  if (!mem) {
    shared_object_unref (self);
    return NULL;
  }
  {
    DOUBLES_LOCK ();
    if (!objects)
      objects = g_hash_table_new_full (NULL, NULL, NULL, shared_object_unref);
    g_hash_table_insert (objects, mem, self);
    g_atomic_int_inc (&doubles_counts.live_objects);
    g_atomic_int_inc (self->surface ? &doubles_counts.va_objects : &doubles_counts.dmabuf_objects);
  }
  cl_next->clSetMemObjectDestructorCallback (mem, forget, self);
  return mem;
}

cl_mem
shared_image_new (cl_context context, Surface *surface, guint plane, cl_int *status)
{
  const SurfacePlane *layout = &surface->planes[plane];
  const cl_image_format format = {CL_RGBA, layout->size == 2 ? CL_UNORM_INT16 : CL_UNORM_INT8};
  const cl_image_desc description = {.image_type = CL_MEM_OBJECT_IMAGE2D,
                                     .image_width = layout->columns,
                                     .image_height = layout->rows};
  SharedObject *self =
      new_object (context, (gsize)layout->columns * layout->rows * layout->size * CHANNELS);

  self->surface = g_atomic_rc_box_acquire (surface);
  self->plane = plane;
  return add (self, cl_next->clCreateImage (context, CL_MEM_READ_ONLY | CL_MEM_USE_HOST_PTR,
                                            &format, &description, self->bytes, status));
}

cl_mem
shared_buffer_new (cl_context context, int fd, gsize size, cl_int *status)
{
  SharedObject *self = new_object (context, size);

  self->map = mmap (NULL, size, PROT_READ, MAP_SHARED, fd, 0);
  g_assert (self->map != MAP_FAILED);
  return add (self, cl_next->clCreateBuffer (context, CL_MEM_READ_ONLY | CL_MEM_USE_HOST_PTR, size,
                                             self->bytes, status));
}

const SurfacePlane *
shared_image_get_plane (cl_mem mem)
{
  DOUBLES_LOCK ();
  const SharedObject *self = objects ? g_hash_table_lookup (objects, mem) : NULL;

  return self && self->surface ? &self->surface->planes[self->plane] : NULL;
}

/* Copies the shared content to @to in the memory object's layout. Images have the values of
 * read_imagef(): a missing channel is 0, and alpha is 1. */
static void
copy_shared (const SharedObject *self, guint8 *to)
{
  const SurfacePlane *plane = self->surface ? &self->surface->planes[self->plane] : NULL;

  if (!plane) {
    memcpy (to, self->map, self->size);
    return;
  }
  memset (to, 0, self->size);
  for (guint y = 0; y < plane->rows; y++)
    for (guint x = 0; x < plane->columns; x++, to += CHANNELS * plane->size) {
      const gsize element = plane->channels * plane->size;

      memcpy (to, self->surface->data + plane->offset + y * plane->pitch + x * element, element);
      memset (to + (CHANNELS - 1) * plane->size, 0xff, plane->size);
    }
}

static void
release (SharedObject *self)
{
  g_autofree guint8 *now = g_malloc (self->size);

  copy_shared (self, now);
  if (memcmp (now, self->bytes, self->size) != 0)
    g_error ("The content of a shared object changed between its acquire and its release.");
  memset (self->bytes, SPOIL_BYTE, self->size);
  if (self->surface)
    self->surface->readers--;
}

static gulong
get_latency (void)
{
  const gchar *text = g_getenv ("GEMMCL_DOUBLES_LATENCY_MS");

  return 1000 * (text ? (gulong)g_ascii_strtoull (text, NULL, 10) : DEFAULT_LATENCY);
}

typedef struct {
  gboolean acquire;
  guint n;
  SharedObject *objects[];
} Job;

static void CL_CALLBACK
run_job (void *data)
{
  g_autofree Job *self = *(Job **)data;

  g_usleep (get_latency ());
  DOUBLES_LOCK ();
  for (guint i = 0; i < self->n; i++) {
    if (self->acquire)
      copy_shared (self->objects[i], self->objects[i]->bytes);
    else
      release (self->objects[i]);
    shared_object_unref (self->objects[i]);
  }
}

static void
check_surface (const Surface *surface)
{
  if (surface->destroyed)
    g_error ("Surface %#x is acquired, but was destroyed.", surface->id);
  if (!surface->synced)
    g_error ("Surface %#x is acquired without a wait for its writer: call vaSyncSurface() first.",
             surface->id);
}

/* Sets the state after the call. Returns: (transfer full): the object of @mem */
static SharedObject *
change (const gchar *function, gboolean planes, gboolean acquire, cl_context context, cl_mem mem)
{
  SharedObject *self = objects ? g_hash_table_lookup (objects, mem) : NULL;

  if (!self || (self->surface != NULL) != planes)
    g_error ("%s got a memory object that is none of its own.", function);
  if (self->context != context)
    g_error ("%s got a memory object of another context than the queue's.", function);
  if (self->acquired == acquire)
    g_error ("%s: the object is acquired twice, or not acquired.", function);
  self->acquired = acquire;
  if (acquire && self->surface) {
    check_surface (self->surface);
    self->surface->readers++;
  }
  if (acquire)
    g_atomic_int_inc (&doubles_counts.acquires);
  return g_atomic_rc_box_acquire (self);
}

/* Releases the objects although the call fails on request, since no caller repeats it. */
static void
give_up (Job *job)
{
  DOUBLES_LOCK ();
  for (guint i = 0; i < job->n; i++) {
    if (job->objects[i]->surface)
      job->objects[i]->surface->readers--;
    shared_object_unref (job->objects[i]);
  }
  g_free (job);
}

cl_int
shared_objects_move (const gchar *function, gboolean planes, gboolean acquire,
                     cl_command_queue queue, cl_uint n, const cl_mem *mems, WAIT_PARAMETERS)
{
  const cl_int error = layer_fault (function);
  cl_context context = NULL;
  Job *job;

  if (error != CL_SUCCESS && acquire)
    return error;
  cl_next->clGetCommandQueueInfo (queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL);
  job = g_malloc0 (sizeof *job + n * sizeof *job->objects);
  job->acquire = acquire;
  {
    DOUBLES_LOCK ();
    for (; job->n < n; job->n++)
      job->objects[job->n] = change (function, planes, acquire, context, mems[job->n]);
  }
  if (error == CL_SUCCESS)
    return cl_next->clEnqueueNativeKernel (queue, run_job, &job, sizeof job, 0, NULL, NULL,
                                           WAIT_ARGUMENTS);
  give_up (job);
  return error;
}
