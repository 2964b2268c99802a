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

gboolean
cl_offers (const gchar *what)
{
  const gchar *without = g_getenv ("GEMMCL_DOUBLES_WITHOUT");
  g_auto (GStrv) words = g_strsplit (without ? without : "", ",", 0);

  return !g_strv_contains ((const gchar *const *)words, what);
}

static cl_int CL_API_CALL
get_device_info (cl_device_id device, cl_device_info name, size_t room, void *value, size_t *n)
{
  static const cl_external_memory_handle_type_khr imported = CL_EXTERNAL_MEMORY_HANDLE_DMA_BUF_KHR;

  /* Intel's driver imports dma-bufs without naming cl_khr_external_memory_dma_buf. */
  if (name == CL_DEVICE_EXTENSIONS) {
    g_autofree gchar *more =
        g_strconcat (cl_offers ("va") ? " cl_intel_va_api_media_sharing" : "",
                     cl_offers ("dmabuf") ? " cl_khr_external_memory" : "", NULL);

    return cl_answer_longer (device, name, more, room, value, n);
  }
  if (name == CL_DEVICE_EXTERNAL_MEMORY_IMPORT_HANDLE_TYPES_KHR && cl_offers ("dmabuf"))
    return cl_answer (&imported, sizeof imported, room, value, n);
  return cl_next->clGetDeviceInfo (device, name, room, value, n);
}

static cl_int CL_API_CALL
get_devices (cl_platform_id platform, cl_va_api_device_source_intel source, void *display,
             cl_va_api_device_set_intel set, cl_uint n, cl_device_id *devices, cl_uint *n_ret)
{
  if (source != CL_VA_API_DISPLAY_INTEL ||
      (set != CL_PREFERRED_DEVICES_FOR_VA_API_INTEL && set != CL_ALL_DEVICES_FOR_VA_API_INTEL))
    return CL_INVALID_VALUE;
  if (!display_is_intel (display))
    return RECORD_REFUSAL (CL_INVALID_VA_API_MEDIA_ADAPTER_INTEL, "foreign-display",
                           "Devices were asked for by the VADisplay %p, which is not Intel's or is "
                           "terminated; Intel's driver can abort here.",
                           display);
  return cl_next->clGetDeviceIDs (platform, CL_DEVICE_TYPE_ALL, n, devices, n_ret);
}

/* @surface: (nullable): the surface @id of @shared, the entry of the context (nullable)
 * Returns: CL_SUCCESS, or the error if an argument of the call is wrong. */
static cl_int
check_creation (const SharedContext *shared, const Surface *surface, cl_mem_flags flags,
                VASurfaceID id, cl_uint plane)
{
  if (!shared)
    return RECORD_REFUSAL (CL_INVALID_CONTEXT, "foreign-context",
                           "An image of surface %#x was asked for in a context without a "
                           "VADisplay; Intel's driver would crash.",
                           id);
  if (!surface && surface_is_foreign (shared->display, id))
    return RECORD_REFUSAL (VA_STATUS_ERROR_INVALID_SURFACE, "foreign-display",
                           "Surface %#x belongs to another VADisplay than the context.", id);
  if (!surface)
    return RECORD_REFUSAL (VA_STATUS_ERROR_INVALID_SURFACE, "stale-surface",
                           "An image was asked for of surface %#x, which is not.", id);
  if (plane >= SURFACE_PLANES || flags != CL_MEM_READ_ONLY)
    return RECORD_REFUSAL (CL_INVALID_VALUE, "wrong-argument",
                           "Plane %u of surface %#x was asked for with flags %#" G_GINT64_MODIFIER
                           "x: there are planes 0 and 1, which the doubles only let read.",
                           plane, id, flags);
  return CL_SUCCESS;
}

static cl_mem CL_API_CALL
create_image (cl_context context, cl_mem_flags flags, VASurfaceID *id, cl_uint plane,
              cl_int *status)
{
  g_autoptr (Surface) surface = NULL;
  cl_mem mem = NULL;
  SharedObject *object;

  *status = record_fault ("clCreateFromVA_APIMediaSurfaceINTEL");
  if (*status == CL_SUCCESS) {
    RECORD_LOCK ();
    const SharedContext *shared = shared_context_find (context);

    surface = shared ? surface_get (shared->display, *id) : NULL;
    *status = check_creation (shared, surface, flags, *id, plane);
  }
  if (*status == CL_SUCCESS)
    mem = cl_staging_new_image (context, &surface->planes[plane], status);
  if (!mem)
    return NULL;
  object = g_atomic_rc_box_new0 (SharedObject);
  *object = (SharedObject){mem, context, .is_plane = TRUE, .plane = plane};
  object->surface = g_steal_pointer (&surface);
  record_count ("va-objects", 1);
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

  if (data || flags != CL_MEM_READ_ONLY)
    return RECORD_REFUSAL (CL_INVALID_HOST_PTR, "wrong-argument",
                           "A dma-buf was imported together with host memory, or to be written.");
  if (available < 0)
    return RECORD_REFUSAL (CL_INVALID_VALUE, "wrong-argument",
                           "The dma-buf to import, fd %d, is no file.", fd);
  if (size == 0 || size > (gsize)available)
    return RECORD_REFUSAL (CL_INVALID_BUFFER_SIZE, "wrong-argument",
                           "%" G_GSIZE_FORMAT " bytes of a dma-buf of %" G_GINT64_FORMAT
                           " were imported.",
                           size, (gint64)available);
  return CL_SUCCESS;
}

/* Maps the dma-buf, without a copy. The mapping keeps the memory alive, like a driver's import. */
static SharedObject *
import (cl_context context, int fd, gsize size, cl_int *status)
{
  g_autoptr (SharedObject) self = g_atomic_rc_box_new0 (SharedObject);
  struct stat file;

  *self = (SharedObject){.context = context, .size = size};
  self->map = mmap (NULL, size, PROT_READ, MAP_SHARED, fd, 0);
  if (self->map == MAP_FAILED) {
    self->map = NULL;
    *status = CL_INVALID_VALUE;
    return NULL;
  }
  if (fstat (fd, &file) == 0)
    self->surface = surface_get_by_file (&file);
  if (self->surface && self->surface->tiled_fd >= 0)
    record_misuse ("wrong-argument",
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
  *status = record_fault ("clCreateBufferWithProperties");
  if (*status == CL_SUCCESS)
    *status = check_import (fd, flags, size, data);
  object = *status == CL_SUCCESS ? import (context, fd, size, status) : NULL;
  if (!object)
    return NULL;
  record_count ("dmabuf-objects", 1);
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

static void *CL_API_CALL
get_address (cl_platform_id platform, const char *name)
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
  return cl_next->clGetExtensionFunctionAddressForPlatform (platform, name);
}

void
cl_layer_install (cl_icd_dispatch *table)
{
  table->clGetDeviceInfo = get_device_info;
  table->clGetExtensionFunctionAddressForPlatform = get_address;
  table->clCreateBufferWithProperties = create_buffer;
  cl_objects_install (table);
  cl_commands_install (table);
}
