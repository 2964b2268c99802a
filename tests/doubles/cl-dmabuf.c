/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cl-acquire.h"
#include "cl-names.h"
#include "record.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* cl_khr_external_memory for dma-bufs, and for all else that can be mapped: no bytes are moved. */

/* Returns: how many properties there are, with the 0 at the end; @fd: -1 if none of them is a
 * dma-buf. */
static gsize
parse_properties (const cl_mem_properties *all, int *fd)
{
  gsize n = 0;

  *fd = -1;
  while (all && all[n])
    if (all[n] == CL_MEM_DEVICE_HANDLE_LIST_KHR) {
      /* Devices up to a 0. */
      for (n++; all[n] != CL_MEM_DEVICE_HANDLE_LIST_END_KHR;)
        n++;
      n++;
    } else {
      if (all[n] == CL_EXTERNAL_MEMORY_HANDLE_DMA_BUF_KHR)
        *fd = (int)all[n + 1];
      n += 2;
    }
  return n + 1;
}

static cl_int
check_import (int fd, cl_mem_flags flags, gsize size, const void *data)
{
  const cl_mem_flags host = CL_MEM_USE_HOST_PTR | CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR;
  const off_t available = lseek (fd, 0, SEEK_END);

  if (data || (flags & host)) {
    record_misuse (MISUSE_WRONG_ARGUMENT, "A dma-buf was imported together with host memory.");
    return CL_INVALID_HOST_PTR;
  }
  if (available < 0) {
    record_misuse (MISUSE_WRONG_ARGUMENT, "The dma-buf to import, fd %d, is no file.", fd);
    return CL_INVALID_VALUE;
  }
  if (size == 0 || size > (gsize)available) {
    record_misuse (MISUSE_WRONG_ARGUMENT,
                   "%" G_GSIZE_FORMAT " bytes of a dma-buf of %" G_GINT64_FORMAT " were imported.",
                   size, (gint64)available);
    return CL_INVALID_BUFFER_SIZE;
  }
  return CL_SUCCESS;
}

/* The mapping keeps the memory, as the kernel's reference does. */
static SharedObject *
import (cl_context context, int fd, cl_mem_flags flags, gsize size, cl_int *status)
{
  g_autoptr (SharedObject) self = g_new0 (SharedObject, 1);
  const int protection = flags & CL_MEM_READ_ONLY ? PROT_READ : PROT_READ | PROT_WRITE;
  struct stat file;

  *self = (SharedObject){.references = 1, .context = context, .flags = flags, .size = size};
  self->map = mmap (NULL, size, protection, MAP_SHARED, fd, 0);
  if (self->map == MAP_FAILED) {
    self->map = NULL;
    *status = CL_INVALID_VALUE;
    return NULL;
  }
  if (fstat (fd, &file) == 0)
    self->surface = surface_get_by_file (&file);
  if (self->surface && self->surface->tiled_fd >= 0)
    record_misuse (MISUSE_WRONG_ARGUMENT,
                   "The dma-buf of surface %#x was imported as if it were linear: it is tiled, and "
                   "can only be shared as a surface.",
                   self->surface->id);
  self->mem =
      cl_next->clCreateBuffer (context, flags | CL_MEM_USE_HOST_PTR, size, self->map, status);
  return self->mem ? g_steal_pointer (&self) : NULL;
}

static cl_mem CL_API_CALL
create_buffer (cl_context context, const cl_mem_properties *properties, cl_mem_flags flags,
               size_t size, void *data, cl_int *status)
{
  int fd;
  const gsize n = parse_properties (properties, &fd);
  SharedObject *object;
  cl_int ignored;

  if (!status)
    status = &ignored;
  if (fd < 0 || !cl_offers_dmabuf ())
    return cl_next->clCreateBufferWithProperties (context, properties, flags, size, data, status);
  *status = cl_fault ("clCreateBufferWithProperties");
  if (*status == CL_SUCCESS)
    *status = check_import (fd, flags, size, data);
  object = *status == CL_SUCCESS ? import (context, fd, flags, size, status) : NULL;
  if (!object)
    return NULL;
  object->properties = g_memdup2 (properties, n * sizeof *properties);
  object->n_properties = n;
  record_count (COUNT_DMABUF_OBJECTS, 1);
  shared_object_add (object);
  /* It is the driver's now, and may be used by nobody else. */
  close (fd);
  return object->mem;
}

static cl_int CL_API_CALL
enqueue_acquire (cl_command_queue queue, cl_uint n, const cl_mem *mems, cl_uint n_waits,
                 const cl_event *waits, cl_event *event)
{
  static const Transition acquire = {"clEnqueueAcquireExternalMemObjectsKHR", FALSE, TRUE};

  return cl_enqueue_transition (&acquire, queue, n, mems, n_waits, waits, event);
}

static cl_int CL_API_CALL
enqueue_release (cl_command_queue queue, cl_uint n, const cl_mem *mems, cl_uint n_waits,
                 const cl_event *waits, cl_event *event)
{
  static const Transition release = {"clEnqueueReleaseExternalMemObjectsKHR", FALSE, FALSE};

  return cl_enqueue_transition (&release, queue, n, mems, n_waits, waits, event);
}

void *
cl_dmabuf_find (const gchar *name)
{
  if (strcmp (name, "clEnqueueAcquireExternalMemObjectsKHR") == 0)
    return (void *)enqueue_acquire;
  if (strcmp (name, "clEnqueueReleaseExternalMemObjectsKHR") == 0)
    return (void *)enqueue_release;
  return NULL;
}

void
cl_dmabuf_install (cl_icd_dispatch *table)
{
  table->clCreateBufferWithProperties = create_buffer;
}
