/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gemmcl-va.h"

#define GST_CAT_DEFAULT gst_gemmcl_debug

#ifdef GEMMCL_HAVE_VA

  #define GST_USE_UNSTABLE_API
  #include <CL/cl_va_api_media_sharing_intel.h>
  #include <gst/va/gstva.h>

  #include "gemmcl-imports.h"

  #define EXTENSION "cl_intel_va_api_media_sharing"
  #define N_PLANES  2

/* Of a platform; any may be NULL. */
typedef struct {
  clGetDeviceIDsFromVA_APIMediaAdapterINTEL_fn get_devices;
  clCreateFromVA_APIMediaSurfaceINTEL_fn create;
  clEnqueueAcquireVA_APIMediaSurfacesINTEL_fn acquire;
  clEnqueueReleaseVA_APIMediaSurfacesINTEL_fn release;
} Functions;

static cl_platform_id
get_platform (GemmclContext *context)
{
  cl_platform_id platform = NULL;

  clGetDeviceInfo (gemmcl_context_get_cl_device (context), CL_DEVICE_PLATFORM, sizeof platform,
                   &platform, NULL);
  return platform;
}

static const Functions *
get_functions (GemmclContext *context)
{
  static const gchar key[] = "gst-gemmcl-va-functions";
  static GMutex lock; /* elements share contexts, and ask in threads of their own */
  const cl_platform_id platform = get_platform (context);
  g_autoptr (GMutexLocker) locker = NULL;
  Functions *found;

  locker = g_mutex_locker_new (&lock);
  found = g_object_get_data (G_OBJECT (context), key);
  if (found)
    return found;
  found = g_new0 (Functions, 1);
  found->get_devices =
      (clGetDeviceIDsFromVA_APIMediaAdapterINTEL_fn)clGetExtensionFunctionAddressForPlatform (
          platform, "clGetDeviceIDsFromVA_APIMediaAdapterINTEL");
  found->create = (clCreateFromVA_APIMediaSurfaceINTEL_fn)clGetExtensionFunctionAddressForPlatform (
      platform, "clCreateFromVA_APIMediaSurfaceINTEL");
  found->acquire =
      (clEnqueueAcquireVA_APIMediaSurfacesINTEL_fn)clGetExtensionFunctionAddressForPlatform (
          platform, "clEnqueueAcquireVA_APIMediaSurfacesINTEL");
  found->release =
      (clEnqueueReleaseVA_APIMediaSurfacesINTEL_fn)clGetExtensionFunctionAddressForPlatform (
          platform, "clEnqueueReleaseVA_APIMediaSurfacesINTEL");
  g_object_set_data_full (G_OBJECT (context), key, found, g_free);
  return found;
}

static gboolean refuse (GError **error, const gchar *format, ...) G_GNUC_PRINTF (2, 3);

static gboolean
refuse (GError **error, const gchar *format, ...)
{
  va_list arguments;

  va_start (arguments, format);
  if (error)
    *error = g_error_new_valist (GEMMCL_ERROR, GEMMCL_ERROR_NO_DEVICE, format, arguments);
  va_end (arguments);
  return FALSE;
}

/* (transfer full) */
static GstVaDisplay *
get_display (GstGemmcl *self)
{
  GstVaDisplay *display = NULL;

  GST_OBJECT_LOCK (self);
  if (self->va_display)
    display = GST_VA_DISPLAY (gst_object_ref (self->va_display));
  GST_OBJECT_UNLOCK (self);
  return display;
}

static gboolean
has_failed (GstGemmcl *self)
{
  gboolean failed;

  GST_OBJECT_LOCK (self);
  failed = self->va_failed;
  GST_OBJECT_UNLOCK (self);
  return failed;
}

static void
set_display (GstGemmcl *self, GstVaDisplay *display)
{
  gboolean changed;

  GST_OBJECT_LOCK (self);
  changed = !self->va_display || gst_va_display_get_va_dpy (GST_VA_DISPLAY (self->va_display)) !=
                                     gst_va_display_get_va_dpy (display);
  if (changed) {
    gst_object_replace (&self->va_display, GST_OBJECT (display));
    self->va_failed = FALSE;
  }
  GST_OBJECT_UNLOCK (self);
  if (changed)
    GST_INFO_OBJECT (self, "the VADisplay of %" GST_PTR_FORMAT, display);
}

