/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#define GST_USE_UNSTABLE_API /* tracers */
#include "plugins.h"

const gchar *
plugins_get_folder (void)
{
  const gchar *folder = g_getenv ("GEMMCL_TEST_PLUGINS");

  return folder ? folder : PLUGINS_FOLDER;
}

GstPlugin *
plugins_load (const gchar *name, GError **error)
{
  g_autofree gchar *file = g_strdup_printf ("libgst%s.so", name);
  g_autofree gchar *path = g_build_filename (plugins_get_folder (), file, NULL);

  return gst_plugin_load_file (path, error);
}

GstTracer *
plugins_start_tracer (const gchar *name)
{
  g_autoptr (GstPlugin) plugin = plugins_load ("coretracers", NULL);
  g_autoptr (GstPluginFeature) feature =
      plugin ? gst_registry_find_feature (gst_registry_get (), name, GST_TYPE_TRACER_FACTORY)
             : NULL;

  if (!feature)
    return NULL;
  return g_object_new (gst_tracer_factory_get_tracer_type (GST_TRACER_FACTORY (feature)), NULL);
}
