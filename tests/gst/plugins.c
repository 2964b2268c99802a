/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
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
