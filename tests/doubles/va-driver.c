/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "va-surface.h"

#include <fcntl.h>
#include <string.h>
#include <va/va_drmcommon.h>
#include <va/va_version.h>

/* The fake libva driver "gemmcl-double": surfaces, images and copying VideoProc, NV12 and P010. */

/* libva fixes the signatures. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

#define VENDOR "Intel iHD driver for nobody's GPU, a test double of gemmcl - 1.0.0"

static VAStatus
terminate (VADriverContextP context)
{
  display_remove (context->pDisplayContext);
  return VA_STATUS_SUCCESS;
}

static VAStatus
query_profiles (VADriverContextP context, VAProfile *list, int *n)
{
  list[0] = VAProfileNone;
  *n = 1;
  return VA_STATUS_SUCCESS;
}

static VAStatus
query_entrypoints (VADriverContextP context, VAProfile profile, VAEntrypoint *list, int *n)
{
  if (profile != VAProfileNone)
    return VA_STATUS_ERROR_UNSUPPORTED_PROFILE;
  list[0] = VAEntrypointVideoProc;
  *n = 1;
  return VA_STATUS_SUCCESS;
}

static VAStatus
get_config_attributes (VADriverContextP context, VAProfile profile, VAEntrypoint entrypoint,
                       VAConfigAttrib *list, int n)
{
  for (int i = 0; i < n; i++)
    list[i].value = list[i].type == VAConfigAttribRTFormat
                        ? VA_RT_FORMAT_YUV420 | VA_RT_FORMAT_YUV420_10
                        : VA_ATTRIB_NOT_SUPPORTED;
  return VA_STATUS_SUCCESS;
}

static VAStatus
create_config (VADriverContextP context, VAProfile profile, VAEntrypoint entrypoint,
               VAConfigAttrib *list, int n, VAConfigID *id)
{
  if (profile != VAProfileNone || entrypoint != VAEntrypointVideoProc)
    return VA_STATUS_ERROR_UNSUPPORTED_ENTRYPOINT;
  *id = 1;
  return VA_STATUS_SUCCESS;
}

static VAStatus
create_surfaces (VADriverContextP context, unsigned format, unsigned width, unsigned height,
                 VASurfaceID *ids, unsigned n, VASurfaceAttrib *attributes, unsigned n_attributes)
{
  guint32 fourcc = format & VA_RT_FORMAT_YUV420 ? VA_FOURCC_NV12 : VA_FOURCC_P010;
  VAStatus status = VA_STATUS_SUCCESS;

  for (guint i = 0; i < n_attributes; i++) {
    const gint value = attributes[i].value.value.i;

    if (attributes[i].type == VASurfaceAttribPixelFormat)
      fourcc = (guint32)value;
    /* Importing memory is not supported. */
    if (attributes[i].type == VASurfaceAttribExternalBufferDescriptor &&
        attributes[i].value.value.p)
      return VA_STATUS_ERROR_UNSUPPORTED_MEMORY_TYPE;
  }
  if (width == 0 || height == 0 || width > SURFACE_MAX_SIDE || height > SURFACE_MAX_SIDE)
    return VA_STATUS_ERROR_RESOLUTION_NOT_SUPPORTED;
  for (guint i = 0; i < n && status == VA_STATUS_SUCCESS; i++)
    status = surface_new (context->pDisplayContext, fourcc, width, height, &ids[i]);
  return status;
}

static VAStatus
destroy_surfaces (VADriverContextP context, VASurfaceID *ids, int n)
{
  DOUBLES_LOCK ();
  for (int i = 0; i < n; i++) {
    g_autoptr (Surface) surface = surface_get (context->pDisplayContext, ids[i]);

    if (!surface)
      return VA_STATUS_ERROR_INVALID_SURFACE;
    surface_destroy (surface);
  }
  return VA_STATUS_SUCCESS;
}

