/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define GST_USE_UNSTABLE_API
#include <errno.h>
#include <gst/gst.h>
#include <gst/va/gstva.h>
#include <linux/dma-buf.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <va/va_backend.h>

#include "../support/doubles.h"

/* A preloaded library that makes displays of the fake driver. It shows GStreamer's va plugin one
 * render node with such a display, so that elements like vapostproc exist and run, and for this
 * replaces three functions of libgudev and two of libgstva. ioctl() knows the fences of dma-bufs,
 * for any file. */

#define NODE   "/dev/dri/renderD128"
#define DRIVER "gemmcl-double"

/* libva exports these for its own libraries that make displays; no header has them. */
extern VADisplayContextP va_newDisplayContext (void);
extern VADriverContextP va_newDriverContext (VADisplayContextP display);

/* The first fields of libva's drm_state. */
typedef struct {
  int fd, auth_type, reserved[16];
} DrmState;

static int
is_valid (VADisplayContextP display)
{
  return display != NULL && display->pDriverContext != NULL;
}

static void
destroy (VADisplayContextP display)
{
  free (display->pDriverContext->drm_state);
  free (display->pDriverContext);
  free (display);
}

#if VA_CHECK_VERSION(1, 20, 0)
static VAStatus
get_driver_names (VADisplayContextP display __attribute__ ((unused)), char **names, unsigned *n)
{
  names[0] = strdup (DRIVER);
  *n = 1;
  return VA_STATUS_SUCCESS;
}
#else
static VAStatus
get_driver_name (VADisplayContextP display __attribute__ ((unused)), char **name)
{
  *name = strdup (DRIVER);
  return VA_STATUS_SUCCESS;
}
#endif

VADisplay
va_display_new (void)
{
  VADisplayContextP display = va_newDisplayContext ();
  VADriverContextP driver = display ? va_newDriverContext (display) : NULL;
  DrmState *state = calloc (1, sizeof *state);
  int major, minor;

  if (!driver || !state) {
    free (state);
    free (display);
    return NULL;
  }
  state->fd = -1;
  driver->drm_state = state;
  driver->display_type = VA_DISPLAY_DRM_RENDERNODES;
  display->vaIsValid = is_valid;
  display->vaDestroy = destroy;
#if VA_CHECK_VERSION(1, 20, 0)
  display->vaGetDriverNames = get_driver_names;
#else
  display->vaGetDriverName = get_driver_name;
#endif
  if (vaInitialize (display, &major, &minor) == VA_STATUS_SUCCESS)
    return display;
  vaTerminate (display);
  return NULL;
}

GList *g_udev_client_query_by_subsystem (gpointer client, const gchar *subsystem);
const gchar *g_udev_device_get_device_file (gpointer device);
const gchar *g_udev_device_get_name (gpointer device);

GList *
g_udev_client_query_by_subsystem (gpointer client G_GNUC_UNUSED, const gchar *subsystem)
{
  if (g_strcmp0 (subsystem, "drm") != 0)
    return NULL;
  return g_list_append (NULL, g_object_new (G_TYPE_OBJECT, NULL));
}

const gchar *
g_udev_device_get_device_file (gpointer device G_GNUC_UNUSED)
{
  return NODE;
}

const gchar *
g_udev_device_get_name (gpointer device G_GNUC_UNUSED)
{
  return "renderD128";
}

/* Returns: the VADisplay of the process, which is never terminated. */
GstVaDisplay *
gst_va_display_drm_new_from_path (const gchar *path G_GNUC_UNUSED)
{
  static VADisplay display;
  static gsize made;

  if (g_once_init_enter (&made)) {
    display = va_display_new ();
    g_once_init_leave (&made, 1);
  }
  return display ? gst_va_display_wrapped_new (display) : NULL;
}

gboolean
gst_va_ensure_element_data (gpointer element, const gchar *path, GstVaDisplay **result)
{
  g_autoptr (GstVaDisplay) display = NULL;

  if (!g_atomic_pointer_get (result))
    gst_va_context_query (element, GST_VA_DISPLAY_HANDLE_CONTEXT_TYPE_STR);
  if (g_atomic_pointer_get (result))
    return TRUE;
  display = gst_va_display_drm_new_from_path (path);
  gst_object_replace ((GstObject **)result, (GstObject *)display);
  if (display)
    gst_va_element_propagate_display_context (element, display);
  return display != NULL;
}

DoublesFences doubles_fences;

static int
fail (int error)
{
  errno = error;
  return -1;
}

static int
sync_dmabuf (const struct dma_buf_sync *sync)
{
  if (doubles_fences.unknown)
    return fail (ENOTTY);
  if (doubles_fences.broken)
    return fail (EIO);
  g_atomic_int_inc (sync->flags & DMA_BUF_SYNC_END ? &doubles_fences.ends : &doubles_fences.starts);
  return 0;
}

#ifdef DMA_BUF_IOCTL_EXPORT_SYNC_FILE
static int
export_fences (struct dma_buf_export_sync_file *fences)
{
  if (doubles_fences.unknown)
    return fail (ENOTTY);
  g_atomic_int_inc (&doubles_fences.exports);
  fences->fd = eventfd (doubles_fences.pending ? 0 : 1, EFD_CLOEXEC);
  return fences->fd < 0 ? -1 : 0;
}
#endif

int
ioctl (int fd, unsigned long request, ...)
{
  va_list arguments;
  void *argument;

  va_start (arguments, request);
  argument = va_arg (arguments, void *);
  va_end (arguments);
  if (request == DMA_BUF_IOCTL_SYNC)
    return sync_dmabuf (argument);
#ifdef DMA_BUF_IOCTL_EXPORT_SYNC_FILE
  if (request == DMA_BUF_IOCTL_EXPORT_SYNC_FILE)
    return export_fences (argument);
#endif
  return (int)syscall (SYS_ioctl, fd, request, argument);
}
