/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cl-layer.h"

#include <CL/cl_ext.h>
#include <CL/cl_va_api_media_sharing_intel.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Implements cl_intel_va_api_media_sharing, and cl_khr_external_memory for dma-bufs and all other
 * file descriptors that can be mapped. */

static cl_int CL_API_CALL
get_devices (cl_platform_id platform, cl_va_api_device_source_intel source, void *display,
             cl_va_api_device_set_intel set, cl_uint n, cl_device_id *devices, cl_uint *n_ret)
{
  if (source != CL_VA_API_DISPLAY_INTEL ||
      (set != CL_PREFERRED_DEVICES_FOR_VA_API_INTEL && set != CL_ALL_DEVICES_FOR_VA_API_INTEL))
    return CL_INVALID_VALUE;
  if (!display_is_intel (display)) {
    record_misuse (MISUSE_FOREIGN_DISPLAY,
                   "Devices were asked for by the VADisplay %p, which is not Intel's or is "
                   "terminated: ask who made the display first, Intel's driver can abort here.",
                   display);
    return CL_INVALID_VA_API_MEDIA_ADAPTER_INTEL;
  }
  return cl_next->clGetDeviceIDs (platform, CL_DEVICE_TYPE_ALL, n, devices, n_ret);
}

/* Returns: (transfer full) (nullable): the surface; NULL if an argument of the call is wrong. */
static Surface *
check_creation (cl_context context, cl_mem_flags flags, VASurfaceID id, cl_uint plane,
                cl_int *status)
{
  RECORD_LOCK ();
  const SharedContext *shared = shared_context_find (context);
  g_autoptr (Surface) surface = shared ? surface_get (shared->display, id) : NULL;

  *status = VA_STATUS_ERROR_INVALID_SURFACE;
  if (!shared) {
    record_misuse (MISUSE_FOREIGN_CONTEXT,
                   "An image of surface %#x was asked for in a context without a VADisplay; "
                   "Intel's driver would crash.",
                   id);
    *status = CL_INVALID_CONTEXT;
  } else if (!surface && surface_is_foreign (shared->display, id)) {
    record_misuse (MISUSE_FOREIGN_DISPLAY,
                   "Surface %#x belongs to another VADisplay than the context.", id);
  } else if (!surface) {
    record_misuse (MISUSE_STALE_SURFACE, "An image was asked for of surface %#x, which is not.",
                   id);
  } else if (plane >= SURFACE_PLANES || flags != CL_MEM_READ_ONLY) {
    record_misuse (MISUSE_WRONG_ARGUMENT,
                   "Plane %u of surface %#x was asked for with flags %#" G_GINT64_MODIFIER
                   "x: there are planes 0 and 1, which the doubles only let read.",
                   plane, id, flags);
    *status = CL_INVALID_VALUE;
  } else
    return g_steal_pointer (&surface);
  return NULL;
}

static cl_mem CL_API_CALL
create_image (cl_context context, cl_mem_flags flags, VASurfaceID *id, cl_uint plane,
              cl_int *status)
{
  g_autoptr (Surface) surface = NULL;
  cl_mem mem = NULL;
  SharedObject *object;

  *status = cl_fault ("clCreateFromVA_APIMediaSurfaceINTEL");
  if (*status == CL_SUCCESS)
    surface = check_creation (context, flags, *id, plane, status);
  if (surface)
    mem = cl_staging_new_image (context, &surface->planes[plane], status);
  if (!mem)
    return NULL;
  object = g_new0 (SharedObject, 1);
  *object = (SharedObject){.references = 1, .mem = mem, .context = context};
  object->is_plane = TRUE;
  object->plane = plane;
  object->surface = g_steal_pointer (&surface);
  record_count (COUNT_VA_OBJECTS, 1);
  shared_object_add (object);
  return mem;
}

/* Returns: the file descriptor in the properties; -1 if none is a dma-buf. */
static int
find_fd (const cl_mem_properties *all)
{
  for (gsize n = 0; all && all[n]; n += 2)
    if (all[n] == CL_EXTERNAL_MEMORY_HANDLE_DMA_BUF_KHR)
      return (int)all[n + 1];
  return -1;
}

