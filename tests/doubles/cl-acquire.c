/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cl-layer.h"

#include <CL/cl_va_api_media_sharing_intel.h>
#include <string.h>

#define N_THREADS       4
#define DEFAULT_LATENCY 2
#define CHANNELS        4
#define SPOIL_BYTE      0x5a

cl_mem
cl_staging_new_image (cl_context context, const SurfacePlane *plane, cl_int *status)
{
  const cl_image_format format = {CL_RGBA, plane->size == 2 ? CL_UNORM_INT16 : CL_UNORM_INT8};
  const cl_image_desc description = {
      .image_type = CL_MEM_OBJECT_IMAGE2D,
      .image_width = plane->columns,
      .image_height = plane->rows,
  };

  return cl_next->clCreateImage (context, CL_MEM_READ_ONLY, &format, &description, NULL, status);
}

/* Writes the image in an extra queue, since the program's queue may be waiting for this copy. */
static cl_int
write_image (SharedObject *object, cl_device_id device, gconstpointer pixels)
{
  const SurfacePlane *plane = &object->surface->planes[object->plane];
  const size_t origin[3] = {0, 0, 0}, region[3] = {plane->columns, plane->rows, 1};
  cl_int status;
  cl_command_queue queue = cl_next->clCreateCommandQueue (object->context, device, 0, &status);

  if (!queue)
    return status;
  status = cl_next->clEnqueueWriteImage (queue, object->mem, CL_TRUE, origin, region, 0, 0, pixels,
                                         0, NULL, NULL);
  cl_next->clReleaseCommandQueue (queue);
  return status;
}

static gsize
count_bytes (const SurfacePlane *plane)
{
  return (gsize)plane->columns * plane->rows * plane->size * CHANNELS;
}

/* Fills the image with the values of read_imagef(): a missing channel is 0, alpha is 1. */
cl_int
cl_staging_upload (SharedObject *object, cl_device_id device)
{
  const SurfacePlane *plane = &object->surface->planes[object->plane];
  const gsize element = plane->channels * plane->size, pixel = CHANNELS * plane->size;
  g_autofree guint8 *pixels = g_malloc0 (count_bytes (plane));

  {
    RECORD_LOCK ();
    for (guint y = 0; y < plane->rows; y++)
      for (guint x = 0; x < plane->columns; x++) {
        guint8 *to = pixels + ((gsize)y * plane->columns + x) * pixel;

        memcpy (to, object->surface->data + plane->offset + y * plane->pitch + x * element,
                element);
        memset (to + pixel - plane->size, 0xff, plane->size);
      }
  }
  return write_image (object, device, pixels);
}

cl_int
cl_staging_spoil (SharedObject *object, cl_device_id device)
{
  const gsize n = count_bytes (&object->surface->planes[object->plane]);
  g_autofree guint8 *pixels = g_malloc (n);

  memset (pixels, SPOIL_BYTE, n);
  return write_image (object, device, pixels);
}

typedef struct {
  gboolean acquire;
  cl_context context;
  cl_device_id device;
  cl_event done; /* a user event; the program's event follows it */
  GPtrArray *objects;
  cl_int status;
} Job;

static void
job_free (Job *self)
{
  for (guint i = 0; i < self->objects->len; i++)
    cl_next->clReleaseMemObject (((SharedObject *)self->objects->pdata[i])->mem);
  if (self->done)
    cl_next->clReleaseEvent (self->done);
  g_ptr_array_unref (self->objects);
  g_free (self);
}

static cl_int
acquire_object (SharedObject *object, cl_device_id device)
{
  {
    RECORD_LOCK ();
    object->checksum = shared_object_sum (object);
  }
  return object->is_plane ? cl_staging_upload (object, device) : CL_SUCCESS;
}

static cl_int
release_object (SharedObject *object, cl_device_id device)
{
  const cl_int status = object->is_plane ? cl_staging_spoil (object, device) : CL_SUCCESS;
  g_autofree gchar *name = shared_object_name (object);
  RECORD_LOCK ();

  if (shared_object_sum (object) != object->checksum)
    record_misuse ("written-in-use", "%s changed between its acquire and its release.", name);
  if (object->surface)
    object->surface->readers--;
  return status;
}