void
gst_gemmcl_va_take_display (GstGemmcl *self, GstContext *shared)
{
  g_autoptr (GstObject) display = NULL;

  if (!shared || !gst_context_has_context_type (shared, GST_VA_DISPLAY_HANDLE_CONTEXT_TYPE_STR) ||
      !gst_structure_get (gst_context_get_structure (shared), "gst-display", GST_TYPE_OBJECT,
                          &display, NULL) ||
      !GST_IS_VA_DISPLAY (display))
    return;
  set_display (self, GST_VA_DISPLAY (display));
}

void
gst_gemmcl_va_ask_for_display (GstGemmcl *self, const GemmclDeviceInfo *device)
{
  static const gchar type[] = GST_VA_DISPLAY_HANDLE_CONTEXT_TYPE_STR;
  g_autoptr (GstContext) own = NULL;
  g_autoptr (GstVaDisplay) display = NULL;

  if (!gemmcl_device_info_has_extension (device, EXTENSION))
    return;
  own = gst_element_get_context (GST_ELEMENT (self), type);
  gst_gemmcl_va_take_display (self, own);
  display = get_display (self);
  if (!display)
    gst_va_context_query (GST_ELEMENT (self), type);
}

/* Whether the device can share surfaces of that display. Intel's driver is asked about displays of
 * its own kind alone: others it takes for such. */
static gboolean
check_display (GemmclContext *context, GstVaDisplay *display, GError **error)
{
  const GemmclDeviceInfo *device = gemmcl_context_get_device_info (context);
  const Functions *functions = get_functions (context);
  g_autofree cl_device_id *devices = NULL;
  cl_uint n = 0;

  if (gst_va_display_get_implementation (display) != GST_VA_IMPLEMENTATION_INTEL_IHD)
    return refuse (error, "The VADisplay is not one of Intel's media driver (iHD).");
  functions->get_devices (get_platform (context), CL_VA_API_DISPLAY_INTEL,
                          gst_va_display_get_va_dpy (display), CL_ALL_DEVICES_FOR_VA_API_INTEL, 0,
                          NULL, &n);
  devices = g_new0 (cl_device_id, n + 1);
  if (n > 0 &&
      functions->get_devices (get_platform (context), CL_VA_API_DISPLAY_INTEL,
                              gst_va_display_get_va_dpy (display), CL_ALL_DEVICES_FOR_VA_API_INTEL,
                              n, devices, NULL) != CL_SUCCESS)
    n = 0;
  for (cl_uint i = 0; i < n; i++)
    if (devices[i] == gemmcl_context_get_cl_device (context))
      return TRUE;
  return refuse (error, "%s does not share memory with the VADisplay; another GPU has it.",
                 device->name);
}

static gboolean
check_device (GemmclContext *context, GError **error)
{
  const GemmclDeviceInfo *device = gemmcl_context_get_device_info (context);
  const Functions *functions;

  if (!gemmcl_device_info_has_extension (device, EXTENSION))
    return refuse (error, "%s has no " EXTENSION ".", device->name);
  functions = get_functions (context);
  if (functions->get_devices && functions->create && functions->acquire && functions->release)
    return TRUE;
  return refuse (error, "%s lacks functions of " EXTENSION ".", device->name);
}

/* The VADisplay that the OpenCL context was made with; NULL if there is none. */
static VADisplay
get_context_display (GemmclContext *context)
{
  const cl_context cl = gemmcl_context_get_cl_context (context);
  g_autofree cl_context_properties *properties = NULL;
  gsize size = 0;

  clGetContextInfo (cl, CL_CONTEXT_PROPERTIES, 0, NULL, &size);
  properties = g_malloc0 (size + sizeof *properties);
  clGetContextInfo (cl, CL_CONTEXT_PROPERTIES, size, properties, NULL);
  for (gsize i = 0; properties[i] != 0; i += 2)
    if (properties[i] == CL_CONTEXT_VA_API_DISPLAY_INTEL)
      return (VADisplay)properties[i + 1];
  return NULL;
}

