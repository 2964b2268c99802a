/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "check.h"
#include "tool.h"

#define LAUNCH  "gst-launch-1.0"
#define INSPECT "gst-inspect-1.0"

/* Runs a program. @said: its last lines. @why: (out) (nullable): the reason of its failure.
 * Returns: FALSE with an error after a Ctrl-C, or if it cannot be started. */
static gboolean
run_program (Check *check, const gchar *const *arguments, gdouble seconds, GString *said,
             gchar **why, GError **error)
{
  const gint64 deadline = g_get_monotonic_time () + (gint64)(seconds * G_USEC_PER_SEC);
  g_autoptr (ToolProcess) child =
      tool_process_new (arguments, tool_progress_tick, check->progress, error);
  ToolRead read;
  gchar *line;

  if (child == NULL)
    return FALSE;
  while ((read = tool_process_read (child, deadline, &line)) == TOOL_READ_LINE) {
    tool_keep_line (said, line);
    g_free (line);
  }
  if (read == TOOL_READ_LATE)
    *why = g_strdup_printf ("It did not end in %.0f seconds.", seconds);
  else if (read == TOOL_READ_END && tool_process_finish (child, why))
    g_clear_pointer (why, g_free);
  return tool_check_interrupt (error);
}

static void
set_result (Check *self, const gchar *result, const gchar *why, const gchar *said)
{
  json_object_set_new (self->report, "va",
                       json_pack ("{s:s, s:o, s:o}", "result", result, "why",
                                  tool_json_string (why), "said", tool_json_string (said)));
}

/* Sets @has to TRUE if GStreamer has @element, else reports that it is absent. */
static gboolean
has_element (Check *self, const gchar *element, gint64 deadline, gboolean *has, GError **error)
{
  const gchar *const arguments[] = {INSPECT, "--exists", element, NULL};
  g_autoptr (GString) said = g_string_new (NULL);
  g_autofree gchar *why = NULL, *absent = NULL;

  if (!run_program (self, arguments, check_get_left (deadline), said, &why, error))
    return FALSE;
  *has = why == NULL;
  absent = g_strdup_printf ("GStreamer has no element %s here.", element);
  if (!*has)
    set_result (self, "absent", absent, NULL);
  return TRUE;
}

static gchar *
make_property (const Check *self, const gchar *property, const gchar *key)
{
  const json_t *device = json_object_get (self->report, "device");

  return g_strdup_printf ("%s=\"%s\"", property, json_string_value (json_object_get (device, key)));
}

static gboolean
run_pipeline (Check *self, gint64 deadline, GError **error)
{
  g_autofree gchar *platform = make_property (self, "platform", "platform");
  g_autofree gchar *device = make_property (self, "device", "name");
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
  g_autoptr (GString) said = g_string_new (NULL);
  g_autofree gchar *why = NULL;

  if (!run_program (self, arguments, check_get_left (deadline), said, &why, error))
    return FALSE;
  set_result (self, why == NULL ? "passed" : "failed", why,
              why == NULL ? NULL : g_strstrip (said->str));
  return TRUE;
}

gboolean
check_va (Check *self, gdouble seconds, GError **error)
{
  const gint64 deadline =
      MIN (self->deadline, g_get_monotonic_time () + (gint64)(seconds * G_USEC_PER_SEC));
  g_autofree gchar *launch = g_find_program_in_path (LAUNCH);
  g_autofree gchar *inspect = g_find_program_in_path (INSPECT);
  gboolean has = FALSE;

  tool_progress_begin (self->progress, "VA surfaces", seconds);
  if (check_get_left (deadline) <= 0.0)
    set_result (self, "not reached", NULL, NULL);
  else if (!json_is_true (json_object_get (self->report, "shares_surfaces")))
    set_result (self, "absent", "The device has no cl_intel_va_api_media_sharing.", NULL);
  else if (launch == NULL || inspect == NULL)
    set_result (self, "absent", LAUNCH " or " INSPECT " is not installed.", NULL);
  else
    /* GStreamer has vapostproc exactly if there is a VA driver. */
    return has_element (self, "vapostproc", deadline, &has, error) &&
           (!has || has_element (self, "gemmcl", deadline, &has, error)) &&
           (!has || run_pipeline (self, deadline, error));
  return TRUE;
}
