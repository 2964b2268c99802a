/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cl-layer.h"
#include "cl-objects.h"

#include <CL/cl_ext.h>
#include <CL/cl_va_api_media_sharing_intel.h>
#include <string.h>
#include <unistd.h>

/* Adds two extensions to each device, unless GEMMCL_DOUBLES_WITHOUT lists them:
 * cl_intel_va_api_media_sharing ("va") for the fake libva driver's displays, and the import of
 * dma-bufs by cl_khr_external_memory ("dmabuf") for any file descriptor that can be mapped.
 *
 * All devices share with the fake displays, even without "va": Intel's own driver, which has the
 * extensions, would look for a display's device in the kernel and abort. */

static cl_int CL_API_CALL
get_device_info (cl_device_id device, cl_device_info name, size_t room, void *value, size_t *n)
{
  static const cl_external_memory_handle_type_khr imported = CL_EXTERNAL_MEMORY_HANDLE_DMA_BUF_KHR;

  /* Intel's driver imports dma-bufs without naming cl_khr_external_memory_dma_buf. */
  if (name == CL_DEVICE_EXTENSIONS) {
    gchar own[8192] = "";
    g_autofree gchar *all = NULL;

    cl_next->clGetDeviceInfo (device, name, sizeof own, own, NULL);
    all = g_strconcat (own, layer_has ("va") ? " cl_intel_va_api_media_sharing" : "",
                       layer_has ("dmabuf") ? " cl_khr_external_memory" : "", NULL);
    return cl_answer (all, strlen (all) + 1, room, value, n);
  }
  if (name == CL_DEVICE_EXTERNAL_MEMORY_IMPORT_HANDLE_TYPES_KHR && layer_has ("dmabuf"))
    return cl_answer (&imported, sizeof imported, room, value, n);
  return cl_next->clGetDeviceInfo (device, name, room, value, n);
}

/* The properties of contexts that were made with a VADisplay, by cl_context. */
static GHashTable *contexts;

/* Returns: the value of a property; 0 if there is none. */
static cl_context_properties
find_property (const cl_context_properties *all, cl_context_properties name)
{
  for (; all && *all; all += 2)
    if (*all == name)
      return all[1];
  return 0;
}

/* Returns: the bytes of properties, with the 0 at their end. */
static gsize
get_size (const cl_context_properties *all)
{
  gsize n = 1;

  while (all[n - 1])
    n += 2;
  return n * sizeof *all;
}

static void CL_CALLBACK
forget_context (cl_context context, void *data G_GNUC_UNUSED)
{
  DOUBLES_LOCK ();
  g_hash_table_remove (contexts, context);
  g_atomic_int_add (&doubles_counts.live_contexts, -1);
}

/* The implementation below gets no property but the platform. */
static cl_context CL_API_CALL
create_context (const cl_context_properties *all, cl_uint n, const cl_device_id *devices,
                void (CL_CALLBACK *notify) (const char *, const void *, size_t, void *), void *data,
                cl_int *status)
{
  const gpointer display = (gpointer)find_property (all, CL_CONTEXT_VA_API_DISPLAY_INTEL);
  const cl_context_properties platform = find_property (all, CL_CONTEXT_PLATFORM),
                              rest[] = {platform ? CL_CONTEXT_PLATFORM : 0, platform, 0};
  cl_context context;

  if (!display || !layer_has ("va"))
    return cl_next->clCreateContext (all, n, devices, notify, data, status);
  if (!find_property (all, CL_CONTEXT_INTEROP_USER_SYNC))
    g_error ("A context has a VADisplay without CL_CONTEXT_INTEROP_USER_SYNC.");
  if (!display_is_intel (display))
    g_error ("A context was requested with the VADisplay %p, which is not Intel's or is "
             "terminated.",
             display);
  *status = layer_fault ("clCreateContext");
  context = *status == CL_SUCCESS ? cl_next->clCreateContext (platform ? rest : NULL, n, devices,
                                                              notify, data, status)
                                  : NULL;
  if (!context)
    return NULL;
  {
    DOUBLES_LOCK ();
    g_hash_table_insert (contexts, context, g_memdup2 (all, get_size (all)));
    g_atomic_int_inc (&doubles_counts.live_contexts);
  }
  cl_next->clSetContextDestructorCallback (context, forget_context, NULL);
  return context;
}

static const cl_context_properties *
get_properties (cl_context context)
{
  DOUBLES_LOCK ();
  return g_hash_table_lookup (contexts, context);
}

static cl_int CL_API_CALL
get_context_info (cl_context context, cl_context_info name, size_t room, void *value, size_t *n)
{
  const cl_context_properties *all = get_properties (context);

  if (!all || name != CL_CONTEXT_PROPERTIES)
    return cl_next->clGetContextInfo (context, name, room, value, n);
  return cl_answer (all, get_size (all), room, value, n);
}

static cl_int CL_API_CALL
get_image_info (cl_mem mem, cl_image_info name, size_t room, void *value, size_t *n)
{
  const SurfacePlane *plane = shared_image_get_plane (mem);
  cl_image_format format;

  if (!plane || name != CL_IMAGE_FORMAT)
    return cl_next->clGetImageInfo (mem, name, room, value, n);
  format.image_channel_order = plane->channels == 2 ? CL_RG : CL_R;
  format.image_channel_data_type = plane->size == 2 ? CL_UNORM_INT16 : CL_UNORM_INT8;
  return cl_answer (&format, sizeof format, room, value, n);
}

