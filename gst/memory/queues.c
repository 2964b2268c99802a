/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* For clCreateCommandQueue; OpenCL 1.2 lacks its successor. */
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include "memory/queues.h"

#include "memory/error.h"

static void
release_queue (gpointer queue)
{
  clReleaseCommandQueue (queue);
}

void
gst_gemmcl_queues_init (GstGemmclAllocator *self)
{
  g_mutex_init (&self->lock);
  self->old_queues = g_ptr_array_new_with_free_func (release_queue);
}

void
gst_gemmcl_queues_clear (GstGemmclAllocator *self)
{
  g_clear_pointer (&self->queue, clReleaseCommandQueue);
  g_clear_pointer (&self->maps, clReleaseCommandQueue);
  g_clear_pointer (&self->fetches, clReleaseCommandQueue);
  g_clear_pointer (&self->kernels, clReleaseCommandQueue);
  g_ptr_array_unref (self->old_queues);
  g_mutex_clear (&self->lock);
}

static cl_command_queue
create_queue (GemmclContext *context, cl_command_queue_properties properties, GError **error)
{
  cl_int status;
  cl_command_queue queue =
      clCreateCommandQueue (gemmcl_context_get_cl_context (context),
                            gemmcl_context_get_cl_device (context), properties, &status);

  if (status == CL_SUCCESS)
    return queue;
  gst_gemmcl_fail (error, GEMMCL_ERROR_OPENCL, "clCreateCommandQueue on %s failed with %d.",
                   gemmcl_context_get_device_info (context)->name, status);
  return NULL;
}

/* The queue for copies is out of order if possible: in order, one that waits delays later ones. */
static cl_command_queue
create_copy_queue (GemmclContext *context, GError **error)
{
  cl_command_queue queue = create_queue (context, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, NULL);

  return queue ? queue : create_queue (context, 0, error);
}

gboolean
gst_gemmcl_queues_open (GstGemmclAllocator *self, GError **error)
{
  if (!self->is_staged)
    self->maps = gemmcl_context_create_inline_queue (self->context);
  return (self->queue = create_copy_queue (self->context, error)) &&
         (!self->is_staged || ((self->fetches = create_queue (self->context, 0, error)) &&
                               (self->kernels = create_queue (self->context, 0, error))));
}

/* Puts @fresh, (nullable), in place of a queue, unless it is NULL. */
static void
replace (GstGemmclAllocator *self, cl_command_queue *queue, cl_command_queue fresh)
{
  if (!fresh)
    return;
  g_ptr_array_add (self->old_queues, *queue);
  g_atomic_pointer_set (queue, fresh);
}

void
gst_gemmcl_queues_leave (GstAllocator *allocator, cl_command_queue failed)
{
  GstGemmclAllocator *self = GST_GEMMCL_ALLOCATOR (allocator);
  cl_command_queue *const in_order[] = {&self->fetches, &self->kernels};
  g_autoptr (GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new (&self->lock);

  if (!failed || failed == self->queue)
    replace (self, &self->queue, create_copy_queue (self->context, NULL));
  if (self->maps && (!failed || failed == self->maps))
    replace (self, &self->maps, gemmcl_context_create_inline_queue (self->context));
  for (guint i = 0; i < G_N_ELEMENTS (in_order); i++)
    if (*in_order[i] && (!failed || failed == *in_order[i]))
      replace (self, in_order[i], create_queue (self->context, 0, NULL));
}

gboolean
gst_gemmcl_queues_wait (GstGemmclAllocator *self, cl_event event)
{
  cl_command_queue queue = NULL;

  if (gemmcl_context_wait (self->context, event) == CL_SUCCESS)
    return TRUE;
  clGetEventInfo (event, CL_EVENT_COMMAND_QUEUE, sizeof queue, &queue, NULL);
  if (queue)
    gst_gemmcl_queues_leave (GST_ALLOCATOR (self), queue);
  return FALSE;
}
