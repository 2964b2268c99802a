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

  if (!g_spawn_sync (NULL, (gchar **)arguments, NULL, G_SPAWN_SEARCH_PATH, tool_child_set_up, NULL,
                     said, NULL, &status, &error))
    return g_strdup (error->message);
  return status != 0 ? tool_child_describe_end (status) : NULL;
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

json_t *
check_serve_va (GemmclContext *context, G_GNUC_UNUSED const json_t *request)
{
  const GemmclDeviceInfo *info = gemmcl_context_get_device_info (context);
  g_autofree gchar *launch = g_find_program_in_path (LAUNCH);
  g_autofree gchar *inspect = g_find_program_in_path (INSPECT);
  json_t *absence;

  if (launch == NULL || inspect == NULL)
    return make_result ("absent", LAUNCH " or " INSPECT " is not installed.", NULL);
  /* GStreamer has vapostproc exactly if there is a VA driver. */
  if ((absence = find_absence ("vapostproc")) != NULL ||
      (absence = find_absence ("gemmcl")) != NULL)
    return absence;
  return run_pipeline (info);
}

gboolean
check_va (Check *self, gdouble seconds, GError **error)
{
  g_autoptr (json_t) answer = NULL;
  g_autoptr (GError) why = NULL;

  seconds = MIN (seconds, check_get_left (self->deadline));
  check_begin (self, "VA surfaces", seconds);
  if (seconds <= 0.0)
    answer = make_result ("not reached", NULL, NULL);
  else if (!json_is_true (json_object_get (self->report, "shares_surfaces")))
    answer = make_result ("absent", "The device has no cl_intel_va_api_media_sharing.", NULL);
  else
    answer = tool_child_ask (self->worker, json_pack ("{s:s}", "do", "va"), seconds, &why);
  if (answer == NULL && why->domain != TOOL_CHILD_ERROR) {
    g_propagate_error (error, g_steal_pointer (&why));
    return FALSE;
  }
  if (json_is_true (json_object_get (answer, "error"))) {
    json_t *failed =
        make_result ("failed", json_string_value (json_object_get (answer, "why")), NULL);

    json_decref (answer);
    answer = failed;
  }
  if (answer == NULL)
    answer = make_result (why->code == TOOL_CHILD_ERROR_GIVEN_UP ? "not reached" : "failed",
                          why->message, NULL);
  json_object_set (self->report, "va", answer);
  return TRUE;
}
