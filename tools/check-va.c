/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "check.h"

#define LAUNCH  "gst-launch-1.0"
#define INSPECT "gst-inspect-1.0"

/* Most bytes that are kept of the output of a pipeline. */
#define MOST_SAID 2000

/* Runs a program. @said: (out): its output. Returns: (transfer full): the reason of its failure. */
static gchar *
run_program (const gchar *const *arguments, gchar **said)
{
  g_autoptr (GError) error = NULL;
  gint status;

  if (!g_spawn_sync (NULL, (gchar **)arguments, NULL, G_SPAWN_SEARCH_PATH, tool_worker_set_up, NULL,
                     said, NULL, &status, &error))
    return g_strdup (error->message);
  return status != 0 ? tool_worker_describe_end (status) : NULL;
}

static json_t *
make_result (const gchar *result, const gchar *why, const gchar *said)
{
  return json_pack ("{s:s, s:o, s:o}", "result", result, "why", tool_json_string (why), "said",
                    tool_json_string (said));
}

/* Returns: (nullable): the result if GStreamer lacks @element. */
static json_t *
find_absence (const gchar *element)
{
  const gchar *const arguments[] = {INSPECT, "--exists", element, NULL};
  g_autofree gchar *said = NULL, *why = run_program (arguments, &said), *absent = NULL;

  absent = g_strdup_printf ("GStreamer has no element %s here.", element);
  return why != NULL ? make_result ("absent", absent, NULL) : NULL;
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
  g_autofree gchar *said = NULL, *why = run_program (arguments, &said);
  const gsize length = said != NULL ? strlen (said) : 0;

  if (why == NULL)
    return make_result ("passed", NULL, NULL);
  if (length > MOST_SAID)
    memmove (said, said + length - MOST_SAID, MOST_SAID + 1);
  return make_result ("failed", why, said != NULL ? g_strstrip (said) : NULL);
}

static json_t *
run_surfaces (const Check *self)
{
  const GemmclDeviceInfo *info = gemmcl_context_get_device_info (self->context);
  g_autofree gchar *launch = g_find_program_in_path (LAUNCH);
  g_autofree gchar *inspect = g_find_program_in_path (INSPECT);
  json_t *absence;

  if (!json_is_true (json_object_get (self->report, "shares_surfaces")))
    return make_result ("absent", "The device has no cl_intel_va_api_media_sharing.", NULL);
  if (launch == NULL || inspect == NULL)
    return make_result ("absent", LAUNCH " or " INSPECT " is not installed.", NULL);
  /* GStreamer has vapostproc exactly if there is a VA driver. */
  if ((absence = find_absence ("vapostproc")) != NULL ||
      (absence = find_absence ("gemmcl")) != NULL)
    return absence;
  return run_pipeline (info);
}

void
check_va (const Check *self, gdouble seconds)
{
  json_t *va = json_object_get (self->report, "va");

  if (!check_is_open (va) || seconds <= 0.0)
    return;
  tool_worker_step ("VA surfaces");
  tool_worker_begin (va, seconds, json_pack ("{s:s}", "result", "failed"));
  tool_worker_set (va, run_surfaces (self));
}
