/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "memory/va.h"

#include "memory/imports.h"
#include "memory/inflight.h"

#define GST_CAT_DEFAULT gst_gemmcl_debug

#define GST_USE_UNSTABLE_API
#include <CL/cl_va_api_media_sharing_intel.h>
#include <gst/va/gstva.h>

#define EXTENSION "cl_intel_va_api_media_sharing"
#define N_PLANES  2
/* Returns: the function of the platform of @context; NULL if it lacks it. A look-up is cheap. */
#define LOOK_UP(context, name)                                                                     \
  ((name##_fn)clGetExtensionFunctionAddressForPlatform (gst_gemmcl_get_platform (context), #name))

/* Returns: (nullable): the VADisplay with which the OpenCL context was made. Properties are read
 * only with the extension: PoCL 3 crashes if a context was made without properties. */
static VADisplay
find_display (GemmclContext *context)
{
  const GemmclDeviceInfo *device = gemmcl_context_get_device_info (context);
  const cl_context cl = gemmcl_context_get_cl_context (context);
  g_autofree cl_context_properties *properties = NULL;
  gsize size = 0;

  if (!gemmcl_device_info_has_extension (device, EXTENSION))
    return NULL;
  clGetContextInfo (cl, CL_CONTEXT_PROPERTIES, 0, NULL, &size);
  properties = g_malloc0 (size + sizeof *properties);
  clGetContextInfo (cl, CL_CONTEXT_PROPERTIES, size, properties, NULL);
  for (gsize i = 0; properties[i] != 0; i += 2)
    if (properties[i] == CL_CONTEXT_VA_API_DISPLAY_INTEL)
      return (VADisplay)properties[i + 1];
  return NULL;
}

/* Fails with a message of @format, a literal, and an alternative. */
#define REFUSE(error, format, ...)                                                                 \
  gst_gemmcl_fail (error, GEMMCL_ERROR_NO_DEVICE,                                                  \
                   format " Or let upstream send video/x-raw, which is copied.", ##__VA_ARGS__)

/* Returns: (transfer full) (nullable): the display. */
static GstVaDisplay *
get_display (GstGemmclSharing *self)
{
  g_autoptr (GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new (&self->lock);

  return self->display ? GST_VA_DISPLAY (gst_object_ref (self->display)) : NULL;
}

static void
set_display (GstGemmclSharing *self, GstVaDisplay *display)
{
  gboolean changed;

  g_mutex_lock (&self->lock);
  changed = !self->display || gst_va_display_get_va_dpy (GST_VA_DISPLAY (self->display)) !=
                                  gst_va_display_get_va_dpy (display);
  if (changed) {
    gst_object_replace (&self->display, GST_OBJECT (display));
    g_atomic_int_set (&self->display_failed, FALSE);
    g_atomic_int_set (&self->display_is_new, TRUE);
  }
  g_mutex_unlock (&self->lock);
  if (changed)
    GST_INFO_OBJECT (self->element, "VA surfaces are shared through %" GST_PTR_FORMAT, display);
}

void
gst_gemmcl_va_take_display (GstGemmclSharing *self, GstContext *shared)
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
gst_gemmcl_va_ask_for_display (GstGemmclSharing *self, const GemmclDeviceInfo *device)
{
  static const gchar type[] = GST_VA_DISPLAY_HANDLE_CONTEXT_TYPE_STR;
  g_autoptr (GstContext) own = NULL;
  g_autoptr (GstVaDisplay) display = NULL;

  if (!gemmcl_device_info_has_extension (device, EXTENSION))
    return;
  own = gst_element_get_context (self->element, type);
  gst_gemmcl_va_take_display (self, own);
  display = get_display (self);
  if (!display)
    gst_va_context_query (self->element, type);
}

/* TRUE if the device of @context shares surfaces of @display. */
static gboolean
shares_display (GemmclContext *context, GstVaDisplay *display)
{
  cl_device_id devices[64];
  cl_uint n = 0;

  if (LOOK_UP (context, clGetDeviceIDsFromVA_APIMediaAdapterINTEL) (
          gst_gemmcl_get_platform (context), CL_VA_API_DISPLAY_INTEL,
          gst_va_display_get_va_dpy (display), CL_ALL_DEVICES_FOR_VA_API_INTEL,
          G_N_ELEMENTS (devices), devices, &n) != CL_SUCCESS)
    return FALSE;
  for (cl_uint i = 0; i < MIN (n, G_N_ELEMENTS (devices)); i++)
    if (devices[i] == gemmcl_context_get_cl_device (context))
      return TRUE;
  return FALSE;
}

/* Fails if the device cannot share surfaces of @display. Intel's OpenCL driver takes each display
 * for a display of Intel's media driver, so it is asked only about such displays. */
static gboolean
check_display (GemmclContext *context, GstVaDisplay *display, GError **error)
{
  const GemmclDeviceInfo *device = gemmcl_context_get_device_info (context);
  const gchar *vendor;

  if (gst_va_display_get_implementation (display) != GST_VA_IMPLEMENTATION_INTEL_IHD) {
    vendor = vaQueryVendorString (gst_va_display_get_va_dpy (display));
    return REFUSE (error,
                   "The VADisplay is of \"%s\", but %s shares surfaces with Intel's media driver "
                   "only: set LIBVA_DRIVER_NAME=iHD if the GPU is one of Intel's.",
                   vendor ? vendor : "a driver without a name", device->name);
  }
  if (shares_display (context, display))
    return TRUE;
  return REFUSE (error,
                 "%s does not share memory with the VADisplay, which is of another GPU: choose "
                 "that GPU with the properties platform, device-type and device.",
                 device->name);
}

static gboolean
check_device (GemmclContext *context, GError **error)
{
  const GemmclDeviceInfo *device = gemmcl_context_get_device_info (context);

  if (!gemmcl_device_info_has_extension (device, EXTENSION))
    return REFUSE (error,
                   "%s has no " EXTENSION
                   ", which Intel's driver for GPUs has: choose such a device with the properties "
                   "platform, device-type and device.",
                   device->name);
  if (LOOK_UP (context, clGetDeviceIDsFromVA_APIMediaAdapterINTEL) &&
      LOOK_UP (context, clCreateFromVA_APIMediaSurfaceINTEL) &&
      LOOK_UP (context, clEnqueueAcquireVA_APIMediaSurfacesINTEL) &&
      LOOK_UP (context, clEnqueueReleaseVA_APIMediaSurfacesINTEL))
    return TRUE;
  return REFUSE (error,
                 "%s has " EXTENSION
                 ", but lacks its functions: install another version of the driver.",
                 device->name);
}

/* Returns: (nullable): the display with which a new context on the device of @context has to be
 * made; NULL if @context has it, or if no display is known that the device can share. */
static VADisplay
find_missing (GstGemmclSharing *self, GemmclContext *context)
{
  g_autoptr (GstVaDisplay) display = get_display (self);
  g_autoptr (GError) error = NULL;
  VADisplay found;

  if (!display || g_atomic_int_get (&self->display_failed) || !check_device (context, NULL))
    return NULL;
  found = gst_va_display_get_va_dpy (display);
  if (found == find_display (context))
    return NULL;
  if (check_display (context, display, &error))
    return found;
  GST_INFO_OBJECT (self->element, "%s", error->message);
  return NULL;
}

gboolean
gst_gemmcl_va_fits (GstGemmclSharing *self, GemmclContext *context)
{
  return gemmcl_context_is_wrapped (context) || !find_missing (self, context);
}

GemmclContext *
gst_gemmcl_va_add_display (GstGemmclSharing *self, const GemmclDeviceQuery *query,
                           GemmclContext *context)
{
  g_autoptr (GemmclContext) plain = context;
  g_autoptr (GError) error = NULL;
  const VADisplay display = plain ? find_missing (self, plain) : NULL;
  const cl_context_properties properties[] = {CL_CONTEXT_VA_API_DISPLAY_INTEL,
                                              (cl_context_properties)display,
                                              CL_CONTEXT_INTEROP_USER_SYNC, CL_TRUE, 0};

  if (!display)
    return g_steal_pointer (&plain);
  context = gemmcl_context_get_shared_with (query, properties, &error);
  if (context)
    return context;
  g_atomic_int_set (&self->display_failed, TRUE);
  gst_gemmcl_post (self->element, GST_MESSAGE_WARNING, "VA surfaces cannot be shared.", error);
  return g_steal_pointer (&plain);
}

/* @context keeps each GstVaDisplay of its VADisplay, since any of them may close it. */
void
gst_gemmcl_va_bind (GstGemmclSharing *self, GemmclContext *context)
{
  g_autoptr (GstVaDisplay) display = get_display (self);
  g_autofree gchar *key = NULL;

  if (!display || gst_va_display_get_va_dpy (display) != find_display (context))
    return;
  key = g_strdup_printf ("gst-gemmcl-va-display-%p", display);
  g_object_set_data_full (G_OBJECT (context), key, g_steal_pointer (&display), gst_object_unref);
}

gboolean
gst_gemmcl_va_check (GstGemmclSharing *self, GemmclContext *context, GError **error)
{
  g_autoptr (GstVaDisplay) display = get_display (self);

  if (!check_device (context, error) || (display && !check_display (context, display, error)))
    return FALSE;
  if (g_atomic_int_get (&self->display_failed))
    return REFUSE (
        error, "No OpenCL context could be made with the VADisplay; an earlier warning says why.");
  if (!gemmcl_context_is_wrapped (context) || find_display (context))
    return TRUE;
  return REFUSE (error, "The application's OpenCL context was made without a VADisplay: make it "
                        "with CL_CONTEXT_VA_API_DISPLAY_INTEL.");
}

gboolean
gst_gemmcl_va_has_surface (GstBuffer *buffer)
{
  GstMemory *memory, *whole;

  if (gst_buffer_n_memory (buffer) == 0)
    return FALSE;
  memory = gst_buffer_peek_memory (buffer, 0);
  whole = gst_gemmcl_get_root (memory);
  /* A part of a surface is not a frame. */
  return memory->offset == whole->offset && memory->size == whole->size &&
         gst_va_memory_peek_display (whole) &&
         gst_va_memory_get_surface (whole) != VA_INVALID_SURFACE;
}

static GstVaDisplay *
peek_display (GstBuffer *buffer)
{
  return gst_va_memory_peek_display (gst_gemmcl_get_root (gst_buffer_peek_memory (buffer, 0)));
}

gboolean
gst_gemmcl_va_is_shared (GstGemmclSharing *self, GstBuffer *buffer)
{
  return gst_va_display_get_va_dpy (peek_display (buffer)) == find_display (self->context);
}

gboolean
gst_gemmcl_va_needs_context (GstGemmclSharing *self, GstBuffer *buffer)
{
  if (gst_gemmcl_va_is_shared (self, buffer))
    return FALSE;
  set_display (self, peek_display (buffer));
  /* The driver is asked only once about a display: asking for each buffer would be slow. */
  return g_atomic_int_compare_and_exchange (&self->display_is_new, TRUE, FALSE) &&
         !gst_gemmcl_va_fits (self, self->context);
}

/* A GstGemmclImporter for a surface. */
static gboolean
create_images (GstGemmclSharing *self, GstMemory *memory G_GNUC_UNUSED, guintptr id,
               cl_mem images[GEMMCL_MAX_PLANES], GError **error)
{
  const cl_context cl = gemmcl_context_get_cl_context (self->context);
  const clCreateFromVA_APIMediaSurfaceINTEL_fn create =
      LOOK_UP (self->context, clCreateFromVA_APIMediaSurfaceINTEL);
  VASurfaceID surface = id;

  for (guint i = 0; i < N_PLANES; i++) {
    cl_int status = CL_SUCCESS;

    images[i] = create (cl, CL_MEM_READ_ONLY, &surface, i, &status);
    if (images[i] && status == CL_SUCCESS)
      continue;
    for (guint j = 0; j < i; j++)
      g_clear_pointer (&images[j], clReleaseMemObject);
    /* Errors of OpenCL are negative, those of VA are not. */
    return gst_gemmcl_fail (
        error, GEMMCL_ERROR_OPENCL,
        "clCreateFromVA_APIMediaSurfaceINTEL for plane %u of VA surface %#x failed: %s %d. Without "
        "\"video/x-raw(memory:VAMemory)\" before gemmcl the surface is copied instead.",
        i, surface, status > 0 ? "VA status" : "OpenCL error", status);
  }
  return TRUE;
}

gboolean
gst_gemmcl_va_open (GstGemmclSharing *self, GstBuffer *buffer, GemmclData *data, GemmclRun *run,
                    GError **error)
{
  const VADisplay known = find_display (self->context);
  GstMemory *memory = gst_gemmcl_get_root (gst_buffer_peek_memory (buffer, 0));
  const VADisplay display = gst_va_display_get_va_dpy (peek_display (buffer));
  const VASurfaceID surface = gst_va_memory_get_surface (memory);
  VAStatus status;

  if (display != known)
    return gst_gemmcl_va_check (self, self->context, error) &&
           REFUSE (
               error,
               "VA surface %#x is of VADisplay %p, but the OpenCL context was made with %p: use "
               "one display for all elements upstream and for the context of the application.",
               surface, display, known);
  *data = (GemmclData){.kind = GEMMCL_DATA_IMAGES, .acquired = TRUE};
  gst_gemmcl_get_crop (buffer, &data->x, &data->y);
  if (!gst_gemmcl_import (self, memory, surface, create_images, data->objects, error))
    return FALSE;
  status = vaSyncSurface (display, surface);
  if (status != VA_STATUS_SUCCESS)
    return gst_gemmcl_fail (
        error, GEMMCL_ERROR_IO,
        "vaSyncSurface failed for VA surface %#x: %s. Rendering it may have failed before; "
        "LIBVA_MESSAGING_LEVEL=2 shows messages of libva.",
        surface, vaErrorStr (status));
  run->acquire = G_CALLBACK (LOOK_UP (self->context, clEnqueueAcquireVA_APIMediaSurfacesINTEL));
  run->release = G_CALLBACK (LOOK_UP (self->context, clEnqueueReleaseVA_APIMediaSurfacesINTEL));
  return TRUE;
}
