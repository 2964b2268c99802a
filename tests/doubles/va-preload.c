/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#define GST_USE_UNSTABLE_API
#include <gst/gst.h>
#include <gst/va/gstva.h>

#include "doubles.h"

/*
 * A preloaded library that shows GStreamer's va plugin one render node with a display of the fake
 * driver, so that elements like vapostproc exist and run. It replaces three functions of libgudev
 * and two of libgstva.
 */

#define NODE "/dev/dri/renderD128"

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
