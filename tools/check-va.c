/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>
#include <sys/prctl.h>

#include "check.h"

#define LAUNCH "gst-launch-1.0"

/* The time for surfaces at most, and as a share of what is left. */
#define MOST_SECONDS 20.0
#define SHARE        0.3

/* Most bytes that are kept of the output of a pipeline. */
#define MOST_SAID 2000

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

/* In the child: a pipeline ends with its worker, which is killed if it hangs. */
static void
set_up (G_GNUC_UNUSED gpointer data)
{
  prctl (PR_SET_PDEATHSIG, SIGKILL);
}

/* @data: the limit in seconds */
static gboolean
run_pipeline (GemmclContext *context, json_t *va, gpointer data)
{
  const GemmclDeviceInfo *info = gemmcl_context_get_device_info (context);
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
  g_autofree gchar *said = NULL, *missing = NULL;
  g_autoptr (GError) error = NULL;
  gint status;

  /* After a loss only what is left is run. */
  if (!check_is_open (va))
    return TRUE;
  tool_worker_begin (NULL, *(const gdouble *)data);
  if (!g_spawn_sync (NULL, (gchar **)arguments, environment,
                     G_SPAWN_SEARCH_PATH | G_SPAWN_STDOUT_TO_DEV_NULL, set_up, NULL, NULL, &said,
                     &status, &error)) {
    check_set_result (va, "absent", error->message);
  } else if (g_spawn_check_wait_status (status, &error)) {
    check_set_result (va, "passed", NULL);
  } else if ((missing = find_missing (said)) != NULL) {
    check_set_result (va, "absent", missing);
  } else {
    g_strchomp (said);
    check_set_result (va, "failed", error->message);
    json_object_set_new (va, "said",
                         tool_json_string (said + MAX (strlen (said), MOST_SAID) - MOST_SAID));
  }
  return TRUE;
}

static void
lose (json_t *va, G_GNUC_UNUSED const gchar *what, const gchar *why, G_GNUC_UNUSED gpointer data)
{
  check_set_result (va, "failed", why);
}

gboolean
check_va (json_t *report, gint64 deadline, gint64 end, GError **error)
{
  static const ToolWork work = {run_pipeline, lose, NULL};
  const gint64 left = deadline - g_get_monotonic_time ();
  gdouble seconds = MIN (SHARE * (gdouble)left / G_USEC_PER_SEC, MOST_SECONDS);
  json_t *va = json_object_get (report, "va");
  g_autoptr (json_t) items = json_pack ("[O]", va);

  if (left <= 0)
    return TRUE;
  if (json_is_true (json_object_get (report, "shares_surfaces"))) {
    tool_worker_step ("VA surfaces");
    return tool_worker_run (items, &work, &seconds, end, error);
  }
  check_set_result (va, "absent", "The device has no cl_intel_va_api_media_sharing.");
  return TRUE;
}