static gulong
get_latency (void)
{
  const gchar *text = g_getenv ("GEMMCL_DOUBLES_LATENCY_MS");
  const guint64 ms = text ? g_ascii_strtoull (text, NULL, 10) : DEFAULT_LATENCY;

  return (gulong)ms * 1000;
}

static void
run_job (gpointer data, gpointer nothing G_GNUC_UNUSED)
{
  Job *self = data;
  cl_int status = self->status;

  g_usleep (get_latency ());
  for (guint i = 0; i < self->objects->len; i++) {
    SharedObject *object = self->objects->pdata[i];
    const cl_int result = self->acquire ? acquire_object (object, self->device)
                                        : release_object (object, self->device);

    if (result != CL_SUCCESS) {
      record_misuse ("failed-job", "The layer could not move an object's bytes: error %d.", result);
      status = result;
    }
  }
  cl_next->clSetUserEventStatus (self->done, status == CL_SUCCESS ? CL_COMPLETE : status);
  job_free (self);
  record_busy (-1);
}

/* Called when the commands before the job are complete, or one failed. */
static void CL_CALLBACK
start_job (cl_event event G_GNUC_UNUSED, cl_int status, void *data)
{
  static GThreadPool *pool;
  Job *self = data;

  self->status = status < 0 ? status : CL_SUCCESS;
  record_busy (1);
  RECORD_LOCK ();
  if (!pool)
    pool = g_thread_pool_new (run_job, NULL, N_THREADS, FALSE, NULL);
  g_thread_pool_push (pool, self, NULL);
}

/* Enqueues a marker after the earlier commands and @waits, which starts the job, and then one that
 * waits for the job. */
static cl_int
enqueue_job (Job *job, cl_command_queue queue, WAIT_PARAMETERS)
{
  cl_event before = NULL, after = NULL;
  cl_int status;

  job->done = cl_next->clCreateUserEvent (job->context, &status);
  if (job->done)
    status = cl_next->clEnqueueMarkerWithWaitList (queue, n_waits, waits, &before);
  if (before)
    status = cl_next->clEnqueueMarkerWithWaitList (queue, 1, &job->done, &after);
  if (after)
    status = cl_next->clSetEventCallback (before, CL_COMPLETE, start_job, job);
  if (before)
    cl_next->clReleaseEvent (before);
  if (status == CL_SUCCESS)
    cl_next->clFlush (queue);
  else if (job->done)
    cl_next->clSetUserEventStatus (job->done, status);
  if (after && event && status == CL_SUCCESS)
    *event = after;
  else if (after)
    cl_next->clReleaseEvent (after);
  return status;
}

static cl_int
check_surface (const SharedObject *object, const gchar *name)
{
  if (object->surface->destroyed)
    return RECORD_REFUSAL (CL_INVALID_VA_API_MEDIA_SURFACE_INTEL, "stale-surface",
                           "%s is acquired, but its surface was destroyed.", name);
  if (object->surface->maps > 0)
    return RECORD_REFUSAL (CL_INVALID_OPERATION, "mapped-in-use",
                           "%s is acquired while the CPU has it mapped.", name);
  if (object->is_plane && object->surface->rendered)
    return RECORD_REFUSAL (CL_INVALID_OPERATION, "missing-sync",
                           "%s is acquired while the GPU renders it.", name);
  return CL_SUCCESS;
}

/* Checks that the object belongs to @context. */
static cl_int
check_context (const SharedObject *object, cl_context context, const gchar *name)
{
  const SharedContext *own = shared_context_find (object->context);
  const SharedContext *other = shared_context_find (context);

  if (object->context == context)
    return CL_SUCCESS;
  if (own && other && own->display != other->display)
    record_misuse ("foreign-display", "%s belongs to another VADisplay than the queue.", name);
  else
    record_misuse ("foreign-context", "%s belongs to another context than the queue.", name);
  return CL_INVALID_CONTEXT;
}

