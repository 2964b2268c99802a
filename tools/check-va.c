/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "check.h"

#define LAUNCH "gst-launch-1.0"

/* Most bytes that are kept of the output of a pipeline. */
#define MOST_SAID 2000

static json_t *
make_result (const gchar *result, const gchar *why, const gchar *said)
{
  return json_pack ("{s:s, s:o, s:o}", "result", result, "why", tool_json_string (why), "said",
                    tool_json_string (said));
}

/* Returns: (nullable) (transfer full): a sentence on the element that GStreamer lacks, which is
 * vapostproc without a VA driver. */
static gchar *
find_missing (const gchar *said)
{
  const gchar *missing = strstr (said, "no element ");

  return missing != NULL
             ? g_strdup_printf ("GStreamer has %.*s here.", (gint)strcspn (missing, "\n"), missing)
             : NULL;
}

static json_t *
run_pipeline (const GemmclDeviceInfo *info)
{
  g_autofree gchar *platform = g_strdup_printf ("platform=\"%s\"", info->platform);
  g_autofree gchar *device = g_strdup_printf ("device=\"%s\"", info->name);
  const gchar *const arguments[] = {LAUNCH,
                                    "-q",
                                    "videotestsrc",
                                    "num-buffers=30",
                                    "!",
                                    "video/x-raw,format=NV12,width=640,height=480",
                                    "!",
                                    "vapostproc",
                                    "!",
                                    "video/x-raw(memory:VAMemory),format=NV12",
                                    "!",
                                    "gemmcl",
                                    "weight=[[.3],[.6],[.1]]",
                                    platform,
                                    device,
                                    "!",
                                    "fakesink",
                                    NULL};
  g_auto (GStrv) environment = g_environ_setenv (g_get_environ (), "LC_ALL", "C", TRUE);
  g_autofree gchar *said = NULL, *why = NULL, *missing = NULL;
  g_autoptr (GError) error = NULL;
  gint status;

  if (!g_spawn_sync (NULL, (gchar **)arguments, environment, G_SPAWN_SEARCH_PATH,
                     tool_worker_set_up, NULL, &said, NULL, &status, &error))
    return make_result ("absent", error->message, NULL);
  if (status == 0)
    return make_result ("passed", NULL, NULL);
  missing = find_missing (said);
  if (missing != NULL)
    return make_result ("absent", missing, NULL);
  why = tool_worker_describe_end (status);
  g_strchomp (said);
  return make_result ("failed", why, said + MAX (strlen (said), MOST_SAID) - MOST_SAID);
}

void
check_va (const Check *self, gdouble seconds)
{
  json_t *va = json_object_get (self->report, "va");

  if (!check_is_open (va) || seconds <= 0.0)
    return;
  tool_worker_step ("VA surfaces");
  tool_worker_begin (va, seconds, json_pack ("{s:s}", "result", "failed"));
  tool_worker_set (
      va, json_is_true (json_object_get (self->report, "shares_surfaces"))
              ? run_pipeline (gemmcl_context_get_device_info (self->context))
              : make_result ("absent", "The device has no cl_intel_va_api_media_sharing.", NULL));
}