gboolean
gst_gemmcl_va_get_properties (GstGemmcl *self, GemmclContext *context,
                              cl_context_properties properties[GST_GEMMCL_VA_N_PROPERTIES])
{
  const cl_context_properties all[GST_GEMMCL_VA_N_PROPERTIES] = {
      CL_CONTEXT_VA_API_DISPLAY_INTEL, 0, CL_CONTEXT_INTEROP_USER_SYNC, CL_TRUE, 0};
  g_autoptr (GstVaDisplay) display = get_display (self);
  g_autoptr (GError) error = NULL;

  if (!display || has_failed (self) || !check_device (context, NULL))
    return FALSE;
  if (!check_display (context, display, &error)) {
    GST_INFO_OBJECT (self, "%s", error->message);
    return FALSE;
  }
  memcpy (properties, all, sizeof all);
  properties[1] = (cl_context_properties)gst_va_display_get_va_dpy (display);
  return TRUE;
}

gboolean
gst_gemmcl_va_fits (GstGemmcl *self, GemmclContext *context)
{
  cl_context_properties properties[GST_GEMMCL_VA_N_PROPERTIES];

  return gemmcl_context_is_wrapped (context) ||
         !gst_gemmcl_va_get_properties (self, context, properties) ||
         gemmcl_context_has_properties (context, properties);
}

void
gst_gemmcl_va_bind (GstGemmcl *self, GemmclContext *context)
{
  GstVaDisplay *display = get_display (self);

  if (display && gst_va_display_get_va_dpy (display) == get_context_display (context))
    g_object_set_data_full (G_OBJECT (context), "gst-gemmcl-va-display", display, gst_object_unref);
  else
    gst_clear_object (&display);
}

gboolean
gst_gemmcl_va_check (GstGemmcl *self, GemmclContext *context, GError **error)
{
  g_autoptr (GstVaDisplay) display = get_display (self);

  if (!check_device (context, error) || (display && !check_display (context, display, error)))
    return FALSE;
  if (has_failed (self))
    return refuse (error, "No OpenCL context can be made with the VADisplay.");
  if (!gemmcl_context_is_wrapped (context) || get_context_display (context))
    return TRUE;
  return refuse (error, "The application's OpenCL context was made without a VADisplay "
                        "(CL_CONTEXT_VA_API_DISPLAY_INTEL).");
}

gboolean
gst_gemmcl_va_has_surface (GstBuffer *buffer)
{
  return gst_buffer_n_memory (buffer) > 0 && gst_va_buffer_peek_display (buffer) &&
         gst_va_buffer_get_surface (buffer) != VA_INVALID_SURFACE;
}

gboolean
gst_gemmcl_va_needs_context (GstGemmcl *self, GstBuffer *buffer)
{
  GstVaDisplay *display = gst_va_buffer_peek_display (buffer);

  if (gst_va_display_get_va_dpy (display) == get_context_display (self->context))
    return FALSE;
  set_display (self, display);
  return !gst_gemmcl_va_fits (self, self->context);
}

static gboolean
create_images (GstGemmcl *self, VASurfaceID surface, cl_mem images[GEMMCL_MAX_PLANES],
               GError **error)
{
  const cl_context context = gemmcl_context_get_cl_context (self->context);
  const Functions *functions = get_functions (self->context);

  for (guint i = 0; i < N_PLANES; i++) {
    cl_int status = CL_SUCCESS;

    images[i] = functions->create (context, CL_MEM_READ_ONLY, &surface, i, &status);
    if (images[i] && status == CL_SUCCESS)
      continue;
    for (guint j = 0; j < i; j++)
      g_clear_pointer (&images[j], clReleaseMemObject);
    /* An error of OpenCL is negative, one of VA is not. */
    g_set_error (
        error, GEMMCL_ERROR, GEMMCL_ERROR_OPENCL,
        "clCreateFromVA_APIMediaSurfaceINTEL for plane %u of VA surface %#x failed: %s %d. "
        "Without \"video/x-raw(memory:VAMemory)\" before gemmcl the surface is copied "
        "instead.",
        i, surface, status > 0 ? "VA status" : "OpenCL error", status);
    return FALSE;
  }
  return TRUE;
}

