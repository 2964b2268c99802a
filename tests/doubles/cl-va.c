/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cl-acquire.h"
#include "cl-staging.h"
#include "record.h"

#include <CL/cl_va_api_media_sharing_intel.h>
#include <string.h>

/* cl_intel_va_api_media_sharing */

static cl_int CL_API_CALL
get_devices (cl_platform_id platform, cl_va_api_device_source_intel source, void *display,
             cl_va_api_device_set_intel set, cl_uint n, cl_device_id *devices, cl_uint *n_ret)
{
  if (source != CL_VA_API_DISPLAY_INTEL ||
      (set != CL_PREFERRED_DEVICES_FOR_VA_API_INTEL && set != CL_ALL_DEVICES_FOR_VA_API_INTEL))
    return CL_INVALID_VALUE;
  if (!display_is_known (display) || !display_is_intel (display)) {
    record_misuse (MISUSE_FOREIGN_DISPLAY,
                   "Devices were asked for by the VADisplay %p, which is not Intel's or is "
                   "terminated: ask who made the display first, Intel's driver can abort here.",
                   display);
    return CL_INVALID_VA_API_MEDIA_ADAPTER_INTEL;
  }
  return cl_next->clGetDeviceIDs (platform, CL_DEVICE_TYPE_ALL, n, devices, n_ret);
}

/* Returns: (transfer full) (nullable): the surface, if all that the call names is right. */
static Surface *
check_creation (cl_context context, cl_mem_flags flags, VASurfaceID id, cl_uint plane,
                cl_int *status)
{
  RECORD_LOCK ();
  const SharedContext *shared = shared_context_find (context);
  g_autoptr (Surface) surface = shared ? surface_get (shared->display, id) : NULL;

  if (!shared) {
    record_misuse (
        MISUSE_FOREIGN_CONTEXT,
        "An image of surface %#x was asked for in a context without a VADisplay; Intel's "
        "driver would crash.",
        id);
    *status = CL_INVALID_CONTEXT;
  } else if (!surface && surface_is_foreign (shared->display, id)) {
    record_misuse (MISUSE_FOREIGN_DISPLAY,
                   "Surface %#x belongs to another VADisplay than the context.", id);
    *status = VA_STATUS_ERROR_INVALID_SURFACE;
  } else if (!surface) {
    record_misuse (MISUSE_STALE_SURFACE, "An image was asked for of surface %#x, which is not.",
                   id);
    *status = VA_STATUS_ERROR_INVALID_SURFACE;
  } else if (plane >= SURFACE_PLANES || (flags != CL_MEM_READ_ONLY && flags != CL_MEM_WRITE_ONLY &&
                                         flags != CL_MEM_READ_WRITE)) {
    record_misuse (MISUSE_WRONG_ARGUMENT,
                   "Plane %u of surface %#x was asked for with flags %#" G_GINT64_MODIFIER
                   "x: there are planes 0 and 1, and flags say read, write or both.",
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
  cl_int ignored;

  if (!status)
    status = &ignored;
  *status = cl_fault ("clCreateFromVA_APIMediaSurfaceINTEL");
  if (*status == CL_SUCCESS)
    surface = check_creation (context, flags, *id, plane, status);
  if (surface)
    mem = cl_staging_new_image (context, flags, &surface->planes[plane], status);
  if (!mem)
    return NULL;
  object = g_new0 (SharedObject, 1);
  *object = (SharedObject){.references = 1, .mem = mem, .context = context, .flags = flags};
  object->is_plane = TRUE;
  object->id = *id;
  object->plane = plane;
  object->surface = g_steal_pointer (&surface);
  record_count (COUNT_VA_OBJECTS, 1);
  shared_object_add (object);
  return mem;
}

static cl_int CL_API_CALL
enqueue_acquire (cl_command_queue queue, cl_uint n, const cl_mem *mems, cl_uint n_waits,
                 const cl_event *waits, cl_event *event)
{
  static const Transition acquire = {"clEnqueueAcquireVA_APIMediaSurfacesINTEL", TRUE, TRUE};

  return cl_enqueue_transition (&acquire, queue, n, mems, n_waits, waits, event);
}

static cl_int CL_API_CALL
enqueue_release (cl_command_queue queue, cl_uint n, const cl_mem *mems, cl_uint n_waits,
                 const cl_event *waits, cl_event *event)
{
  static const Transition release = {"clEnqueueReleaseVA_APIMediaSurfacesINTEL", TRUE, FALSE};

  return cl_enqueue_transition (&release, queue, n, mems, n_waits, waits, event);
}

void *
cl_va_find (const gchar *name)
{
  if (strcmp (name, "clGetDeviceIDsFromVA_APIMediaAdapterINTEL") == 0)
    return (void *)get_devices;
  if (strcmp (name, "clCreateFromVA_APIMediaSurfaceINTEL") == 0)
    return (void *)create_image;
  if (strcmp (name, "clEnqueueAcquireVA_APIMediaSurfacesINTEL") == 0)
    return (void *)enqueue_acquire;
  if (strcmp (name, "clEnqueueReleaseVA_APIMediaSurfacesINTEL") == 0)
    return (void *)enqueue_release;
  return NULL;
}
