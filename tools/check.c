/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "check.h"

#include <math.h>
#include <sys/utsname.h>

#include "gemmcl.h"
#include "tool.h"
#include "options.h"

#define DEFAULT_SECONDS 150
#define DEFAULT_OUTPUT  "gemmcl-check.json"

/* Version of the report; raised when a key changes its meaning. */
#define FORMAT 1

/* Seconds after the end of the time in which a candidate may still end. */
#define LAST_SECONDS 3

static struct {
  gchar *seconds;
  const gchar *kernels;
  const gchar *output;
  gboolean worker;
  gchar *builder;
} options = {.kernels = "all", .output = DEFAULT_OUTPUT};

static const GOptionEntry entries[] = {
    {"seconds", 0, 0, G_OPTION_ARG_STRING, &options.seconds,
     "Time limit of the check (default: " G_STRINGIFY (DEFAULT_SECONDS) ")", "NUMBER"},
    {"kernel", 'k', 0, G_OPTION_ARG_STRING, &options.kernels,
     "Run only these kernels on exact problems, names with commas between (default: all)",
     "NAME,..."},
    {"output", 'o', 0, G_OPTION_ARG_FILENAME, &options.output,
     "The report, which is replaced; - is the standard output, and the summary then "
     "goes to the standard error (default: " DEFAULT_OUTPUT ")",
     "FILE"},
    {"worker", 0, G_OPTION_FLAG_HIDDEN, G_OPTION_ARG_NONE, &options.worker,
     "Work for another process of this command", NULL},
    {"builder", 0, G_OPTION_FLAG_HIDDEN, G_OPTION_ARG_STRING, &options.builder,
     "Compile every N-th kernel from number I on", "I/N"},
    {NULL}};

/* Describes the system without the name of the machine, since the report is sent to others. */
static json_t *
describe_system (void)
{
  struct utsname name;

  if (uname (&name) != 0)
    return json_null ();
  return json_pack ("{s:s, s:s, s:s}", "system", name.sysname, "release", name.release, "machine",
                    name.machine);
}

/* Marks the things of @list without a result. */
static void
mark_unreached (const json_t *list)
{
  json_t *object;
  gsize i;

  json_array_foreach (list, i, object)
  {
    const json_t *candidates = json_object_get (object, "candidates");

    if (candidates != NULL)
      mark_unreached (candidates);
    else if (check_is_open (object) &&
             (json_object_get (object, "level") == NULL || check_is_native (object)))
      check_set_result (object, "not reached", NULL);
  }
}

static gboolean
write_report (json_t *report, gint64 start, GError **error)
{
  const gdouble seconds = (g_get_monotonic_time () - start) / (gdouble)G_USEC_PER_SEC;

  json_object_set_new (report, "seconds", json_real (seconds));
  return tool_json_write (report, options.output, error);
}

/* Prints the summary, and how to send the report. */
static void
conclude (const json_t *report)
{
  const gboolean piped = g_str_equal (options.output, "-");
  FILE *out = piped ? stderr : stdout;
  g_autofree gchar *name = g_filename_display_name (options.output);

  check_report_print (out, report);
  if (!piped)
    fprintf (out,
             "\nThe report is in %s. It names the device, its driver and the system's version, not "
             "you or your\nmachine. Please send it to those who make gemmcl: docs/tuning.md says "
             "how.\n",
             name);
}

/* Writes the report as soon as it has the device, so that a wrong path fails early. */
static gboolean
on_change (gpointer start, json_t *object, const json_t *change, GError **error)
{
  return json_object_get (change, "device") == NULL || g_str_equal (options.output, "-") ||
         write_report (object, *(const gint64 *)start, error);
}

static gboolean
check (gdouble seconds, GError **error)
{
  const gint64 start = g_get_monotonic_time ();
  const gint64 end = start + (gint64)(seconds * G_USEC_PER_SEC);
  json_t *report = json_pack ("{s:i, s:s, s:o}", "format", FORMAT, "gemmcl", GEMMCL_VERSION,
                              "system", describe_system ());
  g_autoptr (json_t) state = json_pack ("{s:I, s:I, s:o}", "start", (json_int_t)start, "end",
                                        (json_int_t)end, "report", report);
  guint n_faults;
  gboolean ok;

  tool_catch_interrupt ();
  ok = tool_worker_run (state, end + LAST_SECONDS * G_USEC_PER_SEC, on_change, (gpointer)&start,
                        error);
  if (json_object_get (report, "device") == NULL)
    return FALSE;
  mark_unreached (json_object_get (report, "rows"));
  mark_unreached (json_object_get (report, "speed"));
  if (check_is_open (json_object_get (report, "va")))
    check_set_result (json_object_get (report, "va"), "not reached", NULL);
  /* Results are written even if a later step failed. The first error is reported. */
  if (!write_report (report, start, ok ? error : NULL))
    return FALSE;
  conclude (report);
  n_faults = check_report_count_faults (report);
  if (ok && n_faults > 0)
    g_set_error (error, TOOL_ERROR, TOOL_ERROR_FAILED, "%u faults were found.", n_faults);
  return ok && n_faults == 0;
}

static gboolean
run (gchar **operands, GError **error)
{
  g_autoptr (GPtrArray) kernels = tool_list_kernels (options.kernels, FALSE, error);
  g_autoptr (GArray) shapes = tool_problems_new ((const gchar *const *)operands, &tool_gemm,
                                                 kernels != NULL ? error : NULL);
  const CheckAsked asked = {kernels, shapes};
  gdouble seconds = DEFAULT_SECONDS;
  guint builder, n_builders;

  if (kernels == NULL || shapes == NULL ||
      !tool_parse_positive ("--seconds", options.seconds, &seconds, error))
    return FALSE;
  if (options.builder != NULL && sscanf (options.builder, "%u/%u", &builder, &n_builders) == 2)
    return check_build (&asked, builder, n_builders, error);
  if (options.worker)
    return check_serve (&asked, error);
  return check (seconds, error);
}

const ToolCommand tool_check = {
    .name = "check",
    .summary = "Check a device once: kernels, surfaces, speed; write a report to send",
    .operands = "[M,N,K ...]",
    .more_operands = TRUE,
    .description =
        "Checks the library on a device that its makers may never have seen, in less than "
        "three minutes, and writes a report that they can use.\n\n"
        "The report begins with the device and its driver. Then each native kernel multiplies "
        "small matrices of integers, whose product is exact, so that any difference is an "
        "error; spilled registers are reported. If the device shares VA surfaces and "
        "GStreamer has vapostproc, frames go through the element as surfaces. Last, the "
        "kernel that the rules choose and the next ones in their order are timed side by side "
        "on eight shapes, or on those given, by the device's clock; the table has 10^9 "
        "operations a second, their share of the f32 peak, and the gain of the fastest over "
        "the rules' choice.\n\n"
        "Kernels and the element run in separate processes. One that crashes, hangs or loses "
        "the device is reported as lost, and the check goes on. The fastest kernels are not "
        "remembered; gemmcl tune does that. Ctrl-C ends the check and writes the results so far.",
    .groups = {{"Device", tool_device_entries}, {"Options", entries}},
    .examples = {{"gemmcl check", "Check the best device"},
                 {"gemmcl check -t gpu --seconds 600 -o arc.json", "Take more time for a GPU"},
                 {"gemmcl check -k gemm_naive 64,64,64", "One kernel, and one shape"}},
    .run = run,
};