static cl_int CL_API_CALL
get_devices (cl_platform_id platform, cl_va_api_device_source_intel source, void *display,
             cl_va_api_device_set_intel set, cl_uint n, cl_device_id *devices, cl_uint *n_ret)
{
  if (source != CL_VA_API_DISPLAY_INTEL ||
      (set != CL_PREFERRED_DEVICES_FOR_VA_API_INTEL && set != CL_ALL_DEVICES_FOR_VA_API_INTEL))
    return CL_INVALID_VALUE;
  if (!display_is_intel (display))
    g_error ("Devices were asked for by the VADisplay %p, which is not Intel's or is terminated; "
             "Intel's driver can abort here.",
             display);
  return cl_next->clGetDeviceIDs (platform, CL_DEVICE_TYPE_ALL, n, devices, n_ret);
}

static cl_mem CL_API_CALL
create_image (cl_context context, cl_mem_flags flags, VASurfaceID *id, cl_uint plane,
              cl_int *status)
{
  const gpointer display =
      (gpointer)find_property (get_properties (context), CL_CONTEXT_VA_API_DISPLAY_INTEL);
  g_autoptr (Surface) surface = NULL;

  *status = layer_fault ("clCreateFromVA_APIMediaSurfaceINTEL");
  if (*status != CL_SUCCESS)
    return NULL;
  if (!display)
    g_error ("An image was asked for in a context without a VADisplay; Intel's driver would "
             "crash.");
  surface = surface_get (display, *id);
  if (!surface)
    g_error ("The context's VADisplay has no surface %#x.", *id);
  if (plane >= SURFACE_PLANES || flags != CL_MEM_READ_ONLY)
    g_error ("There are planes 0 and 1, which the doubles only let read.");
  return shared_image_new (context, surface, plane, status);
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

static cl_mem CL_API_CALL
create_buffer (cl_context context, const cl_mem_properties *properties, cl_mem_flags flags,
               size_t size, void *data, cl_int *status)
{
  const int fd = find_fd (properties);
  off_t available;
  cl_mem mem;

  if (fd < 0 || !layer_has ("dmabuf"))
    return cl_next->clCreateBufferWithProperties (context, properties, flags, size, data, status);
  *status = layer_fault ("clCreateBufferWithProperties");
  if (*status != CL_SUCCESS)
    return NULL;
  available = lseek (fd, 0, SEEK_END);
  if (data || flags != CL_MEM_READ_ONLY || available < 0 || size == 0 || size > (gsize)available)
    g_error ("%" G_GSIZE_FORMAT " bytes of a dma-buf of %" G_GINT64_FORMAT " were imported, "
             "together with host memory, or to be written.",
             size, (gint64)available);
  mem = shared_buffer_new (context, fd, size, status);
  if (mem)
    close (fd); /* it belongs to the driver now */
  return mem;
}

#define DEFINE_MOVE(name, function, planes, acquire)                                               \
  static cl_int CL_API_CALL name (cl_command_queue queue, cl_uint n, const cl_mem *mems,           \
                                  WAIT_PARAMETERS)                                                 \
  {                                                                                                \
    return shared_objects_move (function, planes, acquire, queue, n, mems, WAIT_ARGUMENTS);        \
  }

#define ACQUIRE_PLANES   "clEnqueueAcquireVA_APIMediaSurfacesINTEL"
#define RELEASE_PLANES   "clEnqueueReleaseVA_APIMediaSurfacesINTEL"
#define ACQUIRE_EXTERNAL "clEnqueueAcquireExternalMemObjectsKHR"
#define RELEASE_EXTERNAL "clEnqueueReleaseExternalMemObjectsKHR"

DEFINE_MOVE (acquire_planes, ACQUIRE_PLANES, TRUE, TRUE)
DEFINE_MOVE (release_planes, RELEASE_PLANES, TRUE, FALSE)
DEFINE_MOVE (acquire_external, ACQUIRE_EXTERNAL, FALSE, TRUE)
DEFINE_MOVE (release_external, RELEASE_EXTERNAL, FALSE, FALSE)

static void *CL_API_CALL
get_address (cl_platform_id platform, const char *name)
{
  static const struct {
    const gchar *part, *name;
    void *function;
  } functions[] = {{"displays", "clGetDeviceIDsFromVA_APIMediaAdapterINTEL", (void *)get_devices},
                   {"va", "clCreateFromVA_APIMediaSurfaceINTEL", (void *)create_image},
                   {"va", ACQUIRE_PLANES, (void *)acquire_planes},
                   {"va", RELEASE_PLANES, (void *)release_planes},
                   {"dmabuf", ACQUIRE_EXTERNAL, (void *)acquire_external},
                   {"dmabuf", RELEASE_EXTERNAL, (void *)release_external}};

  for (guint i = 0; i < G_N_ELEMENTS (functions); i++)
    if (strcmp (functions[i].name, name) == 0 && layer_has (functions[i].part))
      return functions[i].function;
  return cl_next->clGetExtensionFunctionAddressForPlatform (platform, name);
}

void
sharing_install (cl_icd_dispatch *table)
{
  contexts = g_hash_table_new_full (NULL, NULL, NULL, g_free);
  table->clGetDeviceInfo = get_device_info;
  table->clGetExtensionFunctionAddressForPlatform = get_address;
  table->clCreateBufferWithProperties = create_buffer;
  table->clCreateContext = create_context;
  table->clGetContextInfo = get_context_info;
  table->clGetImageInfo = get_image_info;
}