static VAStatus
sync_surface (VADriverContextP context, VASurfaceID id)
{
  DOUBLES_LOCK ();
  g_autoptr (Surface) surface = surface_get (context->pDisplayContext, id);

  if (!surface)
    return VA_STATUS_ERROR_INVALID_SURFACE;
  surface->synced = TRUE;
  return VA_STATUS_SUCCESS;
}

static VAStatus
query_status (VADriverContextP context, VASurfaceID id, VASurfaceStatus *status)
{
  *status = VASurfaceReady;
  return VA_STATUS_SUCCESS;
}

static VASurfaceAttrib
integer_attribute (VASurfaceAttribType type, guint flags, guint value)
{
  VASurfaceAttrib attribute = {.type = type, .flags = VA_SURFACE_ATTRIB_GETTABLE | flags};

  attribute.value.type = VAGenericValueTypeInteger;
  attribute.value.value.i = (int)value;
  return attribute;
}

static VAStatus
query_surface_attributes (VADriverContextP context, VAConfigID config, VASurfaceAttrib *list,
                          unsigned *n)
{
  const VASurfaceAttrib all[] = {
      integer_attribute (VASurfaceAttribPixelFormat, VA_SURFACE_ATTRIB_SETTABLE, VA_FOURCC_NV12),
      integer_attribute (VASurfaceAttribPixelFormat, VA_SURFACE_ATTRIB_SETTABLE, VA_FOURCC_P010),
      integer_attribute (VASurfaceAttribMinWidth, 0, 1),
      integer_attribute (VASurfaceAttribMaxWidth, 0, SURFACE_MAX_SIDE),
      integer_attribute (VASurfaceAttribMinHeight, 0, 1),
      integer_attribute (VASurfaceAttribMaxHeight, 0, SURFACE_MAX_SIDE),
      integer_attribute (VASurfaceAttribMemoryType, VA_SURFACE_ATTRIB_SETTABLE,
                         VA_SURFACE_ATTRIB_MEM_TYPE_VA | VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2)};
  const guint room = *n;

  *n = G_N_ELEMENTS (all);
  if (!list)
    return VA_STATUS_SUCCESS;
  if (room < G_N_ELEMENTS (all))
    return VA_STATUS_ERROR_MAX_NUM_EXCEEDED;
  memcpy (list, all, sizeof all);
  return VA_STATUS_SUCCESS;
}

static void
describe_layers (const Surface *surface, gboolean separate, VADRMPRIMESurfaceDescriptor *to)
{
  /* DRM formats of the single planes of NV12 and P010 */
  static const guint32 formats[][SURFACE_PLANES] = {
      {VA_FOURCC ('R', '8', ' ', ' '), VA_FOURCC ('G', 'R', '8', '8')},
      {VA_FOURCC ('R', '1', '6', ' '), VA_FOURCC ('G', 'R', '3', '2')}};

  to->num_layers = separate ? SURFACE_PLANES : 1;
  for (guint i = 0; i < SURFACE_PLANES; i++) {
    const guint layer = separate ? i : 0, plane = separate ? 0 : i;

    to->layers[layer].drm_format =
        separate ? formats[surface->fourcc == VA_FOURCC_P010][i] : surface->fourcc;
    to->layers[layer].num_planes = separate ? 1 : SURFACE_PLANES;
    to->layers[layer].offset[plane] = (guint32)surface->planes[i].offset;
    to->layers[layer].pitch[plane] = (guint32)surface->planes[i].pitch;
  }
}

/* Returns: the modifier of exported surfaces, from drm_fourcc.h; 0: linear. */
static guint64
get_modifier (void)
{
  const gchar *text = g_getenv ("GEMMCL_DOUBLES_MODIFIER");

  return text ? g_ascii_strtoull (text, NULL, 16) : 0;
}

