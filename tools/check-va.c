/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "check.h"
#include "tool.h"

#define LAUNCH  "gst-launch-1.0"
#define INSPECT "gst-inspect-1.0"

/* Most characters of the output of a failed pipeline in the report. */
#define MOST_SAID 2000

/* The result of a program: its output, and how it ended. */
typedef struct {
  GString *said;
  gchar *why;
  gboolean passed;
  gboolean late;
} Ending;

static void
ending_clear (Ending *self)
{
  g_string_free (self->said, TRUE);
  g_free (self->why);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Ending, ending_clear)

static gboolean
run_program (Check *check, const gchar *const *arguments, gdouble seconds, Ending *ending,
             GError **error)
{
  const gint64 deadline = g_get_monotonic_time () + (gint64)(seconds * G_USEC_PER_SEC);
  g_autoptr (ToolProcess) child =
      tool_process_new (arguments, tool_progress_tick, check->progress, error);
  ToolRead read;
  gchar *line;

  if (child == NULL)
    return FALSE;
  while ((read = tool_process_read (child, deadline, &line)) == TOOL_READ_LINE) {
    g_autofree gchar *owned G_GNUC_UNUSED = line, *valid = g_utf8_make_valid (line, -1);

    g_string_append_printf (ending->said, "%s\n", valid);
    if (ending->said->len > MOST_SAID)
      g_string_erase (ending->said, 0, ending->said->len - MOST_SAID);
  }
  ending->late = read == TOOL_READ_LATE;
  if (read == TOOL_READ_END)
    ending->passed = tool_process_finish (child, &ending->why);
  else if (ending->late)
    ending->why = g_strdup_printf ("It did not end in %.0f seconds.", seconds);
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
  g_auto (Ending) ending = {.said = g_string_new (NULL)};
  g_autofree gchar *why = NULL;

  if (!run_program (self, arguments, check_get_left (deadline), &ending, error))
    return FALSE;
  *has = ending.passed;
  why = g_strdup_printf ("GStreamer has no element %s here.", element);
  if (!*has)
    set_result (self, "absent", why, NULL);
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
  g_auto (Ending) ending = {.said = g_string_new (NULL)};

  if (!run_program (self, arguments, check_get_left (deadline), &ending, error))
    return FALSE;
  set_result (self, ending.passed ? "passed" : "failed", ending.passed ? NULL : ending.why,
              ending.passed ? NULL : g_strstrip (ending.said->str));
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