static cl_int
check_import (int fd, cl_mem_flags flags, gsize size, const void *data)
{
  const off_t available = lseek (fd, 0, SEEK_END);

  if (data || flags != CL_MEM_READ_ONLY) {
    record_misuse (MISUSE_WRONG_ARGUMENT,
                   "A dma-buf was imported together with host memory, or to be written.");
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

/* Maps the dma-buf, without a copy. The mapping keeps the memory alive, like a driver's import. */
static SharedObject *
import (cl_context context, int fd, gsize size, cl_int *status)
{
  g_autoptr (SharedObject) self = g_new0 (SharedObject, 1);
  struct stat file;

  *self = (SharedObject){.references = 1, .context = context, .size = size};
  self->map = mmap (NULL, size, PROT_READ, MAP_SHARED, fd, 0);
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
  self->mem = cl_next->clCreateBuffer (context, CL_MEM_READ_ONLY | CL_MEM_USE_HOST_PTR, size,
                                       self->map, status);
  return self->mem ? g_steal_pointer (&self) : NULL;
}

static cl_mem CL_API_CALL
create_buffer (cl_context context, const cl_mem_properties *properties, cl_mem_flags flags,
               size_t size, void *data, cl_int *status)
{
  const int fd = find_fd (properties);
  SharedObject *object;

  if (fd < 0 || !cl_offers ("dmabuf"))
    return cl_next->clCreateBufferWithProperties (context, properties, flags, size, data, status);
  *status = cl_fault ("clCreateBufferWithProperties");
  if (*status == CL_SUCCESS)
    *status = check_import (fd, flags, size, data);
  object = *status == CL_SUCCESS ? import (context, fd, size, status) : NULL;
  if (!object)
    return NULL;
  record_count (COUNT_DMABUF_OBJECTS, 1);
  shared_object_add (object);
  /* The file descriptor belongs to the driver now. */
  close (fd);
  return object->mem;
}

#define DEFINE_TRANSITION(name, function, planes, acquire)                                         \
  static cl_int CL_API_CALL name (cl_command_queue queue, cl_uint n, const cl_mem *mems,           \
                                  WAIT_PARAMETERS)                                                 \
  {                                                                                                \
    static const Transition transition = {function, planes, acquire};                              \
                                                                                                   \
    return cl_enqueue_transition (&transition, queue, n, mems, WAIT_ARGUMENTS);                    \
  }

#define ACQUIRE_PLANES   "clEnqueueAcquireVA_APIMediaSurfacesINTEL"
#define RELEASE_PLANES   "clEnqueueReleaseVA_APIMediaSurfacesINTEL"
#define ACQUIRE_EXTERNAL "clEnqueueAcquireExternalMemObjectsKHR"
#define RELEASE_EXTERNAL "clEnqueueReleaseExternalMemObjectsKHR"

DEFINE_TRANSITION (acquire_planes, ACQUIRE_PLANES, TRUE, TRUE)
DEFINE_TRANSITION (release_planes, RELEASE_PLANES, TRUE, FALSE)
DEFINE_TRANSITION (acquire_external, ACQUIRE_EXTERNAL, FALSE, TRUE)
DEFINE_TRANSITION (release_external, RELEASE_EXTERNAL, FALSE, FALSE)

void *
cl_sharing_find (const gchar *name)
{
  static const struct {
    const gchar *extension, *name;
    void *function;
  } functions[] = {
      {"va", "clGetDeviceIDsFromVA_APIMediaAdapterINTEL", (void *)get_devices},
      {"va", "clCreateFromVA_APIMediaSurfaceINTEL", (void *)create_image},
      {"va", ACQUIRE_PLANES, (void *)acquire_planes},
      {"va", RELEASE_PLANES, (void *)release_planes},
      {"dmabuf", ACQUIRE_EXTERNAL, (void *)acquire_external},
      {"dmabuf", RELEASE_EXTERNAL, (void *)release_external},
  };

  for (guint i = 0; i < G_N_ELEMENTS (functions); i++)
    if (strcmp (functions[i].name, name) == 0 && cl_offers (functions[i].extension))
      return functions[i].function;
  return NULL;
}

void
cl_sharing_install (cl_icd_dispatch *table)
{
  table->clCreateBufferWithProperties = create_buffer;
}