/* Exports a surface as a memfd without fences; that of a surface with a modifier has no pixels. */
static VAStatus
export_surface (VADriverContextP context, VASurfaceID id, uint32_t memory_type, uint32_t flags,
                void *descriptor)
{
  const guint64 modifier = get_modifier ();
  VADRMPRIMESurfaceDescriptor *to = descriptor;
  DOUBLES_LOCK ();
  g_autoptr (Surface) surface = surface_get (context->pDisplayContext, id);

  if (!surface)
    return VA_STATUS_ERROR_INVALID_SURFACE;
  if (memory_type != VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2)
    return VA_STATUS_ERROR_UNSUPPORTED_MEMORY_TYPE;
  memset (to, 0, sizeof *to);
  to->fourcc = surface->fourcc;
  to->width = surface->width;
  to->height = surface->height;
  to->num_objects = 1;
  to->objects[0].fd =
      modifier ? surface_new_file (surface->size) : fcntl (surface->fd, F_DUPFD_CLOEXEC, 3);
  to->objects[0].size = (guint32)surface->size;
  to->objects[0].drm_format_modifier = modifier;
  if (to->objects[0].fd < 0)
    return VA_STATUS_ERROR_OPERATION_FAILED;
  describe_layers (surface, flags & VA_EXPORT_SURFACE_SEPARATE_LAYERS, to);
  g_atomic_int_inc (&doubles_counts.surface_exports);
  return VA_STATUS_SUCCESS;
}

/* Functions without effect, and functions that libva requires but that GStreamer never calls. */
static VAStatus
succeed (void)
{
  return VA_STATUS_SUCCESS;
}

static VAStatus
refuse (void)
{
  return VA_STATUS_ERROR_UNIMPLEMENTED;
}

static void
install (struct VADriverVTable *table)
{
  gpointer *const functions = (gpointer *)table;

  /* libva requires all functions up to this one. */
  for (guint i = 0; &functions[i] <= (gpointer *)&table->vaSetDisplayAttributes; i++)
    functions[i] = (gpointer)refuse;
  table->vaDestroyConfig = (gpointer)succeed;
  table->vaDestroyContext = (gpointer)succeed;
  table->vaUnmapBuffer = (gpointer)succeed;
  table->vaTerminate = terminate;
  table->vaQueryConfigProfiles = query_profiles;
  table->vaQueryConfigEntrypoints = query_entrypoints;
  table->vaGetConfigAttributes = get_config_attributes;
  table->vaCreateConfig = create_config;
  table->vaCreateSurfaces2 = create_surfaces;
  table->vaDestroySurfaces = destroy_surfaces;
  table->vaQuerySurfaceAttributes = query_surface_attributes;
  table->vaExportSurfaceHandle = export_surface;
  table->vaSyncSurface = sync_surface;
  table->vaQuerySurfaceStatus = query_status;
}

/* The symbol that libva looks up, with the version of libva's headers in its name. */
#define INIT_NAME_(major, minor) __vaDriverInit_##major##_##minor
#define INIT_NAME(major, minor)  INIT_NAME_ (major, minor)

__attribute__ ((visibility ("default")))
VAStatus INIT_NAME (VA_MAJOR_VERSION, VA_MINOR_VERSION) (VADriverContextP context);

VAStatus
INIT_NAME (VA_MAJOR_VERSION, VA_MINOR_VERSION) (VADriverContextP context)
{
  const gchar *vendor = g_getenv ("GEMMCL_DOUBLES_VENDOR");

  context->version_major = VA_MAJOR_VERSION;
  context->version_minor = VA_MINOR_VERSION;
  context->max_profiles = 1;
  context->max_entrypoints = 1;
  context->max_attributes = 8;
  context->max_image_formats = 2;
  context->max_subpic_formats = 1;
  context->max_display_attributes = 1;
  context->str_vendor = vendor ? vendor : VENDOR;
  install (context->vtable);
  va_copies_install (context);
  display_add (context->pDisplayContext, context->str_vendor);
  return VA_STATUS_SUCCESS;
}