static cl_int
check_object (const Transition *transition, const SharedObject *object, cl_context context)
{
  g_autofree gchar *name = shared_object_name (object);
  const cl_int status = check_context (object, context, name);

  if (status != CL_SUCCESS)
    return status;
  if (transition->acquire && object->acquired)
    return RECORD_REFUSAL (object->is_plane ? CL_VA_API_MEDIA_SURFACE_ALREADY_ACQUIRED_INTEL
                                            : CL_INVALID_OPERATION,
                           "acquired-twice", "%s is acquired already.", name);
  if (!transition->acquire && !object->acquired)
    return RECORD_REFUSAL (object->is_plane ? CL_VA_API_MEDIA_SURFACE_NOT_ACQUIRED_INTEL
                                            : CL_INVALID_OPERATION,
                           "unacquired-release", "%s is released, but not acquired.", name);
  return transition->acquire && object->surface ? check_surface (object, name) : CL_SUCCESS;
}

/* Returns: (transfer full) (nullable): the objects; NULL if one is invalid or occurs twice. */
static GPtrArray *
collect (const Transition *transition, cl_context context, cl_uint n, const cl_mem *mems,
         cl_int *status)
{
  g_autoptr (GPtrArray) objects =
      g_ptr_array_new_with_free_func ((GDestroyNotify)shared_object_unref);

  for (cl_uint i = 0; i < n; i++) {
    SharedObject *object = shared_object_get (mems[i]);

    if (!object || object->is_plane != transition->planes) {
      g_clear_pointer (&object, shared_object_unref);
      record_misuse ("wrong-argument", "%s got a memory object that is none of its own.",
                     transition->function);
      *status = CL_INVALID_MEM_OBJECT;
      return NULL;
    }
    *status = g_ptr_array_find (objects, object, NULL) ? CL_INVALID_VALUE
                                                       : check_object (transition, object, context);
    g_ptr_array_add (objects, object);
    if (*status != CL_SUCCESS)
      return NULL;
  }
  return g_steal_pointer (&objects);
}

/* Sets the state after the call. The lock has been held since the check of the objects. */
static void
change_state (GPtrArray *objects, gboolean acquire)
{
  for (guint i = 0; i < objects->len; i++) {
    SharedObject *object = objects->pdata[i];

    object->acquired = acquire;
    if (acquire && object->surface)
      object->surface->readers++;
  }
  if (acquire)
    record_count ("acquires", objects->len);
}

/* @objects: (transfer full): the memory objects, which are retained */
static Job *
job_new (gboolean acquire, cl_command_queue queue, cl_context context, GPtrArray *objects)
{
  Job *self = g_new0 (Job, 1);

  *self = (Job){.acquire = acquire, .context = context, .objects = objects};
  cl_next->clGetCommandQueueInfo (queue, CL_QUEUE_DEVICE, sizeof self->device, &self->device, NULL);
  for (guint i = 0; i < objects->len; i++)
    cl_next->clRetainMemObject (((SharedObject *)objects->pdata[i])->mem);
  return self;
}

cl_int
cl_enqueue_transition (const Transition *transition, cl_command_queue queue, cl_uint n,
                       const cl_mem *mems, WAIT_PARAMETERS)
{
  cl_context context = NULL;
  GPtrArray *objects;
  cl_int status = record_fault (transition->function);
  Job *job;

  if (status == CL_SUCCESS && (n == 0) != (mems == NULL))
    status = CL_INVALID_VALUE;
  if (status == CL_SUCCESS)
    status =
        cl_next->clGetCommandQueueInfo (queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL);
  if (status != CL_SUCCESS)
    return status;
  {
    RECORD_LOCK ();
    objects = collect (transition, context, n, mems, &status);
    if (!objects)
      return status;
    change_state (objects, transition->acquire);
  }
  job = job_new (transition->acquire, queue, context, objects);
  status = enqueue_job (job, queue, WAIT_ARGUMENTS);
  if (status != CL_SUCCESS) {
    record_misuse ("failed-job", "%s: error %d of the implementation below.", transition->function,
                   status);
    job_free (job);
  }
  return status;
}