gboolean
gst_gemmcl_va_open (GstGemmcl *self, GstBuffer *buffer, GemmclPlaneImages *images,
                    GemmclHandover *acquire, GemmclHandover *release, GError **error)
{
  const Functions *functions = get_functions (self->context);
  const VADisplay display = gst_va_display_get_va_dpy (gst_va_buffer_peek_display (buffer));
  const VASurfaceID surface = gst_va_buffer_get_surface (buffer);
  GstMemory *memory = gst_buffer_peek_memory (buffer, 0);
  VAStatus status;

  if (display != get_context_display (self->context))
    return gst_gemmcl_va_check (self, self->context, error) &&
           refuse (error, "A VA surface is of another VADisplay than the OpenCL context.");
  memset (images, 0, sizeof *images);
  if (!gst_gemmcl_imports_find (self->imports, memory, surface, images->planes)) {
    if (!create_images (self, surface, images->planes, error))
      return FALSE;
    gst_gemmcl_imports_add (self->imports, memory, surface, images->planes);
  }
  status = vaSyncSurface (display, surface);
  if (status != VA_STATUS_SUCCESS) {
    g_set_error (error, GEMMCL_ERROR, GEMMCL_ERROR_IO,
                 "vaSyncSurface for VA surface %#x failed: %s.", surface, vaErrorStr (status));
    return FALSE;
  }
  *acquire = functions->acquire;
  *release = functions->release;
  return TRUE;
}

#else

void
gst_gemmcl_va_take_display (GstGemmcl *self G_GNUC_UNUSED, GstContext *shared G_GNUC_UNUSED)
{
}

void
gst_gemmcl_va_ask_for_display (GstGemmcl *self G_GNUC_UNUSED,
                               const GemmclDeviceInfo *device G_GNUC_UNUSED)
{
}

gboolean
gst_gemmcl_va_get_properties (
    GstGemmcl *self G_GNUC_UNUSED, GemmclContext *context G_GNUC_UNUSED,
    cl_context_properties properties[GST_GEMMCL_VA_N_PROPERTIES] G_GNUC_UNUSED)
{
  return FALSE;
}

gboolean
gst_gemmcl_va_fits (GstGemmcl *self G_GNUC_UNUSED, GemmclContext *context G_GNUC_UNUSED)
{
  return TRUE;
}

void
gst_gemmcl_va_bind (GstGemmcl *self G_GNUC_UNUSED, GemmclContext *context G_GNUC_UNUSED)
{
}

gboolean
gst_gemmcl_va_check (GstGemmcl *self G_GNUC_UNUSED, GemmclContext *context G_GNUC_UNUSED,
                     GError **error)
{
  g_set_error_literal (error, GEMMCL_ERROR, GEMMCL_ERROR_NO_DEVICE,
                       "The plugin was built without VA (libgstva).");
  return FALSE;
}

gboolean
gst_gemmcl_va_has_surface (GstBuffer *buffer G_GNUC_UNUSED)
{
  return FALSE;
}

gboolean
gst_gemmcl_va_needs_context (GstGemmcl *self G_GNUC_UNUSED, GstBuffer *buffer G_GNUC_UNUSED)
{
  return FALSE;
}

gboolean
gst_gemmcl_va_open (GstGemmcl *self, GstBuffer *buffer G_GNUC_UNUSED,
                    GemmclPlaneImages *images G_GNUC_UNUSED, GemmclHandover *acquire G_GNUC_UNUSED,
                    GemmclHandover *release G_GNUC_UNUSED, GError **error)
{
  return gst_gemmcl_va_check (self, self->context, error);
}

#endif
