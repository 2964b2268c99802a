/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "measure/check-va.h"

#include <string.h>
#include <sys/prctl.h>

#include "measure/check-report.h"
#include "measure/worker.h"

/* Number of bytes at the end of a pipeline's output that the report keeps. */
#define MOST_SAID 2000

/* Returns: (nullable) (transfer full): a sentence that names the element that GStreamer lacks, such
 * as vapostproc on a machine without a VA driver. */
static gchar *
find_missing (const gchar *said)
{
  const gchar *missing = strstr (said, "no element ");

  return missing != NULL
             ? g_strdup_printf ("GStreamer has %.*s here.", (gint)strcspn (missing, "\n"), missing)
             : NULL;
}

/* Runs in the child: the pipeline ends with its worker, which the tool kills if it hangs. */
static void
set_up (G_GNUC_UNUSED gpointer data)
{
  prctl (PR_SET_PDEATHSIG, SIGKILL);
}

void
check_va (GemmclContext *context, json_t *va)
{
  const GemmclDeviceInfo *info = gemmcl_context_get_device_info (context);
  /* One argument a line: names have spaces. */
  g_autofree gchar *line = g_strdup_printf (
      "gst-launch-1.0\n-q\nvideotestsrc\nnum-buffers=30\n!\n"
      "video/x-raw,format=NV12,width=640,height=480\n!\nvapostproc\n!\n"
      "video/x-raw(memory:VAMemory),format=NV12\n!\ngemmcl\nweight=[[.3],[.6],[.1]]\n"
      "platform=\"%s\"\ndevice=\"%s\"\n!\nfakesink",
      info->platform, info->name);
  g_auto (GStrv) arguments = g_strsplit (line, "\n", -1);
  g_auto (GStrv) environment = g_environ_setenv (g_get_environ (), "LC_ALL", "C", TRUE);
  g_autofree gchar *said = NULL, *missing = NULL;
  g_autoptr (GError) error = NULL;
  gint status;

  if (!g_spawn_sync (NULL, arguments, environment, G_SPAWN_SEARCH_PATH | G_SPAWN_STDOUT_TO_DEV_NULL,
                     set_up, NULL, NULL, &said, &status, &error)) {
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
}
